//! TPC-H in a lake: seconds of a sync after a small change beside the same query written anew, in one run.
//!
//! ```text
//! cargo xtask bench --bench tpch [-- VIEW…]
//! ```
//!
//! `TPCH_SCALE` (default 1), `TPCH_ROUNDS` (default 5), `TPCH_CHANGE` (orders changed per thousand, default 1; half of
//! them are deleted with their lines, as many are inserted), `TPCH_WHERE` (`scattered` deletes, the default, or `recent`
//! ones), `TPCH_STRATEGY` (`auto`, the default, `incremental`, `recompute` or `full`). The loaded lake is kept under `target/` for the next run. Numbers are ratios on one machine in one run, and no
//! test depends on them.

#![allow(clippy::print_stdout, reason = "a benchmark's results go to stdout")]

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Instant;

use ducklake_ivm::lake::{Lake, LakeOptions};
use ducklake_ivm::sync::{Event, SyncOptions, ViewReport, sync};
use ducklake_ivm::view::{Creation, Strategy, ViewName, create, drop_view};

/// Name and definition of each view.
const VIEWS: &[(&str, &str)] = &[
    (
        "join4",
        "SELECT l.l_orderkey, l.l_linenumber, o.o_orderdate, c.c_name, n.n_name, l.l_extendedprice * (1 - l.l_discount) AS revenue
         FROM lineitem l JOIN orders o ON l.l_orderkey = o.o_orderkey JOIN customer c ON o.o_custkey = c.c_custkey
         JOIN nation n ON c.c_nationkey = n.n_nationkey WHERE o.o_orderdate >= DATE '1998-01-01'",
    ),
    (
        "join4_of_all_lines",
        "SELECT l.l_orderkey, l.l_linenumber, o.o_orderdate, c.c_name, n.n_name, l.l_extendedprice * (1 - l.l_discount) AS revenue
         FROM lineitem l JOIN orders o ON l.l_orderkey = o.o_orderkey JOIN customer c ON o.o_custkey = c.c_custkey
         JOIN nation n ON c.c_nationkey = n.n_nationkey",
    ),
    (
        "join4_grouped",
        "SELECT n.n_name, year(o.o_orderdate) AS year, sum(l.l_extendedprice * (1 - l.l_discount)) AS revenue, count(*) AS lines
         FROM lineitem l JOIN orders o ON l.l_orderkey = o.o_orderkey JOIN customer c ON o.o_custkey = c.c_custkey
         JOIN nation n ON c.c_nationkey = n.n_nationkey GROUP BY n.n_name, year",
    ),
    (
        "q1",
        "SELECT l_returnflag, l_linestatus, sum(l_quantity) AS quantity, sum(l_extendedprice) AS price,
           sum(l_extendedprice * (1 - l_discount)) AS revenue, avg(l_quantity) AS mean_quantity, count(*) AS lines
         FROM lineitem WHERE l_shipdate <= DATE '1998-09-02' GROUP BY l_returnflag, l_linestatus",
    ),
    (
        "revenue_per_customer",
        "SELECT o.o_custkey, sum(l.l_extendedprice * (1 - l.l_discount)) AS revenue, count(*) AS lines
         FROM orders o JOIN lineitem l ON l.l_orderkey = o.o_orderkey GROUP BY o.o_custkey",
    ),
    (
        "revenue_per_nation_and_month",
        "SELECT n.n_name, date_trunc('month', o.o_orderdate) AS month, sum(l.l_extendedprice * (1 - l.l_discount)) AS revenue
         FROM customer c, orders o, lineitem l, supplier s, nation n, region r
         WHERE c.c_custkey = o.o_custkey AND l.l_orderkey = o.o_orderkey AND l.l_suppkey = s.s_suppkey
           AND c.c_nationkey = s.s_nationkey AND s.s_nationkey = n.n_nationkey AND n.n_regionkey = r.r_regionkey
         GROUP BY n.n_name, month",
    ),
    (
        "left_star",
        "SELECT o.o_orderkey, o.o_totalprice, c.c_name, c.c_mktsegment, n.n_name
         FROM orders o LEFT JOIN customer c ON o.o_custkey = c.c_custkey LEFT JOIN nation n ON c.c_nationkey = n.n_nationkey
         WHERE o.o_orderdate >= DATE '1998-01-01'",
    ),
    (
        "customers_without_orders",
        "SELECT c.c_custkey, c.c_name FROM customer c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.o_custkey = c.c_custkey)",
    ),
    (
        "latest_order_per_customer",
        "SELECT o_custkey, o_orderkey, o_orderdate, o_totalprice FROM orders
         QUALIFY row_number() OVER (PARTITION BY o_custkey ORDER BY o_orderdate DESC, o_orderkey DESC) = 1",
    ),
    ("top_100", "SELECT o_orderkey, o_totalprice FROM orders ORDER BY o_totalprice DESC, o_orderkey LIMIT 100"),
];

