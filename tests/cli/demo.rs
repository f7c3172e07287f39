//! The demo tells the same story every time, and ends well.

use crate::program::{program, transcript};

#[test]
fn the_demo_tells_its_story() {
    let folder = tempfile::tempdir().unwrap();
    let output = program().arg("demo").env("TMPDIR", folder.path()).output().unwrap();
    let shown = transcript(&["demo"], &output);
    assert_eq!(output.status.code(), Some(0), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "the demo left its lake behind");
    let told = String::from_utf8(output.stdout).unwrap();
    let recorded = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/demo.txt")).unwrap_or_default();
    assert!(
        told == recorded,
        "docs/demo.txt is another story; record it with: ducklake-ivm demo > docs/demo.txt\n{told}"
    );
}

#[test]
fn the_demo_keeps_its_lake_when_asked_to() {
    let folder = tempfile::tempdir().unwrap();
    let keep = folder.path().join("retail");
    let run = |arguments: &[&str]| program().current_dir(folder.path()).args(arguments).output().unwrap();
    let output = run(&["demo", "--keep", keep.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", transcript(&["demo", "--keep"], &output));
    let lake = format!("ducklake:{}", keep.join("retail.ducklake").display());
    let verified = run(&["--lake", &lake, "verify"]);
    assert_eq!(verified.status.code(), Some(0), "{}", transcript(&["verify"], &verified));
    // A second demo does not write over the first.
    let again = run(&["demo", "--keep", keep.to_str().unwrap()]);
    assert_eq!(again.status.code(), Some(2), "{}", transcript(&["demo", "--keep"], &again));
}
