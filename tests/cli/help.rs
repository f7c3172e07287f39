//! `--help` teaches; wrong usage is told apart from everything else.

use crate::assert_transcript;
use crate::program::{program, transcript};

fn run(arguments: &[&str]) -> String {
    transcript(arguments, &program().args(arguments).output().unwrap())
}

#[test]
fn the_program_explains_itself() {
    assert_transcript!("help", run(&["--help"]));
    assert_transcript!("help_create", run(&["create", "--help"]));
    assert_transcript!("help_sync", run(&["sync", "-h"]));
}

#[test]
fn every_command_has_examples_in_its_help() {
    let commands = ["apply", "create", "demo", "drop", "plan", "status", "sync", "verify"];
    for command in commands {
        let help = run(&[command, "--help"]);
        assert!(help.contains("Example") && help.ends_with("[exit code 0]\n"), "{help}");
        let widest = help.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(120), "{help}");
    }
}

#[test]
fn wrong_usage_ends_with_2() {
    let usages = [
        run(&[]),
        run(&["snyc"]),
        run(&["create", "v"]),
        run(&["create", "v", "--sql", "SELECT 1", "--file", "v.sql"]),
        run(&["sync", "--every", "soon"]),
        run(&["sync", "--format", "xml"]),
        run(&["sync"]),
    ];
    for usage in &usages {
        assert!(usage.ends_with("[exit code 2]\n"), "{usage}");
    }
    assert_transcript!("wrong_usage", usages[1..].join("\n"));
}
