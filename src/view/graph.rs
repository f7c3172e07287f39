//! Which view reads which.

use std::collections::{BTreeMap, BTreeSet};

use super::{View, ViewError, ViewId, ViewName, registry};
use crate::lake::{TableId, Transaction};

/// The views of a lake and the tables that they read.
#[derive(Debug, Default)]
pub struct Graph {
    names: BTreeMap<ViewId, ViewName>,
    tables: BTreeMap<TableId, ViewId>,
    reads: BTreeMap<ViewId, BTreeSet<ViewId>>,
}

impl Graph {
    /// Reads the state of all `views`.
    pub fn read(transaction: &Transaction<'_>, views: &[View]) -> Result<Graph, ViewError> {
        let mut graph = Graph::default();
        let mut sources = Vec::new();
        for view in views {
            let state = registry::state_if_known(transaction, view)?;
            graph.add(view, registry::table_id(transaction, view, state.as_ref())?);
            sources.push((&view.id, state.map(|state| state.sources).unwrap_or_default()));
        }
        for (id, sources) in sources {
            graph.connect(id, sources.iter().map(|source| source.table));
        }
        Ok(graph)
    }

    /// Adds a view with the table that holds its rows.
    pub fn add(&mut self, view: &View, table: Option<TableId>) {
        self.names.insert(view.id.clone(), view.name.clone());
        if let Some(table) = table {
            self.tables.insert(table, view.id.clone());
        }
    }

    /// Says what a view reads, once all views are added; tables that are no views are left out.
    pub fn connect(&mut self, id: &ViewId, tables: impl IntoIterator<Item = TableId>) {
        let read: BTreeSet<ViewId> = tables.into_iter().filter_map(|table| self.tables.get(&table).cloned()).collect();
        self.reads.insert(id.clone(), read);
    }

    /// The view whose rows `table` holds.
    pub fn view_over(&self, table: TableId) -> Option<&ViewId> {
        self.tables.get(&table)
    }

    /// Per view, the views that it reads itself.
    pub fn reads(&self) -> &BTreeMap<ViewId, BTreeSet<ViewId>> {
        &self.reads
    }

    /// The views that read `id` themselves, by name.
    pub fn dependents(&self, id: &ViewId) -> Vec<ViewName> {
        let readers = self.reads.iter().filter(|(_, read)| read.contains(id));
        let mut names: Vec<ViewName> = readers.filter_map(|(reader, _)| self.names.get(reader).cloned()).collect();
        names.sort();
        names
    }

    /// The views by which `from` comes to read `to`, both included; `None` if it does not.
    pub fn path(&self, from: &ViewId, to: &ViewId) -> Option<Vec<ViewName>> {
        let mut path = vec![self.names.get(from)?.clone()];
        if from == to {
            return Some(path);
        }
        for next in self.reads.get(from)? {
            if let Some(rest) = self.path(next, to) {
                path.extend(rest);
                return Some(path);
            }
        }
        None
    }

    /// `ids` and everything that they read, directly or not.
    pub fn with_sources(&self, ids: impl IntoIterator<Item = ViewId>) -> BTreeSet<ViewId> {
        let mut found = BTreeSet::new();
        let mut open: Vec<ViewId> = ids.into_iter().collect();
        while let Some(id) = open.pop() {
            if found.insert(id.clone()) {
                open.extend(self.reads.get(&id).into_iter().flatten().cloned());
            }
        }
        found
    }
}
