//! The file `ducklake-ivm.toml`: what would otherwise be typed with every command.
//!
//! ```toml
//! lake = "ducklake:postgres:dbname=lake host=db"
//! data_path = "s3://bucket/lake/"
//! memory_limit = "4GB"
//!
//! [secrets.bucket]
//! type = "s3"
//! key_id = { env = "BUCKET_KEY" }
//! secret = { env = "BUCKET_SECRET" }
//! region = "eu-central-1"
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::failure::Failure;
use super::output::Format;
use crate::lake::{identifier, literal};

/// The file that is read from the working directory when no other is named.
pub(super) const FILE_NAME: &str = "ducklake-ivm.toml";

/// What the file may hold. A key that is not here is an error that names it.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Configuration {
    /// See `--lake`.
    pub(super) lake: Option<String>,
    /// See `--data-path`.
    pub(super) data_path: Option<String>,
    /// See `--metadata-schema`.
    pub(super) metadata_schema: Option<String>,
    /// See `--memory-limit`.
    pub(super) memory_limit: Option<String>,
    /// See `--temp-directory`.
    pub(super) temp_directory: Option<PathBuf>,
    /// See `--threads`.
    pub(super) threads: Option<u32>,
    /// See `--format`.
    pub(super) format: Option<Format>,
    /// SQL to run before the lake is attached.
    #[serde(default)]
    setup: Vec<String>,
    /// DuckDB secrets by name.
    #[serde(default)]
    secrets: BTreeMap<String, BTreeMap<String, Setting>>,
}

/// A setting of a secret: its value, or the environment variable that holds it.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a text, a number, true, false, or { env = \"VARIABLE\" }")]
enum Setting {
    Text(String),
    Number(i64),
    Truth(bool),
    Environment(Environment),
}

// By way of a map: a derived struct would take a list of one text for it, too.
#[derive(Deserialize)]
#[serde(try_from = "BTreeMap<String, String>")]
struct Environment {
    env: String,
}

impl TryFrom<BTreeMap<String, String>> for Environment {
    type Error = &'static str;

    fn try_from(mut fields: BTreeMap<String, String>) -> Result<Environment, &'static str> {
        match (fields.remove("env"), fields.is_empty()) {
            (Some(env), true) => Ok(Environment { env }),
            _ => Err("expected env = \"VARIABLE\" alone"),
        }
    }
}

impl Configuration {
    /// Reads `named`, or the file in the working directory if there is one.
    pub(super) fn load(named: Option<&Path>) -> Result<Configuration, Failure> {
        let path = named.unwrap_or(Path::new(FILE_NAME));
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if named.is_none() && error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Configuration::default());
            }
            Err(error) => {
                return Err(Failure::usage(format!("configuration file {} cannot be read: {error}", path.display())));
            }
        };
        Configuration::parse(&text)
            .map_err(|message| Failure::usage(format!("configuration file {}: {message}", path.display())))
    }

    /// The message of a refused text shows keys and lines, never values: a line may hold a password.
    fn parse(text: &str) -> Result<Configuration, String> {
        toml::from_str(text).map_err(|error| {
            let line = error.span().map(|span| 1 + text[..span.start.min(text.len())].matches('\n').count());
            let mut message = error.message().lines().collect::<Vec<_>>().join(" ");
            if let Some(("invalid type" | "invalid value", rest)) = message.split_once(": ")
                && let Some((_, expected)) = rest.rsplit_once(", expected ")
            {
                message = format!("the value is not as it should be: expected {expected}");
            }
            line.map_or(message.clone(), |line| format!("line {line}: {message}"))
        })
    }

    /// The statements to run before the lake is attached.
    pub(super) fn setup(&self, variable: impl Fn(&str) -> Option<String>) -> Result<Vec<String>, Failure> {
        let mut statements = Vec::new();
        for (name, settings) in &self.secrets {
            let mut options = Vec::new();
            for (key, setting) in settings {
                if !key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
                    return Err(Failure::usage(format!("secret {name}: {key:?} is no setting of a DuckDB secret")));
                }
                options.push(format!("{key} {}", setting.value(name, key, &variable)?));
            }
            statements.push(format!("CREATE OR REPLACE SECRET {} ({})", identifier(name), options.join(", ")));
        }
        statements.extend(self.setup.iter().cloned());
        Ok(statements)
    }
}

impl Setting {
    fn value(&self, secret: &str, key: &str, variable: &impl Fn(&str) -> Option<String>) -> Result<String, Failure> {
        Ok(match self {
            Setting::Text(text) => literal(text),
            Setting::Number(number) => number.to_string(),
            Setting::Truth(truth) => truth.to_string(),
            Setting::Environment(Environment { env }) => literal(&variable(env).ok_or_else(|| {
                Failure::usage(format!("secret {secret}: {key} is to come from the environment variable {env}"))
                    .hint(format!("set {env}, or give {key} in the configuration file"))
            })?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setup(text: &str) -> Result<Vec<String>, Failure> {
        Configuration::parse(text).unwrap().setup(|name| (name == "KEY").then(|| "it's".to_owned()))
    }

    #[test]
    fn secrets_become_statements_before_the_setup() {
        let text =
            "setup = ['SET x = 1']\n[secrets.'my bucket']\ntype = 's3'\nkey_id = { env = 'KEY' }\nuse_ssl = false";
        assert_eq!(
            setup(text).unwrap(),
            [r#"CREATE OR REPLACE SECRET "my bucket" (key_id 'it''s', type 's3', use_ssl false)"#, "SET x = 1"]
        );
    }

    #[test]
    fn a_missing_variable_is_named() {
        let failure = setup("[secrets.b]\ntype = 's3'\nsecret = { env = 'NOT_SET' }").unwrap_err();
        assert_eq!(failure.message, "secret b: secret is to come from the environment variable NOT_SET");
    }

    #[test]
    fn an_unknown_key_is_named_with_its_line() {
        let message = Configuration::parse("lake = 'x'\nformt = 'json'").map(|_| ()).unwrap_err();
        assert!(message.starts_with("line 2: unknown field `formt`, expected one of `lake`"), "{message}");
    }

    #[test]
    fn messages_hold_no_values() {
        let message = Configuration::parse("lake = 'password=geheim").map(|_| ()).unwrap_err();
        assert!(!message.contains("geheim"), "{message}");
        let message = Configuration::parse("[secrets.b]\nsecret = ['geheim']").map(|_| ()).unwrap_err();
        assert!(!message.contains("geheim"), "{message}");
        let message = Configuration::parse("\nsetup = 'geheim'").map(|_| ()).unwrap_err();
        assert_eq!(message, "line 2: the value is not as it should be: expected a sequence");
    }
}
