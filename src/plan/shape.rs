//! What can be asked of every [`Rel`] alike: its columns, its inputs, its scans.

use super::expr::Expr;
use super::rel::{Column, Cte, Join, JoinCondition, JoinKind, RecursiveCte, Rel, Scan, State, Values};
use super::types::DataType;

/// The name of the column that carries a row's weight, always the last one of a delta. A weight of +k stands for k
/// more copies of the row, −k for k fewer.
pub const WEIGHT: &str = "__weight";

/// What stands for the weight among the positions of a delta scan: no table has that column.
pub const WEIGHT_POSITION: usize = usize::MAX;

impl Column {
    /// A column.
    pub fn new(name: impl Into<String>, data_type: DataType) -> Column {
        Column { name: name.into(), data_type }
    }

    /// The weight column of a delta.
    pub fn weight() -> Column {
        Column::new(WEIGHT, DataType::BigInt)
    }
}

impl JoinKind {
    /// Does the output hold the right side's columns?
    pub fn keeps_right(self) -> bool {
        !matches!(self, JoinKind::Semi | JoinKind::Anti | JoinKind::Mark)
    }
}

impl Join {
    /// All conditions as conjuncts over both sides' columns, side by side.
    pub fn demands(&self) -> Vec<Expr> {
        let width = self.left.columns().len();
        let conditions = self.conditions.iter().map(|condition| Expr::Comparison {
            op: condition.op,
            left: Box::new(condition.left.clone()),
            right: Box::new(condition.right.clone().with_columns(&|column| column + width)),
        });
        conditions.chain(self.predicates.iter().cloned()).collect()
    }

    /// The same join with its sides exchanged, as another kind.
    #[must_use]
    pub fn swapped(&self, kind: JoinKind) -> Join {
        let (left, right) = (self.left.columns().len(), self.right.columns().len());
        let conditions = self.conditions.iter().map(|condition| JoinCondition {
            left: condition.right.clone(),
            op: condition.op.swapped(),
            right: condition.left.clone(),
        });
        let exchanged = |column: usize| if column < left { column + right } else { column - left };
        let predicates = self.predicates.iter().map(|predicate| predicate.clone().with_columns(&exchanged));
        Join {
            kind,
            conditions: conditions.collect(),
            predicates: predicates.collect(),
            left: self.right.clone(),
            right: self.left.clone(),
        }
    }
}

impl Rel {
    /// No rows and no columns: what stands in a node's place while the node itself is taken apart.
    pub(crate) fn nothing() -> Rel {
        Rel::Values(Values { columns: Vec::new(), rows: Vec::new() })
    }

    /// The output columns.
    pub fn columns(&self) -> Vec<Column> {
        match self {
            Rel::Scan(scan) => scan.columns.clone(),
            Rel::Values(values) => values.columns.clone(),
            Rel::TableFunction(function) => {
                let input = function.input.iter().flat_map(|input| input.columns());
                function.columns.iter().cloned().chain(input).collect()
            }
            Rel::Project(project) => {
                project.exprs.iter().map(|(name, expr)| Column::new(name, expr.data_type())).collect()
            }
            Rel::Filter(filter) => filter.input.columns(),
            Rel::Join(join) => {
                let mut columns = join.left.columns();
                if join.kind.keeps_right() {
                    columns.extend(join.right.columns());
                }
                if join.kind == JoinKind::Mark {
                    columns.push(Column::new("mark", DataType::Boolean));
                }
                columns
            }
            Rel::InnerJoin(join) => join.legs.iter().flat_map(Rel::columns).collect(),
            Rel::DependentJoin(dependent) => Rel::Join(dependent.join.clone()).columns(),
            Rel::DependentKeys(keys) => keys.columns.clone(),
            Rel::Aggregate(aggregate) => {
                let groups = aggregate.groups.iter().map(|(name, expr)| Column::new(name, expr.data_type()));
                let calls = aggregate.aggregates.iter().map(|call| Column::new(&call.name, call.data_type.clone()));
                let groupings = aggregate.grouping_functions.iter().map(|_| Column::new("grouping", DataType::BigInt));
                groups.chain(calls).chain(groupings).collect()
            }
            Rel::Distinct(distinct) => distinct.input.columns(),
            Rel::Window(window) => {
                let mut columns = window.input.columns();
                columns.extend(window.functions.iter().map(|call| Column::new(&call.name, call.data_type.clone())));
                columns
            }
            Rel::SetOperation(operation) => operation.columns.clone(),
            Rel::Sort(sort) => sort.input.columns(),
            Rel::Limit(limit) => limit.input.columns(),
            Rel::Unnest(unnest) => {
                let mut columns = unnest.input.columns();
                columns.extend(unnest.lists.iter().map(|(column, _)| column.clone()));
                columns
            }
            Rel::Cte(cte) => cte.body.columns(),
            Rel::CteRef(reference) => reference.columns.clone(),
            Rel::RecursiveCte(cte) => cte.columns.clone(),
            Rel::Sample(sample) => sample.input.columns(),
        }
    }

