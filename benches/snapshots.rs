//! A lake with many commits: seconds of each question about its past.
//!
//! ```text
//! cargo xtask bench --bench snapshots
//! ```
//!
//! `SNAPSHOTS` (default 10000) is how many commits there are, all of them real: six of ten insert a row, the others
//! update, delete, insert into another table, or make a table anew. The lake is kept under `target/` for the next run. No
//! test depends on the numbers; that no question takes more statements at more snapshots is tested in
//! `tests/inspect_diff.rs`.

#![allow(clippy::print_stdout, reason = "a benchmark's results go to stdout")]

use std::path::Path;
use std::time::Instant;

use ducklake_ivm::inspect::{
    LogOptions, Range, Revision, RowOptions, diff, files, history, impact, log, stage_rows, status,
};
use ducklake_ivm::lake::{Lake, LakeOptions, SnapshotId};
use ducklake_ivm::view::{Creation, ViewName, create};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let wanted = std::env::var("SNAPSHOTS").ok().map_or(Ok(10_000), |text| text.parse::<u64>())?;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target").join(format!("snapshots-{wanted}"));
    let lake = lake(&folder, wanted)?;
    let newest = lake.current_snapshot()?;
    println!("{newest} snapshots");
    let range = |from: SnapshotId| Range { from: Revision::Snapshot(from), to: Revision::Snapshot(newest) };
    let (all, last) = (range(SnapshotId(0)), range(SnapshotId(newest.0 - 100)));
    let some = LogOptions { limit: 20, counts: true, ..LogOptions::default() };
    let every = LogOptions { limit: u64::MAX, ..some.clone() };
    let of_table = LogOptions { table: Some(ViewName::new("main", "u")), ..some.clone() };
    timed("open", || Ok(lake.current_snapshot()?))?;
    timed("log, 20 commits", || Ok(log(&lake, &some)?))?;
    timed("log, 20 commits of a table", || Ok(log(&lake, &of_table)?))?;
    timed("log, all commits", || Ok(log(&lake, &every)?))?;
    timed("diff of 100 commits", || Ok(diff(&lake, &last, &[])?))?;
    timed("diff of all", || Ok(diff(&lake, &all, &[])?))?;
    timed("diff of all, files", || Ok(files::of_range(&lake, &all, &[])?))?;
    timed("diff of all, rows", || Ok(stage_rows(&lake, &all, &RowOptions::default())?))?;
    timed("diff of all, impact", || Ok(impact(&lake, &all, &[])?))?;
    timed("status", || Ok(status(&lake, &[])?))?;
    timed("history", || Ok(history(&lake, &ViewName::new("main", "joined"), 20)?))
}

fn timed<T>(name: &str, run: impl FnOnce() -> Outcome<T>) -> Outcome<()> {
    let begun = Instant::now();
    run()?;
    println!("{name:30} {:.3} s", begun.elapsed().as_secs_f64());
    Ok(())
}

/// The lake in `folder`, made if it is not there.
fn lake(folder: &Path, commits: u64) -> Outcome<Lake> {
    std::fs::create_dir_all(folder)?;
    let catalog = folder.join("catalog.ducklake");
    let mut options = LakeOptions::new(format!("ducklake:{}", catalog.display()));
    if catalog.exists() {
        return Ok(Lake::open(&options)?);
    }
    // A lake that was not finished is not taken for one.
    let unfinished = folder.join("unfinished.ducklake");
    if unfinished.exists() {
        std::fs::remove_file(&unfinished)?;
    }
    options.uri = format!("ducklake:{}", unfinished.display());
    options.data_path = Some(format!("{}/data/", folder.display()));
    options.create = true;
    let lake = Lake::open(&options)?;
    lake.execute("CREATE TABLE t (id INTEGER, v VARCHAR)")?;
    lake.execute("CREATE TABLE u (id INTEGER, w VARCHAR)")?;
    lake.execute("INSERT INTO t SELECT i, 'v' || i FROM range(1000) r(i)")?;
    lake.execute("INSERT INTO u SELECT i, 'w' || i FROM range(100) r(i)")?;
    create(&lake, &Creation::new(ViewName::new("main", "joined"), "SELECT t.id, t.v, u.w FROM t JOIN u USING (id)"))?;
    create(&lake, &Creation::new(ViewName::new("main", "counted"), "SELECT count(*) AS n, max(id) AS m FROM t"))?;
    for commit in 0..commits {
        lake.execute(&match commit % 10 {
            0..6 => format!("INSERT INTO t VALUES ({}, 'n')", 1000 + commit),
            6 => format!("UPDATE t SET v = 'u{commit}' WHERE id = {}", commit % 1000),
            7 => format!("DELETE FROM t WHERE id = {}", 1000 + commit - 7),
            8 => format!("INSERT INTO u VALUES ({}, 'x')", 1000 + commit - 8),
            _ => format!("CREATE OR REPLACE TABLE scratch_{} (a INTEGER)", commit % 3),
        })?;
        if commit % 1000 == 999 {
            println!("{} commits made", commit + 1);
        }
    }
    drop(lake);
    std::fs::rename(&unfinished, &catalog)?;
    Ok(Lake::open(&LakeOptions::new(format!("ducklake:{}", catalog.display())))?)
}
