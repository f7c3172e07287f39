//! What holds of a plan, whatever the data: its sources, whether its result depends on anything but them, and what
//! kind of delta rule each node has.

use std::fmt;

use super::expr::Expr;
use super::rel::{FIRST_VIRTUAL_POSITION, JoinKind, Rel, Scan, SetOperator, TableFunction, TableKind};
use super::shape::WEIGHT_POSITION;

/// A table that a plan reads, as the plan names it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Source {
    /// The catalog's alias in the session.
    pub catalog: String,
    /// The schema.
    pub schema: String,
    /// The table.
    pub table: String,
}

impl Source {
    /// The table that `scan` reads.
    pub fn of(scan: &Scan) -> Source {
        Source { catalog: scan.catalog.clone(), schema: scan.schema.clone(), table: scan.table.clone() }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.schema, self.table)
    }
}

/// The tables that `rel` reads, each once, in order of first appearance. Scans pinned by the user's own `AT` are
/// constants and not among them.
pub fn sources(rel: &Rel) -> Vec<Source> {
    let mut found = Vec::new();
    for scan in rel.scans() {
        let source = Source::of(scan);
        if scan.pinned.is_none() && !found.contains(&source) {
            found.push(source);
        }
    }
    found
}

/// What a node's delta rule may look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RuleKind {
    /// The operator applied to the delta.
    Linear,
    /// Linear in each input by itself: joins.
    Product,
    /// Needs accumulated state: grouped sums, distinct.
    Stateful,
    /// Affected keys are recomputed: windows, top-k, outer joins.
    NonLinear,
    /// No delta exists: volatile functions, samples.
    FullOnly,
}

impl RuleKind {
    /// The word for it in plans and reports.
    pub fn word(self) -> &'static str {
        match self {
            RuleKind::Linear => "linear",
            RuleKind::Product => "product",
            RuleKind::Stateful => "stateful",
            RuleKind::NonLinear => "non_linear",
            RuleKind::FullOnly => "full_only",
        }
    }
}

/// The rule kind of one node, its inputs left aside.
pub fn rule_kind(rel: &Rel) -> RuleKind {
    match rel {
        Rel::Scan(_)
        | Rel::Values(_)
        | Rel::TableFunction(_)
        | Rel::Project(_)
        | Rel::Filter(_)
        | Rel::Unnest(_)
        | Rel::Sort(_)
        | Rel::Cte(_)
        | Rel::CteRef(_)
        | Rel::DependentKeys(_) => RuleKind::Linear,
        Rel::SetOperation(operation) if operation.op == SetOperator::Union && operation.all => RuleKind::Linear,
        Rel::InnerJoin(_) => RuleKind::Product,
        Rel::Join(join) if join.kind == JoinKind::Inner => RuleKind::Product,
        Rel::Aggregate(_) | Rel::Distinct(_) | Rel::SetOperation(_) => RuleKind::Stateful,
        Rel::Join(_) | Rel::DependentJoin(_) | Rel::Window(_) | Rel::Limit(_) | Rel::RecursiveCte(_) => {
            RuleKind::NonLinear
        }
        Rel::Sample(_) => RuleKind::FullOnly,
    }
}

/// The operator's name as a user wrote it, for messages.
pub fn operator_name(rel: &Rel) -> String {
    match rel {
        Rel::Scan(scan) => format!("scan of {}.{}", scan.schema, scan.table),
        Rel::Values(_) => "VALUES".into(),
        Rel::TableFunction(function) => format!("table function {}", function.name),
        Rel::Project(_) => "SELECT list".into(),
        Rel::Filter(_) => "WHERE".into(),
        Rel::Join(join) => join_name(join.kind).into(),
        Rel::InnerJoin(_) => "INNER JOIN".into(),
        Rel::DependentJoin(_) => "correlated subquery".into(),
        Rel::DependentKeys(_) => "correlated keys".into(),
        Rel::Aggregate(aggregate) if aggregate.grouping_sets.len() > 1 => "GROUPING SETS".into(),
        Rel::Aggregate(aggregate) if aggregate.groups.is_empty() => "ungrouped aggregate".into(),
        Rel::Aggregate(_) => "GROUP BY".into(),
        Rel::Distinct(distinct) if distinct.on.is_some() => "DISTINCT ON".into(),
        Rel::Distinct(_) => "DISTINCT".into(),
        Rel::Window(_) => "window function".into(),
        Rel::SetOperation(operation) => {
            let op = match operation.op {
                SetOperator::Union => "UNION",
                SetOperator::Except => "EXCEPT",
                SetOperator::Intersect => "INTERSECT",
            };
            if operation.all { format!("{op} ALL") } else { op.into() }
        }
        Rel::Sort(_) => "ORDER BY".into(),
        Rel::Limit(_) => "LIMIT".into(),
        Rel::Unnest(_) => "unnest".into(),
        Rel::Cte(cte) => format!("CTE {}", cte.name),
        Rel::CteRef(_) => "reference to a CTE".into(),
        Rel::RecursiveCte(cte) => format!("recursive CTE {}", cte.name),
        Rel::Sample(_) => "SAMPLE".into(),
    }
}

