//! Links the prebuilt `libduckdb` and lets the binary find it, and the extensions of the same version, at run time.

use std::{env, path::Path};

fn main() {
    println!("cargo::rerun-if-env-changed=DUCKDB_LIB_DIR");
    println!("cargo::rerun-if-env-changed=DUCKLAKE_IVM_EXTENSION_DIR");
    if let Ok(extensions) = env::var("DUCKLAKE_IVM_EXTENSION_DIR") {
        // A binary that is started by its path, without cargo's environment, looks there too.
        println!("cargo::rustc-env=DUCKLAKE_IVM_BUILD_EXTENSION_DIR={extensions}");
    }

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
    let beside = if env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "macos") { "@loader_path" } else { "$ORIGIN" };
    println!("cargo::rustc-link-arg=-Wl,-rpath,{beside}");
}
