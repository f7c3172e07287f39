//! Semi-join reduction of the legs of a telescoping term.
//!
//! - Law: with `π` the columns that an equality of the join compares, `ΔR ⋈ S = ΔR ⋈ (S ⋉ π(ΔR))`: a row of S that no
//!   row of ΔR equals joins none. Along a chain of equalities the same holds of S ⋈ T with T ⋉ π(S ⋉ π(ΔR)).
//! - Reads: the same states as the term, each once; what is left of a large leg is staged, so that the join itself runs
//!   over tables no larger than what the change touches.
//! - Why: the engine orders a join by estimates, and knows little of the columns of lake tables. Six TPC-H tables with
//!   two equalities on a nation were joined through customer × supplier: 20 s and 4.6 GB, where the query itself took
//!   1.8 s. Of staged tables it knows everything, and no order of them is bad.
//! - NULLs and duplicates: the equality is the join's own, the join itself still decides; a leg loses only rows that
//!   join nothing, and keeps its duplicates.
//! - Cost: one pass over each large leg, which the term makes anyway, and the staged rows. A leg that is small, or not
//!   much larger than the change, is left as it is.
//! - Example: ΔR = {(7)}, S = {(7, a), (8, b)}, R.k = S.k: S ⋉ π(ΔR) = {(7, a)}.
//! - Source: Bernstein and Chiu, JACM 1981 (semi-joins); Yannakakis, VLDB 1981 (full reducers).

use super::Derivation;
use super::construct::project;
use crate::plan::expr::{Comparison, Expr};
use crate::plan::rel::{InnerJoin, Join, JoinCondition, JoinKind, Rel};

/// From so many rows on, reading a leg costs more than a statement.
const LARGE: u64 = 50_000;

/// How many times larger than the change a leg must be.
const LARGER: u64 = 4;

/// An equality of two legs: the left sides are keys of the first one, in its own columns.
struct Equality {
    legs: [usize; 2],
    keys: [Expr; 2],
}

/// The legs of the term in which the leg at `changed` stands as its delta, the large ones reduced to what the delta can
/// meet.
pub(super) fn reduced(join: &InnerJoin, changed: usize, mut legs: Vec<Rel>, derivation: &mut Derivation) -> Vec<Rel> {
    let changed_rows = derivation.changes.changed_rows(&join.legs[changed]);
    let large: Vec<bool> = join
        .legs
        .iter()
        .map(|leg| {
            let rows = derivation.changes.table_rows(leg);
            is_plain(leg) && rows > LARGE && changed_rows.is_some_and(|changed| changed.saturating_mul(LARGER) < rows)
        })
        .collect();
    if !(0..large.len()).any(|leg| leg != changed && large[leg]) {
        return legs;
    }
    let equalities = equalities(join);
    if !is_plain(&legs[changed]) {
        // It is read by each reduction, and by the term.
        legs[changed] = derivation.stage("changed_leg", legs[changed].clone());
    }
    let mut drivers: Vec<Option<Rel>> = vec![None; legs.len()];
    drivers[changed] = Some(legs[changed].clone());
    while let Some((driver, leg)) = next(&equalities, &drivers) {
        let Some(rows) = &drivers[driver] else { break };
        let mut reduced = semi_join(&equalities, driver, rows, leg, legs[leg].clone());
        if large[leg] {
            reduced = derivation.stage("matching_rows", reduced);
            legs[leg] = reduced.clone();
        }
        drivers[leg] = Some(reduced);
    }
    legs
}

/// A leg that is one table, filtered or not.
fn is_plain(leg: &Rel) -> bool {
    match leg {
        Rel::Scan(_) => true,
        Rel::Filter(filter) => is_plain(&filter.input),
        Rel::Project(project) => is_plain(&project.input),
        _ => false,
    }
}

/// The leg to reduce next, and the reduced one that does it: of the pairs that equalities connect the one with the most
/// of them, the first in the legs' order.
fn next(equalities: &[Equality], drivers: &[Option<Rel>]) -> Option<(usize, usize)> {
    let mut best: Option<((usize, usize), usize)> = None;
    for driver in 0..drivers.len() {
        for leg in 0..drivers.len() {
            if drivers[driver].is_none() || drivers[leg].is_some() {
                continue;
            }
            let shared = equalities.iter().filter(|equality| equality.between(driver, leg).is_some()).count();
            if shared > best.map_or(0, |(_, most)| most) {
                best = Some(((driver, leg), shared));
            }
        }
    }
    best.map(|(pair, _)| pair)
}

