//! Plays a history on a lake, syncs views across it in one window and in many, and judges every sync by a recompute.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ducklake_ivm::inspect::verify;
use ducklake_ivm::lake::{Lake, LakeError, LakeOptions, identifier, literal};
use ducklake_ivm::sync::{Event, Method, SyncOptions, ViewReport, sync};
use ducklake_ivm::view::{Creation, ViewName, create, drop_view};
use tempfile::TempDir;

use super::model::{Column, FIRST_NAMES, Model, ROLES, Role, SCHEMA, columns_of, first_columns};
use super::operations::{Change, ChangeKind, Condition, Expiry, Maintenance, MaintenanceCall, Operation, SchemaChange};
use super::views::{Expected, TEMPLATES, Watched, bind};

/// An empty lake, and the folder for it.
pub type MakeLake<'a> = dyn Fn() -> (LakeOptions, TempDir) + Sync + 'a;

/// A history to be played.
#[derive(Clone, Debug)]
pub struct Case {
    pub inlining: u32,
    /// Which of the [`TEMPLATES`] are watched.
    pub templates: Vec<usize>,
    pub operations: Vec<Operation>,
}

/// What histories came to.
#[derive(Debug, Default)]
pub struct Totals {
    pub histories: u64,
    pub windows: u64,
    pub broken: u64,
    pub strategies: BTreeMap<String, u64>,
    pub refused: BTreeMap<String, u64>,
    pub unverified: BTreeMap<String, u64>,
}

impl Totals {
    pub fn add(&mut self, other: &Totals) {
        self.histories += other.histories;
        self.windows += other.windows;
        self.broken += other.broken;
        for (own, others) in [
            (&mut self.strategies, &other.strategies),
            (&mut self.refused, &other.refused),
            (&mut self.unverified, &other.unverified),
        ] {
            for (key, count) in others {
                *own.entry(key.clone()).or_default() += count;
            }
        }
    }
}

/// Why a history ends early.
enum Stop {
    /// Something is wrong.
    Failed(String),
    /// DuckDB failed in itself, in a statement of ours that is not the product's.
    Engine,
}

impl From<String> for Stop {
    fn from(problem: String) -> Self {
        Stop::Failed(problem)
    }
}

/// Plays a case; the error holds what went wrong, and a script of the history.
pub fn play(case: &Case, make: &MakeLake<'_>, totals: &mut Totals) -> Result<(), String> {
    let (options, folder) = make();
    let lake = Lake::open(&options).map_err(|error| format!("open: {error}"))?;
    let mut run = Run {
        lake,
        folder,
        model: Model::new(),
        views: Vec::new(),
        script: String::new(),
        buckets: false,
        expired: false,
        files: 0,
        totals,
    };
    run.totals.histories += 1;
    match run.go(case) {
        Ok(()) | Err(Stop::Engine) => Ok(()),
        Err(Stop::Failed(problem)) => {
            Err(format!("{problem}\n--- script, inlining {} ---\n{}", case.inlining, run.script))
        }
    }
}

struct Run<'a> {
    lake: Lake,
    folder: TempDir,
    model: Model,
    views: Vec<Watched>,
    script: String,
    /// A table was partitioned by buckets: plain reads miss rows from then on.
    buckets: bool,
    expired: bool,
    files: u64,
    totals: &'a mut Totals,
}

