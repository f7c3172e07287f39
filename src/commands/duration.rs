//! Spans of time as people type them: `30s`, `10m`, `500ms`.

use std::time::Duration;

const UNITS: [(&str, u64); 5] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

/// Reads a whole number and its unit.
pub(super) fn parse(text: &str) -> Result<Duration, String> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let milliseconds = UNITS
        .iter()
        .find(|(name, _)| *name == unit.trim())
        .zip(number.parse::<u64>().ok())
        .and_then(|((_, factor), number)| number.checked_mul(*factor));
    milliseconds
        .map(Duration::from_millis)
        .ok_or_else(|| "expected a whole number with a unit: 500ms, 30s, 10m, 2h or 1d".to_owned())
}

/// A span of seconds in its largest unit that leaves at least one.
pub(super) fn readable(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds % 86_400 / 3_600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_with_units_are_read() {
        for (text, milliseconds) in [("500ms", 500), ("30s", 30_000), ("10m", 600_000), ("2h", 7_200_000), ("0 s", 0)] {
            assert_eq!(parse(text), Ok(Duration::from_millis(milliseconds)), "{text}");
        }
    }

    #[test]
    fn everything_else_is_refused() {
        for text in ["", "30", "s", "-1s", "1.5h", "10 weeks", "99999999999999999999s", "99999999999999999d"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn spans_read_in_their_largest_unit() {
        assert_eq!(readable(59), "59 s");
        assert_eq!(readable(61), "1 min");
        assert_eq!(readable(7_260), "2 h 1 min");
        assert_eq!(readable(90_000), "1 d 1 h");
    }
}
