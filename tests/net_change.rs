//! The net change of a table against the difference of two reads, over random histories.
//!
//! `DUCKLAKE_IVM_HISTORIES=500` runs more of them, `DUCKLAKE_IVM_SEED=…` replays one and prints its operations.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may panic, and says what it tries")]

#[path = "support/lakes.rs"]
mod lakes;
#[path = "support/random.rs"]
mod random;

use ducklake_ivm::lake::{
    ColumnId, Guard, LakeError, Method, NetChangeRequest, SnapshotId, TableColumn, TableId, Transaction, Tuning,
    identifier, literal,
};
use lakes::{Catalog, ScratchLake};
use random::Random;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Instant;

/// What differs between histories.
#[derive(Debug)]
struct Setting {
    catalog: Catalog,
    inlining: u32,
    schema: &'static str,
    schema_changes: bool,
    expiry: bool,
    tuning: Tuning,
}

/// One random history of one table, and what the table held after each commit.
struct History {
    scratch: ScratchLake,
    random: Random,
    setting: Setting,
    table: String,
    names: u32,
    /// Rows as they were when their snapshot was the newest: the temporary table, and its columns by id.
    truths: BTreeMap<u64, Vec<(ColumnId, String)>>,
    columns_at: RefCell<BTreeMap<SnapshotId, Vec<TableColumn>>>,
    id: TableId,
    loud: bool,
    log: Vec<String>,
}

#[derive(Default, Debug)]
struct Totals {
    windows: u64,
    per_file: u64,
    full: BTreeMap<String, u64>,
    unreadable: u64,
    cut: u64,
    wrong_reads: u64,
    refused: BTreeMap<String, u64>,
    operations: u64,
    branches: BTreeMap<&'static str, u64>,
    staging_ms: u128,
    elapsed_ms: u128,
}

impl Totals {
    /// Counts the ways in which rows were read, so that a fuzzer that never tries one of them is seen.
    fn count_branches(&mut self, statements: &str) {
        let metadata = "FROM \"__ducklake_metadata_lake\".\"ducklake_inlined_data";
        for line in statements.lines().filter(|line| line.contains(" FROM ") && line.contains(" WHERE ")) {
            let kind = match line {
                line if line.contains("ducklake_table_insertions") => "insertions",
                line if line.contains("ANTI JOIN") => "odd files",
                line if line.contains("(file_row_number, snapshot_id) IN") => "inlined rows by read",
                line if line.contains(metadata) => "inlined rows from the catalog",
                line if line.contains("temp.\"delta_positions") => "positions from a table",
                line if line.contains("(filename, file_row_number) IN") => "positions of several files",
                line if line.contains("file_row_number IN") => "positions of one file",
                line if line.contains("CAST(-1 AS") => "died files",
                line if line.contains("snapshot_id > ") => "new rows of some age",
                _ => "born files",
            };
            *self.branches.entry(kind).or_default() += 1;
            let pruned = line.contains(" BETWEEN ");
            *self.branches.entry("pruned").or_default() += u64::from(pruned);
        }
    }
}

fn setting(random: &mut Random) -> Setting {
    let tuning = match random.below(6) {
        0 => Tuning { prune_from_files: 0, ..Tuning::default() },
        1 => Tuning { literal_positions: 2, prune_from_files: 0, ..Tuning::default() },
        2 => Tuning { read_delete_files: false, ..Tuning::default() },
        3 => Tuning { read_inlined_rows: false, ..Tuning::default() },
        4 => Tuning { cut: false, ..Tuning::default() },
        _ => Tuning::default(),
    };
    Setting {
        catalog: if random.once_in(5) { Catalog::Sqlite } else { Catalog::DuckDb },
        inlining: *random.pick(&[0, 10, 10, 1000]),
        schema: random.pick::<&str>(&["main", "S \"2\" [x]"]),
        schema_changes: random.once_in(2),
        expiry: random.once_in(3),
        tuning,
    }
}

impl History {
    fn new(seed: u64, loud: bool) -> Self {
        let mut random = Random::new(seed);
        let setting = setting(&mut random);
        let scratch = ScratchLake::new(setting.catalog);
        scratch.run(&format!("CALL lake.set_option('data_inlining_row_limit', {})", setting.inlining));
        scratch.run(&format!("CREATE SCHEMA IF NOT EXISTS {}", identifier(setting.schema)));
        let table = "t 0".to_owned();
        let mut history = Self {
            scratch,
            random,
            setting,
            table,
            names: 0,
            truths: BTreeMap::new(),
            columns_at: RefCell::default(),
            id: TableId(0),
            loud,
            log: Vec::new(),
        };
        let create = format!("CREATE TABLE {} (k INT, g INT, v VARCHAR, d DATE, x DOUBLE)", history.name());
        history.scratch.run(&create);
        let at = history.scratch.lake.current_snapshot().unwrap();
        let identity = history.scratch.lake.table_named(history.setting.schema, "T 0", at).unwrap().unwrap();
        history.id = identity.id;
        history.keep_truth();
        history
    }

