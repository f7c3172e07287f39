//! Changed rows as people compare them: a line each, `-` and `+`, and of an update what differs is marked.

use anstyle::{AnsiColor, Style};

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::page::{Page, cell};

/// A row that came or went.
pub(in crate::commands) struct ChangedRow {
    sign: char,
    /// Belongs to the row before, which it takes the place of.
    is_second: bool,
    copies: String,
    values: Vec<Option<String>>,
}

impl ChangedRow {
    /// Of the words of a staged change.
    pub(in crate::commands) fn new(change: &str, copies: &str, values: Vec<Option<String>>) -> ChangedRow {
        let sign = if matches!(change, "delete" | "update_preimage") { '-' } else { '+' };
        ChangedRow { sign, is_second: change == "update_postimage", copies: copies.to_owned(), values }
    }

    /// Its sign, and how many copies there are, if more than one.
    fn mark(&self) -> String {
        if self.copies == "1" { self.sign.to_string() } else { format!("{}{}", self.sign, self.copies) }
    }

    fn style(&self) -> Style {
        let color = if self.sign == '-' { AnsiColor::Red } else { AnsiColor::Green };
        Style::new().fg_color(Some(color.into()))
    }
}

/// Stands after a value that differs from the one above.
const MARK: char = '*';
/// The fewest characters that a value is cut to.
const NARROWEST: usize = 8;
const GAP: &str = "  ";

impl Page {
    /// Rows below a header, each in one line: values that are too wide are cut. Where there are too many columns for that,
    /// each value has a line.
    pub(in crate::commands) fn changed_rows(&mut self, header: &[String], rows: &[ChangedRow]) {
        let mut previous: Option<&ChangedRow> = None;
        let mut lines: Vec<(Style, Vec<String>)> = Vec::new();
        for row in rows {
            let above = previous.filter(|_| row.is_second);
            let differs =
                |position: usize| above.is_some_and(|above| above.values.get(position) != row.values.get(position));
            let mut cells = vec![row.mark()];
            for (position, value) in row.values.iter().enumerate() {
                let mut text = cell(value.as_deref());
                if differs(position) {
                    text.push(MARK);
                }
                cells.push(text);
            }
            lines.push((row.style(), cells));
            previous = Some(row);
        }
        let head: Vec<String> = std::iter::once(String::new()).chain(header.iter().cloned()).collect();
        lines.insert(0, (Style::new().bold(), head));
        if overflows(&lines, self.width()) { self.changed_values(header, rows) } else { self.cut_lines(&lines) }
    }

    /// Rows with each value in a line of its own; of an update, what differs stands there twice.
    fn changed_values(&mut self, header: &[String], rows: &[ChangedRow]) {
        let names = header.iter().map(|name| length(name)).max().unwrap_or(0).min(self.width() / 3);
        let signs = rows.iter().map(|row| length(&row.mark())).max().unwrap_or(1);
        let mut position = 0;
        while let Some(row) = rows.get(position) {
            if position > 0 {
                self.gap();
            }
            let second = rows.get(position + 1).filter(|second| second.is_second);
            for (column, name) in header.iter().enumerate() {
                let value = |row: &ChangedRow| row.values.get(column).cloned().flatten();
                let room = self.width().saturating_sub(signs + names + 2 * GAP.len());
                let mut line = |mark: &str, style: Style, row: &ChangedRow| {
                    let text = cell(value(row).as_deref());
                    let text = fit(&text, room.min(length(&text)));
                    let line = format!("{}{GAP}{}{GAP}{text}", fit(mark, signs), fit(name, names));
                    self.line(&format!("{style}{}{style:#}", line.trim_end()));
                };
                match second {
                    Some(second) if value(second) == value(row) => line("", Style::new(), row),
                    second => {
                        line(&row.mark(), row.style(), row);
                        if let Some(second) = second {
                            line(&second.mark(), second.style(), second);
                        }
                    }
                }
            }
            position += 1 + usize::from(second.is_some());
        }
    }

    /// A table whose cells are values: each row in one line, and what is too wide is cut. Where there are too many columns
    /// for that, each value has a line.
    pub(in crate::commands) fn values(&mut self, header: &[&str], rows: Vec<Vec<String>>) {
        let mut lines = vec![(Style::new(), header.iter().map(|head| (*head).to_owned()).collect())];
        lines.extend(rows.into_iter().map(|row| (Style::new(), row)));
        if !overflows(&lines, self.width()) {
            return self.cut_lines(&lines);
        }
        let names = header.iter().map(|name| length(name)).max().unwrap_or(0).min(self.width() / 3);
        let room = self.width().saturating_sub(names + GAP.len());
        for (position, (_, cells)) in lines.iter().skip(1).enumerate() {
            if position > 0 {
                self.gap();
            }
            for (name, cell) in header.iter().zip(cells) {
                self.line(&format!("{}{GAP}{}", fit(name, names), fit(cell, room.min(length(cell)))));
            }
        }
    }