    /// The direct inputs, in order.
    pub fn inputs(&self) -> Vec<&Rel> {
        match self {
            Rel::Scan(_) | Rel::Values(_) | Rel::DependentKeys(_) | Rel::CteRef(_) => Vec::new(),
            Rel::TableFunction(function) => function.input.iter().map(|input| &**input).collect(),
            Rel::Project(project) => vec![&project.input],
            Rel::Filter(filter) => vec![&filter.input],
            Rel::Join(join) => vec![&join.left, &join.right],
            Rel::InnerJoin(join) => join.legs.iter().collect(),
            Rel::DependentJoin(dependent) => vec![&dependent.join.left, &dependent.join.right],
            Rel::Aggregate(aggregate) => vec![&aggregate.input],
            Rel::Distinct(distinct) => vec![&distinct.input],
            Rel::Window(window) => vec![&window.input],
            Rel::SetOperation(operation) => operation.inputs.iter().collect(),
            Rel::Sort(sort) => vec![&sort.input],
            Rel::Limit(limit) => vec![&limit.input],
            Rel::Unnest(unnest) => vec![&unnest.input],
            Rel::Cte(cte) => vec![&cte.definition, &cte.body],
            Rel::RecursiveCte(cte) => vec![&cte.start, &cte.step],
            Rel::Sample(sample) => vec![&sample.input],
        }
    }

    /// The direct inputs, for rewriting in place.
    pub fn inputs_mut(&mut self) -> Vec<&mut Rel> {
        match self {
            Rel::Scan(_) | Rel::Values(_) | Rel::DependentKeys(_) | Rel::CteRef(_) => Vec::new(),
            Rel::TableFunction(function) => function.input.iter_mut().map(|input| &mut **input).collect(),
            Rel::Project(project) => vec![&mut project.input],
            Rel::Filter(filter) => vec![&mut filter.input],
            Rel::Join(join) => vec![&mut join.left, &mut join.right],
            Rel::InnerJoin(join) => join.legs.iter_mut().collect(),
            Rel::DependentJoin(dependent) => vec![&mut dependent.join.left, &mut dependent.join.right],
            Rel::Aggregate(aggregate) => vec![&mut aggregate.input],
            Rel::Distinct(distinct) => vec![&mut distinct.input],
            Rel::Window(window) => vec![&mut window.input],
            Rel::SetOperation(operation) => operation.inputs.iter_mut().collect(),
            Rel::Sort(sort) => vec![&mut sort.input],
            Rel::Limit(limit) => vec![&mut limit.input],
            Rel::Unnest(unnest) => vec![&mut unnest.input],
            Rel::Cte(cte) => vec![&mut cte.definition, &mut cte.body],
            Rel::RecursiveCte(cte) => vec![&mut cte.start, &mut cte.step],
            Rel::Sample(sample) => vec![&mut sample.input],
        }
    }

    /// Calls `visit` on this node and every node below it, outermost first.
    pub fn walk<'a>(&'a self, visit: &mut dyn FnMut(&'a Rel)) {
        visit(self);
        for input in self.inputs() {
            input.walk(visit);
        }
    }

    /// Every scan in the plan, in order; a self-join gives one per alias.
    pub fn scans(&self) -> Vec<&Scan> {
        let mut scans = Vec::new();
        self.walk(&mut |rel| {
            if let Rel::Scan(scan) = rel {
                scans.push(scan);
            }
        });
        scans
    }

    /// The same plan with every scan rewritten by `change`.
    #[must_use]
    pub fn map_scans(mut self, change: &mut dyn FnMut(&mut Scan)) -> Rel {
        self.change_scans(change);
        self
    }

