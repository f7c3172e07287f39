//! Keeps credentials out of everything that a person or a log may see.

/// What stands in the place of a credential.
const HIDDEN: &str = "***";

/// Words that, right before a value, make it a credential.
const KEYS: &[&str] = &[
    "account_key",
    "bearer_token",
    "client_secret",
    "connection_string",
    "encryption_key",
    "footer_key_value",
    "key_id",
    "passwd",
    "password",
    "pwd",
    "refresh_token",
    "sas_token",
    "secret",
    "session_token",
    "sslpassword",
    "token",
    "x-amz-credential",
    "x-amz-security-token",
    "x-amz-signature",
];

/// Knows the credentials of one session, and hides them and whatever looks like one.
#[derive(Clone, Default)]
pub(super) struct Redactor {
    known: Vec<String>,
}

impl Redactor {
    /// Learns the credentials that the given texts (the URI, the set-up statements) carry.
    pub(super) fn new<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut known = Vec::new();
        for text in texts {
            known.extend(credentials(text).into_iter().map(|(start, end)| text[start..end].to_owned()));
        }
        Self::of(known)
    }

    /// The same, with more credentials to hide.
    pub(super) fn with(&self, values: &[&str]) -> Self {
        Self::of(self.known.iter().map(String::as_str).chain(values.iter().copied()).map(str::to_owned).collect())
    }

    fn of(mut known: Vec<String>) -> Self {
        // Very short values would hide parts of ordinary words everywhere; in their own place they are still found.
        known.retain(|value| value.len() >= 4);
        known.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        known.dedup();
        Self { known }
    }

    /// `text` without any credential.
    pub(super) fn redact(&self, text: &str) -> String {
        let mut clean = redact(text);
        for value in &self.known {
            if clean.contains(value.as_str()) {
                clean = clean.replace(value.as_str(), HIDDEN);
            }
        }
        clean
    }
}

/// `text` with the values hidden that stand where a credential stands.
pub(super) fn redact(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = 0;
    for (start, end) in credentials(text) {
        if start < rest {
            continue;
        }
        clean.push_str(&text[rest..start]);
        clean.push_str(HIDDEN);
        rest = end;
    }
    clean.push_str(&text[rest..]);
    clean
}

/// The byte ranges of `text` that hold credentials, in order of their start.
fn credentials(text: &str) -> Vec<(usize, usize)> {
    let lower = text.to_ascii_lowercase();
    let mut found = url_passwords(text);
    for key in KEYS {
        for (position, _) in lower.match_indices(key) {
            let before = lower[..position].chars().next_back();
            if before.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_') {
                continue;
            }
            if let Some(range) = value_after(text, position + key.len()) {
                found.push(range);
            }
        }
    }
    found.sort_unstable();
    found
}

/// The value after a key: `key=value`, `key 'value'`, `key: value`, `key => 'value'`; `None` when no value follows.
fn value_after(text: &str, from: usize) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let mut at = from;
    let skip_spaces = |at: &mut usize| {
        while bytes.get(*at).is_some_and(u8::is_ascii_whitespace) {
            *at += 1;
        }
    };
    // The key itself may be quoted: "password": "…", 'secret'='…'.
    if matches!(bytes.get(at), Some(b'"' | b'\'')) {
        at += 1;
    }
    skip_spaces(&mut at);
    let mut separated = false;
    while matches!(bytes.get(at), Some(b'=' | b':' | b'>')) {
        separated = true;
        at += 1;
    }
    skip_spaces(&mut at);
    match bytes.get(at).copied()? {
        // `CREATE SECRET "name"`: what stands in double quotes by itself is a name.
        b'"' if !separated => None,
        quote @ (b'\'' | b'"') => {
            let start = at + 1;
            let mut end = start;
            while let Some(byte) = bytes.get(end) {
                let next = bytes.get(end + 1);
                if (*byte == b'\\' && quote == b'\'' && next.is_some()) || (*byte == quote && next == Some(&quote)) {
                    end += 2;
                } else if *byte == quote {
                    break;
                } else {
                    end += 1;
                }
            }
            let end = end.min(text.len());
            (end > start && text.is_char_boundary(end)).then_some((start, end))
        }
        _ if separated => {
            let length =
                text[at..].find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '&' | ',' | ')' | ';'));
            let end = length.map_or(text.len(), |length| at + length);
            (end > at).then_some((at, end))
        }
        _ => None,
    }
}

/// Passwords of the form `scheme://user:password@host`.
fn url_passwords(text: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for (position, separator) in text.match_indices("://") {
        let start = position + separator.len();
        let length = text[start..].find(|c: char| c.is_whitespace() || matches!(c, '"' | '\''));
        let whole = &text[start..length.map_or(text.len(), |length| start + length)];
        // A password may itself hold an `@`: the last one before the path ends the credentials.
        let authority = &whole[..whole.find('/').filter(|slash| whole[..*slash].contains('@')).unwrap_or(whole.len())];
        let Some(at) = authority.rfind('@') else { continue };
        let Some(colon) = authority[..at].find(':') else {
            continue;
        };
        if colon + 1 < at {
            found.push((start + colon + 1, start + at));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_in_connection_strings_are_hidden() {
        for (text, clean) in [
            ("host=h password=geheim dbname=y", "host=h password=*** dbname=y"),
            ("host=h PASSWORD='ge heim' dbname=y", "host=h PASSWORD='***' dbname=y"),
            (r"password='it\'s' user=x", "password='***' user=x"),
            ("postgresql://x:geheim@h:5/y", "postgresql://x:***@h:5/y"),
            ("postgresql://x:ge@heim@h:5/y?a=b@c", "postgresql://x:***@h:5/y?a=b@c"),
            ("at \"postgresql://x:geheim@h/y\": refused", "at \"postgresql://x:***@h/y\": refused"),
            ("postgresql://h/y?user=x&password=geheim&a=b", "postgresql://h/y?user=x&password=***&a=b"),
            ("s3://bucket/a@b", "s3://bucket/a@b"),
        ] {
            assert_eq!(redact(text), clean);
        }
    }

    #[test]
    fn secrets_in_statements_are_hidden() {
        assert_eq!(
            redact("CREATE SECRET s (TYPE s3, KEY_ID 'AKIA1', SECRET 'top''secret', REGION 'eu')"),
            "CREATE SECRET s (TYPE s3, KEY_ID '***', SECRET '***', REGION 'eu')"
        );
        assert_eq!(
            redact("CREATE SECRET \"bucket\" (SECRET 'abc') -- \"bucket\""),
            "CREATE SECRET \"bucket\" (SECRET '***') -- \"bucket\""
        );
        assert_eq!(redact("{\"password\": \"abc\"}"), "{\"password\": \"***\"}");
        assert_eq!(redact("session_token => 'abc'"), "session_token => '***'");
    }

    #[test]
    fn known_values_are_hidden_wherever_they_stand() {
        let redactor = Redactor::new(["postgres:host=h password=geheim"]);
        assert_eq!(redactor.redact("role \"geheim\" is unknown"), "role \"***\" is unknown");
    }

    #[test]
    fn words_alone_are_left() {
        for text in ["Secret with name s does not exist", "invalid token", "no password supplied", "password"] {
            assert_eq!(redact(text), text);
        }
    }
}
