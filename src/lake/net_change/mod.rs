//! The exact net change of one table between two snapshots, at the cost of the change.
//!
//! In one state of the metadata every row version has one place, a file and a position in it, and a read at snapshot v
//! shows it iff its file is live at v, its label is not later than v, and its position is not among those deleted at v.
//! So the difference of the reads at p and q splits by file, without a value compared and without DuckLake's change
//! feed, which is not exact:
//!
//! | file | +1 | −1 |
//! |---|---|---|
//! | begun in (p, q], live at q | its rows at q | |
//! | live at p, ended in (p, q] | | its rows at p |
//! | live at both, holds labels after p | its rows at q with a label after p | |
//! | live at both, more deleted at q | | its rows at p at the positions deleted at q |
//! | rows inlined in the catalog | begun in (p, q], live at q | live at p, ended in (p, q] |
//!
//! Merges and flushes keep labels and are covered by the table. `rewrite_data_files` moves rows: the window is cut
//! there, for a commit that compacts changes no row.
//!
//! Whatever does not fit (a column named like a virtual one, a column that gained a value, names of files that do not
//! match, a count that does not add up) ends in the difference of two full reads, which is as exact and reads the whole
//! table twice.

mod branches;
mod classify;
mod faces;
mod full;
mod positions;
mod prune;
mod segments;

use super::{ColumnId, LakeError, SnapshotId, TableId, Transaction, known::TableWindow, text::identifier};
use branches::Branch;
use faces::Faces;
use std::collections::BTreeSet;

/// Asked for like a column, it is DuckLake's row id, which a row keeps when it is updated or moved; NULL where a column
/// of the user's hides it.
pub const ROW_ID: ColumnId = ColumnId(u64::MAX);

/// What is asked for: the net change of `columns` of a table in a window, put into a temporary table.
#[derive(Clone, Debug)]
pub struct NetChangeRequest<'a> {
    /// The table.
    pub table: TableId,
    /// The snapshot whose rows are the old ones.
    pub from: SnapshotId,
    /// The snapshot whose rows are the new ones.
    pub to: SnapshotId,
    /// The columns, and how they are to be called.
    pub columns: &'a [(ColumnId, String)],
    /// The temporary table: the columns, each of the type that it has at `to`, and `__weight BIGINT`.
    pub into: &'a str,
}

/// How the work is done; never what comes of it.
#[derive(Clone, Debug)]
pub struct Tuning {
    /// Up to so many deleted positions are written into the statement; more go through a temporary table.
    pub literal_positions: usize,
    /// From so many data files on, a predicate is looked for that lets DuckLake skip most of them while planning.
    pub prune_from_files: u64,
    /// Reads the positions from the delete files themselves.
    pub read_delete_files: bool,
    /// Reads inlined rows from the catalog's own tables where that gives the same values.
    pub read_inlined_rows: bool,
    /// Cuts the window at rewrites.
    pub cut: bool,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            literal_positions: 2_000,
            prune_from_files: 200,
            read_delete_files: true,
            read_inlined_rows: true,
            cut: true,
        }
    }
}

/// How a net change was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Method {
    /// Nothing that could hold a change was found in the metadata.
    Unchanged,
    /// File by file, from the metadata.
    PerFile,
    /// As the difference of two reads of the whole table.
    FullDifference,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetChange {
    /// The sum of the positive weights.
    pub inserted: u64,
    /// The sum of the negative weights, without its sign.
    pub deleted: u64,
    /// The rows of the temporary table.
    pub rows: u64,
    /// Whether equal rows are one row, with the sum of their weights.
    pub consolidated: bool,
    /// The rows of the whole table at `to`.
    pub count_at_to: u64,
    /// How it was found.
    pub method: Method,
    /// Why the whole table had to be read, if it had.
    pub reason: Option<String>,
    /// The data files, and tables of inlined rows, that were read.
    pub files_read: u64,
    /// The windows that the window was cut into.
    pub pieces: Vec<(SnapshotId, SnapshotId)>,
    /// The statements that made the temporary table.
    pub statements: Vec<String>,
}

/// Why a window cannot be taken apart by files.
enum Failure {
    /// It can be read as two whole tables.
    Reread(String),
    /// It can not be done at all.
    Lake(LakeError),
}

impl From<LakeError> for Failure {
    fn from(error: LakeError) -> Self {
        Self::Lake(error)
    }
}

