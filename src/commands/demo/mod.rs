//! `demo`: builds a small lake, keeps three views over it, and tells what was read, what was skipped, and why.

mod folder;
mod story;

use std::path::PathBuf;

use clap::Args;

use super::failure::{Exit, Failure};
use super::global::Session;
use crate::lake::Lake;
use folder::Folder;
use story::Story;

const EXAMPLES: &str = "\
Examples:
  ducklake-ivm demo
  ducklake-ivm demo --keep retail
  ducklake-ivm --lake ducklake:retail/retail.ducklake plan order_lines --sql

The demo ends with the exit code of verify: 0 if every view equals a full recompute, 4 if not.";

/// Build a small lake, keep three views over it up to date, and tell what is read and skipped, and why
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Demo {
    /// Keep the lake in this folder, which must be new or empty [default: a temporary one, removed at the end]
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

/// The tables and their past.
const RETAIL: &str = include_str!("retail.sql");

/// A view of the demo.
struct DemoView {
    name: &'static str,
    /// What it is, in a few words.
    about: &'static str,
    sql: &'static str,
}

const VIEWS: [DemoView; 3] = [
    DemoView {
        name: "order_lines",
        about: "four tables joined",
        sql: "SELECT o.order_id, o.order_date, c.customer_name, c.city,
       p.product_name, s.region, o.quantity * p.price AS amount
FROM orders o
JOIN customers c ON c.customer_id = o.customer_id
JOIN products p ON p.product_id = o.product_id
JOIN stores s ON s.store_id = o.store_id",
    },
    DemoView {
        name: "wholesale",
        about: "two tables joined, few rows taken",
        sql: "SELECT o.order_id, c.customer_name, o.quantity
FROM orders o JOIN customers c ON c.customer_id = o.customer_id
WHERE c.segment = 'business' AND o.quantity >= 6",
    },
    DemoView {
        name: "directory",
        about: "UNION ALL of two tables",
        sql: "SELECT 'customer' AS kind, customer_name AS name, city AS place
FROM customers
UNION ALL
SELECT 'store', store_name, region FROM stores",
    },
];

/// A piece of the story in which tables change.
struct Chapter {
    title: &'static str,
    /// Each a commit of its own.
    statements: &'static [&'static str],
    /// What is to be seen.
    lesson: &'static str,
}

const ONE_TABLE: Chapter = Chapter {
    title: "One table changes",
    statements: &[
        "INSERT INTO orders SELECT i, DATE '2026-05-01', i % 400 + 1, i % 60 + 1, i % 12 + 1, i % 9 + 1 FROM range(5001, 5031) t(i)",
        "UPDATE orders SET quantity = 9 WHERE order_id IN (4001, 4002)",
        "DELETE FROM orders WHERE order_id BETWEEN 120 AND 124",
    ],
    lesson: "The change of a join is a sum of terms: the change (Δ) of one table, joined with the others as they are \
             at a snapshot (@). A table that did not change has no Δ, so its term is skipped, and the thousands of \
             orders that stayed as they were are not read.",
};

const SEVERAL_TABLES: Chapter = Chapter {
    title: "Several tables change, in one window",
    statements: &[
        "UPDATE customers SET city = 'Ghent' WHERE customer_id = 12",
        "INSERT INTO stores VALUES (13, 'Store 13', 'north')",
        "UPDATE products SET price = 3.95 WHERE product_id = 7",
        "INSERT INTO orders SELECT i, DATE '2026-05-02', i % 400 + 1, i % 60 + 1, 13, i % 9 + 1 FROM range(5031, 5061) t(i)",
    ],
    lesson: "Every table changed. In each term the tables before its Δ are read as they are now and those after it as \
             they were before: the terms add up to the whole change, with nothing counted twice. The old rows come from \
             the lake's own past, so no copy of any table is kept.",
};

impl Demo {
    /// Runs the command.
    pub(super) fn run(&self, session: &Session) -> Result<Exit, Failure> {
        let folder = Folder::new(self.keep.as_deref())?;
        let mut options = session.limits();
        options.uri = format!("ducklake:{}", folder.path().join("retail.ducklake").display());
        options.data_path = Some(format!("{}/", folder.path().join("data").display()));
        options.create = true;
        let lake = session.open_with(&options)?;
        run_all(&lake, statements(RETAIL))?;
        let mut story = Story::new(&lake, session);
        story.the_lake()?;
        story.the_views(&VIEWS)?;
        story.chapter(&ONE_TABLE)?;
        story.chapter(&SEVERAL_TABLES)?;
        story.nothing()?;
        let exit = story.the_end(self.keep.as_deref())?;
        Ok(exit)
    }
}

/// The statements of a script, without its comments.
fn statements(script: &str) -> impl Iterator<Item = &str> {
    script.split(";\n").map(str::trim).filter(|statement| !statement.is_empty())
}

fn run_all<'a>(lake: &Lake, statements: impl IntoIterator<Item = &'a str>) -> Result<(), Failure> {
    for statement in statements {
        lake.execute(statement)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_is_taken_apart_at_its_semicolons() {
        let statements: Vec<&str> = statements(RETAIL).collect();
        assert!(statements.len() >= 12);
        assert!(statements.iter().all(|statement| !statement.ends_with(';')));
    }
}
