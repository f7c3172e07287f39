//! The results of every command, as a table and as JSON.

use std::io::Read;
use std::process::Stdio;

use crate::assert_transcript;
use crate::program::{Catalog, Shop};

const SALES: &str = "SELECT o.id, c.name, c.city, o.amount FROM orders o JOIN customers c ON c.id = o.customer";

/// Runs a command in both formats; it must not change anything.
fn both(shop: &Shop, arguments: &[&str]) -> String {
    let json = [arguments, &["--format", "json"]].concat();
    format!("{}\n{}", shop.transcript(arguments), shop.transcript(&json))
}

#[test]
fn create_and_drop() {
    let shop = Shop::new(Catalog::DuckDb);
    std::fs::write(
        shop.path("totals.sql"),
        "SELECT customer, sum(id) AS ids FROM orders GROUP BY customer ORDER BY 1;\n",
    )
    .unwrap();
    let story = [
        shop.transcript(&["create", "sales", "--sql", SALES, "--check"]),
        shop.transcript(&["create", "sales", "--sql", SALES, "--if-not-exists"]),
        shop.transcript(&["create", "sales", "--sql", SALES, "--or-replace", "--format", "json"]),
        shop.transcript(&["create", "totals", "--file", "totals.sql"]),
        shop.transcript(&[
            "create",
            "rolled",
            "--sql",
            "SELECT id, random() < 2 AS dice FROM orders",
            "--format",
            "json",
        ]),
        shop.transcript(&["create", "asked", "--sql", "SELECT id FROM orders", "--strategy", "recompute"]),
        shop.transcript(&[
            "create",
            "twice",
            "--sql",
            "SELECT a.id, b.id, a.id FROM orders a JOIN orders b USING (id)",
        ]),
        shop.transcript(&["create", "numbered", "--sql", "SELECT rowid, id FROM orders"]),
        shop.transcript(&["drop", "rolled"]),
        shop.transcript(&["drop", "asked", "--format", "json"]),
    ];
    assert_transcript!("create_and_drop", story.join("\n"));
}

#[test]
fn sync() {
    let shop = Shop::new(Catalog::DuckDb);
    let mut story = vec![shop.transcript(&["sync"])];
    shop.succeed(&["create", "sales", "--sql", SALES, "--strategy", "incremental"]);
    shop.succeed(&["create", "rolled", "--sql", "SELECT id, random() < 2 AS dice FROM orders"]);
    story.push(shop.transcript(&["sync", "sales"]));
    shop.sql("INSERT INTO orders VALUES (5, 2, 50.00);\nDELETE FROM orders WHERE id = 1");
    story.push(both(&shop, &["sync", "--dry-run"]));
    story.push(shop.transcript(&["sync"]));
    shop.sql("UPDATE customers SET city = 'Oporto' WHERE id = 2;\nINSERT INTO orders VALUES (6, 2, 60.00)");
    story.push(shop.transcript(&["sync", "--format", "json"]));
    story.push(shop.transcript(&["sync", "sales", "--full"]));
    assert_transcript!("sync", story.join("\n"));
}

#[test]
fn sync_up_to_a_snapshot() {
    let shop = Shop::new(Catalog::DuckDb);
    shop.succeed(&["create", "sales", "--sql", SALES]);
    shop.sql("INSERT INTO orders VALUES (5, 2, 50.00)");
    let target = shop.snapshot().to_string();
    shop.sql("INSERT INTO orders VALUES (6, 2, 60.00)");
    assert_transcript!("sync_to", shop.transcript(&["sync", "--to", &target]));
    let rows = shop.open().query_value("SELECT count(*) FROM sales").unwrap();
    assert_eq!(rows.as_u64().unwrap(), 5);
    assert!(shop.transcript(&["verify"]).ends_with("[exit code 0]\n"));
}

#[test]
fn plan() {
    let shop = Shop::new(Catalog::DuckDb);
    shop.succeed(&["create", "sales", "--sql", SALES]);
    shop.succeed(&["create", "rolled", "--sql", "SELECT id, random() < 2 AS dice FROM orders"]);
    let grouped = "SELECT a.customer, b.n FROM (SELECT customer, count(*) AS n FROM orders GROUP BY customer) a \
                   JOIN (SELECT customer, count(*) AS n FROM orders GROUP BY customer) b USING (customer)";
    shop.succeed(&["create", "grouped", "--sql", grouped]);
    let before = shop.snapshot();
    shop.sql("INSERT INTO orders VALUES (5, 2, 50.00)");
    let story = [
        both(&shop, &["plan", "sales"]),
        shop.transcript(&["plan", "sales", "--sql"]),
        shop.transcript(&["plan", "sales", "--from", "2", "--to", &before.to_string()]),
        both(&shop, &["plan", "rolled"]),
        both(&shop, &["plan", "grouped"]),
    ];
    assert_eq!(shop.snapshot(), before + 1, "plan wrote something");
    assert_transcript!("plan", story.join("\n"));
}

#[test]
fn the_same_view_and_window_give_the_same_sql() {
    let shop = Shop::new(Catalog::DuckDb);
    shop.succeed(&["create", "sales", "--sql", SALES]);
    shop.sql("INSERT INTO orders VALUES (5, 2, 50.00);\nDELETE FROM customers WHERE id = 1");
    let first = shop.succeed(&["plan", "sales", "--sql"]).stdout;
    for _ in 0..3 {
        assert_eq!(shop.succeed(&["plan", "sales", "--sql"]).stdout, first);
    }
}

