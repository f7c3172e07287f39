//! Where the demo's lake lies.

use std::path::{Path, PathBuf};

use crate::commands::failure::Failure;

/// A folder, gone when it is dropped unless the user named it.
pub(super) struct Folder {
    path: PathBuf,
    keep: bool,
}

impl Folder {
    /// Makes `keep`, or a temporary folder.
    pub(super) fn new(keep: Option<&Path>) -> Result<Folder, Failure> {
        let Some(keep) = keep else {
            let path = std::env::temp_dir().join(format!("ducklake-ivm-demo-{}", uuid::Uuid::new_v4()));
            std::fs::create_dir(&path).map_err(|error| unusable(&path, &error))?;
            return Ok(Folder { path, keep: false });
        };
        std::fs::create_dir_all(keep).map_err(|error| unusable(keep, &error))?;
        let mut entries = std::fs::read_dir(keep).map_err(|error| unusable(keep, &error))?;
        if entries.next().is_some() {
            return Err(Failure::usage(format!("folder {} is not empty", keep.display())).hint("name a new one"));
        }
        Ok(Folder { path: keep.to_owned(), keep: true })
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

fn unusable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::usage(format!("folder {} cannot be used: {error}", path.display()))
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.keep
            && let Err(error) = std::fs::remove_dir_all(&self.path)
        {
            tracing::warn!(path = %self.path.display(), %error, "the demo's folder is left behind");
        }
    }
}
