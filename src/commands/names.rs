//! Names of views as arguments.

use super::failure::Failure;
use crate::view::ViewName;

/// Reads names; none means all views.
pub(super) fn parse(texts: &[String]) -> Result<Vec<ViewName>, Failure> {
    texts.iter().map(|text| Ok(ViewName::parse(text)?)).collect()
}