impl Equality {
    /// The keys of `driver` and of `leg`, if it connects the two.
    fn between(&self, driver: usize, leg: usize) -> Option<(&Expr, &Expr)> {
        match self.legs {
            [first, second] if (first, second) == (driver, leg) => Some((&self.keys[0], &self.keys[1])),
            [first, second] if (first, second) == (leg, driver) => Some((&self.keys[1], &self.keys[0])),
            _ => None,
        }
    }
}

/// The equalities of a join that compare one leg with another.
fn equalities(join: &InnerJoin) -> Vec<Equality> {
    let mut starts = Vec::new();
    let mut width = 0;
    for leg in &join.legs {
        starts.push(width);
        width += leg.columns().len();
    }
    let leg_of = |column: usize| starts.partition_point(|start| *start <= column) - 1;
    // The one leg that an expression reads.
    let only_leg = |expr: &Expr| {
        let mut legs = expr.columns().into_iter().map(leg_of);
        let first = legs.next()?;
        legs.all(|leg| leg == first).then_some(first)
    };
    let mut found = Vec::new();
    for predicate in &join.predicates {
        if let Expr::Comparison { op: Comparison::Equal, left, right } = predicate
            && let (Some(first), Some(second)) = (only_leg(left), only_leg(right))
            && first != second
        {
            let local = |expr: &Expr, leg: usize| expr.clone().with_columns(&|column| column - starts[leg]);
            let keys = [local(left, first), local(right, second)];
            found.push(Equality { legs: [first, second], keys });
        }
    }
    found
}

/// The rows of `leg` that some row of `driver` equals.
fn semi_join(equalities: &[Equality], driver: usize, driver_rows: &Rel, leg: usize, leg_rows: Rel) -> Rel {
    let keys: Vec<(&Expr, &Expr)> = equalities.iter().filter_map(|equality| equality.between(driver, leg)).collect();
    let named = keys.iter().enumerate().map(|(position, (key, _))| (format!("key_{}", position + 1), (*key).clone()));
    let right = project(driver_rows.clone(), named.collect());
    let conditions = keys.iter().enumerate().map(|(position, (key, other))| JoinCondition {
        left: (*other).clone(),
        op: Comparison::Equal,
        right: Expr::column(position, key.data_type()),
    });
    let conditions = conditions.collect();
    let (left, right) = (Box::new(leg_rows), Box::new(right));
    Rel::Join(Join { kind: JoinKind::Semi, left, right, conditions, predicates: Vec::new() })
}

#[cfg(test)]
mod tests {
    use crate::delta::{Change, Changes, Size, derive};
    use crate::plan::expr::{Comparison, Expr};
    use crate::plan::facts::Source;
    use crate::plan::rel::{Column, InnerJoin, Rel, Scan, State, TableKind};
    use crate::plan::types::DataType;

    fn table(name: &str) -> Rel {
        Rel::Scan(Scan {
            catalog: "lake".into(),
            schema: "main".into(),
            table: name.into(),
            kind: TableKind::Lake,
            columns: vec![Column::new("k", DataType::BigInt)],
            positions: vec![0],
            pinned: None,
            state: State::Current,
        })
    }

    /// Steps of the delta of a ⋈ b ⋈ c on equal k, where a changed.
    fn steps(sizes: [u64; 3]) -> Vec<String> {
        let equal = |left: usize, right: usize| Expr::Comparison {
            op: Comparison::Equal,
            left: Box::new(Expr::column(left, DataType::BigInt)),
            right: Box::new(Expr::column(right, DataType::BigInt)),
        };
        let legs = ["a", "b", "c"].map(table).to_vec();
        let join = Rel::InnerJoin(InnerJoin { legs, predicates: vec![equal(0, 1), equal(1, 2)] });
        let source = |name: &str| Source { catalog: "lake".into(), schema: "main".into(), table: name.into() };
        let mut changes: Changes = [(source("a"), Change::Mixed)].into_iter().collect();
        for (name, rows) in ["a", "b", "c"].into_iter().zip(sizes) {
            changes.set_size(source(name), Size { rows, changed: if name == "a" { 1_000 } else { 0 } });
        }
        let delta = derive(&join, &[], &changes).unwrap();
        delta.steps.into_iter().map(|step| step.name).collect()
    }

    #[test]
    fn only_large_legs_are_staged_also_behind_small_ones() {
        assert!(steps([1_000_000, 50_000, 10]).is_empty());
        assert_eq!(steps([10, 1_000_000, 10]), ["matching_rows_1"]);
        assert_eq!(steps([10, 10, 1_000_000]), ["matching_rows_1"]);
        assert_eq!(steps([10, 1_000_000, 1_000_000]), ["matching_rows_1", "matching_rows_2"]);
    }
}
