//! stub
use crate::plan::rel::Rel;
/// x
#[derive(Debug)]
pub struct Difference;
/// x
pub fn same_meaning(_: &Rel, _: &Rel) -> Result<(), Difference> { Ok(()) }