    fn name(&self) -> String {
        format!("lake.{}.{}", identifier(self.setting.schema), identifier(&self.table))
    }

    fn columns(&self, at: SnapshotId) -> Vec<TableColumn> {
        if let Some(columns) = self.columns_at.borrow().get(&at) {
            return columns.clone();
        }
        let columns = self.scratch.lake.columns(self.id, at).unwrap();
        let columns: Vec<TableColumn> = columns.into_iter().filter(|column| column.parent.is_none()).collect();
        self.columns_at.borrow_mut().insert(at, columns.clone());
        columns
    }

    fn keep_truth(&mut self) {
        let at = self.scratch.lake.current_snapshot().unwrap();
        let columns = self.columns(at);
        let sql = format!("CREATE OR REPLACE TEMP TABLE truth_{at} AS FROM {}", self.name());
        self.scratch.run(&sql);
        self.truths.insert(at.0, columns.into_iter().map(|column| (column.id, column.name)).collect());
    }

    /// Runs statements in one transaction; one that DuckLake refuses is undone and counted.
    fn commit(&mut self, statements: &[String], totals: &mut Totals) -> bool {
        let lake = &self.scratch.lake;
        let whole = statements.join(";\n");
        totals.operations += 1;
        if self.loud {
            println!("-- {}\n{whole};", lake.current_snapshot().unwrap());
        }
        self.log.push(whole);
        let result = if let [statement] = statements {
            lake.execute(statement).map(|_| ())
        } else {
            lake.begin().and_then(|transaction| {
                statements.iter().try_for_each(|statement| transaction.execute(statement).map(|_| ()))?;
                transaction.commit()
            })
        };
        if let Err(error) = result {
            if self.loud {
                println!("   refused: {error}");
            }
            let kind: String = statements[0].split([' ', '(']).take(2).collect::<Vec<_>>().join(" ");
            *totals.refused.entry(format!("{kind}: {error:.90}")).or_default() += 1;
            return !matches!(error, LakeError::Engine { .. });
        }
        let at = lake.current_snapshot().unwrap().0;
        if !self.truths.contains_key(&at) {
            self.keep_truth();
        }
        true
    }

    fn value(&mut self, column: &TableColumn) -> String {
        let seed = self.random.below(1_000_000);
        let pick = format!("(hash(i * 7919 + {seed}) % 20)");
        let value = match column.ducklake_type.as_str() {
            "varchar" => format!("'v' || {pick}"),
            "date" => format!("DATE '2024-01-01' + ({pick} * 40)::INT"),
            "float64" | "float32" => {
                format!("CASE {pick}::INT WHEN 1 THEN -0.0::DOUBLE WHEN 2 THEN 'NaN'::DOUBLE ELSE {pick} / 4 END")
            }
            _ => format!("{pick}::INT"),
        };
        // The key has no NULLs, so that a pruning predicate can be found on it.
        if column.name == "k" {
            return format!("(hash(i * 31 + {seed}) % 60)::INT");
        }
        format!("CASE WHEN hash(i + {seed}) % 7 = 0 THEN NULL ELSE {value} END")
    }

    fn insert(&mut self, rows: u64) -> String {
        let at = self.scratch.lake.current_snapshot().unwrap();
        let columns = self.columns(at);
        let names: Vec<String> = columns.iter().map(|column| identifier(&column.name)).collect();
        let values: Vec<String> = columns.iter().map(|column| self.value(column)).collect();
        format!(
            "INSERT INTO {} ({}) SELECT {} FROM range({rows}) r(i)",
            self.name(),
            names.join(", "),
            values.join(", ")
        )
    }

    fn condition(&mut self) -> String {
        match self.random.below(4) {
            0 => format!("k = {}", self.random.below(60)),
            1 => format!("k % {} = 0", 2 + self.random.below(5)),
            2 => format!("k < {}", self.random.below(60)),
            _ => format!("k IN ({}, {})", self.random.below(60), self.random.below(60)),
        }
    }

