//! The temporary tables of a refresh. Everything is read into them before anything is written: after a write, DuckLake
//! shows a transaction its own rows even in old versions of the table.

use std::cell::RefCell;
use std::collections::BTreeSet;

use crate::lake::{Lake, LakeError, identifier};

/// The temporary tables made so far.
#[derive(Debug, Default)]
pub(crate) struct Temporary {
    names: RefCell<BTreeSet<String>>,
}

impl Temporary {
    /// A name that no other temporary table of this refresh has. The user's own SQL could mean a table of that name, so
    /// it gets a prefix that nobody types; [`Temporary::clear`] comes before that SQL is run all the same.
    pub(crate) fn name(&self, stem: &str) -> String {
        let mut names = self.names.borrow_mut();
        let mut name = format!("ivm_{stem}");
        let mut suffix = 1;
        while !names.insert(name.to_lowercase()) {
            suffix += 1;
            name = format!("ivm_{stem}_{suffix}");
        }
        name
    }

    /// Drops all of them.
    pub(crate) fn clear(&self, lake: &Lake) -> Result<(), LakeError> {
        for name in self.names.take() {
            lake.execute(&format!("DROP TABLE IF EXISTS {}", qualified(&name)))?;
        }
        Ok(())
    }
}

/// A temporary table in a statement.
pub(crate) fn qualified(name: &str) -> String {
    format!("temp.main.{}", identifier(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_repeat() {
        let temporary = Temporary::default();
        assert_eq!(temporary.name("orders_delta"), "ivm_orders_delta");
        assert_eq!(temporary.name("Orders_delta"), "ivm_Orders_delta_2");
    }
}
