//! Which signs the weights of a delta can have, before it is consolidated. A delta without negative weights is a plain
//! insertion. (The lattice and its table: every rule's emitted rows were compared with it.)

use super::{Change, Changes};
use crate::plan::rel::{JoinKind, Rel, SetOperation, SetOperator};

/// The signs that weights can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// Nothing changed.
    Zero,
    /// Only positive weights.
    Plus,
    /// Weights of either sign.
    Mixed,
}

impl Sign {
    /// The signs of two deltas together.
    #[must_use]
    pub fn join(self, other: Sign) -> Sign {
        match (self, other) {
            (Sign::Zero, sign) | (sign, Sign::Zero) => sign,
            (Sign::Plus, Sign::Plus) => Sign::Plus,
            _ => Sign::Mixed,
        }
    }
}

/// The signs of the delta of `rel`. Linear operators and products pass the signs of their inputs on; most others can
/// take rows away when something is inserted.
pub(super) fn of(rel: &Rel, changes: &Changes) -> Sign {
    match rel {
        Rel::Scan(scan) => match changes.of_scan(scan) {
            Change::Unchanged => Sign::Zero,
            Change::InsertsOnly => Sign::Plus,
            Change::Mixed => Sign::Mixed,
        },
        Rel::Values(_)
        | Rel::TableFunction(_)
        | Rel::Project(_)
        | Rel::Filter(_)
        | Rel::Unnest(_)
        | Rel::InnerJoin(_)
        | Rel::SetOperation(SetOperation { op: SetOperator::Union, all: true, .. }) => {
            rel.inputs().into_iter().map(|input| of(input, changes)).fold(Sign::Zero, Sign::join)
        }
        Rel::Join(join) if join.kind == JoinKind::Semi => of(&join.left, changes).join(of(&join.right, changes)),
        Rel::Join(join)
            if !changes.touch(&join.right)
                && matches!(join.kind, JoinKind::Left | JoinKind::Anti | JoinKind::Mark | JoinKind::Single) =>
        {
            of(&join.left, changes)
        }
        other if changes.touch(other) => Sign::Mixed,
        _ => Sign::Zero,
    }
}
