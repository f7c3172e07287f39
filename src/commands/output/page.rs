//! A page of text for people: lines, tables, notes.

use anstyle::Style;
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};

/// A page of text that is being written.
pub(in crate::commands) struct Page {
    text: String,
    width: usize,
}

/// Words in bold.
const HEADING: Style = Style::new().bold();

impl Page {
    /// An empty page whose lines have up to `width` columns.
    pub(in crate::commands) fn new(width: usize) -> Page {
        Page { text: String::new(), width }
    }

    /// How many columns a line has.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// What was written.
    pub(in crate::commands) fn as_str(&self) -> &str {
        &self.text
    }

    /// A line as it is.
    pub(in crate::commands) fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    /// An empty line.
    pub(in crate::commands) fn gap(&mut self) {
        self.text.push('\n');
    }

    /// A heading.
    pub(in crate::commands) fn heading(&mut self, heading: &str) {
        self.line(&format!("{HEADING}{heading}{HEADING:#}"));
    }

    /// Words, broken into lines; each begins with `indent`, the first with `first` in its place.
    pub(in crate::commands) fn paragraph(&mut self, first: &str, indent: &str, words: &str) {
        let mut line = first.to_owned();
        let mut used = first.chars().count();
        let mut fresh = true;
        for word in words.split_whitespace() {
            let length = word.chars().count();
            if !fresh && used + 1 + length > self.width {
                self.line(&line);
                indent.clone_into(&mut line);
                used = indent.chars().count();
                fresh = true;
            }
            if !fresh {
                line.push(' ');
                used += 1;
            }
            line.push_str(word);
            used += length;
            fresh = false;
        }
        self.line(&line);
    }

    /// A table; columns that hold only numbers stand to the right.
    pub(in crate::commands) fn table(&mut self, header: &[&str], rows: &[Vec<String>]) {
        let mut table = Table::new();
        table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
        table.set_width(u16::try_from(self.width).unwrap_or(u16::MAX));
        table.set_header(header.iter().copied());
        for row in rows {
            table.add_row(row.iter().map(Cell::new));
        }
        for (index, column) in table.column_iter_mut().enumerate() {
            // One space of the edge and one of the neighbour make the gap of two.
            column.set_padding((0, 2));
            let mut cells = rows.iter().filter_map(|row| row.get(index)).filter(|cell| *cell != NONE).peekable();
            if cells.peek().is_some() && cells.all(|cell| is_number(cell)) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        for line in table.lines() {
            self.line(&line);
        }
    }
}

/// Stands where there is nothing to say.
pub(in crate::commands) const NONE: &str = "-";

fn is_number(cell: &str) -> bool {
    cell.contains(|c: char| c.is_ascii_digit())
        && cell.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | ',' | '+' | '-' | '~'))
}

/// A value, as text, in a cell: NULL, the empty text and texts that read like either are told apart.
pub(in crate::commands) fn cell(value: Option<&str>) -> String {
    match value {
        None => "NULL".to_owned(),
        Some(text) if text.is_empty() || text == "NULL" || text.trim() != text || text.starts_with('\'') => {
            format!("'{}'", plain(text).replace('\'', "''"))
        }
        Some(text) => plain(text),
    }
}

/// A text on one line, without anything that a terminal would obey.
fn plain(text: &str) -> String {
    text.chars().fold(String::new(), |mut plain, c| {
        if c.is_control() {
            plain.extend(c.escape_default());
        } else {
            plain.push(c);
        }
        plain
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_looks_like_null_but_null() {
        assert_eq!(cell(None), "NULL");
        assert_eq!(cell(Some("NULL")), "'NULL'");
        assert_eq!(cell(Some("")), "''");
        assert_eq!(cell(Some("'NULL'")), "'''NULL'''");
        assert_eq!(cell(Some("a\u{1b}[31m\nb")), "a\\u{1b}[31m\\nb");
    }

    #[test]
    fn numbers_stand_to_the_right() {
        let mut page = Page::new(40);
        page.table(&["view", "rows"], &[vec!["a".into(), "5".into()], vec!["b".into(), "1000".into()]]);
        assert_eq!(page.as_str(), "view  rows\na        5\nb     1000\n");
    }

    #[test]
    fn paragraphs_are_broken_between_words() {
        let mut page = Page::new(12);
        page.paragraph("- ", "  ", "one two three four");
        assert_eq!(page.as_str(), "- one two\n  three four\n");
    }
}
