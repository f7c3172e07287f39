//! The parts of a net change: one SELECT for each way in which rows came or went.

use super::{
    Failure, SnapshotId, TableId, Transaction, Tuning,
    classify::{Fate, TouchedFile, touched_files},
    faces::Faces,
    positions::{Positions, deleted_positions},
    prune,
};
use crate::lake::{
    LakeError,
    catalog::live,
    counts::InlinedStores,
    text::{identifier, literal, literals},
};
use crate::plan::WEIGHT;
use std::{collections::BTreeSet, fmt::Write as _};

/// A table whose net change is wanted.
pub(super) struct Table<'a> {
    pub(super) id: TableId,
    pub(super) faces: &'a Faces,
    pub(super) stores: &'a InlinedStores,
    pub(super) into: &'a str,
    pub(super) tuning: &'a Tuning,
}

/// One SELECT of a net change.
#[derive(Clone, Debug)]
pub(super) struct Branch {
    pub(super) weight: i64,
    pub(super) sql: String,
    /// The data files and tables of inlined rows that it reads.
    pub(super) files: Vec<String>,
    /// The temporary table of positions that it reads.
    pub(super) positions_table: Option<String>,
}

/// A window without a rewrite inside, and how the table reads at its ends.
pub(super) struct Piece<'a> {
    table: &'a Table<'a>,
    pub(super) begin: SnapshotId,
    pub(super) end: SnapshotId,
    /// FROM items.
    pub(super) at_begin: String,
    pub(super) at_end: String,
    /// The beginnings of select lists.
    columns_at_begin: String,
    columns_at_end: String,
    branches: Vec<Branch>,
}

/// Names of files and of tables of inlined rows, by what has to be read of them.
#[derive(Default)]
struct Names {
    /// New, and nothing of them deleted.
    clean: Vec<String>,
    /// New, with deletes.
    born: Vec<String>,
    /// New in part.
    part: Vec<String>,
    /// Tables of inlined rows that ended.
    gone: Vec<String>,
}

/// The branches of the net change over all pieces.
pub(super) fn of_pieces(
    transaction: &Transaction<'_>,
    table: &Table<'_>,
    pieces: &[(SnapshotId, SnapshotId)],
) -> Result<Vec<Branch>, Failure> {
    let mut branches = Vec::new();
    if pieces.is_empty() {
        return Ok(branches);
    }
    let base = transaction.base_path(table.faces.table(table.faces.to)?, table.faces.to)?;
    for window in pieces {
        let files = touched_files(transaction, table.id, *window, table.stores.deletes.as_deref(), &base)?;
        if files.iter().any(|file| file.doubled.at_begin) && window.0 == table.faces.from {
            return Err(Failure::Lake(table.faces.unreadable("a data file has two delete files at once")));
        }
        if files.iter().any(|file| file.doubled.at_begin || file.doubled.at_end) {
            return Err(Failure::Reread("a data file has two delete files at once".to_owned()));
        }
        let mut piece = Piece::new(transaction, table, *window)?;
        piece.check_paths(transaction, &base, &files)?;
        piece.add_branches(transaction, &files)?;
        branches.append(&mut piece.branches);
    }
    Ok(branches)
}

fn has_many_files(transaction: &Transaction<'_>, table: &Table<'_>) -> Result<bool, LakeError> {
    let sql = format!(
        "SELECT count(*) FROM {}.ducklake_data_file f WHERE f.table_id = {} AND {}",
        transaction.metadata(),
        table.id,
        live("f", table.faces.to)
    );
    Ok(transaction.query_value(&sql)?.as_u64()? >= table.tuning.prune_from_files)
}

impl<'a> Piece<'a> {
    fn new(
        transaction: &Transaction<'_>,
        table: &'a Table<'a>,
        (begin, end): (SnapshotId, SnapshotId),
    ) -> Result<Self, LakeError> {
        Ok(Self {
            table,
            begin,
            end,
            at_begin: transaction.at(table.faces.table(begin)?, begin),
            at_end: transaction.at(table.faces.table(end)?, end),
            columns_at_begin: table.faces.select(begin),
            columns_at_end: table.faces.select(end),
            branches: Vec::new(),
        })
    }

