//! Names of views and columns as arguments.

use super::failure::Failure;
use crate::view::ViewName;

/// Reads names; none means all views.
pub(super) fn parse(texts: &[String]) -> Result<Vec<ViewName>, Failure> {
    texts.iter().map(|text| Ok(ViewName::parse(text)?)).collect()
}

/// Reads lists of columns: names between commas, in double quotes where they hold any.
pub(super) fn columns(texts: &[String]) -> Result<Vec<String>, Failure> {
    texts.iter().map(|text| list(text)).collect::<Result<Vec<_>, _>>().map(|lists| lists.concat())
}

fn list(text: &str) -> Result<Vec<String>, Failure> {
    let mut parts = vec![String::new()];
    let mut is_quoted = false;
    for character in text.chars() {
        // A quote within quotes is two, which close and open them again.
        is_quoted ^= character == '"';
        match parts.last_mut() {
            Some(last) if is_quoted || character != ',' => last.push(character),
            _ => parts.push(String::new()),
        }
    }
    let bare = |part: &String| {
        let part = part.trim();
        let quoted = part.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        let name = quoted.map_or_else(|| part.to_owned(), |name| name.replace("\"\"", "\""));
        if is_quoted || name.is_empty() || quoted.is_none() && part.contains('"') { None } else { Some(name) }
    };
    parts.iter().map(bare).collect::<Option<_>>().ok_or_else(|| {
        Failure::usage(format!("{text:?} is no list of columns"))
            .hint("write names between commas, in double quotes where they hold one: id,\"x, y\"")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_in_quotes_may_hold_anything() {
        let of = |texts: &[&str]| columns(&texts.iter().map(ToString::to_string).collect::<Vec<_>>()).ok();
        assert_eq!(of(&["id, Amount ,a b", "c"]).unwrap(), ["id", "Amount", "a b", "c"]);
        assert_eq!(of(&[r#""x, y",id,"say ""hi""""#]).unwrap(), ["x, y", "id", "say \"hi\""]);
        assert_eq!(of(&[r#"" x ""#]).unwrap(), [" x "]);
        for wrong in [r#""x"#, "a,,b", "", r#"a"b"#] {
            assert!(of(&[wrong]).is_none(), "{wrong}");
        }
    }
}
