//! The configuration file, and that no secret in it is ever shown.

use crate::assert_transcript;
use crate::program::{Catalog, Shop, transcript};

fn run(shop: &Shop, file: &str, arguments: &[&str]) -> String {
    std::fs::write(shop.path("ducklake-ivm.toml"), file).unwrap();
    let output = shop.program().env_remove("DUCKLAKE_IVM_LAKE").args(arguments).output().unwrap();
    transcript(arguments, &output)
}

#[test]
fn the_file_of_the_working_directory_names_the_lake() {
    let shop = Shop::new(Catalog::DuckDb);
    let file = format!("lake = '{}'\nformat = 'json'\nthreads = 1\nmemory_limit = '1GB'\n", shop.uri);
    assert_transcript!("configured", run(&shop, &file, &["create", "v", "--sql", "SELECT id FROM orders"]));
    assert_transcript!("configured_overridden", run(&shop, &file, &["drop", "v", "--format", "table"]));
}

#[test]
fn what_is_wrong_with_a_file_is_named() {
    let shop = Shop::new(Catalog::DuckDb);
    let wrong = [
        run(&shop, "lake = 'x'\nformt = 'json'\n", &["sync"]),
        run(&shop, "lake = 'x\n", &["sync"]),
        run(&shop, "format = 'xml'\n", &["sync"]),
        run(&shop, "lake = 'x'\n[secrets.bucket]\ntype = 's3'\nsecret = { env = 'NO_SUCH_VARIABLE' }\n", &["sync"]),
        run(&shop, "", &["sync", "--config", "missing.toml"]),
    ];
    assert_transcript!("wrong_configuration", wrong.join("\n"));
}

#[test]
fn credentials_are_never_shown() {
    let shop = Shop::new(Catalog::DuckDb);
    let settings = "[secrets.bucket]\ntype = 's3'\nkey_id = 'geheim1'\nsecret = 'geheim2'\n";
    let lakes = ["ducklake:postgres:host=127.0.0.1 port=1 user=u password=geheim3", &shop.uri];
    for lake in lakes {
        let file = format!(
            "lake = '{lake}'\nsetup = [\"CREATE SECRET (TYPE s3, SECRET 'geheim4', NO_SUCH_OPTION 'geheim5')\"]\n{settings}"
        );
        for arguments in [&["sync", "-vvv"][..], &["status", "--format", "json", "-vv"]] {
            let shown = run(&shop, &file, arguments);
            assert!(!shown.contains("geheim"), "{shown}");
            assert!(!shown.ends_with("[exit code 0]\n"), "{shown}");
        }
    }
    let file = format!("lake = '{}'\n{settings}", shop.uri);
    let shown = run(&shop, &file, &["sync", "-vvv"]);
    assert!(!shown.contains("geheim") && shown.ends_with("[exit code 0]\n"), "{shown}");
}
