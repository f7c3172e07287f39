//! Asks npm and pip for packages. Knows no registry: the clients are used as they are configured here.

use std::{
    io,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, anyhow, bail};

use crate::pins::Package;

/// Ways to call pip, in the order in which they are tried.
const PIPS: [(&str, &[&str]); 4] =
    [("python3", &["-m", "pip"]), ("pip3", &[]), ("pip", &[]), ("python", &["-m", "pip"])];

/// Puts the archives of `packages` into `folder`.
pub(crate) fn fetch(packages: &[&Package], folder: &Path) -> Result<()> {
    for package in packages {
        if let Package::Npm { name, version } = package {
            npm_pack(&format!("{name}@{version}"), folder)?;
        }
    }
    for package in packages {
        if let Package::Wheel { name, version, platform } = package {
            pip_download(&format!("{name}=={version}"), platform, folder)?;
        }
    }
    Ok(())
}

fn npm_pack(package: &str, folder: &Path) -> Result<()> {
    let mut command = Command::new("npm");
    command.args(["pack", "--loglevel=error", "--ignore-scripts", "--fetch-retries=1", package]).current_dir(folder);
    run(&mut command).map_err(|error| match error.downcast_ref::<io::Error>() {
        Some(cause) if cause.kind() == io::ErrorKind::NotFound => anyhow!("npm is not installed"),
        _ => error,
    })
}

fn pip_download(package: &str, platform: &str, folder: &Path) -> Result<()> {
    let mut command = pip()?;
    command.args(["download", "--quiet", "--disable-pip-version-check", "--no-input", "--retries=1"]);
    command.args(["--no-deps", "--only-binary=:all:", "--platform", platform, "--dest"]).arg(folder).arg(package);
    run(&mut command)
}

/// The first pip that answers: distributions disagree on its name, and some have a Python without it.
fn pip() -> Result<Command> {
    for (program, arguments) in PIPS {
        let mut probe = Command::new(program);
        probe.args(arguments).arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if probe.status().is_ok_and(|status| status.success()) {
            let mut command = Command::new(program);
            command.args(arguments);
            return Ok(command);
        }
    }
    bail!("pip is not installed")
}

/// Runs to the end; what the program complained about becomes the error.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let shown = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|part| part.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ");
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot run `{shown}`"))?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<_> = complaint.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
        // Clients put the cause first and advice after it.
        let first = lines[..lines.len().min(4)].join("\n    ");
        bail!("`{shown}` failed ({})\n    {first}", output.status);
    }
    Ok(())
}
