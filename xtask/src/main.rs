//! Set-up, tests and demo from a fresh clone.

fn main() {}