    /// A wrong path would silently select nothing: one of the files below the table's folder, and one from elsewhere,
    /// must be called as DuckLake calls them.
    fn check_paths(&self, transaction: &Transaction<'_>, base: &str, files: &[TouchedFile]) -> Result<(), Failure> {
        let one = |below: bool| files.iter().find(move |file| file.path.starts_with(base) == below);
        for file in one(true).into_iter().chain(one(false)) {
            let at = if file.fate == Fate::Died { self.begin } else { self.end };
            if !transaction.is_path_of(self.table.faces.table(at)?, at, base, &file.path)? {
                return Err(Failure::Reread(format!("DuckLake does not call a file of the table {}", file.path)));
            }
        }
        Ok(())
    }

    fn add_branches(&mut self, transaction: &Transaction<'_>, files: &[TouchedFile]) -> Result<(), Failure> {
        let mut names = Names::default();
        for file in files {
            match file.fate {
                Fate::Born if file.clean => names.clean.push(file.path.clone()),
                Fate::Born => names.born.push(file.path.clone()),
                Fate::Stayed if file.partly_new && file.clean => names.clean.push(file.path.clone()),
                Fate::Stayed if file.partly_new => names.part.push(file.path.clone()),
                Fate::Stayed | Fate::Died | Fate::Odd => {}
            }
        }
        self.add_inlined(transaction, &mut names)?;
        let prune = |at: SnapshotId, wanted: &[String]| -> Result<String, LakeError> {
            let ids: Vec<u64> = files.iter().filter(|file| wanted.contains(&file.path)).map(|file| file.id).collect();
            // A table of inlined rows has no statistics, so nothing is known of its rows.
            if ids.len() != wanted.len() || !has_many_files(transaction, self.table)? {
                return Ok(String::new());
            }
            prune::predicate(transaction, self.table.id, at, &ids)
        };
        let mut made = Vec::new();
        if !names.clean.is_empty() {
            made.push(self.insertions(transaction, &names.clean)?);
        }
        if !names.born.is_empty() || !names.part.is_empty() {
            made.push(self.new_rows(&names, prune)?);
        }
        let of = |fate: Fate| files.iter().filter(move |file| file.fate == fate);
        let died: Vec<String> = of(Fate::Died).map(|file| file.path.clone()).collect();
        if !died.is_empty() {
            let condition = format!("filename IN ({}){}", literals(&died), prune(self.begin, &died)?);
            made.push(self.old_rows(&condition, died, None));
        }
        let deleted: Vec<&TouchedFile> =
            of(Fate::Stayed).filter(|file| file.inlined_deletes || file.delete_file.is_some()).collect();
        if !deleted.is_empty() {
            let positions = deleted_positions(transaction, self.table, self, &deleted)?;
            made.extend(self.at_positions(positions, prune)?);
        }
        for rows in &names.gone {
            let condition = format!(
                "filename = {} AND (file_row_number, snapshot_id) IN (SELECT row_id, begin_snapshot FROM {}.{} WHERE {})",
                literal(rows),
                transaction.metadata(),
                identifier(rows),
                self.ended()
            );
            made.push(self.old_rows(&condition, vec![rows.clone()], None));
        }
        let odd: Vec<String> = of(Fate::Odd).map(|file| file.path.clone()).collect();
        if !odd.is_empty() {
            made.extend(self.odd_files(&odd));
        }
        self.branches.append(&mut made);
        Ok(())
    }

    /// The condition of inlined rows that begun in the piece and are live at its end.
    fn begun(&self) -> String {
        let (p, q) = (self.begin, self.end);
        format!("begin_snapshot > {p} AND begin_snapshot <= {q} AND (end_snapshot IS NULL OR end_snapshot > {q})")
    }

