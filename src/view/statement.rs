//! The user's text of a view, cut to the one statement in it.

/// The first statement of `text` without its semicolon and what follows it: a view's SELECT is put into parentheses,
/// where neither may stand. Whether more statements follow is DuckDB's parser's matter.
pub(super) fn first_statement(text: &str) -> &str {
    text[..end_of_statement(text)].trim()
}

/// The statements of `text`, which end at semicolons. Pieces that hold nothing but comments are left out.
pub fn statements(text: &str) -> Vec<&str> {
    let mut rest = text;
    let mut statements = Vec::new();
    while !rest.is_empty() {
        let (statement, after) = rest.split_at(end_of_statement(rest));
        if !skip_comments(statement).is_empty() {
            statements.push(statement.trim());
        }
        rest = after.strip_prefix(';').unwrap_or(after);
    }
    statements
}

/// `text` without the white space and comments that it begins with.
pub fn skip_comments(text: &str) -> &str {
    let text = text.trim_start();
    let length = match text {
        _ if text.starts_with("--") => text.find('\n').unwrap_or(text.len()),
        _ if text.starts_with("/*") => comment(text),
        _ => return text,
    };
    skip_comments(&text[length..])
}

/// The position of the semicolon that ends the first statement of `text`, or the end of the text.
fn end_of_statement(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &text[at..];
        at += match bytes[at] {
            b';' => break,
            quote @ (b'\'' | b'"') => quoted(rest, quote, escapes(bytes, at, quote)),
            b'-' if rest.starts_with("--") => rest.find('\n').unwrap_or(rest.len()),
            b'/' if rest.starts_with("/*") => comment(rest),
            b'$' => dollar_quoted(bytes, at, rest),
            _ => rest.chars().next().map_or(1, char::len_utf8),
        };
    }
    at.min(text.len())
}

/// Is the quote at `at` that of an `E'…'` string, in which a backslash escapes?
fn escapes(bytes: &[u8], at: usize, quote: u8) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80;
    quote == b'\'' && at > 0 && matches!(bytes[at - 1], b'e' | b'E') && (at < 2 || !word(bytes[at - 2]))
}

/// The length of a quoted piece; a doubled quote reads as the end of one and the start of the next, which is as good.
fn quoted(rest: &str, quote: u8, backslash: bool) -> usize {
    let bytes = rest.as_bytes();
    let mut at = 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if backslash => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// The length of a block comment; they nest, as in PostgreSQL.
fn comment(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let (mut at, mut depth) = (0, 0_usize);
    while at + 1 < bytes.len() {
        match &bytes[at..at + 2] {
            b"/*" => {
                depth += 1;
                at += 2;
            }
            b"*/" => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    rest.len()
}

/// The length of `$tag$ … $tag$`, or 1 when the dollar begins no such thing (a parameter, part of a name).
fn dollar_quoted(bytes: &[u8], at: usize, rest: &str) -> usize {
    let part_of_a_name = at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_');
    let Some(end) = rest[1..].find('$').filter(|_| !part_of_a_name) else {
        return 1;
    };
    let tag = &rest[..end + 2];
    if !tag[1..=end].chars().all(|c| c.is_alphanumeric() || c == '_')
        || tag[1..].starts_with(|c: char| c.is_ascii_digit())
    {
        return 1;
    }
    rest[tag.len()..].find(tag).map_or(rest.len(), |found| found + 2 * tag.len())
}

#[cfg(test)]
mod tests {
    use super::{first_statement, skip_comments, statements};

    fn check(text: &str, statement: &str) {
        assert_eq!(first_statement(text), statement);
    }

    #[test]
    fn what_follows_the_semicolon_goes() {
        check(" SELECT 1 ; -- done\n", "SELECT 1");
        check("SELECT 1", "SELECT 1");
    }

    #[test]
    fn semicolons_inside_quotes_and_comments_stay() {
        check("SELECT ';' AS \"a;b\"; x", "SELECT ';' AS \"a;b\"");
        check("SELECT 'it''s;' ; x", "SELECT 'it''s;'");
        check("SELECT E'\\';' ; x", "SELECT E'\\';'");
        check("SELECT 1 -- a;b\n+ 1; x", "SELECT 1 -- a;b\n+ 1");
        check("SELECT /* ; /* ; */ ; */ 1; x", "SELECT /* ; /* ; */ ; */ 1");
        check("SELECT $$;$$, $a$ ; $$ ; $a$; x", "SELECT $$;$$, $a$ ; $$ ; $a$");
        check("SELECT $1; x", "SELECT $1");
    }

    #[test]
    fn texts_are_taken_apart_into_statements() {
        assert_eq!(statements("-- a;\nSELECT 1; /* ; */ ; SELECT ';';\n-- end"), ["-- a;\nSELECT 1", "SELECT ';'"]);
        assert_eq!(skip_comments(" -- a\n/* b /* c */ */ x -- y"), "x -- y");
        assert_eq!(skip_comments("-- a"), "");
    }

    #[test]
    fn unclosed_pieces_run_to_the_end() {
        check("SELECT 'a;", "SELECT 'a;");
        check("SELECT 1 /* ;", "SELECT 1 /* ;");
    }
}
