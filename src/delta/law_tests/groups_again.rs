//! Which groups an accumulator table adds up again.

use super::*;
use crate::delta::law_tests::plans::{call, column, scan};
use crate::plan::rel::Aggregate;
use crate::plan::types::DataType;

fn row(group: i64, value: i64, by: i64) -> Row {
    vec![Value::Integer(group), Value::Integer(value), Value::Integer(by)]
}

/// The groups that are read again when `old` becomes `new` under `name(value)` or `name(value, by)`.
fn groups_again(name: &str, arguments: usize, old: &[Row], new: &[Row]) -> Vec<Row> {
    let aggregate = Rel::Aggregate(Aggregate {
        input: Box::new(scan("r")),
        groups: vec![("g".into(), column(0))],
        grouping_sets: vec![vec![0]],
        aggregates: vec![call(name, (1..=arguments).map(column).collect(), DataType::Integer)],
        grouping_functions: Vec::new(),
    });
    let world = World(BTreeMap::from([("r".to_owned(), (old.to_vec(), new.to_vec()))]));
    let (rel, accumulators) = accumulator::cut(normalise(aggregate).rel);
    let [table] = accumulators.as_slice() else { panic!("{name} is not kept") };
    let delta = derive(&rel, &accumulators, &changes(&world, &[])).unwrap();
    let before = World(BTreeMap::from([("r".to_owned(), (old.to_vec(), old.to_vec()))]));
    let mut on = Evaluation::at(&world, State::New);
    let filled = rows(&table.fill, &mut Evaluation::at(&before, State::New));
    on.accumulators.insert(table.name.clone(), filled);
    for step in &delta.steps {
        let made = rows(&step.rel, &mut on);
        on.steps.insert(step.name.clone(), made);
    }
    on.steps.iter().find(|(step, _)| step.starts_with("groups_again")).map_or_else(Vec::new, |(_, rows)| rows.clone())
}

#[test]
fn an_extremum_is_looked_for_only_when_it_went() {
    let old = [row(1, 5, 0), row(1, 7, 0), row(2, 5, 0), row(2, 5, 0)];
    let with = |keep: &[usize], more: &[Row]| {
        let kept: Vec<Row> = keep.iter().map(|at| old[*at].clone()).collect();
        [kept, more.to_vec()].concat()
    };
    let again = |new: Vec<Row>| groups_again("min", 1, &old, &new).len();
    assert_eq!(again(with(&[0, 1, 2, 3], &[row(1, 3, 0), row(2, 9, 0)])), 0, "rows came");
    assert_eq!(again(with(&[0, 2, 3], &[])), 0, "another row went");
    assert_eq!(again(with(&[1, 2, 3], &[row(1, 5, 0)])), 0, "it came back");
    assert_eq!(again(with(&[1, 2, 3], &[row(1, 4, 0)])), 0, "a better one came in its place");
    assert_eq!(again(with(&[2, 3], &[])), 0, "the group went");
    assert_eq!(again(with(&[1, 2, 3], &[row(1, 6, 0)])), 1, "it went");
    assert_eq!(again(with(&[0, 1, 2], &[])), 1, "one of two that are equal went");
}

#[test]
fn a_chosen_row_is_looked_for_only_when_it_went_or_ties() {
    let old = [row(1, 10, 5), row(1, 20, 7), row(2, 10, 5)];
    let again = |new: &[Row]| groups_again("arg_min", 2, &old, new).len();
    let [first, second, other] = old.clone();
    assert_eq!(again(&[first.clone(), second.clone(), other.clone(), row(1, 9, 8), row(2, 1, 2)]), 0, "rows came");
    assert_eq!(again(&[first.clone(), second.clone(), other.clone(), row(1, 10, 5)]), 0, "the same row came");
    assert_eq!(again(&[first.clone(), other.clone()]), 0, "another row went");
    assert_eq!(again(&[second.clone(), other.clone(), row(1, 3, 4)]), 0, "a better one came in its place");
    assert_eq!(again(&[second.clone(), other.clone()]), 1, "it went");
    assert_eq!(again(&[second.clone(), other.clone(), row(1, 11, 5)]), 1, "one as good came in its place");
    assert_eq!(again(&[first.clone(), second.clone(), other.clone(), row(1, 11, 5)]), 1, "one as good came");
    assert_eq!(again(&[first, second, other, row(1, 3, 4), row(1, 2, 4)]), 1, "two came that tie");
}