    fn update(&mut self) -> String {
        let at = self.scratch.lake.current_snapshot().unwrap();
        let columns = self.columns(at);
        let column = self.random.pick(&columns).clone();
        let value = self.value(&column).replace("(i ", "(k ");
        format!("UPDATE {} SET {} = {value} WHERE {}", self.name(), identifier(&column.name), self.condition())
    }

    fn delete(&mut self) -> String {
        format!("DELETE FROM {} WHERE {}", self.name(), self.condition())
    }

    fn change(&mut self) -> String {
        match self.random.below(8) {
            0..=1 => {
                let rows = 1 + self.random.below(4);
                self.insert(rows)
            }
            2 => {
                let rows = 12 + self.random.below(40);
                self.insert(rows)
            }
            3..=4 => self.update(),
            5..=6 => self.delete(),
            _ if self.random.once_in(3) => format!("DELETE FROM {}", self.name()),
            _ => format!("INSERT INTO {0} SELECT * FROM {0} LIMIT 3", self.name()),
        }
    }

    fn maintenance(&mut self) -> String {
        let arguments = format!("'lake', {}, schema => {}", literal(&self.table), literal(self.setting.schema));
        match self.random.below(7) {
            0..=1 => format!(
                "CALL ducklake_flush_inlined_data('lake', schema_name => {}, table_name => {})",
                literal(self.setting.schema),
                literal(&self.table)
            ),
            2 => format!("CALL ducklake_merge_adjacent_files({arguments})"),
            3 | 4 => format!(
                "CALL ducklake_rewrite_data_files({arguments}, delete_threshold => {})",
                self.random.pick(&["0", "0.3"])
            ),
            5 => "CHECKPOINT lake".to_owned(),
            _ => "CALL ducklake_cleanup_old_files('lake', cleanup_all => true)".to_owned(),
        }
    }

    fn expire(&mut self) -> String {
        let known: Vec<u64> = self.truths.keys().copied().collect();
        let one = *self.random.pick(&known);
        if self.random.once_in(2) {
            format!("CALL ducklake_expire_snapshots('lake', versions => [{one}])")
        } else {
            let versions: Vec<String> = (0..=one).map(|version| version.to_string()).collect();
            format!("CALL ducklake_expire_snapshots('lake', versions => [{}])", versions.join(", "))
        }
    }

    fn add_files(&mut self) -> Option<String> {
        let file = self.scratch.folder.path().join(format!("added_{}.parquet", self.random.below(1_000_000_000)));
        let file = literal(&file.to_string_lossy());
        let copy = format!("COPY (FROM {} LIMIT {}) TO {file}", self.name(), 3 + self.random.below(20));
        self.scratch.lake.execute(&copy).ok()?;
        Some(format!(
            "CALL ducklake_add_data_files('lake', {}, {file}, schema => {})",
            literal(&self.table),
            literal(self.setting.schema)
        ))
    }

    fn schema_change(&mut self) -> String {
        let name = self.name();
        let at = self.scratch.lake.current_snapshot().unwrap();
        let others: Vec<TableColumn> = self.columns(at).into_iter().filter(|column| column.name != "k").collect();
        self.names += 1;
        let fresh = format!("c {}", self.names);
        match self.random.below(9) {
            0 => format!("ALTER TABLE {name} ADD COLUMN {} INT", identifier(&fresh)),
            1 => format!("ALTER TABLE {name} ADD COLUMN {} VARCHAR DEFAULT 'new'", identifier(&fresh)),
            2 if others.len() > 2 => {
                format!("ALTER TABLE {name} DROP COLUMN {}", identifier(&self.random.pick(&others).name))
            }
            3 if !others.is_empty() => {
                let old = identifier(&self.random.pick(&others).name);
                format!("ALTER TABLE {name} RENAME COLUMN {old} TO {}", identifier(&fresh))
            }
            4 => format!("ALTER TABLE {name} ALTER COLUMN k SET DATA TYPE BIGINT"),
            5 => {
                self.table = format!("t '{}'", self.names);
                format!("ALTER TABLE {name} RENAME TO {}", identifier(&self.table))
            }
            6 => format!("ALTER TABLE {name} SET PARTITIONED BY (k)"),
            7 => format!("ALTER TABLE {name} RESET PARTITIONED BY"),
            _ => format!("ALTER TABLE {name} SET SORTED BY (k DESC)"),
        }
    }