    fn cut_lines(&mut self, lines: &[(Style, Vec<String>)]) {
        let widths = widths(lines.iter().map(|(_, cells)| cells.as_slice()), self.width());
        for (style, cells) in lines {
            let padded: Vec<String> = cells.iter().zip(&widths).map(|(cell, width)| fit(cell, *width)).collect();
            let line = padded.join(GAP);
            self.line(&format!("{style}{}{style:#}", line.trim_end()));
        }
    }
}

/// How many columns of a terminal it takes.
fn length(text: &str) -> usize {
    text.width()
}

/// Would a line be too wide with every value cut as far as it may be?
fn overflows(lines: &[(Style, Vec<String>)], width: usize) -> bool {
    let columns = lines.iter().map(|(_, cells)| cells.len()).max().unwrap_or(0);
    let widest = |column: usize| lines.iter().filter_map(|(_, cells)| cells.get(column)).map(|cell| length(cell)).max();
    let narrow = (0..columns).map(|column| widest(column).unwrap_or(0).min(NARROWEST) + GAP.len());
    narrow.sum::<usize>() > width + GAP.len()
}

/// How wide each column may be so that a line fits: the widest give way first.
fn widths<'a>(rows: impl Iterator<Item = &'a [String]>, line: usize) -> Vec<usize> {
    let mut widths: Vec<usize> = Vec::new();
    for row in rows {
        widths.resize(widths.len().max(row.len()), 0);
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = length(cell).max(*width);
        }
    }
    let room = line.saturating_sub(GAP.len() * widths.len().saturating_sub(1));
    while widths.iter().sum::<usize>() > room {
        let Some(widest) = widths.iter_mut().max().filter(|widest| **widest > NARROWEST) else { break };
        *widest -= 1;
    }
    widths
}

/// `text` with spaces up to `width`, or cut to it; its mark stays.
fn fit(text: &str, width: usize) -> String {
    let padded = |text: String| format!("{text}{}", " ".repeat(width.saturating_sub(length(&text))));
    if length(text) <= width {
        return padded(text.to_owned());
    }
    let end = if text.ends_with(MARK) { format!("…{MARK}") } else { "…".to_owned() };
    let room = width.saturating_sub(length(&end));
    let mut used = 0;
    let kept = text.chars().take_while(|c| {
        used += c.width().unwrap_or(0);
        used <= room
    });
    padded(format!("{}{end}", kept.collect::<String>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_columns_stand_below_each_other() {
        let header: Vec<String> = (0..5).map(|column| format!("column_{column}")).collect();
        let row = |change: &str, first: &str| {
            let values = std::iter::once(first.to_owned()).chain((1..5).map(|value| format!("long value {value}")));
            ChangedRow::new(change, "1", values.map(Some).collect())
        };
        let mut page = Page::new(40);
        let rows = [row("delete", "a"), row("update_preimage", "b"), row("update_postimage", "c")];
        page.changed_rows(&header, &rows);
        let text = anstream::adapter::strip_str(page.as_str()).to_string();
        assert!(text.starts_with("-  column_0  a\n-  column_1  long value 1\n"), "{text}");
        assert!(text.contains("\n\n-  column_0  b\n+  column_0  c\n   column_1  long value 1\n"), "{text}");
    }

    #[test]
    fn many_values_stand_below_each_other() {
        let mut page = Page::new(40);
        let header = ["copies", "first", "second", "third", "fourth", "fifth"];
        page.values(&header, vec![vec!["a value that is long".to_owned(); 6], vec!["b".repeat(50); 6]]);
        assert!(page.as_str().starts_with("copies  a value that is long\nfirst   a value"), "{}", page.as_str());
        assert!(page.as_str().ends_with("\nfifth   bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb…\n"), "{}", page.as_str());
    }

    #[test]
    fn wide_columns_give_way() {
        let row = ["+".to_owned(), "x".repeat(50), "short".to_owned()];
        assert_eq!(widths([row.as_slice()].into_iter(), 40), [1, 30, 5]);
        assert_eq!(fit("abcdefgh", 5), "abcd…");
        assert_eq!(fit("abcdefg*", 5), "abc…*");
        assert_eq!(fit("ab", 4), "ab  ");
        // Letters that take two columns.
        assert_eq!(fit("東京", 5), "東京 ");
        assert_eq!(fit("東京都庁", 6), "東京… ");
    }
}
