//! Every aggregate function of DuckDB in a grouped and in an ungrouped view: how it is maintained, which
//! `docs/aggregates.md` says, and that the view holds what its query gives through inserts, deletes, updates, NULLs,
//! duplicates and groups that come and go. `UPDATE_DOCS=1` writes the page anew.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod aggregate_cases;
#[path = "support/world.rs"]
mod world;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use aggregate_cases::page::page;
use aggregate_cases::{Call, Decided, Functions, TABLE, all, rows};
use ducklake_ivm::delta;
use ducklake_ivm::plan::Rel;
use ducklake_ivm::plan::expr::Expr;
use ducklake_ivm::plan::rel::{Aggregate, Project};
use ducklake_ivm::sync::{Method, SyncOptions};
use ducklake_ivm::view::{Creation, ViewError, classify, create};
use world::{World, creation, view_of};

/// Calls in one view.
const MOST: usize = 40;

/// How a view of a call is maintained.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// From accumulators.
    Accumulators,
    /// The groups that changed are computed again.
    Groups,
    /// The query is run again, for this reason.
    Recomputed(String),
    /// There is no such view.
    Refused(String),
}

/// What a call stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Shape {
    /// A view of all groups.
    Grouped,
    /// A view of one row.
    Ungrouped,
}

impl Shape {
    fn query(self, calls: &[&Call]) -> String {
        let columns: Vec<String> =
            calls.iter().enumerate().map(|(place, call)| format!("{} AS c{place}", call.sql)).collect();
        match self {
            Shape::Grouped => format!("SELECT k, {} FROM t GROUP BY k", columns.join(", ")),
            Shape::Ungrouped => format!("SELECT {} FROM t", columns.join(", ")),
        }
    }
}

/// The plan with the aggregate call in column `place` alone.
fn only(rel: &Rel, place: usize) -> Rel {
    let Rel::Project(Project { exprs, input }) = rel else { panic!("{rel:?}") };
    let Rel::Aggregate(aggregate) = &**input else { panic!("{input:?}") };
    let groups = aggregate.groups.len();
    let Expr::Column { index, data_type } = &exprs[groups + place].1 else { panic!("{:?}", exprs[groups + place]) };
    let calls = vec![aggregate.aggregates[index - groups].clone()];
    let mut columns = exprs[..groups].to_vec();
    columns.push(("c".to_owned(), Expr::column(groups, data_type.clone())));
    let input = Rel::Aggregate(Aggregate { aggregates: calls, ..aggregate.clone() });
    Rel::Project(Project { exprs: columns, input: Box::new(input) })
}

/// How views of single calls are maintained. DuckDB binds many of them at once.
fn kinds(world: &World, calls: &[&Call], shape: Shape) -> Vec<Kind> {
    let found = match classify(&world.lake, &shape.query(calls)) {
        Ok(found) => found,
        Err(error @ (ViewError::Column { .. } | ViewError::Definition { .. })) => match calls {
            [_] => return vec![Kind::Refused(error.to_string())],
            _ => return halves(world, calls, shape),
        },
        Err(error) => panic!("{error}"),
    };
    match (&found.rel, calls) {
        (Some(rel), _) => {
            let kind = |place| {
                let rel = only(rel, place);
                match delta::check(&rel) {
                    Err(obstacle) => Kind::Recomputed(obstacle.reason),
                    Ok(()) if delta::accumulator::cut(rel).1.is_empty() => Kind::Groups,
                    Ok(()) => Kind::Accumulators,
                }
            };
            (0..calls.len()).map(kind).collect()
        }
        (None, [_]) => vec![Kind::Recomputed(found.class.obstacle.unwrap().reason)],
        (None, _) => halves(world, calls, shape),
    }
}

fn halves(world: &World, calls: &[&Call], shape: Shape) -> Vec<Kind> {
    let (one, other) = calls.split_at(calls.len() / 2);
    [one, other].into_iter().flat_map(|calls| kinds(world, calls, shape)).collect()
}

