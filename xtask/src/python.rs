//! Puts the Python packages that some tests read files with into `.duckdb/python/`, by pip, which verifies each against a
//! pinned SHA-256 sum.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};

use crate::{fetch, setup::Source};

/// The packages and their sums, below the clone.
const REQUIREMENTS: &str = "tests/python/requirements.txt";
/// Where they go, below the clone. The tests find in `interpreter` which Python they belong to.
const FOLDER: &str = ".duckdb/python";
const OLDEST: (u32, u32) = (3, 10);

/// A Python that can be run.
struct Python {
    program: &'static str,
    /// Version and platform: packages of another one are of no use to it.
    kind: String,
}

/// Installs the packages, unless they are there.
pub(crate) fn ensure(clone: &Path, source: Source<'_>, report: &dyn Fn(&str)) -> Result<()> {
    let requirements = clone.join(REQUIREMENTS);
    let wanted =
        fs::read_to_string(&requirements).with_context(|| format!("cannot read {}", requirements.display()))?;
    let python = python().context("the tests of Arrow and Parquet output need Python with pip")?;
    let stamp = format!("{}\n{wanted}", python.kind);
    let folder = clone.join(FOLDER);
    if fs::read_to_string(folder.join("stamp")).is_ok_and(|found| found == stamp) {
        return Ok(());
    }
    report(&format!("setting up pyarrow and polars for {}, about 100 MB", python.kind));
    let unfinished = folder.with_extension(format!("unfinished-{}", std::process::id()));
    let installed = install(&python, &requirements, source, &unfinished).and_then(|()| {
        fs::write(unfinished.join("interpreter"), python.program)?;
        fs::write(unfinished.join("stamp"), stamp)?;
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        Ok(fs::rename(&unfinished, &folder)?)
    });
    if installed.is_err() {
        // What is half there must not be taken for whole; the error says what went wrong.
        let _ = fs::remove_dir_all(&unfinished);
    }
    installed.with_context(|| {
        format!(
            "the Python packages of the tests are missing: those of {}, which pip puts into {}; to fetch them \
             elsewhere, run `pip download --only-binary=:all: --no-deps --require-hashes -r {}` for this Python and \
             platform, and give the folder to `cargo xtask setup --tests --from FOLDER`",
            requirements.display(),
            folder.display(),
            requirements.display()
        )
    })
}

fn install(python: &Python, requirements: &Path, source: Source<'_>, target: &PathBuf) -> Result<()> {
    let mut command = Command::new(python.program);
    command.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", "--retries=1"]);
    command.args(["--no-deps", "--only-binary=:all:", "--require-hashes", "--root-user-action=ignore"]);
    if let Source::Folder(folder) = source {
        command.args(["--no-index", "--find-links"]).arg(folder);
    }
    fetch::run(command.arg("--requirement").arg(requirements).arg("--target").arg(target))
}

/// The first Python that is new enough and has pip.
fn python() -> Result<Python> {
    const ASK: &str = "import sys, sysconfig, pip; \
                       print(*sys.version_info[:2], sys.implementation.cache_tag, sysconfig.get_platform())";
    let mut found = Vec::new();
    for program in ["python3", "python"] {
        let answer = Command::new(program).args(["-c", ASK]).stdin(Stdio::null()).output();
        let Ok(answer) = answer else { continue };
        let text = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
        match version(&text) {
            Some(version) if version >= OLDEST => return Ok(Python { program, kind: text }),
            Some((major, minor)) => found.push(format!("{program} is {major}.{minor}")),
            None => found.push(format!("{program} has no pip")),
        }
    }
    if found.is_empty() {
        bail!("python3 is not installed");
    }
    bail!("Python {}.{} or newer is needed: {}", OLDEST.0, OLDEST.1, found.join(", "))
}

fn version(answer: &str) -> Option<(u32, u32)> {
    let mut words = answer.split(' ');
    Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_python_are_read() {
        assert_eq!(version("3 11 cpython-311 linux-x86_64"), Some((3, 11)));
        assert_eq!(version(""), None);
    }

    #[test]
    fn every_package_is_pinned_with_a_sum() {
        let requirements = include_str!("../../tests/python/requirements.txt");
        let lines = || requirements.lines().filter(|line| !line.starts_with('#'));
        assert_eq!(lines().filter(|line| line.contains("==") && line.ends_with('\\')).count(), 3);
        let sums = lines().filter_map(|line| line.trim().strip_prefix("--hash=sha256:"));
        assert!(sums.map(|sum| sum.trim_end_matches(" \\")).all(|sum| sum.len() == 64));
    }

    #[test]
    fn a_folder_without_the_packages_leaves_nothing_behind() {
        let (clone, empty) = (tempfile::TempDir::new().unwrap(), tempfile::TempDir::new().unwrap());
        let requirements = clone.path().join(REQUIREMENTS);
        fs::create_dir_all(requirements.parent().unwrap()).unwrap();
        fs::create_dir_all(clone.path().join(".duckdb")).unwrap();
        fs::write(&requirements, format!("example-of-nothing==1.0 --hash=sha256:{}\n", "0".repeat(64))).unwrap();
        let error = ensure(clone.path(), Source::Folder(empty.path()), &|_| ()).unwrap_err();
        let message = format!("{error:#}");
        assert!(message.contains("requirements.txt") && message.contains("--from FOLDER"), "{message}");
        assert!(message.contains("example-of-nothing"), "{message}");
        assert_eq!(fs::read_dir(clone.path().join(".duckdb")).unwrap().count(), 0);
    }
}