    /// The condition of inlined rows that are live at its begin and ended in the piece.
    fn ended(&self) -> String {
        let (p, q) = (self.begin, self.end);
        format!("begin_snapshot <= {p} AND end_snapshot > {p} AND end_snapshot <= {q}")
    }

    /// Rows that are kept in the catalog: straight from there if they read the same, else by the name that DuckLake
    /// gives their table as a file.
    fn add_inlined(&mut self, transaction: &Transaction<'_>, names: &mut Names) -> Result<(), LakeError> {
        let (p, q) = (self.begin, self.end);
        let (begun, ended) = (self.begun(), self.ended());
        let counts: Vec<String> = self
            .table
            .stores
            .rows
            .iter()
            .map(|rows| {
                format!(
                    "SELECT {} AS name, count(*) FILTER ({begun}), count(*) FILTER (begin_snapshot > {p} AND \
                     end_snapshot <= {q}), count(*) FILTER ({ended}), (min(begin_snapshot) FILTER ({begun}))::BIGINT, \
                     (min(begin_snapshot) FILTER ({ended}))::BIGINT FROM {}.{}",
                    literal(rows),
                    transaction.metadata(),
                    identifier(rows)
                )
            })
            .collect();
        if counts.is_empty() {
            return Ok(());
        }
        let counts = transaction.query(&format!("{} ORDER BY name", counts.join(" UNION ALL ")))?;
        let in_duckdb = transaction.catalog_type()? == "duckdb" && self.table.tuning.read_inlined_rows;
        for row in &counts.rows {
            let [name, new, passing, gone, oldest_new, oldest_gone] = row.as_slice() else {
                return Err(LakeError::NotOneRow { found: row.len() });
            };
            let name = name.as_str()?;
            let plain =
                |at: SnapshotId, oldest: SnapshotId| in_duckdb && self.table.faces.inlined_rows_are_plain(at, oldest);
            let source = format!("{}.{}", transaction.metadata(), identifier(name));
            let mut direct = Vec::new();
            if new.as_u64()? > 0 {
                if plain(q, SnapshotId(oldest_new.as_u64()?)) {
                    direct.push((1, &self.columns_at_end, &begun));
                } else if passing.as_u64()? > 0 {
                    names.part.push(name.to_owned());
                } else {
                    names.clean.push(name.to_owned());
                }
            }
            if gone.as_u64()? > 0 {
                if plain(p, SnapshotId(oldest_gone.as_u64()?)) {
                    direct.push((-1, &self.columns_at_begin, &ended));
                } else {
                    names.gone.push(name.to_owned());
                }
            }
            let direct: Vec<Branch> = direct
                .into_iter()
                .map(|(weight, columns, condition)| branch(weight, columns, &source, condition, vec![name.to_owned()]))
                .collect();
            self.branches.extend(direct);
        }
        Ok(())
    }

    /// New rows of which nothing is deleted: DuckLake then lists only the files of the window.
    fn insertions(&self, transaction: &Transaction<'_>, files: &[String]) -> Result<Branch, LakeError> {
        let table = self.table.faces.table(self.end)?;
        let next = SnapshotId(self.begin.0 + 1);
        // Both bounds of the function have to exist.
        let (start, condition) = if transaction.snapshot_exists(next)? {
            (next, String::new())
        } else {
            (self.begin, format!(" AND snapshot_id > {}", self.begin))
        };
        let source = format!(
            "ducklake_table_insertions({}, {}, {}, {start}, {})",
            literal(transaction.alias()),
            literal(&table.schema),
            literal(&table.name),
            self.end
        );
        let condition = format!("filename IN ({}){condition}", literals(files));
        Ok(branch(1, &self.columns_at_end, &source, &condition, files.to_vec()))
    }

