//! The relational nodes, each added to the `SELECT` of its input where SQL's order of evaluation allows, else over a
//! subquery.

use crate::plan::expr::Expr;
use crate::plan::rel::{
    Aggregate, Distinct, Filter, Limit, LimitCount, Project, Rel, Sample, Scan, SetOperation, SetOperator, Sort,
    TableFunction, TableKind, Unnest, Values, Window,
};
use crate::plan::types::DataType;

use super::block::{Block, Item, Output, Stage, indented};
use super::exprs::Columns;
use super::literals::commas;
use super::lowered::lowered;
use super::names::{self, Names};
use super::{Relation, Relations, calls, quoted};

/// Prints one statement.
pub(super) struct Printer<'r> {
    relations: &'r dyn Relations,
    /// Aliases and CTE names given out so far; each is used once in the whole statement.
    pub(super) names: Names,
    /// The CTEs in scope: a plan's id, the CTE's name, its columns' names.
    pub(super) ctes: Vec<(usize, String, Vec<String>)>,
}

impl<'r> Printer<'r> {
    pub(super) fn new(relations: &'r dyn Relations) -> Printer<'r> {
        Printer { relations, names: Names::default(), ctes: Vec::new() }
    }

    pub(super) fn statement(&mut self, rel: &Rel) -> String {
        self.block(&lowered(rel)).text()
    }

    /// The `SELECT` of a node.
    pub(super) fn block(&mut self, rel: &Rel) -> Block {
        match rel {
            Rel::Scan(scan) => self.scan(scan),
            Rel::Values(values) => self.values(values),
            Rel::TableFunction(function) => self.table_function(function),
            Rel::Project(project) => self.project(project),
            Rel::Filter(filter) => self.filter(filter),
            Rel::Join(join) => self.join(join),
            Rel::InnerJoin(join) => self.inner_join(join),
            // Lowered before; what is left has lost its other half, which the binder will name.
            Rel::DependentJoin(join) => self.join(&join.join),
            Rel::DependentKeys(keys) => {
                let name = format!("missing keys {}", keys.id);
                let columns = names::unique(keys.columns.iter().map(|column| column.name.clone()));
                Block::relation(quoted(&name), &name, columns)
            }
            Rel::Aggregate(aggregate) => self.aggregate(aggregate),
            Rel::Distinct(distinct) => self.distinct(distinct),
            Rel::Window(window) => self.window(window),
            Rel::SetOperation(operation) => self.set_operation(operation),
            Rel::Sort(sort) => self.sort(sort),
            Rel::Limit(limit) => self.limit(limit),
            Rel::Unnest(unnest) => self.unnest(unnest),
            Rel::Cte(cte) => self.cte(cte),
            Rel::CteRef(reference) => self.cte_reference(reference),
            Rel::RecursiveCte(cte) => self.recursive_cte(cte),
            Rel::Sample(sample) => self.sample(sample),
        }
    }

    /// The `SELECT` of a node that has plain columns and no more than `FROM` and `WHERE`.
    pub(super) fn rows(&mut self, rel: &Rel) -> Block {
        let block = self.block(rel);
        if block.stage == Stage::Rows && block.plain() { block } else { self.wrapped(block, name_of(rel)) }
    }

    /// The same where only the columns that `exprs` read need to be plain.
    pub(super) fn rows_for(&mut self, rel: &Rel, exprs: &[&Expr]) -> Block {
        let block = self.block(rel);
        let plain = |column: usize| block.columns.get(column).is_none_or(|column| column.plain);
        let fits = exprs.iter().flat_map(|expr| expr.columns()).all(plain);
        if block.stage == Stage::Rows && fits { block } else { self.wrapped(block, name_of(rel)) }
    }

    /// `block` as a subquery.
    pub(super) fn wrapped(&mut self, mut block: Block, name: &str) -> Block {
        let alias = self.names.fresh(name);
        let with = std::mem::take(&mut block.with);
        let text = format!("(\n{}\n) AS {}", indented(&block.text()), quoted(&alias));
        Block { with, ..Block::relation(text, &alias, block.names()) }
    }

    fn scan(&mut self, scan: &Scan) -> Block {
        let relation = match scan.pinned {
            Some(snapshot) => Relation::table(scan, Some(snapshot)),
            None => self.relations.relation(scan),
        };
        let version = relation.version.map(|version| format!(" AT (VERSION => {version})")).unwrap_or_default();
        let alias = self.names.fresh(&scan.table);
        let text = format!("{} AS {}{version}", relation.name, quoted(&alias));
        let names = scan.columns.iter().map(|column| column.name.clone());
        let mut block = Block::relation(text, &alias, names);
        let collated = |data_type: &DataType| matches!(data_type, DataType::Varchar { collation: Some(collation) } if !collation.is_empty());
        if scan.kind == TableKind::DuckDb && scan.columns.iter().any(|column| collated(&column.data_type)) {
            // The plan has the collation's functions already; the binder must not add them again.
            for (column, output) in scan.columns.iter().zip(&mut block.columns) {
                if collated(&column.data_type) {
                    output.text = format!("{} COLLATE \"binary\"", output.text);
                    output.plain = false;
                }
            }
            block.stage = Stage::Computed;
        }
        block
    }

    fn values(&mut self, values: &Values) -> Block {
        let names = names::unique(values.columns.iter().map(|column| column.name.clone()));
        if values.columns.is_empty() && values.rows.len() == 1 {
            return Block::rows(Vec::new(), Vec::new());
        }
        let types = || values.columns.iter().map(|column| &column.data_type);
        if values.rows.is_empty() || values.columns.is_empty() {
            let columns = types().zip(&names).map(|(data_type, name)| {
                let text = format!("CAST(NULL AS {data_type})");
                Output { text, name: name.clone(), plain: false }
            });
            let mut block = Block::rows(Vec::new(), columns.collect());
            if values.rows.is_empty() {
                block.filters.push("FALSE".to_owned());
                block.stage = Stage::Closed;
                return block;
            }
            let rows = format!("(VALUES {}) AS ", commas(values.rows.iter().map(|_| "(1)".to_owned())));
            let alias = self.names.fresh("rows");
            return Block::relation(format!("{rows}{}", quoted(&alias)), &alias, []);
        }
        let columns = Columns::new(&[]);
        let row = |row: &Vec<Expr>| {
            let cast = |(expr, data_type): (&Expr, &DataType)| {
                if expr.data_type() == *data_type {
                    columns.top(expr)
                } else {
                    format!("CAST({} AS {data_type})", columns.top(expr))
                }
            };
            format!("({})", commas(row.iter().zip(types()).map(cast)))
        };
        let rows = values.rows.iter().map(row).collect::<Vec<_>>().join(",\n");
        let alias = self.names.fresh("rows");
        let head = commas(names.iter().map(|name| quoted(name)));
        let text = format!("(\n  VALUES\n{}\n) AS {}({head})", indented(&indented(&rows)), quoted(&alias));
        Block::relation(text, &alias, names)
    }

    fn table_function(&mut self, function: &TableFunction) -> Block {
        let mut input = match &function.input {
            Some(input) => self.rows(input),
            None => Block::rows(Vec::new(), Vec::new()),
        };
        let texts = input.texts();
        let columns = Columns::new(&texts);
        let positional = function.arguments.iter().map(|argument| columns.top(argument));
        let by_name =
            function.named_arguments.iter().map(|(name, value)| format!("{} := {}", quoted(name), columns.top(value)));
        let arguments = commas(positional.chain(by_name));
        let alias = self.names.fresh(&function.name);
        let names = names::unique(function.all_names.iter().cloned());
        let head = commas(names.iter().map(|name| quoted(name)));
        let call = format!("{}({arguments})", names::function(&function.name));
        let text = format!("{call} AS {}({head})", quoted(&alias));
        let own = function.positions.iter().zip(&function.columns);
        let own = own.map(|(position, column)| {
            let name = names.get(*position).unwrap_or(&column.name);
            Output::of(&alias, name.clone())
        });
        input.columns = own.chain(input.columns).collect();
        input.from.push(Item { join: "CROSS JOIN", text, on: Vec::new() });
        input
    }

    fn project(&mut self, project: &Project) -> Block {
        let mut block = self.block(&project.input);
        let reads = |index: usize| {
            let mut count = 0;
            for (_, expr) in &project.exprs {
                expr.walk(&mut |part| {
                    count += usize::from(matches!(part, Expr::Column { index: at, .. } if *at == index));
                });
            }
            count
        };
        let only_columns = project.exprs.iter().all(|(_, expr)| matches!(expr, Expr::Column { .. }));
        let once = block.columns.iter().enumerate().all(|(index, column)| column.plain || reads(index) <= 1);
        let keeps_all = (0..block.columns.len()).all(|index| reads(index) == 1);
        let fits = match block.stage {
            Stage::Rows => once,
            // The binder computes each group and each call once, however often its text stands there.
            Stage::Groups => true,
            Stage::Computed | Stage::Ordered | Stage::Closed => only_columns && once,
            Stage::Fixed => only_columns && keeps_all,
        };
        if block.compound.is_some() && in_place(project, &block) {
            return block;
        }
        if !fits || block.compound.is_some() {
            block = self.wrapped(block, name_of(&project.input));
        }
        let texts = block.texts();
        let columns = Columns::new(&texts);
        let made = project.exprs.iter().map(|(name, expr)| match expr {
            Expr::Column { index, .. } if *index < block.columns.len() => {
                Output { name: name.clone(), ..block.columns[*index].clone() }
            }
            other => Output { text: columns.top(other), name: name.clone(), plain: false },
        });
        block.columns = made.collect();
        if !only_columns && block.stage < Stage::Computed {
            block.stage = Stage::Computed;
        }
        block
    }

    fn filter(&mut self, filter: &Filter) -> Block {
        let mut block = self.block(&filter.input);
        let fits = match block.stage {
            Stage::Rows | Stage::Groups => true,
            Stage::Computed | Stage::Ordered | Stage::Closed | Stage::Fixed => false,
        };
        if !fits {
            block = self.wrapped(block, name_of(&filter.input));
        }
        let texts = block.texts();
        let columns = Columns::new(&texts);
        let predicates = filter.predicates.iter().map(|predicate| conjunct(columns, predicate));
        if block.stage == Stage::Groups {
            block.having.extend(predicates);
        } else {
            block.filters.extend(predicates);
        }
        block
    }

    fn aggregate(&mut self, aggregate: &Aggregate) -> Block {
        let whole = Rel::Aggregate(aggregate.clone());
        let mut block = self.rows_for(&aggregate.input, &whole.exprs());
        let texts = block.texts();
        let columns = Columns::new(&texts);
        let groups: Vec<String> = aggregate.groups.iter().map(|(_, expr)| columns.no_position(expr)).collect();
        let mut outputs = Vec::new();
        for ((name, expr), text) in aggregate.groups.iter().zip(&groups) {
            let plain = matches!(expr, Expr::Column { .. });
            outputs.push(Output { text: text.clone(), name: name.clone(), plain });
        }
        let calls: Vec<String> = aggregate.aggregates.iter().map(|call| calls::aggregate(call, columns)).collect();
        for (call, text) in aggregate.aggregates.iter().zip(&calls) {
            outputs.push(Output { text: text.clone(), name: call.name.clone(), plain: false });
        }
        let set =
            |positions: &Vec<usize>| commas(positions.iter().filter_map(|position| groups.get(*position).cloned()));
        for positions in &aggregate.grouping_functions {
            let text = format!("GROUPING({})", set(positions));
            outputs.push(Output { text, name: "grouping".to_owned(), plain: false });
        }
        let every_group: Vec<usize> = (0..groups.len()).collect();
        match aggregate.grouping_sets.as_slice() {
            [only] if groups.is_empty() && only.is_empty() => block.ungrouped_calls = Some(calls),
            [only] if *only == every_group => block.group_by = Some(commas(groups.iter().cloned())),
            sets => {
                let sets = commas(sets.iter().map(|positions| format!("({})", set(positions))));
                block.group_by = Some(format!("GROUPING SETS ({sets})"));
            }
        }
        block.columns = outputs;
        // A constant group may be NULL in some grouping sets; printed again above, it would be the constant itself.
        let constant = aggregate.groups.iter().any(|(_, expr)| expr.columns().is_empty());
        block.stage = if constant { Stage::Closed } else { Stage::Groups };
        block
    }

    fn distinct(&mut self, distinct: &Distinct) -> Block {
        let mut block = self.block(&distinct.input);
        let free = block.compound.is_none() && block.stage < Stage::Ordered;
        let readable = block.plain() || (distinct.on.is_none() && distinct.order_by.is_empty());
        if !free || !readable || block.columns.is_empty() {
            block = self.wrapped(block, name_of(&distinct.input));
        }
        let texts = block.texts();
        let columns = Columns::new(&texts);
        block.distinct = Some(match &distinct.on {
            None => "DISTINCT".to_owned(),
            Some(on) => format!("DISTINCT ON ({})", commas(on.iter().map(|expr| columns.no_position(expr)))),
        });
        if !distinct.order_by.is_empty() {
            block.order_by = Some(columns.sort_keys(&distinct.order_by));
        }
        block.stage = Stage::Fixed;
        block
    }

    fn window(&mut self, window: &Window) -> Block {
        let mut block = self.rows(&window.input);
        let texts = block.texts();
        for call in &window.functions {
            let text = calls::window(call, Columns::new(&texts));
            block.columns.push(Output { text, name: call.name.clone(), plain: false });
        }
        block.stage = Stage::Computed;
        block
    }

    fn set_operation(&mut self, operation: &SetOperation) -> Block {
        let word = match operation.op {
            SetOperator::Union => "UNION",
            SetOperator::Except => "EXCEPT",
            SetOperator::Intersect => "INTERSECT",
        };
        let all = if operation.all { " ALL" } else { "" };
        let names = names::unique(operation.columns.iter().map(|column| column.name.clone()));
        let mut parts = Vec::new();
        let mut with = Vec::new();
        for input in &operation.inputs {
            let mut block = self.block(input);
            if block.compound.is_none() {
                for (column, name) in block.columns.iter_mut().zip(&names) {
                    column.name.clone_from(name);
                }
            } else {
                block = self.wrapped(block, name_of(input));
                for (column, name) in block.columns.iter_mut().zip(&names) {
                    column.name.clone_from(name);
                }
            }
            with.append(&mut block.with);
            let bare = block.order_by.is_none() && block.limit.is_empty();
            let text = block.text();
            parts.push(if bare { text } else { format!("(\n{}\n)", indented(&text)) });
        }
        let compound = parts.join(&format!("\n{word}{all}\n"));
        let columns = names.into_iter().map(|name| Output { text: quoted(&name), name, plain: false });
        let mut block = Block::rows(Vec::new(), columns.collect());
        block.with = with;
        block.compound = Some(compound);
        block.stage = Stage::Closed;
        block
    }

    fn sort(&mut self, sort: &Sort) -> Block {
        let mut block = self.block(&sort.input);
        let texts = block.texts();
        let keys = Columns::new(&texts).sort_keys(&sort.keys);
        if block.order_by.as_ref() == Some(&keys) && block.limit.is_empty() {
            return block;
        }
        if block.compound.is_some() || block.stage >= Stage::Ordered {
            block = self.wrapped(block, name_of(&sort.input));
        }
        let texts = block.texts();
        block.order_by = Some(Columns::new(&texts).sort_keys(&sort.keys));
        block.stage = Stage::Ordered;
        block
    }

    fn limit(&mut self, limit: &Limit) -> Block {
        let counts = [&limit.limit, &limit.offset];
        if counts.iter().any(|count| matches!(count, LimitCount::Expression(expr) if !expr.columns().is_empty())) {
            return self.limit_by_columns(limit);
        }
        let mut block = self.block(&limit.input);
        if !block.limit.is_empty() || (block.compound.is_some() && block.order_by.is_some()) {
            block = self.wrapped(block, name_of(&limit.input));
        }
        let columns = Columns::new(&[]);
        for (word, count) in ["LIMIT", "OFFSET"].into_iter().zip(counts) {
            match count {
                LimitCount::Unset => {}
                LimitCount::Rows(rows) => block.limit.push(format!("{word} {rows}")),
                LimitCount::Percent(percent) => block.limit.push(format!("{word} {percent:?}%")),
                LimitCount::Expression(expr) => block.limit.push(format!("{word} ({})", columns.top(expr))),
                LimitCount::PercentExpression(expr) => block.limit.push(format!("{word} ({})%", columns.top(expr))),
            }
        }
        block.stage = block.stage.max(Stage::Closed);
        block
    }

    /// `LIMIT (SELECT …)`: the count is a column of the input, which SQL's LIMIT cannot read, so the rows are numbered.
    fn limit_by_columns(&mut self, limit: &Limit) -> Block {
        let (input, order) = match &*limit.input {
            Rel::Sort(sort) => (&*sort.input, sort.keys.as_slice()),
            other => (other, [].as_slice()),
        };
        let mut block = self.rows(input);
        let texts = block.texts();
        let columns = Columns::new(&texts);
        let order = if order.is_empty() { String::new() } else { format!("ORDER BY {}", columns.sort_keys(order)) };
        let width = block.columns.len();
        block.columns.push(Output {
            text: format!("row_number() OVER ({order})"),
            name: "row_number".to_owned(),
            plain: false,
        });
        block.stage = Stage::Computed;
        let mut block = self.wrapped(block, "numbered");
        let texts = block.texts();
        let columns = Columns::new(&texts);
        let count = |count: &LimitCount| match count {
            LimitCount::Rows(rows) => Some(rows.to_string()),
            LimitCount::Expression(expr) => Some(columns.inner(expr)),
            LimitCount::Unset | LimitCount::Percent(_) | LimitCount::PercentExpression(_) => None,
        };
        let number = &texts[width];
        let offset = count(&limit.offset).map(|offset| format!("COALESCE({offset}, 0)"));
        if let Some(limit) = count(&limit.limit) {
            let last = offset.iter().fold(limit, |limit, offset| format!("{limit} + {offset}"));
            // LIMIT NULL is no limit.
            block.filters.push(format!("COALESCE({number} <= {last}, TRUE)"));
        }
        if let Some(offset) = offset {
            block.filters.push(format!("{number} > {offset}"));
        }
        block.columns.truncate(width);
        block
    }

    fn unnest(&mut self, unnest: &Unnest) -> Block {
        let mut block = self.rows(&unnest.input);
        let texts = block.texts();
        let columns = Columns::new(&texts);
        for (column, list) in &unnest.lists {
            let text = format!("unnest({})", columns.top(list));
            block.columns.push(Output { text, name: column.name.clone(), plain: false });
        }
        block.stage = Stage::Fixed;
        block
    }

    fn sample(&mut self, sample: &Sample) -> Block {
        let mut block = self.block(&sample.input);
        let single = block.stage == Stage::Rows && block.plain() && block.filters.is_empty() && block.from.len() == 1;
        if !single {
            block = self.wrapped(block, "sampled");
        }
        if let [item] = block.from.as_mut_slice() {
            item.text = format!("{} TABLESAMPLE {}", item.text, sample.clause);
        }
        // A join would still sample one item only, but a filter beside it would not change what is sampled.
        block
    }
}

/// Does the projection leave every column of a set operation where it is, under its name?
fn in_place(project: &Project, block: &Block) -> bool {
    let same = |(at, (name, expr)): (usize, &(String, Expr))| {
        matches!(expr, Expr::Column { index, .. } if *index == at) && block.columns[at].name == *name
    };
    project.exprs.len() == block.columns.len() && project.exprs.iter().enumerate().all(same)
}

/// A conjunct of `WHERE`, `HAVING` or `ON`.
pub(super) fn conjunct(columns: Columns<'_>, predicate: &Expr) -> String {
    match predicate {
        Expr::Conjunction { .. } | Expr::Between { .. } => columns.inner(predicate),
        other => columns.top(other),
    }
}

/// A telling alias for the rows of a node.
pub(super) fn name_of(rel: &Rel) -> &str {
    match rel {
        Rel::Scan(scan) => &scan.table,
        Rel::Values(_) => "rows",
        Rel::TableFunction(function) => &function.name,
        Rel::Project(_) => "computed",
        Rel::Filter(filter) => name_of(&filter.input),
        Rel::Join(_) | Rel::InnerJoin(_) | Rel::DependentJoin(_) => "joined",
        Rel::DependentKeys(_) => "keys",
        Rel::Aggregate(_) => "grouped",
        Rel::Distinct(_) => "distinct_rows",
        Rel::Window(_) => "windowed",
        Rel::SetOperation(operation) => match operation.op {
            SetOperator::Union => "united",
            SetOperator::Except => "remaining",
            SetOperator::Intersect => "shared",
        },
        Rel::Sort(_) => "sorted",
        Rel::Limit(_) => "limited",
        Rel::Unnest(_) => "unnested",
        Rel::Cte(cte) => name_of(&cte.body),
        Rel::CteRef(_) => "referenced",
        Rel::RecursiveCte(cte) => &cte.name,
        Rel::Sample(_) => "sampled",
    }
}