const TABLES: [&str; 8] = ["region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem"];

type Failure = Box<dyn std::error::Error>;

fn number<T: std::str::FromStr>(name: &str, otherwise: T) -> T {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(otherwise)
}

fn open(directory: &Path, create: bool) -> Result<Lake, Failure> {
    let options = LakeOptions {
        data_path: Some(directory.join("data").display().to_string() + "/"),
        create,
        ..LakeOptions::new(format!("ducklake:{}", directory.join("lake.ducklake").display()))
    };
    Ok(Lake::open(&options)?)
}

/// A lake with TPC-H data, loaded once per scale and copied for each run.
fn lake_directory(scale: f64) -> Result<PathBuf, Failure> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target/bench");
    let (base, copy) = (root.join(format!("tpch-{scale}")), root.join("tpch-run"));
    if !base.join("lake.ducklake").exists() {
        let loading = root.join("tpch-loading");
        let _ = std::fs::remove_dir_all(&loading);
        std::fs::create_dir_all(&loading)?;
        let lake = open(&loading, true)?;
        lake.load_extension("tpch")?;
        lake.execute(&format!(
            "ATTACH ':memory:' AS tpch_source; USE tpch_source; CALL dbgen(sf = {scale}); USE lake"
        ))?;
        for table in TABLES {
            lake.execute(&format!("CREATE TABLE lake.main.{table} AS SELECT * FROM tpch_source.main.{table}"))?;
        }
        drop(lake);
        std::fs::rename(&loading, &base)?;
    }
    let _ = std::fs::remove_dir_all(&copy);
    let copied = std::process::Command::new("cp").arg("-r").arg(&base).arg(&copy).status()?;
    if copied.success() { Ok(copy) } else { Err("the loaded lake could not be copied".into()) }
}

/// How much changes per round, and where.
#[derive(Clone, Copy)]
struct Changes {
    /// Orders of a thousand; half of them deleted, as many inserted.
    per_thousand: f64,
    /// The deleted orders are the last ones of those that the lake was loaded with, as late corrections are; otherwise
    /// they lie scattered over all row groups, the worst case for reading what was deleted.
    recent: bool,
}

/// Deletes some orders with their lines and inserts as many others, in two tables and several statements.
fn change(lake: &Lake, round: usize, changes: Changes) -> Result<(), Failure> {
    let half = lake.query_value(&format!(
        "SELECT greatest(1, (count(*) * {} / 2000)::BIGINT) FROM lake.main.orders",
        changes.per_thousand
    ))?;
    let half = half.as_u64()?;
    let order = if changes.recent { "o_orderkey DESC".to_owned() } else { format!("hash(o_orderkey, {round})") };
    let chosen =
        format!("SELECT o_orderkey FROM lake.main.orders WHERE o_orderkey < 100_000_000 ORDER BY {order} LIMIT {half}");
    let shift = 100_000_000 + 10_000_000 * round;
    lake.execute(&format!(
        "CREATE OR REPLACE TEMP TABLE gone AS {chosen};
         CREATE OR REPLACE TEMP TABLE copied AS SELECT o_orderkey FROM lake.main.orders
           WHERE o_orderkey < 100_000_000 ORDER BY hash({round}, o_orderkey) LIMIT {half};
         CREATE OR REPLACE TEMP TABLE new_orders AS SELECT * REPLACE (o_orderkey + {shift} AS o_orderkey)
           FROM lake.main.orders SEMI JOIN copied USING (o_orderkey);
         CREATE OR REPLACE TEMP TABLE new_lines AS SELECT l.* REPLACE (l_orderkey + {shift} AS l_orderkey)
           FROM lake.main.lineitem l SEMI JOIN copied c ON l.l_orderkey = c.o_orderkey"
    ))?;
    for statement in [
        "DELETE FROM lake.main.lineitem WHERE l_orderkey IN (FROM gone)",
        "DELETE FROM lake.main.orders WHERE o_orderkey IN (FROM gone)",
        "INSERT INTO lake.main.orders FROM new_orders",
        "INSERT INTO lake.main.lineitem FROM new_lines",
    ] {
        lake.execute(statement)?;
    }
    Ok(())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// What some work took.
#[derive(Clone, Copy, Default)]
struct Cost {
    /// By the clock.
    seconds: f64,
    /// Of all threads together, where the system tells: the measure to compare by when the machine is busy.
    cpu: f64,
}

fn timed<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<(T, Cost), Failure> {
    let (clock, before) = (Instant::now(), processor_seconds());
    let made = work()?;
    Ok((made, Cost { seconds: clock.elapsed().as_secs_f64(), cpu: processor_seconds() - before }))
}

/// Seconds that the threads of this process have run.
fn processor_seconds() -> f64 {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let nanoseconds = tasks.filter_map(|task| {
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<f64>().ok()
    });
    nanoseconds.sum::<f64>() / 1e9
}

/// Highest resident memory of the process so far, in MB, where the system tells.
fn peak_memory() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok()).unwrap_or_default() / 1024.0
}

