//! Asks the disk or the object store how large the files of a lake are, many at a time and without reading them.
//!
//! S3 and what speaks like it is asked directly, with the credentials of the secret that DuckDB itself would take for the
//! file. They never leave this file.

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, stream};
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::{ClientOptions, ObjectStoreExt, RetryConfig};

use super::{Lake, LakeError, Secrets, Value, redact::Redactor, text::literal};

/// How many files are asked for at once.
const AT_ONCE: usize = 16;
/// How often it is looked whether the answers are still wanted.
const PERIOD: Duration = Duration::from_millis(50);
/// For how long one answer of a store is waited for.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often a request is sent again, and until when: what a store says when it is busy passes within seconds.
const RETRIES: RetryConfig = RetryConfig {
    backoff: object_store::BackoffConfig {
        init_backoff: Duration::from_millis(100),
        max_backoff: Duration::from_secs(2),
        base: 2.0,
    },
    max_retries: 4,
    retry_timeout: Duration::from_secs(60),
};

/// Where a file is.
enum Place<'a> {
    /// On a disk.
    Disk(&'a str),
    /// In an object store, under this key.
    Store(Arc<Bucket>, &'a str),
    /// Somewhere that only DuckDB knows how to ask.
    Elsewhere(&'a str),
}

/// A bucket, and what must not be said about it.
struct Bucket {
    store: AmazonS3,
    redactor: Redactor,
}

impl Lake {
    /// The sizes of files, in order; none of a file that does not exist. Gives up once `unwanted` says so.
    ///
    /// Files in an object store need a lake that was opened with
    /// [`Secrets::Revealed`].
    pub fn file_sizes(&self, paths: &[String], unwanted: &dyn Fn() -> bool) -> Result<Vec<Option<u64>>, LakeError> {
        let mut buckets = BTreeMap::new();
        let places: Vec<Place<'_>> =
            paths.iter().map(|path| self.place(path, &mut buckets)).collect::<Result<_, LakeError>>()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| LakeError::Store { path: "files".to_owned(), cause: error.to_string() })?;
        let near = places.iter().zip(paths).enumerate().filter(|(_, (place, _))| !matches!(place, Place::Elsewhere(_)));
        let questions = near.map(|(position, (place, path))| async move { (position, place.size(path).await) });
        let mut sizes = vec![None; paths.len()];
        runtime.block_on(async {
            let mut answers = stream::iter(questions).buffer_unordered(AT_ONCE);
            let mut ticks = tokio::time::interval(PERIOD);
            loop {
                tokio::select! {
                    answer = answers.next() => match answer {
                        None => return Ok(()),
                        Some((position, size)) => sizes[position] = size?,
                    },
                    _ = ticks.tick() => if unwanted() { return Err(LakeError::Interrupted) },
                }
            }
        })?;
        for (place, size) in places.iter().zip(&mut sizes) {
            if let Place::Elsewhere(path) = place {
                *size = self.size_elsewhere(path)?;
            }
        }
        Ok(sizes)
    }

    fn place<'a>(&self, path: &'a str, buckets: &mut BTreeMap<String, Arc<Bucket>>) -> Result<Place<'a>, LakeError> {
        let Some((scheme, rest)) = path.split_once("://") else { return Ok(Place::Disk(path)) };
        let secret_type = match scheme {
            "file" => return Ok(Place::Disk(rest)),
            "s3" | "s3a" | "s3n" => "s3",
            "gs" | "gcs" => "gcs",
            "r2" => "r2",
            _ => return Ok(Place::Elsewhere(path)),
        };
        let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
        // A secret can be for a part of a bucket: files of one folder share one.
        let folder = path.rsplit_once('/').map_or(path, |(folder, _)| folder);
        if let Some(known) = buckets.get(folder) {
            return Ok(Place::Store(Arc::clone(known), key));
        }
        let opened = Arc::new(self.bucket(path, bucket, secret_type)?);
        buckets.insert(folder.to_owned(), Arc::clone(&opened));
        Ok(Place::Store(opened, key))
    }

    fn bucket(&self, path: &str, bucket: &str, secret_type: &str) -> Result<Bucket, LakeError> {
        let secret = self.secret(path, secret_type)?;
        let setting = |key: &str| secret.get(key).map(String::as_str).filter(|value| !value.is_empty());
        let is_on = |key: &str, usual: bool| setting(key).map_or(usual, |value| value.eq_ignore_ascii_case("true"));
        let secrets: Vec<&str> = ["key_id", "secret", "session_token"].into_iter().filter_map(setting).collect();
        let redactor = self.shared.redactor.with(&secrets);
        let endpoint = setting("endpoint").or((secret_type == "gcs").then_some("storage.googleapis.com"));
        let is_path = setting("url_style").is_some_and(|style| style == "path") || secret_type != "s3";
        // The library that encrypts has to be chosen once per process; it may have been.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut client = ClientOptions::new().with_timeout(PATIENCE);
        if !is_on("verify_ssl", true) {
            client = client.with_allow_invalid_certificates(true);
        }
        let mut builder = AmazonS3Builder::new()
            .with_bucket_name(bucket)
            .with_region(setting("region").unwrap_or("us-east-1"))
            .with_virtual_hosted_style_request(!is_path)
            .with_request_payer(is_on("requester_pays", false))
            .with_retry(RETRIES)
            .with_client_options(client);
        if let Some(endpoint) = endpoint {
            let use_ssl = is_on("use_ssl", true);
            let (scheme, host) =
                endpoint.split_once("://").unwrap_or((if use_ssl { "https" } else { "http" }, endpoint));
            let host = if is_path { host.to_owned() } else { format!("{bucket}.{host}") };
            builder = builder.with_endpoint(format!("{scheme}://{host}")).with_allow_http(scheme == "http");
        }
        builder = match (setting("key_id"), setting("secret")) {
            (Some(key), Some(secret)) => builder.with_access_key_id(key).with_secret_access_key(secret),
            _ => builder.with_skip_signature(true),
        };
        if let Some(token) = setting("session_token") {
            builder = builder.with_token(token);
        }
        let store = builder.build().map_err(|error| failed(path, &error, &redactor))?;
        Ok(Bucket { store, redactor })
    }

    /// The settings of the secret that DuckDB takes for a file; without one, those of the session.
    fn secret(&self, path: &str, secret_type: &str) -> Result<BTreeMap<String, String>, LakeError> {
        let found = self.query(&format!(
            "SELECT s.secret_string FROM duckdb_secrets(redact := {}) s \
             JOIN which_secret({}, {}) w ON w.name = s.name AND w.storage = s.storage",
            self.shared.secrets == Secrets::Hidden,
            literal(path),
            literal(secret_type)
        ))?;
        if let Some(row) = found.rows.first() {
            if self.shared.secrets == Secrets::Hidden {
                let cause = "this session may not read the secret of the store".to_owned();
                return Err(LakeError::Store { path: path.to_owned(), cause });
            }
            return Ok(settings_of(row.first().unwrap_or(&Value::Null).as_str()?));
        }
        let rows = self.query("SELECT name, value FROM duckdb_settings() WHERE name LIKE 's3\\_%' ESCAPE '\\'")?.rows;
        let mut settings = BTreeMap::new();
        for row in &rows {
            if let [name, value] = row.as_slice()
                && let Some(value) = value.optional(Value::as_str)?
            {
                let name = match name.as_str()? {
                    "s3_access_key_id" => "key_id",
                    "s3_secret_access_key" => "secret",
                    name => name.trim_start_matches("s3_"),
                };
                settings.insert(name.to_owned(), value.to_owned());
            }
        }
        Ok(settings)
    }

    fn size_elsewhere(&self, path: &str) -> Result<Option<u64>, LakeError> {
        match self.query_value(&format!("SELECT size::BIGINT FROM read_blob({})", literal(path))) {
            Ok(size) => Ok(Some(size.as_u64()?)),
            Err(LakeError::VanishedFile { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Place<'_> {
    async fn size(&self, path: &str) -> Result<Option<u64>, LakeError> {
        match self {
            Place::Disk(file) => {
                let file = (*file).to_owned();
                let size = tokio::task::spawn_blocking(move || std::fs::metadata(file).map(|found| found.len())).await;
                let cause = match size {
                    Ok(Ok(size)) => return Ok(Some(size)),
                    Ok(Err(error)) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
                    Ok(Err(error)) => error.to_string(),
                    Err(error) => error.to_string(),
                };
                Err(LakeError::Store { path: path.to_owned(), cause })
            }
            Place::Store(bucket, key) => {
                let key = object_store::path::Path::parse(key)
                    .map_err(|error| LakeError::Store { path: path.to_owned(), cause: error.to_string() })?;
                match bucket.store.head(&key).await {
                    Ok(found) => Ok(Some(found.size)),
                    Err(object_store::Error::NotFound { .. }) => Ok(None),
                    Err(error) => Err(failed(path, &error, &bucket.redactor)),
                }
            }
            Place::Elsewhere(_) => Ok(None),
        }
    }
}

/// What a store said, or why it said nothing: the last cause, for those before it hold the whole request.
fn failed(path: &str, error: &object_store::Error, redactor: &Redactor) -> LakeError {
    let path = path.to_owned();
    match error {
        object_store::Error::Unauthenticated { .. } => LakeError::Refused { path, status: 401 },
        object_store::Error::PermissionDenied { .. } => LakeError::Refused { path, status: 403 },
        error => {
            let mut last: &dyn Error = error;
            while let Some(source) = last.source() {
                last = source;
            }
            LakeError::Store { path, cause: redactor.redact(&last.to_string()) }
        }
    }
}

/// The settings in DuckDB's text of a secret, `key=value;…`, in which a value may hold anything.
fn settings_of(text: &str) -> BTreeMap<String, String> {
    const KEYS: [&str; 17] = [
        "endpoint",
        "key_id",
        "kms_key_id",
        "name",
        "provider",
        "refresh_info",
        "region",
        "requester_pays",
        "scope",
        "secret",
        "serializable",
        "session_token",
        "type",
        "url_compatibility_mode",
        "url_style",
        "use_ssl",
        "verify_ssl",
    ];
    let mut settings: BTreeMap<String, String> = BTreeMap::new();
    let mut last: Option<&str> = None;
    for part in text.split(';') {
        let known = part.split_once('=').filter(|(key, _)| KEYS.contains(key));
        match (known, last) {
            (Some((key, value)), _) => {
                settings.insert(key.to_owned(), value.to_owned());
                last = Some(key);
            }
            (None, Some(key)) => {
                let value = settings.entry(key.to_owned()).or_default();
                value.push(';');
                value.push_str(part);
            }
            (None, None) => {}
        }
    }
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_a_secret_may_hold_semicolons() {
        let text =
            "name=a;type=s3;scope=s3://,s3n://;endpoint=h:9;key_id=k;secret=s;x=y==;url_style=path;use_ssl=false";
        let settings = settings_of(text);
        let of = |key: &str| settings.get(key).map(String::as_str);
        assert_eq!((of("endpoint"), of("key_id"), of("secret")), (Some("h:9"), Some("k"), Some("s;x=y==")));
        assert_eq!((of("url_style"), of("use_ssl"), of("region")), (Some("path"), Some("false"), None));
    }
}
