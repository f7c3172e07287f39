//! The `ducklake-ivm` program.

fn main() {}
