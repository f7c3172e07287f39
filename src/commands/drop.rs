//! `drop`: removes a view and all that was kept for it.

use clap::Args;
use serde::Serialize;

use super::failure::{Exit, Failure};
use super::global::Session;
use super::output::{Answer, Page};
use crate::lake::Access;
use crate::view::{self, ViewName};

const EXAMPLES: &str = "\
Example:
  ducklake-ivm drop mart.sales

A view that other views read is not dropped: drop those first. Older snapshots of the lake still show the view's rows.";

/// Remove a view, its table and its state
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Drop {
    /// The view's name: name or schema.name
    name: String,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct DropAnswer {
    view: String,
    outcome: &'static str,
}

impl Drop {
    /// Runs the command.
    pub(super) fn run(&self, session: &Session) -> Result<Exit, Failure> {
        let name = ViewName::parse(&self.name)?;
        let lake = session.open(Access::ReadWrite)?;
        let view = view::drop_view(&lake, &name)?;
        session.output.answer(&DropAnswer { view: view.name.to_string(), outcome: "dropped" })?;
        Ok(Exit::Done)
    }
}

impl Answer for DropAnswer {
    fn page(&self, page: &mut Page) {
        page.line(&format!("view {} dropped", self.view));
    }
}