    /// Other new rows.
    fn new_rows(
        &self,
        names: &Names,
        prune: impl Fn(SnapshotId, &[String]) -> Result<String, LakeError>,
    ) -> Result<Branch, LakeError> {
        let files: Vec<String> = names.born.iter().chain(&names.part).cloned().collect();
        let mut condition = format!("filename IN ({})", literals(&files));
        if !names.part.is_empty() {
            let whole = if names.born.is_empty() {
                String::new()
            } else {
                format!(" OR filename IN ({})", literals(&names.born))
            };
            let _ = write!(condition, " AND (snapshot_id > {}{whole})", self.begin);
        }
        condition.push_str(&prune(self.end, &files)?);
        Ok(branch(1, &self.columns_at_end, &self.at_end, &condition, files))
    }

    fn old_rows(&self, condition: &str, files: Vec<String>, positions_table: Option<String>) -> Branch {
        let mut branch = branch(-1, &self.columns_at_begin, &self.at_begin, condition, files);
        branch.positions_table = positions_table;
        branch
    }

    /// Rows of files that stayed, at the positions deleted in the piece.
    fn at_positions(
        &self,
        positions: Positions,
        prune: impl Fn(SnapshotId, &[String]) -> Result<String, LakeError>,
    ) -> Result<Option<Branch>, LakeError> {
        let list = |positions: &[u64]| {
            let numbers: Vec<String> = positions.iter().map(u64::to_string).collect();
            numbers.join(", ")
        };
        let (files, key, table): (BTreeSet<String>, String, Option<String>) = match positions {
            Positions::Staged { table, files } => {
                let key = format!("(filename, file_row_number) IN (SELECT f, n FROM temp.{})", identifier(&table));
                (files, key, Some(table))
            }
            Positions::Listed(listed) => {
                let key = if let (1, Some((_, positions))) = (listed.len(), listed.first_key_value()) {
                    format!("file_row_number IN ({})", list(positions))
                } else {
                    let values: Vec<String> = listed
                        .iter()
                        .map(|(file, positions)| format!("({}, [{}])", literal(file), list(positions)))
                        .collect();
                    format!(
                        "(filename, file_row_number) IN (SELECT f, unnest(n) FROM (VALUES {}) v(f, n))",
                        values.join(", ")
                    )
                };
                (listed.into_keys().collect(), key, None)
            }
        };
        // Delete files that were rewritten after the piece look touched; only files with positions are read.
        if files.is_empty() {
            return Ok(None);
        }
        let files: Vec<String> = files.into_iter().collect();
        let condition = format!("filename IN ({}) AND {key}{}", literals(&files), prune(self.begin, &files)?);
        Ok(Some(self.old_rows(&condition, files, table)))
    }

    /// Files whose deletes cannot be explained: the difference of their places in two reads.
    fn odd_files(&self, files: &[String]) -> [Branch; 2] {
        let names = literals(files);
        let side = |columns: &str, rows: &str| {
            format!(
                "(SELECT {columns}filename AS __file, file_row_number AS __position, snapshot_id AS __label FROM {rows} \
                 WHERE filename IN ({names}))"
            )
        };
        let old = side(&self.columns_at_begin, &self.at_begin);
        let new = side(&self.columns_at_end, &self.at_end);
        let difference = |weight: i64, kept: &str, against: &str| Branch {
            weight,
            sql: format!(
                "SELECT * EXCLUDE (__file, __position, __label), CAST({weight} AS BIGINT) AS {WEIGHT} \
                 FROM {kept} ANTI JOIN {against} USING (__file, __position, __label)"
            ),
            files: files.to_vec(),
            positions_table: None,
        };
        [difference(1, &new, &old), difference(-1, &old, &new)]
    }
}

fn branch(weight: i64, columns: &str, source: &str, condition: &str, files: Vec<String>) -> Branch {
    Branch {
        weight,
        sql: format!("SELECT {columns}CAST({weight} AS BIGINT) AS {WEIGHT} FROM {source} WHERE {condition}"),
        files,
        positions_table: None,
    }
}
