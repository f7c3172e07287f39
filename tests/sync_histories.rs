//! Views against their recompute over random histories of a lake: rows, schemas, files and snapshots change in every
//! way that DuckLake knows, and every view is synced across the history once in many windows and once in one.
//!
//! `DUCKLAKE_IVM_HISTORIES=2000` plays more of them, `DUCKLAKE_IVM_SEED=…` replays one, `DUCKLAKE_IVM_CATALOG=postgres`
//! (or `sqlite`, `duckdb`) keeps the catalog elsewhere. A history that fails is shrunk, and printed as a script for
//! `catalog_fixtures/`.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may panic, and says what it tries")]

mod history_cases;
#[path = "support/lakes.rs"]
mod lakes;
#[path = "support/postgres.rs"]
mod postgres;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ducklake_ivm::lake::LakeOptions;
use history_cases::operations::{Kinds, Operation, operations};
use history_cases::random::Random;
use history_cases::run::{Case, MakeLake, Totals, play, templates};
use lakes::{Catalog, options_in};
use postgres::Postgres;
use tempfile::TempDir;

/// Longer than this a failure is not shrunk.
const SHRINKING: Duration = Duration::from_secs(120);

fn case(random: &mut Random) -> Case {
    let inlining = *random.pick(&[0, 10, 10, 1_000]);
    let watched = 1 + usize::from(random.once_in(4));
    let templates = (0..watched).map(|_| usize::try_from(random.below(templates() as u64)).unwrap()).collect();
    let kinds = Kinds { schema_changes: !random.once_in(3), expiry: random.once_in(3) };
    let length = 10 + usize::try_from(random.below(8)).unwrap();
    Case { inlining, templates, operations: operations(random, kinds, length) }
}

/// Leaves out whatever the failure does not need, one after the other, until nothing more can go.
fn shrink(case: Case, problem: String, make: &MakeLake<'_>) -> (Case, String) {
    let began = Instant::now();
    let (mut case, mut problem) = (case, problem);
    let mut size = case.operations.len() / 2;
    while size > 0 && began.elapsed() < SHRINKING {
        let mut at = 0;
        while at < case.operations.len() && began.elapsed() < SHRINKING {
            let mut smaller = case.clone();
            smaller.operations.drain(at..(at + size).min(case.operations.len()));
            match attempt(&smaller, make, &mut Totals::default()) {
                Err(found) => (case, problem) = (smaller, found),
                Ok(()) => at += size,
            }
        }
        size /= 2;
    }
    let mut simpler: Vec<Case> = Vec::new();
    for template in case.templates.clone() {
        simpler.push(Case { templates: vec![template], ..case.clone() });
    }
    for (position, operation) in case.operations.iter().enumerate() {
        if let Operation::Transaction(changes) = operation {
            for left_out in 0..changes.len() {
                let mut smaller = case.clone();
                let mut changes = changes.clone();
                changes.remove(left_out);
                smaller.operations[position] = Operation::Transaction(changes);
                simpler.push(smaller);
            }
        }
    }
    for smaller in simpler {
        if let Err(found) = attempt(&smaller, make, &mut Totals::default()) {
            return (smaller, found);
        }
    }
    (case, problem)
}

/// A panic of the product is a failure like any other.
fn attempt(case: &Case, make: &MakeLake<'_>, totals: &mut Totals) -> Result<(), String> {
    let played = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| play(case, make, totals)));
    played.unwrap_or_else(|_| Err("a panic, see above".to_owned()))
}

#[test]
fn views_follow_random_histories() {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let replayed = number("DUCKLAKE_IVM_SEED");
    let histories = replayed.map_or_else(|| number("DUCKLAKE_IVM_HISTORIES").unwrap_or(100), |_| 1);
    let first = replayed.unwrap_or(1);
    let chosen = std::env::var("DUCKLAKE_IVM_CATALOG").unwrap_or_default();
    let server = if chosen == "postgres" { Postgres::start() } else { None };
    let databases = AtomicU64::new(0);
    let make_for = |seed: u64| {
        let (server, chosen, databases) = (&server, &chosen, &databases);
        move || -> (LakeOptions, TempDir) {
            let folder = tempfile::tempdir().unwrap();
            let catalog = match chosen.as_str() {
                "duckdb" => Catalog::DuckDb,
                "sqlite" => Catalog::Sqlite,
                _ if seed % 6 == 5 => Catalog::Sqlite,
                _ => Catalog::DuckDb,
            };
            let mut options = match server {
                Some(server) => {
                    let database = format!("lake_{}", databases.fetch_add(1, Ordering::Relaxed));
                    server.new_lake(&database, &folder.path().join("data"))
                }
                None => options_in(&folder, catalog),
            };
            options.threads = Some(1);
            (options, folder)
        }
    };
    let next = AtomicU64::new(first);
    let totals = Mutex::new(Totals::default());
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + histories || failures.lock().unwrap().len() > 2 {
                        return;
                    }
                    let case = case(&mut Random::new(seed));
                    let mut own = Totals::default();
                    let make = make_for(seed);
                    if let Err(problem) = attempt(&case, &make, &mut own) {
                        let (case, problem) = shrink(case, problem, &make);
                        failures.lock().unwrap().push(format!("DUCKLAKE_IVM_SEED={seed}\n{problem}\n{case:?}"));
                    }
                    totals.lock().unwrap().add(&own);
                }
            });
        }
    });
    println!("{:#?}", totals.lock().unwrap());
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}
