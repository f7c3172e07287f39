//! What can be done to a lake. An operation carries its own random numbers, and is resolved against whatever the lake
//! is when its turn comes: so operations can be left out of a failing history one by one.

use super::random::Random;

/// One commit, or a call that maintains the lake, or a sync of the views that are synced often.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// Statements on the rows of the tables, in one transaction.
    Transaction(Vec<Change>),
    Maintain(Maintenance),
    Schema {
        slot: usize,
        change: SchemaChange,
    },
    Expire(Expiry),
    /// A change of a table that no view reads.
    Elsewhere(u64),
    Sync,
}

/// A statement that changes rows of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    pub slot: usize,
    pub kind: ChangeKind,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ChangeKind {
    Insert {
        rows: u64,
        seed: u64,
    },
    /// Copies of rows that are there.
    Copy,
    Delete(Condition),
    DeleteAll,
    Update {
        column: u64,
        seed: u64,
        rows: Condition,
    },
    /// Sets a column to itself.
    Idle(Condition),
}

/// A condition on the key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Condition {
    Is(u64),
    Multiple(u64),
    Below(u64),
    Pair(u64, u64),
}

impl Condition {
    pub fn sql(self, key: &str) -> String {
        match self {
            Condition::Is(value) => format!("{key} = {value}"),
            Condition::Multiple(of) => format!("{key} % {of} = 0"),
            Condition::Below(bound) => format!("{key} < {bound}"),
            Condition::Pair(one, other) => format!("{key} IN ({one}, {other})"),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Maintenance {
    pub call: MaintenanceCall,
    /// Of this table; else of the whole lake.
    pub slot: Option<usize>,
    /// In a session like a user's, where no optimizer is off.
    pub as_user: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MaintenanceCall {
    Flush,
    Merge,
    Rewrite,
    RewriteSome,
    Checkpoint,
    Cleanup,
    DeleteOrphans,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SchemaChange {
    AddColumn {
        with_default: bool,
    },
    /// A column of one of the roles that was dropped comes back, under its first name.
    AddAgain,
    DropColumn(u64),
    RenameColumn(u64),
    Promote(u64),
    Rename,
    /// Back to its first name, after whatever else has that name is dropped.
    RenameBack,
    /// The table is renamed, and another one takes its name.
    Decoy,
    Replace(Condition),
    DropAndCreate {
        rows: u64,
        seed: u64,
    },
    Drop,
    AddFiles(u64),
    PartitionByKey,
    PartitionByYear,
    PartitionByBucket,
    ResetPartition,
    Sort,
    ResetSort,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Expiry {
    One(u64),
    UpTo(u64),
    AllButNewest,
}

/// What a history may do besides changing rows and maintaining files.
#[derive(Clone, Copy, Debug)]
pub struct Kinds {
    pub schema_changes: bool,
    pub expiry: bool,
}

/// A history of `length` operations.
pub fn operations(random: &mut Random, kinds: Kinds, length: usize) -> Vec<Operation> {
    (0..length).map(|_| operation(random, kinds)).collect()
}

fn operation(random: &mut Random, kinds: Kinds) -> Operation {
    match random.below(24) {
        5..=7 => {
            let statements = 2 + random.below(3);
            Operation::Transaction((0..statements).map(|_| change(random)).collect())
        }
        8..=12 => Operation::Maintain(maintenance(random)),
        13..=14 if kinds.expiry => Operation::Expire(match random.below(5) {
            0..=1 => Expiry::One(random.next()),
            2..=3 => Expiry::UpTo(random.next()),
            _ => Expiry::AllButNewest,
        }),
        15..=17 if kinds.schema_changes => Operation::Schema { slot: slot(random), change: schema_change(random) },
        18 => Operation::Elsewhere(random.below(30)),
        19..=22 => Operation::Sync,
        _ => Operation::Transaction(vec![change(random)]),
    }
}

fn slot(random: &mut Random) -> usize {
    usize::from(random.once_in(3))
}

fn condition(random: &mut Random) -> Condition {
    match random.below(4) {
        0 => Condition::Is(random.below(60)),
        1 => Condition::Multiple(2 + random.below(5)),
        2 => Condition::Below(random.below(60)),
        _ => Condition::Pair(random.below(60), random.below(60)),
    }
}

fn change(random: &mut Random) -> Change {
    let kind = match random.below(16) {
        0..=2 => ChangeKind::Insert { rows: 1 + random.below(4), seed: random.below(1_000_000) },
        3..=4 => ChangeKind::Insert { rows: 12 + random.below(30), seed: random.below(1_000_000) },
        5..=8 => ChangeKind::Update { column: random.next(), seed: random.below(1_000_000), rows: condition(random) },
        9..=12 => ChangeKind::Delete(condition(random)),
        13 => ChangeKind::DeleteAll,
        14 => ChangeKind::Idle(condition(random)),
        _ => ChangeKind::Copy,
    };
    Change { slot: slot(random), kind }
}

fn maintenance(random: &mut Random) -> Maintenance {
    let call = *random.pick(&[
        MaintenanceCall::Flush,
        MaintenanceCall::Flush,
        MaintenanceCall::Merge,
        MaintenanceCall::Rewrite,
        MaintenanceCall::Rewrite,
        MaintenanceCall::RewriteSome,
        MaintenanceCall::Checkpoint,
        MaintenanceCall::Cleanup,
        MaintenanceCall::DeleteOrphans,
    ]);
    let slot = if random.once_in(2) { Some(slot(random)) } else { None };
    Maintenance { call, slot, as_user: random.once_in(3) }
}

fn schema_change(random: &mut Random) -> SchemaChange {
    match random.below(26) {
        0..=1 => SchemaChange::AddColumn { with_default: random.once_in(2) },
        2..=3 => SchemaChange::AddAgain,
        4..=5 => SchemaChange::DropColumn(random.next()),
        6..=8 => SchemaChange::RenameColumn(random.next()),
        9..=10 => SchemaChange::Promote(random.next()),
        11 => SchemaChange::Rename,
        12..=13 => SchemaChange::RenameBack,
        14 => SchemaChange::Decoy,
        15 => SchemaChange::Replace(condition(random)),
        16 => SchemaChange::DropAndCreate { rows: 1 + random.below(30), seed: random.below(1_000_000) },
        17 => SchemaChange::Drop,
        18..=19 => SchemaChange::AddFiles(3 + random.below(20)),
        20 => SchemaChange::PartitionByKey,
        21 => SchemaChange::PartitionByYear,
        22 => SchemaChange::PartitionByBucket,
        23 => SchemaChange::ResetPartition,
        24 => SchemaChange::Sort,
        _ => SchemaChange::ResetSort,
    }
}