impl Transaction<'_> {
    /// Puts the exact net change of a table in a window into a temporary table.
    pub fn stage_net_change(&self, request: &NetChangeRequest<'_>) -> Result<NetChange, LakeError> {
        self.stage_net_change_with(request, &Tuning::default())
    }

    /// The same, with a say in how it is done.
    pub fn stage_net_change_with(
        &self,
        request: &NetChangeRequest<'_>,
        tuning: &Tuning,
    ) -> Result<NetChange, LakeError> {
        let faces = Faces::load(self, request)?;
        match self.stage_per_file(request, &faces, tuning) {
            Ok(change) => Ok(change),
            Err(Failure::Lake(error)) => Err(error),
            Err(Failure::Reread(reason)) => {
                tracing::info!(table = %request.table, from = %request.from, to = %request.to, %reason, "full read");
                full::stage(self, request, &faces, Some(reason))
            }
        }
    }

    /// Puts the difference of two reads of the whole table into a temporary table. As exact as
    /// [`Transaction::stage_net_change`] and much slower.
    pub fn full_difference(&self, request: &NetChangeRequest<'_>) -> Result<NetChange, LakeError> {
        let faces = Faces::load(self, request)?;
        full::stage(self, request, &faces, None)
    }

    fn stage_per_file(
        &self,
        request: &NetChangeRequest<'_>,
        faces: &Faces,
        tuning: &Tuning,
    ) -> Result<NetChange, Failure> {
        if let Some(reason) = faces.obstacle() {
            return Err(Failure::Reread(reason));
        }
        let window = TableWindow { table: request.table, from: request.from, to: request.to };
        if self.soundness(window)?.deletion_vectors {
            return Err(Failure::Lake(faces.unreadable("it has deletion vectors, which change its past")));
        }
        let mut pieces = if tuning.cut {
            segments::cut(self, request.table, request.from, request.to)?
        } else {
            vec![(request.from, request.to)]
        };
        let stores = self.inlined_stores(request.table)?;
        let table = branches::Table { id: request.table, faces, stores: &stores, into: request.into, tuning };
        let mut branches = match branches::of_pieces(self, &table, &pieces) {
            Err(Failure::Reread(_)) if pieces != [(request.from, request.to)] => {
                // A read at a cut may be wrong where the reads at both ends are right.
                pieces = vec![(request.from, request.to)];
                branches::of_pieces(self, &table, &pieces)?
            }
            other => other?,
        };
        branches.sort_by_key(|branch| branch.weight < 0);
        let change = self.stage_branches(request, faces, &branches, pieces)?;
        for branch in &branches {
            if let Some(positions) = &branch.positions_table {
                self.execute(&format!("DROP TABLE IF EXISTS temp.{}", identifier(positions)))?;
            }
        }
        Ok(change)
    }

    fn stage_branches(
        &self,
        request: &NetChangeRequest<'_>,
        faces: &Faces,
        branches: &[Branch],
        pieces: Vec<(SnapshotId, SnapshotId)>,
    ) -> Result<NetChange, Failure> {
        let old = self.count_of(faces, request.from)?;
        let new = self.count_of(faces, request.to)?;
        let selects: Vec<&str> = branches.iter().map(|branch| branch.sql.as_str()).collect();
        let both_signs =
            branches.iter().any(|branch| branch.weight > 0) && branches.iter().any(|branch| branch.weight < 0);
        let statement = match (selects.is_empty(), both_signs) {
            (true, _) => full::create(request.into, &faces.nothing()),
            (false, false) => full::create(request.into, &selects.join("\nUNION ALL\n")),
            // One row can be both: moved by an update that left the asked columns alone, or by a rewrite.
            (false, true) => full::create(request.into, &faces.consolidated(&selects.join("\nUNION ALL\n"))),
        };
        self.execute(&statement)?;
        let staged = full::weigh(self, request.into)?;
        if i128::from(old) + staged.inserted - staged.deleted != i128::from(new) {
            return Err(Failure::Reread(format!(
                "{old} rows at {} and a net change of +{} −{} do not make the {new} rows at {}",
                request.from, staged.inserted, staged.deleted, request.to
            )));
        }
        let files: BTreeSet<&String> = branches.iter().flat_map(|branch| &branch.files).collect();
        Ok(NetChange {
            inserted: full::count(staged.inserted)?,
            deleted: full::count(staged.deleted)?,
            rows: staged.rows,
            consolidated: selects.is_empty() || both_signs,
            count_at_to: new,
            method: if selects.is_empty() { Method::Unchanged } else { Method::PerFile },
            reason: None,
            files_read: files.len() as u64,
            pieces,
            statements: vec![statement],
        })
    }

    /// The rows at a snapshot; none if the table did not exist.
    fn count_of(&self, faces: &Faces, at: SnapshotId) -> Result<u64, LakeError> {
        faces.history.identity(at).map_or(Ok(0), |table| self.count_at(table, at))
    }
}