    fn step(&mut self, totals: &mut Totals) -> bool {
        match self.random.below(20) {
            7..=9 => {
                let statements: Vec<String> = (0..2 + self.random.below(3)).map(|_| self.change()).collect();
                self.commit(&statements, totals)
            }
            10..=13 | 19 => {
                let statement = self.maintenance();
                self.commit(&[statement], totals)
            }
            14 => match self.add_files() {
                Some(statement) => self.commit(&[statement], totals),
                None => true,
            },
            15 if self.setting.expiry => {
                let statement = self.expire();
                self.commit(&[statement], totals)
            }
            16 => {
                let rows = self.random.below(30);
                let other = format!("CREATE OR REPLACE TABLE lake.main.other AS FROM range({rows}) r(i)");
                self.commit(&[other], totals)
            }
            17..=18 if self.setting.schema_changes => {
                let statement = self.schema_change();
                let before = self.table.clone();
                let go_on = self.commit(std::slice::from_ref(&statement), totals);
                if self.scratch.lake.query(&format!("SELECT 1 FROM {} LIMIT 0", self.name())).is_err() {
                    self.table = before;
                }
                go_on
            }
            _ => {
                let statement = self.change();
                self.commit(&[statement], totals)
            }
        }
    }

    fn run(&mut self, totals: &mut Totals) {
        let rows = 10 + self.random.below(40);
        let statement = self.insert(rows);
        self.commit(&[statement], totals);
        let last = self.scratch.current() + 9;
        let mut steps = 0;
        while self.scratch.current() < last && steps < 24 {
            steps += 1;
            if !self.step(totals) {
                return;
            }
        }
        self.check(totals);
    }

    /// Every window between two snapshots that still exist.
    fn check(&self, totals: &mut Totals) {
        let transaction = self.scratch.lake.begin().unwrap();
        let exists = |id: &u64| transaction.snapshot_exists(SnapshotId(*id)).unwrap();
        let snapshots: Vec<u64> = (1..=transaction.snapshot().0).filter(exists).collect();
        let there: Vec<SnapshotId> = snapshots
            .into_iter()
            .map(SnapshotId)
            .filter(|at| transaction.table_by_id(self.id, *at).unwrap().is_some())
            .collect();
        for at in &there {
            let table = transaction.table_by_id(self.id, *at).unwrap().unwrap();
            let sql = format!("CREATE OR REPLACE TEMP TABLE at_{at} AS FROM {}", transaction.at(&table, *at));
            transaction.execute(&sql).unwrap();
            let read = transaction.query_value(&format!("SELECT count(*) FROM at_{at}")).unwrap().as_u64().unwrap();
            assert_eq!(transaction.count_at(&table, *at).unwrap(), read, "rows at {at}: {}", self.story());
        }
        let wrong: Vec<SnapshotId> =
            there.iter().copied().filter(|at| !self.reads_as_it_was(&transaction, *at)).collect();
        totals.wrong_reads += wrong.len() as u64;
        for from in &there {
            for to in there.iter().filter(|to| *to > from) {
                self.check_window(&transaction, *from, *to, &wrong, totals);
            }
        }
    }

    fn reads_as_it_was(&self, transaction: &Transaction<'_>, at: SnapshotId) -> bool {
        let Some(known) = self.truths.get(&at.0) else { return true };
        let columns = self.columns(at);
        let same: Vec<_> = columns.iter().map(|column| (column.id, column.name.clone())).collect();
        assert_eq!(&same, known, "columns at {at}");
        difference(transaction, &format!("FROM at_{at}"), &format!("FROM truth_{at}")).is_empty()
    }

