//! A diff of a million rows under a memory limit that it does not fit into: it is spilled, and printed as it is read.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "support/program.rs"]
mod program;

use std::fs;
use std::io::Read;
use std::process::Stdio;

use program::{Catalog, Shop, run};

/// What the process may take at most, in KiB: the limit, the program and its libraries. Without a limit it takes 500 MiB.
const MOST: u64 = 420 << 10;

#[test]
fn a_diff_that_is_larger_than_the_memory_limit_is_streamed() {
    let (shop, lake) = Shop::made(Catalog::DuckDb);
    run(
        &lake,
        "CREATE TABLE t (id BIGINT, g INTEGER, v VARCHAR, d DECIMAL(18,2));
INSERT INTO t SELECT i, i % 100, 'value ' || i, i / 7 FROM range(500000) r(i);
UPDATE t SET v = v || '!'",
    );
    let newest = lake.current_snapshot().unwrap().0;
    drop(lake);
    let range = format!("{}..", newest - 1);
    let mut program = shop.program();
    program.args(["diff", &range, "t", "--rows", "--format", "arrow", "--memory-limit", "150MB", "--threads", "2"]);
    let mut child = program.stdout(Stdio::piped()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut stdout = child.stdout.take().unwrap();
    let (mut piece, mut bytes, mut pieces, mut peak) = (vec![0; 1 << 16], 0, 0, 0);
    loop {
        let read = stdout.read(&mut piece).unwrap();
        // While it writes, it is there to be asked.
        let text = fs::read_to_string(&status).unwrap_or_default();
        let kib = text.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
        peak = peak.max(kib.map_or(0, |kib| kib.parse::<u64>().unwrap()));
        bytes += read;
        pieces += 1;
        if read == 0 {
            break;
        }
    }
    assert!(child.wait().unwrap().success());
    assert!(bytes > 75_000_000 && pieces > 100, "{bytes} bytes in {pieces} pieces");
    assert!(peak > 50 << 10 && peak < MOST, "{peak} KiB");
}