fn join_name(kind: JoinKind) -> &'static str {
    match kind {
        JoinKind::Inner => "INNER JOIN",
        JoinKind::Left => "LEFT JOIN",
        JoinKind::Right => "RIGHT JOIN",
        JoinKind::Full => "FULL JOIN",
        JoinKind::Semi => "SEMI JOIN",
        JoinKind::Anti => "ANTI JOIN",
        JoinKind::Mark => "IN, ANY, ALL or EXISTS",
        JoinKind::Single => "scalar subquery",
        JoinKind::AsOfInner | JoinKind::AsOfLeft | JoinKind::AsOfRight | JoinKind::AsOfFull => "ASOF JOIN",
        JoinKind::Positional => "POSITIONAL JOIN",
    }
}

/// How far a scalar function's result depends on its arguments alone; `duckdb_functions().stability` tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stability {
    /// The arguments decide the result.
    Consistent,
    /// The same within one query, not from query to query (`now()`).
    WithinQuery,
    /// Each call may differ (`random()`).
    Volatile,
}

/// Functions that DuckDB calls consistent although the session, the clock or the statement around them (`alias`) has a say
/// in them.
const SESSION_DEPENDENT: [&str; 14] = [
    "alias",
    "current_localtime",
    "current_localtimestamp",
    "current_role",
    "current_setting",
    "current_user",
    "get_current_timestamp",
    "getenv",
    "getvariable",
    "pg_backend_pid",
    "session_user",
    "user",
    "version",
    "which_secret",
];

/// Table functions whose rows depend on their arguments alone.
const CONSTANT_TABLE_FUNCTIONS: [&str; 8] =
    ["range", "generate_series", "repeat", "repeat_row", "unnest", "json_each", "json_tree", "test_all_types"];

/// Something in a plan that is not a function of the lake's tables, so that no delta exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Impurity {
    /// A volatile function, or one that is constant within a query only.
    Function {
        /// Its name.
        name: String,
    },
    /// A sample.
    Sample {
        /// The clause.
        clause: String,
    },
    /// An input without a change feed, such as `read_parquet`.
    Untracked {
        /// The table function or table.
        name: String,
    },
}

impl fmt::Display for Impurity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Impurity::Function { name } => write!(f, "the result of {name}() is not decided by its arguments alone"),
            Impurity::Sample { clause } => write!(f, "a sample ({clause}) takes other rows each time"),
            Impurity::Untracked { name } => write!(f, "{name} has no change feed"),
        }
    }
}

/// The first thing in `rel` that is not a function of the lake's tables, or `None`. `stability` tells of a scalar
/// function by its name.
pub fn impurity(rel: &Rel, stability: &dyn Fn(&str) -> Stability) -> Option<Impurity> {
    let mut found = None;
    rel.walk(&mut |node| {
        if found.is_none() {
            found = node_impurity(node, stability);
        }
    });
    found
}

fn node_impurity(node: &Rel, stability: &dyn Fn(&str) -> Stability) -> Option<Impurity> {
    match node {
        Rel::Sample(sample) => {
            return Some(Impurity::Sample { clause: sample.clause.clone() });
        }
        Rel::TableFunction(TableFunction { name, .. }) if !CONSTANT_TABLE_FUNCTIONS.contains(&name.as_str()) => {
            return Some(Impurity::Untracked { name: name.clone() });
        }
        Rel::Scan(scan) if scan.kind == TableKind::DuckDb => {
            let name = format!("the table {}.{}.{} (not of the lake)", scan.catalog, scan.schema, scan.table);
            return Some(Impurity::Untracked { name });
        }
        Rel::Scan(scan) => {
            let is_virtual = |position: usize| position >= FIRST_VIRTUAL_POSITION && position != WEIGHT_POSITION;
            if let Some(at) = scan.positions.iter().position(|position| is_virtual(*position)) {
                let name =
                    format!("{} of {}.{} (not a column of its own)", scan.columns[at].name, scan.schema, scan.table);
                return Some(Impurity::Untracked { name });
            }
        }
        _ => {}
    }
    let mut found = None;
    for expr in node.exprs() {
        expr.walk(&mut |expr| {
            if let Expr::Function(call) = expr
                && found.is_none()
                && is_unstable(&call.name, call.arguments.len(), stability)
            {
                found = Some(Impurity::Function { name: call.name.clone() });
            }
        });
    }
    found
}

/// Whether a call of the function `name` with so many arguments may give another result when nothing in the lake changed.
pub fn is_unstable(name: &str, arguments: usize, stability: &dyn Fn(&str) -> Stability) -> bool {
    // `error` is marked volatile only so that it is not folded, and `age(x)` is the distance from today.
    match name {
        "error" => false,
        "age" if arguments == 1 => true,
        _ => SESSION_DEPENDENT.contains(&name) || stability(name) != Stability::Consistent,
    }
}
