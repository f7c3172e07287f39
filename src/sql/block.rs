//! One `SELECT`, put together clause by clause as far as SQL's order of evaluation allows, then printed.

use super::names::{self, quoted};

/// What of a `SELECT` is there already; each clause is evaluated after those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    /// `FROM` and `WHERE`.
    Rows,
    /// `GROUP BY` and `HAVING`.
    Groups,
    /// Expressions in the select list, window functions among them.
    Computed,
    /// `ORDER BY`
    Ordered,
    /// Nothing can be added any more, but columns may be left out.
    Closed,
    /// The select list itself decides about rows (`DISTINCT`, `unnest`): no column may be left out.
    Fixed,
}

/// An output column.
#[derive(Debug, Clone)]
pub(super) struct Output {
    /// Its text in terms of the `FROM` clause.
    pub(super) text: String,
    /// Its name.
    pub(super) name: String,
    /// A plain column, which may be read any number of times.
    pub(super) plain: bool,
}

/// An item of the `FROM` clause.
#[derive(Debug, Clone)]
pub(super) struct Item {
    /// `JOIN`, `LEFT JOIN`, …; not printed for the first item.
    pub(super) join: &'static str,
    /// The relation with its alias.
    pub(super) text: String,
    /// Conjuncts of `ON`.
    pub(super) on: Vec<String>,
}

/// A CTE in front of a `SELECT`.
#[derive(Debug, Clone)]
pub(super) struct WithItem {
    /// What stands before the parenthesis: `"x" AS`.
    pub(super) head: String,
    /// The query.
    pub(super) body: String,
    /// Does it refer to itself?
    pub(super) recursive: bool,
}

/// A `SELECT` in the making.
#[derive(Debug, Clone)]
pub(super) struct Block {
    pub(super) with: Vec<WithItem>,
    pub(super) distinct: Option<String>,
    pub(super) columns: Vec<Output>,
    pub(super) from: Vec<Item>,
    /// Conjuncts of `WHERE`.
    pub(super) filters: Vec<String>,
    pub(super) group_by: Option<String>,
    /// The calls of an aggregate without groups; a `SELECT` that prints none of them needs an explicit `GROUP BY ()`.
    pub(super) ungrouped_calls: Option<Vec<String>>,
    /// Conjuncts of `HAVING`.
    pub(super) having: Vec<String>,
    pub(super) order_by: Option<String>,
    /// `LIMIT … OFFSET …`
    pub(super) limit: Vec<String>,
    /// Instead of all clauses from `SELECT` to `HAVING`: the text of a set operation with these columns.
    pub(super) compound: Option<String>,
    pub(super) stage: Stage,
}

impl Block {
    /// `SELECT columns FROM items`
    pub(super) fn rows(from: Vec<Item>, columns: Vec<Output>) -> Block {
        Block {
            with: Vec::new(),
            distinct: None,
            columns,
            from,
            filters: Vec::new(),
            group_by: None,
            ungrouped_calls: None,
            having: Vec::new(),
            order_by: None,
            limit: Vec::new(),
            compound: None,
            stage: Stage::Rows,
        }
    }

    /// `FROM text AS alias` with columns of these names.
    pub(super) fn relation(text: String, alias: &str, columns: impl IntoIterator<Item = String>) -> Block {
        let columns = columns.into_iter().map(|name| Output::of(alias, name)).collect();
        Block::rows(vec![Item { join: "", text, on: Vec::new() }], columns)
    }

    /// The columns' texts.
    pub(super) fn texts(&self) -> Vec<String> {
        self.columns.iter().map(|column| column.text.clone()).collect()
    }

    /// Are all columns plain, so that expressions over them can be printed anywhere?
    pub(super) fn plain(&self) -> bool {
        self.columns.iter().all(|column| column.plain)
    }

    /// The names of the columns, made unique.
    pub(super) fn names(&self) -> Vec<String> {
        names::unique(self.columns.iter().map(|column| column.name.clone()))
    }