/// A view of many calls that are maintained alike.
struct View<'a> {
    name: String,
    shape: Shape,
    kind: Kind,
    calls: Vec<&'a Call>,
    /// The types of its columns in the lake.
    types: Vec<String>,
}

fn views<'a>(world: &World, functions: &'a Functions, kinds: &[[Kind; 2]]) -> Vec<View<'a>> {
    let mut alike: BTreeMap<(Shape, Kind, bool), Vec<&Call>> = BTreeMap::new();
    for (call, kinds) in functions.calls.iter().zip(kinds) {
        for (shape, kind) in [Shape::Grouped, Shape::Ungrouped].into_iter().zip(kinds) {
            let kind = if matches!(kind, Kind::Recomputed(_)) { Kind::Recomputed(String::new()) } else { kind.clone() };
            if call.is_run && !matches!(kind, Kind::Refused(_)) {
                alike.entry((shape, kind, call.chooses())).or_default().push(call);
            }
        }
    }
    let mut views = Vec::new();
    for ((shape, kind, _), calls) in alike {
        for calls in calls.chunks(MOST) {
            let name = format!("v{}", views.len());
            // A sample differs from what a check would find.
            let wanted = Creation { check: false, ..creation(&name, &shape.query(calls)) };
            let created = create(&world.lake, &wanted).unwrap();
            assert_eq!(kind == Kind::Accumulators, !created.view.class.accumulators.is_empty(), "{name} {kind:?}");
            let is_recomputed = matches!(kind, Kind::Recomputed(_));
            assert_eq!(is_recomputed, created.view.class.obstacle.is_some(), "{name} {kind:?}");
            let types = created.view.columns.iter().map(|column| column.stored_type.clone()).collect();
            views.push(View { name, shape, kind: kind.clone(), calls: calls.to_vec(), types });
        }
    }
    views
}

/// The calls whose column differs from what the query gives, and by how much.
fn differences(world: &World, view: &View<'_>, table: &str) -> Vec<String> {
    let start = view.types.len() - view.calls.len();
    let mut same = Vec::new();
    for (place, (data_type, call)) in view.types[start..].iter().zip(&view.calls).enumerate() {
        let (held, wanted) = (format!("held.c{place}"), format!("CAST(wanted.c{place} AS {data_type})"));
        let equal = format!("{held} IS NOT DISTINCT FROM {wanted}");
        let digits = match data_type.as_str() {
            "FLOAT" => "1e-5",
            // Differences of sums of third and fourth powers keep few digits.
            _ if ["kurtosis", "kurtosis_pop", "skewness"].contains(&call.function.as_str()) => "1e-9",
            _ => "1e-12",
        };
        same.push(match (call.decided(), data_type.as_str()) {
            (Decided::All, "FLOAT" | "DOUBLE") => {
                format!("({equal} OR abs({held} - {wanted}) <= {digits} * greatest(abs({held}), abs({wanted})))")
            }
            (Decided::All, _) => equal,
            (Decided::InAnyOrder, _) => format!("list_sort({held}) IS NOT DISTINCT FROM list_sort({wanted})"),
            (Decided::Length, _) => format!("length({held}) IS NOT DISTINCT FROM length({wanted})"),
            (Decided::Nothing, _) => "true".to_owned(),
        });
    }
    let counts: Vec<String> = same.iter().map(|same| format!("count(*) FILTER (WHERE ({same}) IS NOT TRUE)")).collect();
    let on = if view.shape == Shape::Grouped { "held.k IS NOT DISTINCT FROM wanted.k" } else { "true" };
    let query = view.shape.query(&view.calls).replace("FROM t", &format!("FROM {table}"));
    let with_mark = |rows: &str| format!("(SELECT *, 1 AS there FROM {rows})");
    let (held, wanted) = (with_mark(&view.name), with_mark(&format!("({query})")));
    let joined = format!("{held} AS held FULL JOIN {wanted} AS wanted ON {on}");
    let sides = "count(*) FILTER (WHERE held.there IS NULL), count(*) FILTER (WHERE wanted.there IS NULL)";
    let row = world.lake.query(&format!("SELECT {sides}, {} FROM {joined}", counts.join(", "))).unwrap();
    let numbers: Vec<u64> = row.rows[0].iter().map(|value| value.as_u64().unwrap()).collect();
    let mut found: Vec<String> = Vec::new();
    if numbers[..2] != [0, 0] {
        found.push(format!("{} rows missing, {} too many", numbers[0], numbers[1]));
    }
    for (place, (call, count)) in view.calls.iter().zip(&numbers[2..]).enumerate() {
        if *count > 0 {
            let value = |sql: &str| world.rows(&format!("SELECT c{place} FROM {sql}")).join(" ; ");
            found.push(format!(
                "{} {:?} {:?}: {count} rows\n  held   {}\n  wanted {}",
                call.sql,
                view.shape,
                view.kind,
                value(&view.name),
                value(&format!("({query})"))
            ));
        }
    }
    found
}

