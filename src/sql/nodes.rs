//! The relational nodes, each added to the `SELECT` of its input where SQL's order of evaluation allows, else over a
//! subquery.

use crate::plan::expr::Expr;
use crate::plan::rel::{Filter, Project, Rel, SetOperator};

use super::block::{Block, Output, Stage, indented};
use super::exprs::Columns;
use super::lowered::lowered;
use super::names::{self, Names};
use super::{Relations, quoted};

/// Prints one statement.
pub(super) struct Printer<'r> {
    pub(super) relations: &'r dyn Relations,
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