    /// The statement's text.
    pub(super) fn text(&self) -> String {
        let mut lines = self.with_clause();
        match &self.compound {
            Some(compound) => lines.push(compound.clone()),
            None => self.clauses(&mut lines),
        }
        if let Some(order_by) = &self.order_by {
            lines.push(format!("ORDER BY {order_by}"));
        }
        lines.extend(self.limit.iter().cloned());
        lines.join("\n")
    }

    fn with_clause(&self) -> Vec<String> {
        let Some((last, others)) = self.with.split_last() else { return Vec::new() };
        let word = if self.with.iter().any(|item| item.recursive) { "WITH RECURSIVE" } else { "WITH" };
        let mut lines = vec![word.to_owned()];
        for (item, comma) in others.iter().map(|item| (item, ",")).chain([(last, "")]) {
            lines.push(format!("  {} (\n{}\n  ){comma}", item.head, indented(&indented(&item.body))));
        }
        lines
    }

    fn clauses(&self, lines: &mut Vec<String>) {
        let mut items: Vec<String> = Vec::new();
        for (column, name) in self.columns.iter().zip(self.names()) {
            let name = quoted(&name);
            let named_so = column.text.ends_with(&format!(".{name}")) && column.plain;
            items.push(if named_so { column.text.clone() } else { format!("{} AS {name}", column.text) });
        }
        if items.is_empty() {
            items.push("1 AS \"nothing\"".to_owned());
        }
        let distinct = self.distinct.as_ref().map(|distinct| format!(" {distinct}")).unwrap_or_default();
        lines.push(format!("SELECT{distinct}\n{}", indented(&items.join(",\n"))));
        for (index, item) in self.from.iter().enumerate() {
            let word = if index == 0 { "FROM" } else { item.join };
            let on = if item.on.is_empty() { String::new() } else { format!(" ON {}", item.on.join(" AND ")) };
            lines.push(format!("{word} {}{on}", item.text));
        }
        conjuncts(lines, "WHERE", &self.filters);
        if let Some(group_by) = &self.group_by {
            lines.push(format!("GROUP BY {group_by}"));
        } else if let Some(calls) = &self.ungrouped_calls {
            let printed = || self.columns.iter().map(|column| &column.text).chain(&self.having);
            if !calls.iter().any(|call| printed().any(|text| text.contains(call))) {
                lines.push("GROUP BY ()".to_owned());
            }
        }
        conjuncts(lines, "HAVING", &self.having);
    }
}

impl Output {
    /// Column `name` of the relation `alias`.
    pub(super) fn of(alias: &str, name: String) -> Output {
        Output { text: format!("{}.{}", quoted(alias), quoted(&name)), name, plain: true }
    }
}

fn conjuncts(lines: &mut Vec<String>, word: &str, conjuncts: &[String]) {
    if let Some((first, rest)) = conjuncts.split_first() {
        lines.push(format!("{word} {first}"));
        lines.extend(rest.iter().map(|conjunct| format!("  AND {conjunct}")));
    }
}

/// `text` with two spaces before each line, but none inside quotes.
pub(super) fn indented(text: &str) -> String {
    let mut result = String::from("  ");
    let mut quote = None;
    for letter in text.chars() {
        result.push(letter);
        match (letter, quote) {
            ('\n', None) => result.push_str("  "),
            ('\'' | '"', None) => quote = Some(letter),
            (letter, Some(open)) if letter == open => quote = None,
            _ => {}
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_line_breaks_outside_quotes_are_indented() {
        assert_eq!(indented("a\n\"b\n\"\"c\" 'd\n''' \ne"), "  a\n  \"b\n\"\"c\" 'd\n''' \n  e");
    }

    #[test]
    fn an_aggregate_without_groups_stays_one() {
        let mut block = Block::relation("t AS \"t\"".to_owned(), "t", ["a".to_owned()]);
        block.columns[0].text = "1".to_owned();
        block.ungrouped_calls = Some(vec!["sum(\"t\".\"a\")".to_owned()]);
        assert!(block.text().ends_with("GROUP BY ()"));
    }
}