#[test]
fn every_aggregate_is_maintained_as_the_page_says() {
    let world = World::new(TABLE);
    world.run(&format!("INSERT INTO t {}", rows("SELECT range AS id, range % 4 AS k FROM range(40)")));
    world.run(&format!("INSERT INTO t {}", rows("SELECT unnest([5, 5, 6, 7, 41, 42]) AS id, NULLIF(id % 4, 1) AS k")));
    let functions = all(&world.lake);
    let every: Vec<&Call> = functions.calls.iter().collect();
    let of = |shape| every.chunks(MOST).flat_map(|calls| kinds(&world, calls, shape)).collect::<Vec<_>>();
    let kinds: Vec<[Kind; 2]> =
        of(Shape::Grouped).into_iter().zip(of(Shape::Ungrouped)).map(|(one, other)| [one, other]).collect();
    let views = views(&world, &functions, &kinds);
    let changes = [
        format!(
            "INSERT INTO t {};\nDELETE FROM t WHERE k = 2 OR id IN (1, 8);\nINSERT INTO t {};\n\
             UPDATE t SET i = NULL, c = NULL, v = NULL, d = NULL WHERE id % 7 = 0;\nUPDATE t SET k = 8 WHERE id > 55",
            rows("SELECT range AS id, range % 5 AS k FROM range(50, 62)"),
            rows("SELECT 5 AS id, 1 AS k")
        ),
        format!("DELETE FROM t WHERE k <> 1;\nINSERT INTO t {}", rows("SELECT 70 AS id, 1 AS k")),
    ];
    let mut failures = Vec::new();
    for change in &changes {
        let before = world.current();
        world.run(change);
        let report = world.sync_with(&SyncOptions::default()).unwrap();
        for view in &views {
            let wanted = if matches!(view.kind, Kind::Recomputed(_)) { Method::Recompute } else { Method::Incremental };
            let report = view_of(&report, &view.name);
            if let Some(error) = report.error {
                failures
                    .push(format!("{error}\n{:?}", differences(&world, view, &format!("t AT (VERSION => {before})"))));
                continue;
            }
            // A guard raised: then the query is run.
            let tied = view.calls.iter().all(|call| call.chooses())
                && report.reason.as_ref().is_some_and(|reason| reason.starts_with("rows tie in"));
            if report.strategy != Some(wanted) && !tied {
                failures.push(format!("{} {:?} {:?}: {:?}", view.name, view.kind, report.strategy, report.reason));
            }
            failures.extend(differences(&world, view, "t"));
        }
    }
    let made = page(&functions, &kinds);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/aggregates.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &made).unwrap();
    }
    assert!(failures.is_empty(), "{}:\n{}", failures.len(), failures.join("\n"));
    let found = fs::read_to_string(&path).unwrap_or_default();
    let differs = made.lines().zip(found.lines()).find(|(made, found)| made != found);
    assert!(made == found, "docs/aggregates.md is not up to date (UPDATE_DOCS=1 writes it): {differs:?}");
}
