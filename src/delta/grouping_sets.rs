//! `GROUPING SETS`, `ROLLUP`, `CUBE`.
//!
//! - Law: an aggregate over several grouping sets is the UNION ALL of one aggregate per set, with NULL in place of the
//!   groups that the set leaves out and the constant value of each `GROUPING(…)`; so its delta is the union of theirs.
//! - Reads, cost, NULLs: as [`super::affected`], per set. The empty set is an ungrouped aggregate: one row always.
//! - Does not apply to a plain `GROUP BY`, which is one set with all groups.
//! - Example: ROLLUP (a) over ΔR = {(1): +1} recomputes the group a = 1 and the total.
//! - Source: SQL:1999, the definition of grouping sets.

use super::construct::{integer, null, project};
use crate::plan::expr::Expr;
use crate::plan::rel::{Aggregate, Rel};

/// One aggregate per set, each under a projection that restores the columns; `None` for a plain `GROUP BY`.
pub(super) fn split(aggregate: &Aggregate) -> Option<Vec<Rel>> {
    let plain = aggregate.grouping_sets.len() == 1
        && aggregate.grouping_sets[0].len() == aggregate.groups.len()
        && aggregate.grouping_functions.is_empty();
    (!plain).then(|| aggregate.grouping_sets.iter().map(|set| one(aggregate, set)).collect())
}

fn one(aggregate: &Aggregate, set: &[usize]) -> Rel {
    let columns = Rel::Aggregate(aggregate.clone()).columns();
    let (groups, calls) = (aggregate.groups.len(), aggregate.aggregates.len());
    let mut exprs = Vec::new();
    for (position, column) in columns.iter().enumerate() {
        let data_type = column.data_type.clone();
        let expr = if position < groups {
            let place = set.iter().position(|group| *group == position);
            place.map_or_else(|| null(data_type.clone()), |place| Expr::column(place, data_type.clone()))
        } else if position < groups + calls {
            Expr::column(position - groups + set.len(), data_type)
        } else {
            integer(grouping_value(&aggregate.grouping_functions[position - groups - calls], set))
        };
        exprs.push((column.name.clone(), expr));
    }
    let inner = Aggregate {
        input: aggregate.input.clone(),
        groups: set.iter().map(|group| aggregate.groups[*group].clone()).collect(),
        grouping_sets: vec![(0..set.len()).collect()],
        aggregates: aggregate.aggregates.clone(),
        grouping_functions: Vec::new(),
    };
    project(Rel::Aggregate(inner), exprs)
}

/// One bit per asked group, the first one highest; 1 for a group that the set leaves out.
fn grouping_value(asked: &[usize], set: &[usize]) -> i64 {
    asked.iter().fold(0, |value, group| value << 1 | i64::from(!set.contains(group)))
}