    fn check_window(
        &self,
        transaction: &Transaction<'_>,
        from: SnapshotId,
        to: SnapshotId,
        wrong: &[SnapshotId],
        totals: &mut Totals,
    ) {
        totals.windows += 1;
        let new_columns = self.columns(to);
        let columns: Vec<(ColumnId, String)> =
            new_columns.iter().enumerate().map(|(index, column)| (column.id, format!("o{index}"))).collect();
        let request = NetChangeRequest { table: self.id, from, to, columns: &columns, into: "delta" };
        let recorded = self.truth_count(from);
        let guards = transaction.check_guards(self.id, from, to, recorded).unwrap();
        if wrong.contains(&from) {
            assert!(!guards.is_empty(), "{from} reads wrong and no guard tells: {}", self.story());
        }
        let started = Instant::now();
        let staged = transaction.stage_net_change_with(&request, &self.setting.tuning);
        totals.staging_ms += started.elapsed().as_millis();
        let change = match staged {
            Ok(change) => change,
            Err(LakeError::UnreadablePast { .. }) => {
                totals.unreadable += 1;
                assert!(guards.iter().any(|failure| failure.guard == Guard::DoubledDeletes), "{guards:?}");
                return;
            }
            Err(error) => panic!("({from}, {to}]: {error}\n{}", self.story()),
        };
        match (change.method, &change.reason) {
            (Method::FullDifference, Some(reason)) => {
                // The count is the last line of defence; where reads are right it must never be needed.
                assert!(!reason.contains("do not make") || !wrong.is_empty(), "{reason}\n{}", self.story());
                let reason: String = reason.chars().filter(|c| !c.is_ascii_digit()).collect();
                *totals.full.entry(reason).or_default() += 1;
            }
            _ => totals.per_file += 1,
        }
        totals.cut += u64::from(change.pieces != [(from, to)]);
        totals.count_branches(&change.statements.join("\n"));
        let (old, new) = (self.rows(from, &new_columns), self.rows(to, &new_columns));
        let names = columns.iter().map(|(_, name)| name.clone()).collect::<Vec<_>>().join(", ");
        // Text tells values apart that compare as equal, such as 0.0 and -0.0.
        let rows = transaction.query(&format!(
            "SELECT {names}, sum(__weight) FROM (SELECT COLUMNS(* EXCLUDE __weight)::VARCHAR, __weight FROM (\
             SELECT *, 1 AS __weight FROM ({old}) UNION ALL SELECT *, -1 FROM ({new}) UNION ALL FROM delta)) \
             GROUP BY ALL HAVING sum(__weight) <> 0 LIMIT 20"
        ));
        let rows = rows.unwrap_or_else(|error| panic!("({from}, {to}] {error}\n{}", self.story())).rows;
        assert!(rows.is_empty(), "({from}, {to}] {change:#?}\n{rows:?}\n{}", self.story());
        if change.rows > 0 {
            assert!(transaction.changed(self.id, from, to).unwrap(), "({from}, {to}] changed: {}", self.story());
        }
    }

    fn truth_count(&self, at: SnapshotId) -> Option<u64> {
        self.truths.get(&at.0)?;
        Some(self.scratch.lake.query_value(&format!("SELECT count(*) FROM truth_{at}")).unwrap().as_u64().unwrap())
    }

    /// The rows at a snapshot with the columns `wanted`, found by their ids; one that did not exist yet is NULL.
    fn rows(&self, at: SnapshotId, wanted: &[TableColumn]) -> String {
        let live = self.columns(at);
        let columns: Vec<String> = wanted
            .iter()
            .enumerate()
            .map(|(index, column)| {
                let found = live.iter().find(|old| old.id == column.id);
                let value = found.map_or("NULL".to_owned(), |old| identifier(&old.name));
                format!("{value}::{} AS o{index}", column.data_type)
            })
            .collect();
        format!("SELECT {} FROM at_{at}", columns.join(", "))
    }

    fn story(&self) -> String {
        format!("{:?}\n{}", self.setting, self.log.join(";\n"))
    }
}

/// The rows in which two bags differ, or nothing.
fn difference(transaction: &Transaction<'_>, left: &str, right: &str) -> String {
    let sql = format!(
        "(SELECT 'left only', * FROM (({left}) EXCEPT ALL ({right}))) UNION ALL \
         (SELECT 'right only', * FROM (({right}) EXCEPT ALL ({left}))) LIMIT 20"
    );
    let rows = transaction.query(&sql).unwrap_or_else(|error| panic!("{error}\n{sql}"));
    rows.rows.iter().fold(String::new(), |mut text, row| {
        let _ = writeln!(text, "{row:?}");
        text
    })
}

#[test]
fn every_window_of_random_histories_is_exact() {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let replayed = number("DUCKLAKE_IVM_SEED");
    let histories = replayed.map_or_else(|| number("DUCKLAKE_IVM_HISTORIES").unwrap_or(25), |_| 1);
    let first = replayed.unwrap_or(1);
    let mut totals = Totals::default();
    let started = Instant::now();
    for seed in first..first + histories {
        println!("DUCKLAKE_IVM_SEED={seed}");
        History::new(seed, replayed.is_some()).run(&mut totals);
    }
    totals.elapsed_ms = started.elapsed().as_millis();
    println!("{totals:#?}");
    assert!(totals.per_file > 0 || replayed.is_some());
    assert!(totals.unreadable * 10 <= totals.windows, "too many windows were given up: {totals:?}");
}
