//! Links the prebuilt `libduckdb` and lets the binary find it again at run time.

use std::{env, path::Path};

fn main() {
    println!("cargo::rerun-if-env-changed=DUCKDB_LIB_DIR");
    if env::var_os("CARGO_FEATURE_BUNDLED").is_some() {
        return;
    }
    let Ok(directory) = env::var("DUCKDB_LIB_DIR") else {
        return; // a system-wide DuckDB: the linker and the loader find it by themselves
    };
    println!("cargo::rerun-if-changed={directory}");
    let found =
        ["libduckdb.so", "libduckdb.dylib", "duckdb.dll"].iter().any(|name| Path::new(&directory).join(name).exists());
    if !found {
        println!(
            "cargo::error=libduckdb is missing from {directory}: run `cargo xtask setup` once, \
             or build with `--features bundled` (compiles DuckDB)"
        );
    }
    println!("cargo::rustc-link-arg=-Wl,-rpath,{directory}");
    println!("cargo::rustc-link-arg=-Wl,-rpath,$ORIGIN");
}