#[test]
fn status() {
    let shop = Shop::new(Catalog::DuckDb);
    let mut story = vec![both(&shop, &["status"])];
    shop.succeed(&["create", "sales", "--sql", SALES]);
    story.push(both(&shop, &["status", "--check"]));
    shop.sql("INSERT INTO orders VALUES (5, 2, 50.00)");
    story.push(both(&shop, &["status", "--check"]));
    story.push(shop.transcript(&["status", "sales", "--check", "--max-lag", "1d"]));
    assert_transcript!("status", story.join("\n"));
}

#[test]
fn verify() {
    let shop = Shop::new(Catalog::DuckDb);
    shop.succeed(&["create", "sales", "--sql", SALES]);
    shop.succeed(&["create", "names", "--sql", "SELECT name FROM customers"]);
    // Verifying is about the snapshot that a view stands for, not about what came later.
    shop.sql("DELETE FROM orders WHERE id = 2");
    let mut story = vec![both(&shop, &["verify"])];
    shop.sql("UPDATE sales SET city = 'NULL' WHERE city IS NULL;\nINSERT INTO sales VALUES (9, '', NULL, 9.00), (9, '', NULL, 9.00)");
    story.push(both(&shop, &["verify"]));
    story.push(shop.transcript(&["verify", "names", "--sample", "50"]));
    story.push(shop.transcript(&["sync"]));
    story.push(shop.transcript(&["sync", "--repair"]));
    story.push(shop.transcript(&["verify"]));
    assert_transcript!("verify", story.join("\n"));
}

#[test]
fn apply() {
    let shop = Shop::new(Catalog::DuckDb);
    std::fs::create_dir(shop.path("views")).unwrap();
    let dear = "CREATE MATERIALIZED VIEW dear AS SELECT id, city FROM sales WHERE amount > 15;\n";
    std::fs::write(shop.path("views/a.sql"), dear).unwrap();
    std::fs::write(shop.path("views/b.sql"), format!("-- Sales\nCREATE MATERIALIZED VIEW sales AS {SALES};\n"))
        .unwrap();
    let mut story = vec![shop.transcript(&["apply", "views", "--dry-run"]), shop.transcript(&["apply", "views"])];
    story.push(shop.transcript(&["apply", "views"]));
    std::fs::write(shop.path("views/a.sql"), dear.replace("15", "25")).unwrap();
    story.push(shop.transcript(&["apply", "views", "--format", "json"]));
    std::fs::write(shop.path("views/a.sql"), "CREATE MATERIALIZED VIEW dear AS SELECT nothing FROM sales").unwrap();
    story.push(shop.transcript(&["apply", "views", "--prune"]));
    story.push(shop.transcript(&["apply", "views/b.sql", "--prune", "--dry-run"]));
    story.push(shop.transcript(&["apply", "views/b.sql", "--prune"]));
    std::fs::write(shop.path("views/a.sql"), "DROP TABLE orders;").unwrap();
    story.push(shop.transcript(&["apply", "views"]));
    assert_transcript!("apply", story.join("\n"));
}

/// Catches: a broken view of which `apply` says that it is unchanged, and a view without a delta of which it does not say
/// so.
#[test]
fn apply_mends_what_is_broken() {
    let shop = Shop::new(Catalog::DuckDb);
    let views = "CREATE MATERIALIZED VIEW dear AS SELECT id, amount FROM orders WHERE amount > 15;\n\
                 CREATE MATERIALIZED VIEW drawn AS SELECT id, random() AS x FROM orders;\n";
    std::fs::write(shop.path("views.sql"), views).unwrap();
    let mut story = vec![shop.transcript(&["apply", "views.sql"])];
    shop.sql("ALTER TABLE orders DROP COLUMN amount;\nALTER TABLE orders ADD COLUMN amount INTEGER");
    story.push(shop.transcript(&["apply", "views.sql", "--dry-run", "--format", "json"]));
    story.push(shop.transcript(&["apply", "views.sql"]));
    story.push(shop.transcript(&["apply", "views.sql"]));
    // Nor can it be mended where its SELECT has become meaningless.
    shop.sql("ALTER TABLE orders DROP COLUMN amount");
    story.push(shop.transcript(&["apply", "views.sql"]));
    assert_transcript!("apply_broken", story.join("\n"));
}

#[test]
fn results_alone_are_on_stdout() {
    let shop = Shop::new(Catalog::DuckDb);
    shop.succeed(&["create", "sales", "--sql", SALES]);
    let output = shop.succeed(&["sync", "--format", "json", "-vvv"]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["views"][0]["view"], "main.sales");
    let quiet = shop.succeed(&["sync", "--format", "json"]);
    assert_eq!(String::from_utf8_lossy(&quiet.stderr), "");
}

#[test]
fn no_colour_where_nobody_sees_it() {
    let shop = Shop::new(Catalog::DuckDb);
    shop.succeed(&["create", "sales", "--sql", SALES]);
    for arguments in [&["plan", "sales"][..], &["status"], &["drop", "nothing"]] {
        let output = shop.run(arguments);
        assert!(!output.stdout.contains(&0x1b) && !output.stderr.contains(&0x1b), "{arguments:?}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let shop = Shop::new(Catalog::DuckDb);
    shop.succeed(&["create", "sales", "--sql", SALES]);
    let mut child = shop.program().arg("status").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!((child.wait().unwrap().code(), stderr.as_str()), (Some(0), ""));
}
