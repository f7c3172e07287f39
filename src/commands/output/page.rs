//! A page of text for people: lines, tables, notes.

use anstyle::Style;

use comfy_table::{Cell, CellAlignment, ColumnConstraint, ContentArrangement, Table, Width as ComfyWidth, presets};
use unicode_width::UnicodeWidthStr;

/// A page of text that is being written.
pub(in crate::commands) struct Page {
    text: String,
    width: usize,
}

/// Spaces between two columns.
const GAP: usize = 2;
/// What a column that gives way is left with at least, its gap included.
const NARROWEST: usize = 12;

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

    /// How much of a line a table leaves to one more column.
    pub(in crate::commands) fn room(&self, header: &[&str], rows: &[Vec<String>]) -> usize {
        self.width.saturating_sub(natural_width(header, rows))
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
        // What fits as it is is not to be broken.
        let fits = natural_width(header, rows) <= self.width + GAP;
        let arrangement = if fits { ContentArrangement::Disabled } else { ContentArrangement::Dynamic };
        table.load_preset(presets::NOTHING).set_content_arrangement(arrangement);
        // The gap after the last column is cut off again.
        table.set_width(u16::try_from(self.width + GAP).unwrap_or(u16::MAX));
        table.set_header(header.iter().copied());
        let bounds = bounds(header, rows, self.width);
        let taken: usize = bounds.iter().flatten().sum();
        let giving = bounds.iter().filter(|bound| bound.is_none()).count().max(1);
        // What is left for a column that gives way.
        let room = ((self.width + GAP).saturating_sub(taken) / giving).saturating_sub(GAP);
        for row in rows {
            let cells = row.iter().zip(&bounds);
            table.add_row(
                cells.map(|(cell, bound)| Cell::new(if bound.is_none() { parted(cell, room) } else { cell.clone() })),
            );
        }
        for (index, column) in table.column_iter_mut().enumerate() {
            column.set_padding((0, 2));
            if let Some(bound) = bounds.get(index).copied().flatten() {
                let bound = u16::try_from(bound).unwrap_or(u16::MAX);
                column.set_constraint(ColumnConstraint::LowerBoundary(ComfyWidth::Fixed(bound)));
            }
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

/// How wide a table is if nothing in it is broken, with the gap after its last column.
fn natural_width(header: &[&str], rows: &[Vec<String>]) -> usize {
    let cells = |column: usize| rows.iter().filter_map(move |row| row.get(column)).map(|cell| cell.width());
    header.iter().enumerate().map(|(column, head)| cells(column).fold(head.width(), usize::max) + GAP).sum()
}

/// Stands where there is nothing to say.
pub(in crate::commands) const NONE: &str = "-";

/// Long words in two or more: names are parted after a sign between their parts.
fn parted(cell: &str, room: usize) -> String {
    let mut parted = String::new();
    let mut used = 0;
    for part in cell.split_inclusive([' ', '.', '_', '-', '/']) {
        let length = part.trim_end().chars().count();
        let is_inside = !parted.is_empty() && !parted.ends_with([' ', '\n']);
        if is_inside && used + length > room {
            parted.push('\n');
            used = 0;
        }
        parted.push_str(part);
        used = if part.ends_with(' ') { 0 } else { used + length };
    }
    parted
}

/// A moment of ISO 8601 to the second, as people read it.
pub(in crate::commands) fn seconds(moment: &str) -> String {
    let end = moment.find(['.', 'Z']).unwrap_or(moment.len());
    moment[..end].replacen('T', " ", 1)
}

/// How wide each column is to be at least, so that no word is cut: as long as they fit into `width`, the widest left out.
fn bounds(header: &[&str], rows: &[Vec<String>], width: usize) -> Vec<Option<usize>> {
    let longest = |text: &str| text.split_whitespace().map(|word| word.chars().count()).max().unwrap_or(0);
    let cells = |index: usize| rows.iter().filter_map(move |row| row.get(index)).map(|cell| longest(cell));
    let words = header.iter().enumerate().map(|(index, head)| cells(index).fold(longest(head), usize::max) + GAP);
    let mut bounds: Vec<Option<usize>> = words.map(Some).collect();
    // What gives way still needs some room.
    let needed = |bounds: &[Option<usize>]| bounds.iter().map(|bound| bound.unwrap_or(NARROWEST)).sum::<usize>();
    while needed(&bounds) > width + GAP {
        let Some(widest) = bounds.iter_mut().max().filter(|widest| widest.is_some()) else { break };
        *widest = None;
    }
    bounds
}

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
    fn words_are_not_cut_where_there_is_room() {
        let mut page = Page::new(40);
        let words = "several words that can be broken between any two of them";
        page.table(&["view", "why"], &[vec!["mart.a_view_with_a_long_name".into(), words.into()]]);
        assert!(page.as_str().lines().all(|line| line.chars().count() <= 40), "{}", page.as_str());
        assert!(page.as_str().contains("mart.a_view_with_a_long_name"), "{}", page.as_str());
        assert_eq!(parted("mart.a_view_with_a_long_name (view)", 15), "mart.a_view_\nwith_a_long_\nname (view)");
        assert_eq!(seconds("2026-11-01T08:30:00.123456Z"), "2026-11-01 08:30:00");
    }

    #[test]
    fn a_table_that_fits_is_not_broken() {
        let mut page = Page::new(41);
        page.table(&["table", "rows", ""], &[vec!["main.a_long_name (view)".into(), "5".into(), "+++++-----".into()]]);
        assert!(page.as_str().ends_with("main.a_long_name (view)     5  +++++-----\n"), "{}", page.as_str());
    }

    #[test]
    fn paragraphs_are_broken_between_words() {
        let mut page = Page::new(12);
        page.paragraph("- ", "  ", "one two three four");
        assert_eq!(page.as_str(), "- one two\n  three four\n");
    }
}
