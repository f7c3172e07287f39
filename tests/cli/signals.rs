//! Ctrl-C and SIGTERM in the middle of a refresh: it ends at once, and the lake is as it was.
#![cfg(unix)]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::program::{Catalog, Shop};

/// A view whose refresh takes minutes, with a change to take in.
fn slow_shop() -> Shop {
    let shop = Shop::empty(Catalog::DuckDb);
    shop.sql("CREATE TABLE n (i BIGINT)");
    let sql = "SELECT sum(a.i * b.i % 7) AS s, random() < 2 AS r FROM n a, n b, n c GROUP BY ALL";
    shop.succeed(&["create", "v", "--sql", sql]);
    shop.sql("INSERT INTO n SELECT i FROM range(20000) r(i)");
    shop
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// Waits for an end that must come soon.
fn end(child: &mut Child) -> Option<i32> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        if begun.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            panic!("still running a minute after the signal");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_signal_in_the_middle_rolls_back() {
    for (name, code) in [("INT", 130), ("TERM", 143)] {
        let shop = slow_shop();
        let before = shop.snapshot();
        let mut child =
            shop.program().args(["sync", "-v"]).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        // The log says when the refresh has begun; a moment later it is inside its long statement.
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        std::thread::sleep(Duration::from_millis(500));
        signal(&child, name);
        assert_eq!(end(&mut child), Some(code));
        let rest: Vec<String> = stderr.lines().map(Result::unwrap).collect();
        assert!(rest.iter().any(|line| line.contains("interrupted")), "{line}{rest:?}");
        assert_eq!(shop.snapshot(), before);
    }
}

#[test]
fn a_signal_ends_the_waiting_of_sync_every() {
    let shop = Shop::new(Catalog::DuckDb);
    shop.succeed(&["create", "v", "--sql", "SELECT id FROM orders"]);
    let arguments = ["sync", "--every", "100ms", "--format", "json"];
    let mut child = shop.program().args(arguments).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for _ in 0..2 {
        let report: serde_json::Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        assert_eq!(report["views"][0]["strategy"], "noop");
    }
    signal(&child, "TERM");
    assert_eq!(end(&mut child), Some(143));
}
