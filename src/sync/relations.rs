//! Where the leaves of a delta plan are read from.

use std::collections::BTreeMap;

use crate::delta::{OWN, STAGED};
use crate::plan::Rel;
use crate::plan::facts::Source;
use crate::plan::rel::{Scan, State};
use crate::sql::{self, Relation};

/// The FROM item per table and state.
#[derive(Debug, Default)]
pub(crate) struct Places {
    tables: BTreeMap<(Source, State), Relation>,
    staged: BTreeMap<String, Relation>,
    own: Option<Relation>,
}

impl Places {
    /// Says where a state of a table is read.
    pub(crate) fn set(&mut self, source: Source, state: State, relation: Relation) {
        self.tables.insert((source, state), relation);
    }

    /// Says where a step of the delta plan is held.
    pub(crate) fn set_staged(&mut self, step: &str, relation: Relation) {
        self.staged.insert(step.to_owned(), relation);
    }

    /// Says where the rows of the view itself are read.
    pub(crate) fn set_own(&mut self, relation: Relation) {
        self.own = Some(relation);
    }

    /// Where a step of the delta plan is held.
    pub(crate) fn staged(&self, step: &str) -> Option<&str> {
        self.staged.get(step).map(|relation| relation.name.as_str())
    }

    fn of(&self, scan: &Scan) -> Option<&Relation> {
        if scan.catalog == STAGED {
            self.staged.get(&scan.table)
        } else if scan.catalog == OWN {
            self.own.as_ref()
        } else {
            self.tables.get(&(Source::of(scan), scan.state))
        }
    }

    /// The first leaf of `rel` for which no place is known.
    pub(crate) fn missing<'a>(&self, rel: &'a Rel) -> Option<&'a Scan> {
        rel.scans().into_iter().find(|scan| scan.pinned.is_none() && self.of(scan).is_none())
    }
}

impl sql::Relations for Places {
    fn relation(&self, scan: &Scan) -> Relation {
        self.of(scan).cloned().unwrap_or_else(|| Relation::table(scan, None))
    }
}
