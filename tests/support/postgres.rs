//! A throw-away PostgreSQL server.
#![allow(dead_code, unreachable_pub, missing_docs, reason = "every test crate uses its own part")]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may panic, and says what it skips")]

use ducklake_ivm::lake::LakeOptions;
use std::{
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};
use tempfile::TempDir;

/// The password of its only user.
pub const PASSWORD: &str = "geheim-99";

/// A server on a free port of the loopback address; stopped when it is dropped.
pub struct Postgres {
    binaries: PathBuf,
    folder: TempDir,
    port: u16,
}

impl Postgres {
    /// Starts a server; `None`, with a line that says so, where PostgreSQL is not installed.
    pub fn start() -> Option<Self> {
        let Some(binaries) = binaries() else {
            println!("skipped: no PostgreSQL server binaries in /usr/lib/postgresql");
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let server = Self { binaries, folder, port };
        let password = server.folder.path().join("password");
        fs::write(&password, PASSWORD).unwrap();
        if is_root() {
            // The server refuses to run as root, and its user must reach the folder.
            checked(Command::new("chown").args(["-R", "postgres"]).arg(server.folder.path()));
        }
        checked(
            server
                .command("initdb")
                .args(["--username=postgres", "--auth=scram-sha-256", "--no-sync", "--encoding=UTF8", "--pwfile"])
                .arg(&password)
                .arg("--pgdata")
                .arg(server.data()),
        );
        server.run();
        Some(server)
    }

    /// Starts the server, at first or after [`Postgres::stop`].
    pub fn run(&self) {
        let options = format!(
            "-p {} -k {} -c listen_addresses=127.0.0.1 -c fsync=off -c max_connections=60",
            self.port,
            self.folder.path().display()
        );
        let log = self.folder.path().join("log");
        let mut start = self.command("pg_ctl");
        start.args(["start", "--wait", "--silent", "--options", &options, "--log"]).arg(log).arg("--pgdata");
        // Its output must not be piped: the server would hold the pipe open.
        let started = start.arg(self.data()).stdout(Stdio::null()).stderr(Stdio::null()).status();
        assert!(started.unwrap().success());
    }

    /// Stops the server as if its machine failed.
    pub fn stop(&self) {
        let mut stop = self.command("pg_ctl");
        let stopped = stop.args(["stop", "--mode=immediate", "--silent", "--pgdata"]).arg(self.data()).status();
        println!("PostgreSQL stopped: {stopped:?}");
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// A program of the server's, run as the server's user.
    fn command(&self, program: &str) -> Command {
        let path = self.binaries.join(program);
        let mut command = if is_root() {
            let mut command = Command::new("runuser");
            command.args(["-u", "postgres", "--"]).arg(path);
            command
        } else {
            Command::new(path)
        };
        command.env("PGPASSWORD", PASSWORD).current_dir(self.folder.path());
        command
    }

    /// Makes a database.
    pub fn create_database(&self, name: &str) {
        let port = self.port.to_string();
        checked(self.command("createdb").args([
            "--host",
            "127.0.0.1",
            "--port",
            &port,
            "--username",
            "postgres",
            name,
        ]));
    }

    /// What DuckLake takes for a catalog in this database.
    pub fn uri(&self, database: &str, password: &str) -> String {
        format!(
            "ducklake:postgres:host=127.0.0.1 port={} user=postgres password={password} dbname={database}",
            self.port
        )
    }

    /// Options that make a lake in a new database, with its data in `data`.
    pub fn new_lake(&self, database: &str, data: &Path) -> LakeOptions {
        self.create_database(database);
        let mut options = LakeOptions::new(self.uri(database, PASSWORD));
        options.create = true;
        options.data_path = Some(format!("{}/", data.display()));
        options
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The newest installed server's folder of binaries.
fn binaries() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?;
    let mut found: Vec<(u32, PathBuf)> = versions
        .filter_map(|version| {
            let folder = version.ok()?.path();
            let number = folder.file_name()?.to_str()?.parse().ok()?;
            let binaries = folder.join("bin");
            binaries.join("initdb").is_file().then_some((number, binaries))
        })
        .collect();
    found.sort();
    found.pop().map(|(_, binaries)| binaries)
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output().unwrap();
    String::from_utf8_lossy(&id.stdout).trim() == "0"
}

fn checked(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&output.stderr));
    output
}