impl Run<'_> {
    fn go(&mut self, case: &Case) -> Result<(), Stop> {
        self.must(&format!("CALL lake.set_option('data_inlining_row_limit', {})", case.inlining))?;
        self.must(&format!("CREATE SCHEMA {}", identifier(SCHEMA)))?;
        for (slot, name) in FIRST_NAMES.into_iter().enumerate() {
            self.make_table(slot, name)?;
            let insert = self.insert(slot, 20, 7 + slot as u64).unwrap_or_default();
            self.must(&insert)?;
        }
        for (position, template) in case.templates.iter().enumerate() {
            for often in [true, false] {
                let name = format!("{}_{position}", if often { "often" } else { "once" });
                self.create_view(&name, *template, often, false)?;
            }
        }
        for operation in &case.operations {
            self.step(operation)?;
        }
        if case.inlining > 0 {
            self.verify(false)?;
        }
        self.sync(true)?;
        let before = self.current()?;
        self.sync(true)?;
        if self.current()? != before {
            return Err(Stop::Failed("a sync with nothing to do made a snapshot".to_owned()));
        }
        self.verify(true)
    }

    fn current(&self) -> Result<u64, Stop> {
        Ok(self.lake.current_snapshot().map_err(|error| error.to_string())?.0)
    }

    /// A statement that has to succeed.
    fn must(&mut self, sql: &str) -> Result<(), Stop> {
        let _ = writeln!(self.script, "{sql};");
        self.lake.execute(sql).map_err(|error| format!("{sql}: {error}"))?;
        Ok(())
    }

    /// Statements in one transaction; says whether DuckLake took them.
    fn commit(&mut self, statements: &[String]) -> Result<bool, Stop> {
        let result = if let [statement] = statements {
            self.lake.execute(statement).map(|_| ())
        } else {
            self.lake.begin().and_then(|transaction| {
                statements.iter().try_for_each(|statement| transaction.execute(statement).map(|_| ()))?;
                transaction.commit()
            })
        };
        let text = statements.join(";\n");
        match result {
            Ok(()) if statements.len() == 1 => {
                let _ = writeln!(self.script, "{text};");
                Ok(true)
            }
            Ok(()) => {
                let _ = writeln!(self.script, "BEGIN;\n{text};\nCOMMIT;");
                Ok(true)
            }
            Err(error) => {
                let kind: String = statements[0].split([' ', '(']).take(3).collect::<Vec<_>>().join(" ");
                let kind = format!("{kind}: {error:.80}");
                *self.totals.refused.entry(kind).or_default() += 1;
                let _ = writeln!(self.script, "-- refused: {}\n--   {error:.90}", text.replace('\n', "\n--   "));
                if matches!(error, LakeError::Engine { .. }) { Err(Stop::Engine) } else { Ok(false) }
            }
        }
    }

    /// Whatever reads this table may have something to do.
    fn stir(&mut self, table: u64) {
        let name = self.model.tables[&table].name.clone();
        // A table that takes the name of one that is gone may stand in for it.
        let stirred = |view: &Watched| view.reads(table) || view.sources.iter().any(|source| source.name == name);
        self.views.iter_mut().filter(|view| stirred(view)).for_each(|view| view.stirred = true);
    }

    fn step(&mut self, operation: &Operation) -> Result<(), Stop> {
        match operation {
            Operation::Transaction(changes) => self.transaction(changes),
            Operation::Maintain(maintenance) => self.maintain(*maintenance),
            Operation::Schema { slot, change } => self.schema_change(*slot, *change),
            Operation::Expire(expiry) => self.expire(*expiry),
            Operation::Elsewhere(rows) => {
                let other = format!("CREATE OR REPLACE TABLE lake.main.other AS FROM range({rows}) r(i)");
                self.commit(&[other]).map(|_| ())
            }
            Operation::Sync => self.sync(false),
        }
    }

    fn transaction(&mut self, changes: &[Change]) -> Result<(), Stop> {
        let statements: Vec<String> = changes.iter().filter_map(|change| self.change(change)).collect();
        if !statements.is_empty() && self.commit(&statements)? {
            for change in changes {
                if let Some(table) = self.model.slots[change.slot] {
                    self.stir(table);
                }
            }
        }
        Ok(())
    }

    fn change(&self, change: &Change) -> Option<String> {
        let table = self.model.table(change.slot)?;
        let name = table.sql();
        let key = identifier(&table.with_role(Role::Key)?.name);
        Some(match &change.kind {
            ChangeKind::Insert { rows, seed } => return self.insert(change.slot, *rows, *seed),
            ChangeKind::Copy => format!("INSERT INTO {name} SELECT * FROM {name} ORDER BY ALL LIMIT 3"),
            ChangeKind::Delete(condition) => format!("DELETE FROM {name} WHERE {}", condition.sql(&key)),
            ChangeKind::DeleteAll => format!("DELETE FROM {name}"),
            ChangeKind::Update { column, seed, rows } => {
                let column = &table.columns[pick(table.columns.len(), *column)];
                let value = value(column, &key, *seed);
                format!("UPDATE {name} SET {} = {value} WHERE {}", identifier(&column.name), rows.sql(&key))
            }
            ChangeKind::Idle(condition) => format!("UPDATE {name} SET {key} = {key} WHERE {}", condition.sql(&key)),
        })
    }

    fn insert(&self, slot: usize, rows: u64, seed: u64) -> Option<String> {
        let table = self.model.table(slot)?;
        let names: Vec<String> = table.columns.iter().map(|column| identifier(&column.name)).collect();
        let values: Vec<String> = table.columns.iter().map(|column| value(column, "i", seed)).collect();
        let (names, values) = (names.join(", "), values.join(", "));
        Some(format!("INSERT INTO {} ({names}) SELECT {values} FROM range({rows}) r(i)", table.sql()))
    }

    fn maintain(&mut self, maintenance: Maintenance) -> Result<(), Stop> {
        let name = maintenance.slot.and_then(|slot| self.model.table(slot)).map(|table| table.name.clone());
        let schema = literal(SCHEMA);
        let of_table = name.as_deref().map_or(String::new(), |name| format!(", {}, schema => {schema}", literal(name)));
        let call = match maintenance.call {
            MaintenanceCall::Flush => {
                let of_table = name.as_deref().map_or(String::new(), |name| {
                    format!(", schema_name => {schema}, table_name => {}", literal(name))
                });
                format!("CALL ducklake_flush_inlined_data('lake'{of_table})")
            }
            MaintenanceCall::Merge => format!("CALL ducklake_merge_adjacent_files('lake'{of_table})"),
            MaintenanceCall::Rewrite => {
                format!("CALL ducklake_rewrite_data_files('lake'{of_table}, delete_threshold => 0)")
            }
            MaintenanceCall::RewriteSome => {
                format!("CALL ducklake_rewrite_data_files('lake'{of_table}, delete_threshold => 0.3)")
            }
            MaintenanceCall::Checkpoint => "CHECKPOINT lake".to_owned(),
            MaintenanceCall::Cleanup => "CALL ducklake_cleanup_old_files('lake', cleanup_all => true)".to_owned(),
            MaintenanceCall::DeleteOrphans => {
                "CALL ducklake_delete_orphaned_files('lake', cleanup_all => true)".to_owned()
            }
        };
        if !maintenance.as_user {
            return self.commit(&[call]).map(|_| ());
        }
        let ours = self.optimizers_off()?;
        self.must("SET GLOBAL disabled_optimizers = ''")?;
        let outcome = self.commit(&[call]);
        self.must(&format!("SET GLOBAL disabled_optimizers = '{ours}'"))?;
        outcome.map(|_| ())
    }

    fn optimizers_off(&self) -> Result<String, Stop> {
        let setting = self.lake.query_value("SELECT current_setting('disabled_optimizers')");
        let setting = setting.map_err(|error| error.to_string())?;
        Ok(setting.as_str().unwrap_or_default().to_owned())
    }

    fn expire(&mut self, expiry: Expiry) -> Result<(), Stop> {
        let rows = self.lake.query("SELECT snapshot_id::BIGINT FROM ducklake_snapshots('lake') ORDER BY 1");
        let rows = rows.map_err(|error| error.to_string())?.rows;
        let mut known: Vec<u64> = rows.iter().filter_map(|row| row[0].as_u64().ok()).collect();
        known.pop();
        if known.is_empty() {
            return Ok(());
        }
        let gone = match expiry {
            Expiry::One(number) => vec![known[pick(known.len(), number)]],
            Expiry::UpTo(number) => known[..=pick(known.len(), number)].to_vec(),
            Expiry::AllButNewest => known,
        };
        let gone: Vec<String> = gone.iter().map(u64::to_string).collect();
        self.expired = true;
        self.commit(&[format!("CALL ducklake_expire_snapshots('lake', versions => [{}])", gone.join(", "))]).map(|_| ())
    }

    fn make_table(&mut self, slot: usize, name: &str) -> Result<bool, Stop> {
        let columns = first_columns();
        let list: Vec<String> =
            columns.iter().map(|(_, name, data_type)| format!("{} {data_type}", identifier(name))).collect();
        let create = format!("CREATE TABLE lake.{}.{} ({})", identifier(SCHEMA), identifier(name), list.join(", "));
        if !self.commit(&[create])? {
            return Ok(false);
        }
        let serial = self.model.add(name, &columns);
        self.model.slots[slot] = Some(serial);
        self.stir(serial);
        Ok(true)
    }

    fn drop_table(&mut self, serial: u64) -> Result<(), Stop> {
        let sql = format!("DROP TABLE {}", self.model.tables[&serial].sql());
        if self.commit(&[sql])? {
            self.dropped(serial)?;
        }
        Ok(())
    }

    fn dropped(&mut self, serial: u64) -> Result<(), Stop> {
        let now = self.current()?;
        self.stir(serial);
        if let Some(table) = self.model.tables.get_mut(&serial) {
            table.dropped = Some(now);
        }
        for slot in &mut self.model.slots {
            if *slot == Some(serial) {
                *slot = None;
            }
        }
        Ok(())
    }

    fn schema_change(&mut self, slot: usize, change: SchemaChange) -> Result<(), Stop> {
        let Some(serial) = self.model.slots[slot] else {
            return if let SchemaChange::DropAndCreate { rows, seed } = change {
                self.create_again(slot, rows, seed)
            } else {
                Ok(())
            };
        };
        let table = self.model.tables[&serial].clone();
        let name = table.sql();
        match change {
            SchemaChange::AddColumn { .. }
            | SchemaChange::AddAgain
            | SchemaChange::DropColumn(_)
            | SchemaChange::RenameColumn(_)
            | SchemaChange::Promote(_) => return self.column_change(slot, change),
            SchemaChange::Rename => {
                let fresh = self.model.fresh("t '");
                self.rename(serial, &fresh)?;
            }
            SchemaChange::RenameBack if table.name != FIRST_NAMES[slot] => {
                if let Some(other) = self.model.named(FIRST_NAMES[slot]).map(|table| table.serial) {
                    self.drop_table(other)?;
                }
                self.rename(serial, FIRST_NAMES[slot])?;
            }
            SchemaChange::RenameBack => {}
            SchemaChange::Decoy => {
                let fresh = self.model.fresh("away");
                if self.rename(serial, &fresh)? {
                    let away = self.model.tables[&serial].sql();
                    if self.commit(&[format!("CREATE TABLE {name} AS FROM {away} ORDER BY ALL LIMIT 3")])? {
                        let decoy = self.model.add(&table.name, &columns_of(&table));
                        self.stir(decoy);
                    }
                }
            }
            SchemaChange::Replace(condition) => self.replace(slot, condition)?,
            SchemaChange::DropAndCreate { rows, seed } => {
                self.drop_table(serial)?;
                self.create_again(slot, rows, seed)?;
            }
            SchemaChange::Drop => self.drop_table(serial)?,
            SchemaChange::AddFiles(rows) => self.add_files(serial, rows)?,
            SchemaChange::PartitionByKey
            | SchemaChange::PartitionByYear
            | SchemaChange::PartitionByBucket
            | SchemaChange::ResetPartition
            | SchemaChange::Sort
            | SchemaChange::ResetSort => self.layout(slot, change)?,
        }
        Ok(())
    }

    fn rename(&mut self, serial: u64, to: &str) -> Result<bool, Stop> {
        let sql = format!("ALTER TABLE {} RENAME TO {}", self.model.tables[&serial].sql(), identifier(to));
        let taken = self.commit(&[sql])?;
        if taken {
            self.stir(serial);
            if let Some(table) = self.model.tables.get_mut(&serial) {
                to.clone_into(&mut table.name);
            }
            self.stir(serial);
        }
        Ok(taken)
    }

    fn create_again(&mut self, slot: usize, rows: u64, seed: u64) -> Result<(), Stop> {
        let made = match self.model.named(FIRST_NAMES[slot]).map(|table| table.serial) {
            // A decoy has the name: from here on it is the slot's table.
            Some(other) => {
                self.model.slots[slot] = Some(other);
                true
            }
            None => self.make_table(slot, FIRST_NAMES[slot])?,
        };
        let insert = self.insert(slot, rows, seed).filter(|_| made);
        if let Some(insert) = insert {
            self.commit(&[insert])?;
            if let Some(table) = self.model.slots[slot] {
                self.stir(table);
            }
        }
        Ok(())
    }

    fn replace(&mut self, slot: usize, condition: Condition) -> Result<(), Stop> {
        let Some(table) = self.model.table(slot).cloned() else { return Ok(()) };
        let Some(key) = table.with_role(Role::Key) else { return Ok(()) };
        let name = table.sql();
        let kept = condition.sql(&identifier(&key.name));
        if self.commit(&[format!("CREATE OR REPLACE TABLE {name} AS FROM {name} WHERE NOT {kept}")])? {
            self.dropped(table.serial)?;
            let serial = self.model.add(&table.name, &columns_of(&table));
            self.model.slots[slot] = Some(serial);
            self.stir(serial);
        }
        Ok(())
    }

    fn add_files(&mut self, serial: u64, rows: u64) -> Result<(), Stop> {
        let table = &self.model.tables[&serial];
        self.files += 1;
        let file = self.folder.path().join(format!("added_{}.parquet", self.files));
        let file = literal(&file.to_string_lossy());
        let copy = format!("COPY (FROM {} ORDER BY ALL LIMIT {rows}) TO {file}", table.sql());
        let add = format!(
            "CALL ducklake_add_data_files('lake', {}, {file}, schema => {})",
            literal(&table.name),
            literal(SCHEMA)
        );
        self.must(&copy)?;
        if self.commit(&[add])? {
            self.stir(serial);
        }
        Ok(())
    }

    fn layout(&mut self, slot: usize, change: SchemaChange) -> Result<(), Stop> {
        let Some(table) = self.model.table(slot) else { return Ok(()) };
        let column = |role: Role| table.with_role(role).map(|column| identifier(&column.name));
        let layout = match change {
            SchemaChange::PartitionByKey => column(Role::Key).map(|key| format!("SET PARTITIONED BY ({key})")),
            SchemaChange::PartitionByYear => column(Role::Day).map(|day| format!("SET PARTITIONED BY (year({day}))")),
            SchemaChange::PartitionByBucket => {
                column(Role::Key).map(|key| format!("SET PARTITIONED BY (bucket(3, {key}))"))
            }
            SchemaChange::ResetPartition => Some("RESET PARTITIONED BY".to_owned()),
            SchemaChange::Sort => column(Role::Key).map(|key| format!("SET SORTED BY ({key} DESC)")),
            _ => Some("RESET SORTED BY".to_owned()),
        };
        let Some(layout) = layout else { return Ok(()) };
        let serial = table.serial;
        let sql = format!("ALTER TABLE {} {layout}", table.sql());
        if self.commit(&[sql])? {
            self.buckets |= change == SchemaChange::PartitionByBucket;
            self.stir(serial);
        }
        Ok(())
    }

    fn column_change(&mut self, slot: usize, change: SchemaChange) -> Result<(), Stop> {
        let Some(table) = self.model.table(slot).cloned() else { return Ok(()) };
        let others: Vec<&Column> = table.columns.iter().filter(|column| column.role != Role::Key).collect();
        let (mut table, name) = (table.clone(), table.sql());
        let serial = table.serial;
        let alter = match change {
            SchemaChange::AddColumn { with_default } => {
                let fresh = self.model.fresh("e");
                let column = self.column(Role::Extra, &fresh);
                let default = if with_default { " DEFAULT 41" } else { "" };
                let sql = format!("ADD COLUMN {} {}{default}", identifier(&column.name), column.data_type);
                table.columns.push(column);
                sql
            }
            SchemaChange::AddAgain => {
                let missing = ROLES.into_iter().find(|role| table.with_role(*role).is_none());
                let Some(role) = missing.filter(|role| table.named(role.first_name()).is_none()) else {
                    return Ok(());
                };
                let column = self.column(role, role.first_name());
                let sql = format!("ADD COLUMN {} {}", identifier(&column.name), column.data_type);
                table.columns.push(column);
                sql
            }
            SchemaChange::DropColumn(number) if others.len() > 2 => {
                let gone = others[pick(others.len(), number)].clone();
                table.columns.retain(|column| column.serial != gone.serial);
                table.dropped_columns.insert(gone.serial, self.current()? + 1);
                format!("DROP COLUMN {}", identifier(&gone.name))
            }
            SchemaChange::RenameColumn(number) => {
                let old = table.columns[pick(table.columns.len(), number)].clone();
                // Back to the first name, if that is free.
                let first = Some(old.role.first_name()).filter(|first| table.named(first).is_none());
                let new = first.map_or_else(|| self.model.fresh("c"), str::to_owned);
                table.columns.iter_mut().filter(|column| column.serial == old.serial).for_each(|column| {
                    column.name.clone_from(&new);
                });
                format!("RENAME COLUMN {} TO {}", identifier(&old.name), identifier(&new))
            }
            SchemaChange::Promote(number) => {
                let old = table.columns[pick(table.columns.len(), number)].clone();
                let Some(wider) = old.role.wider_type() else { return Ok(()) };
                table.columns.iter_mut().filter(|column| column.serial == old.serial).for_each(|column| {
                    wider.clone_into(&mut column.data_type);
                });
                format!("ALTER COLUMN {} SET DATA TYPE {wider}", identifier(&old.name))
            }
            _ => return Ok(()),
        };
        if self.commit(&[format!("ALTER TABLE {name} {alter}")])? {
            self.model.tables.insert(serial, table);
            self.stir(serial);
        }
        Ok(())
    }

    fn column(&mut self, role: Role, name: &str) -> Column {
        Column { serial: self.model.serial(), role, name: name.to_owned(), data_type: role.first_type().to_owned() }
    }

    /// Makes a view over the present tables of the slots, or stops watching it where they lack what it reads.
    fn create_view(&mut self, name: &str, template: usize, often: bool, again: bool) -> Result<(), Stop> {
        self.views.retain(|view| view.name != name);
        let Some((sql, sources)) = bind(&self.model, template) else {
            let _ = writeln!(self.script, "-- drop {name}");
            drop_view(&self.lake, &ViewName::new("main", name)).map_err(|error| format!("drop {name}: {error}"))?;
            return Ok(());
        };
        let _ = writeln!(self.script, "-- view {name}: {sql}");
        let creation = Creation { or_replace: again, ..Creation::new(ViewName::new("main", name), &sql) };
        create(&self.lake, &creation).map_err(|error| format!("create {name}: {error}"))?;
        self.compare(name, &sql)?;
        let watermark = self.current()?;
        let name = name.to_owned();
        self.views.push(Watched { name, template, often, sources, stirred: false, watermark });
        Ok(())
    }

    /// Syncs the views that are synced often, or all.
    fn sync(&mut self, all: bool) -> Result<(), Stop> {
        let views: Vec<Watched> = self.views.iter().filter(|view| all || view.often).cloned().collect();
        if views.is_empty() {
            return Ok(());
        }
        let _ = writeln!(self.script, "-- sync {}", if all { "all" } else { "often" });
        let names = views.iter().map(|view| ViewName::new("main", view.name.clone())).collect();
        let options = SyncOptions { views: names, ..SyncOptions::default() };
        let report = sync(&self.lake, &options, &|_: &Event<'_>| {}).map_err(|error| format!("sync: {error}"))?;
        for view in views {
            let own = format!("main.{}", view.name);
            let Some(report) = report.views.iter().find(|report| report.view == own) else {
                return Err(Stop::Failed(format!("no report of {own}")));
            };
            let _ = writeln!(self.script, "--   {own}: {:?} {:?} {:?}", report.strategy, report.reason, report.error);
            self.judge(view, report, report.sources.iter().map(|source| source.to.0).max()).map_err(
                |stop| match stop {
                    Stop::Failed(problem) => Stop::Failed(format!("{problem}\n{report:?}")),
                    Stop::Engine => Stop::Engine,
                },
            )?;
        }
        Ok(())
    }

    fn judge(&mut self, mut view: Watched, report: &ViewReport, to: Option<u64>) -> Result<(), Stop> {
        self.totals.windows += 1;
        let (expected, sources) = view.expected(&self.model);
        if let Some(error) = &report.error {
            let foreseen = match &expected {
                Expected::Rows { .. } => false,
                Expected::Broken(messages) => messages.iter().any(|message| {
                    // The catalog forgets with the snapshots when something was dropped.
                    message == error || self.expired && message.starts_with(error.as_str())
                }),
                Expected::RowsOrBroken { says, .. } => says.iter().any(|part| error.contains(part)),
            };
            if !foreseen {
                return Err(Stop::Failed(format!("{error}\nexpected {expected:?}")));
            }
            self.totals.broken += 1;
            return self.create_view(&view.name, view.template, view.often, true);
        }
        let (sql, misfit) = match expected {
            Expected::Broken(messages) => return Err(Stop::Failed(format!("should be broken: {messages:?}"))),
            Expected::Rows { sql, misfit } => (sql, misfit),
            Expected::RowsOrBroken { sql, .. } => (sql, true),
        };
        self.compare(&view.name, &sql)?;
        self.judge_strategy(&view, report, misfit)?;
        view.sources = sources;
        if misfit {
            for source in &mut view.sources {
                let table = &self.model.tables[&source.table];
                source.name.clone_from(&table.name);
                for (serial, name, _) in source.columns.values_mut() {
                    if let Some(column) = table.column(*serial) {
                        name.clone_from(&column.name);
                    }
                }
            }
        }
        view.stirred = false;
        view.watermark = to.unwrap_or(view.watermark);
        if let Some(watched) = self.views.iter_mut().find(|watched| watched.name == view.name) {
            *watched = view;
        }
        Ok(())
    }

    /// Nothing is written where nothing happened, and nothing is recomputed without saying why.
    fn judge_strategy(&mut self, view: &Watched, report: &ViewReport, misfit: bool) -> Result<(), Stop> {
        let reason = report.reason.clone().unwrap_or_default();
        let digits = |text: &str| text.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
        let short: String = digits(&reason).chars().take(70).collect();
        let guards: Vec<String> = report.guards.iter().map(|guard| digits(guard)).collect();
        let key = format!("{:?} {short} {guards:.90?}", report.strategy);
        *self.totals.strategies.entry(key).or_default() += 1;
        let problem = match report.strategy {
            Some(Method::Noop) => None,
            _ if !view.stirred && !reason.contains("can no longer be read") => {
                Some("it wrote although nothing but maintenance happened")
            }
            Some(Method::Incremental) if misfit => Some("it kept a plan that does not fit any more"),
            Some(Method::Recompute | Method::Full) => {
                let known = ["can no longer be read", "guard ", "changed its type", "was dropped and created again"];
                let said = known.iter().any(|known| reason.contains(known));
                (!said).then_some("it was recomputed for no known reason")
            }
            Some(Method::Incremental) => None,
            Some(Method::Follows) | None => Some("no strategy"),
        };
        problem.map_or(Ok(()), |problem| Err(Stop::Failed(problem.to_owned())))
    }

    /// The judge: `EXCEPT ALL` both ways, and the types of the columns.
    fn compare(&self, view: &str, sql: &str) -> Result<(), Stop> {
        let held = format!("FROM lake.main.{view}");
        let failed = |error: LakeError| Stop::Failed(format!("{view}: {error}"));
        let types = |sql: &str| -> Result<Vec<String>, LakeError> {
            Ok(self.lake.describe(sql)?.into_iter().map(|column| column.data_type).collect())
        };
        let (has, wants) = (types(&held).map_err(failed)?, types(sql).map_err(failed)?);
        if has != wants {
            return Err(Stop::Failed(format!("{view} has the types {has:?}, its query {wants:?}")));
        }
        let ours = self.optimizers_off()?;
        if self.buckets {
            let whole = format!("SET GLOBAL disabled_optimizers = '{ours},filter_pushdown,join_filter_pushdown'");
            self.lake.execute(&whole).map_err(failed)?;
        }
        let different = self.lake.query(&format!(
            "(SELECT 'too many', * FROM (({held}) EXCEPT ALL ({sql}))) UNION ALL \
             (SELECT 'missing', * FROM (({sql}) EXCEPT ALL ({held}))) LIMIT 5"
        ));
        if self.buckets {
            self.lake.execute(&format!("SET GLOBAL disabled_optimizers = '{ours}'")).map_err(failed)?;
        }
        match different.map_err(failed)?.rows.as_slice() {
            [] => Ok(()),
            rows => Err(Stop::Failed(format!("{view} differs from {sql}\n{rows:?}"))),
        }
    }

    /// Every view is what its query gives at its watermark; where it is not up to date that may be impossible to tell.
    fn verify(&mut self, up_to_date: bool) -> Result<(), Stop> {
        for found in verify(&self.lake, &[], 5).map_err(|error| error.to_string())? {
            if let (Some(error), false) = (&found.error, up_to_date) {
                let error: String = error.chars().filter(|c| !c.is_ascii_digit()).take(90).collect();
                *self.totals.unverified.entry(error).or_default() += 1;
            } else if !found.holds() {
                return Err(Stop::Failed(format!("not verified: {found:?}")));
            }
        }
        Ok(())
    }
}

fn pick(length: usize, number: u64) -> usize {
    usize::try_from(number % length.max(1) as u64).unwrap_or(0)
}

/// A value of a column as an expression over `of`, which differs from row to row.
fn value(column: &Column, of: &str, seed: u64) -> String {
    let pick = format!("(hash({of} * 7919 + {seed}) % 20)");
    let value = match column.role {
        // The key has no NULLs, so that a pruning predicate can be found on it.
        Role::Key => return format!("(hash({of} * 31 + {seed}) % 60)::INT"),
        Role::Group | Role::Extra => format!("{pick}::INT"),
        Role::Text => format!("'v' || {pick}"),
        Role::Day => format!("DATE '2024-01-01' + ({pick} * 40)::INT"),
        Role::Number => {
            format!("CASE {pick}::INT WHEN 1 THEN -0.0::FLOAT WHEN 2 THEN 'NaN'::FLOAT ELSE {pick}::FLOAT / 4 END")
        }
    };
    format!("CASE WHEN hash({of} + {seed}) % 7 = 0 THEN NULL ELSE {value} END")
}

/// The number of templates.
pub fn templates() -> usize {
    TEMPLATES.len()
}