    fn change_scans(&mut self, change: &mut dyn FnMut(&mut Scan)) {
        if let Rel::Scan(scan) = self {
            change(scan);
        }
        for input in self.inputs_mut() {
            input.change_scans(change);
        }
    }

    /// The same plan with every scan that is not pinned reading `state`.
    #[must_use]
    pub fn at(self, state: State) -> Rel {
        self.map_scans(&mut |scan| {
            if scan.pinned.is_none() {
                scan.state = state;
            }
        })
    }

    /// An id that no CTE of the plan has, nor any greater one.
    pub(crate) fn next_cte(&self) -> usize {
        let mut next = 0;
        self.walk(&mut |rel| {
            if let Rel::Cte(Cte { id, .. }) | Rel::RecursiveCte(RecursiveCte { id, .. }) = rel {
                next = next.max(id + 1);
            }
        });
        next
    }

    /// How many nodes the plan has.
    pub fn size(&self) -> usize {
        let mut nodes = 0;
        self.walk(&mut |_| nodes += 1);
        nodes
    }

    /// The expressions that stand in this node itself (not in its inputs).
    pub fn exprs(&self) -> Vec<&Expr> {
        match self {
            Rel::Scan(_)
            | Rel::DependentKeys(_)
            | Rel::CteRef(_)
            | Rel::SetOperation(_)
            | Rel::Cte(_)
            | Rel::RecursiveCte(_)
            | Rel::Sample(_) => Vec::new(),
            Rel::Values(values) => values.rows.iter().flatten().collect(),
            Rel::TableFunction(function) => {
                function.arguments.iter().chain(function.named_arguments.iter().map(|(_, expr)| expr)).collect()
            }
            Rel::Project(project) => project.exprs.iter().map(|(_, expr)| expr).collect(),
            Rel::Filter(filter) => filter.predicates.iter().collect(),
            Rel::Join(join) => join_exprs(join),
            Rel::InnerJoin(join) => join.predicates.iter().collect(),
            Rel::DependentJoin(dependent) => join_exprs(&dependent.join).into_iter().chain(&dependent.keys).collect(),
            Rel::Aggregate(aggregate) => {
                let calls = aggregate.aggregates.iter().flat_map(|call| {
                    let order = call.order_by.iter().map(|key| &key.expr);
                    call.arguments.iter().chain(call.filter.as_deref()).chain(order)
                });
                aggregate.groups.iter().map(|(_, expr)| expr).chain(calls).collect()
            }
            Rel::Distinct(distinct) => {
                distinct.on.iter().flatten().chain(distinct.order_by.iter().map(|key| &key.expr)).collect()
            }
            Rel::Window(window) => window.functions.iter().flat_map(window_exprs).collect(),
            Rel::Sort(sort) => sort.keys.iter().map(|key| &key.expr).collect(),
            Rel::Limit(limit) => [&limit.limit, &limit.offset].into_iter().filter_map(limit_expr).collect(),
            Rel::Unnest(unnest) => unnest.lists.iter().map(|(_, expr)| expr).collect(),
        }
    }
}

fn join_exprs(join: &super::rel::Join) -> Vec<&Expr> {
    let conditions = join.conditions.iter().flat_map(|condition| [&condition.left, &condition.right]);
    conditions.chain(&join.predicates).collect()
}

fn window_exprs(call: &super::rel::WindowCall) -> Vec<&Expr> {
    use super::rel::FrameBound;
    let bounds = [&call.frame.start, &call.frame.end].into_iter().filter_map(|bound| match bound {
        FrameBound::Preceding(expr) | FrameBound::Following(expr) => Some(&**expr),
        _ => None,
    });
    let orders = call.argument_order.iter().chain(&call.order_by).map(|key| &key.expr);
    call.arguments.iter().chain(call.filter.as_deref()).chain(&call.partition_by).chain(orders).chain(bounds).collect()
}

fn limit_expr(count: &super::rel::LimitCount) -> Option<&Expr> {
    use super::rel::LimitCount;
    match count {
        LimitCount::Expression(expr) | LimitCount::PercentExpression(expr) => Some(expr),
        LimitCount::Unset | LimitCount::Rows(_) | LimitCount::Percent(_) => None,
    }
}