fn one_sync(lake: &Lake) -> Result<(ViewReport, Cost), Failure> {
    let (mut report, cost) = timed(|| Ok(sync(lake, &SyncOptions::default(), &|_: &Event<'_>| {})?))?;
    let view = report.views.pop().ok_or("no view was synced")?;
    match &view.error {
        Some(error) => Err(error.clone().into()),
        None => Ok((view, cost)),
    }
}

fn measure(lake: &Lake, name: &str, sql: &str, rounds: Range<usize>, changes: Changes) -> Result<(), Failure> {
    let view = ViewName::new("main", name);
    let strategy = match std::env::var("TPCH_STRATEGY").as_deref() {
        Ok("incremental") => Strategy::Incremental,
        Ok("recompute") => Strategy::Recompute,
        Ok("full") => Strategy::Full,
        _ => Strategy::Auto,
    };
    create(lake, &Creation { strategy, ..Creation::new(view.clone(), sql) })?;
    let (mut syncs, mut fulls, mut noops) = (Vec::new(), Vec::new(), Vec::new());
    for round in rounds {
        change(lake, round, changes)?;
        let (report, cost) = one_sync(lake)?;
        syncs.push(cost);
        let (_, noop) = one_sync(lake)?;
        noops.push(noop);
        let written = format!("CREATE OR REPLACE TABLE lake.main.written_anew AS {sql}");
        let full = timed(|| Ok(lake.execute(&written)?))?.1;
        fulls.push(full);
        let phases = report.phases;
        println!(
            "{name} round {round}: {} {:.3} s (net change {} ms, join {} ms, apply {} ms, commit {} ms; {:.3} s of \
             processors), +{} −{} rows, terms {}/{}; written anew {:.3} s ({:.3}); noop {:.3} s{}",
            report.strategy.map_or("failed", |method| method.word()),
            cost.seconds,
            phases.net_change_ms,
            phases.join_ms,
            phases.apply_ms,
            phases.commit_ms,
            cost.cpu,
            report.rows_inserted,
            report.rows_deleted,
            report.terms.run,
            report.terms.total,
            full.seconds,
            full.cpu,
            noop.seconds,
            report.reason.map_or_else(String::new, |reason| format!("; {reason}")),
        );
    }
    let seconds = |costs: &[Cost]| median(costs.iter().map(|cost| cost.seconds).collect());
    let cpu = |costs: &[Cost]| median(costs.iter().map(|cost| cost.cpu).collect());
    let (sync, full) = (seconds(&syncs), seconds(&fulls));
    println!(
        "{name}: median sync {sync:.3} s, written anew {full:.3} s, ratio {:.2} (of processor time {:.2}); noop {:.3} s; \
         peak memory so far {:.0} MB\n",
        sync / full,
        cpu(&syncs) / cpu(&fulls),
        seconds(&noops),
        peak_memory()
    );
    lake.execute("DROP TABLE lake.main.written_anew")?;
    drop_view(lake, &view)?;
    Ok(())
}

fn main() -> Result<(), Failure> {
    let scale = number("TPCH_SCALE", 1.0);
    let recent = std::env::var("TPCH_WHERE").is_ok_and(|place| place == "recent");
    let changes = Changes { per_thousand: number("TPCH_CHANGE", 1.0), recent };
    let rounds = number("TPCH_ROUNDS", 5);
    let wanted: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let directory = lake_directory(scale)?;
    let lake = open(&directory, false)?;
    println!(
        "TPC-H scale {scale}, {} of 1,000 orders changed per round, the deleted ones {}, {rounds} rounds\n",
        changes.per_thousand,
        if recent { "among those stored last" } else { "scattered over all files" }
    );
    for (position, (name, sql)) in VIEWS.iter().enumerate() {
        if wanted.is_empty() || wanted.iter().any(|wanted| wanted == name) {
            // No key is inserted twice.
            let first = position * rounds;
            measure(&lake, name, sql, first..first + rounds, changes)?;
        }
    }
    Ok(())
}
