//! Texts of dates, times and intervals that DuckDB writes as numbers.

/// `2020-01-31`, as DuckDB reads it back.
pub(super) fn date(days: i64) -> String {
    match days {
        2_147_483_647 => return "infinity".to_owned(),
        -2_147_483_647 => return "-infinity".to_owned(),
        _ => {}
    }
    let (year, month, day) = civil(days);
    let (year, suffix) = if year > 0 { (year, "") } else { (1 - year, " (BC)") };
    format!("{year:04}-{month:02}-{day:02}{suffix}")
}

/// `12:34:56.789`, with as many digits behind the point as `per_second` has zeros.
pub(super) fn time(units: i64, per_second: i64) -> String {
    let (seconds, fraction) = (units.div_euclid(per_second), units.rem_euclid(per_second));
    let text = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    if fraction == 0 {
        return text;
    }
    let digits = per_second.ilog10() as usize;
    format!("{text}.{fraction:0digits$}")
}

/// `2020-01-31 12:34:56.789`
pub(super) fn timestamp(units: i64, per_second: i64) -> String {
    match units {
        i64::MAX => return "infinity".to_owned(),
        i64::MIN | -9_223_372_036_854_775_807 => return "-infinity".to_owned(),
        _ => {}
    }
    let per_day = per_second.saturating_mul(86_400);
    let date = date(units.div_euclid(per_day));
    let time = time(units.rem_euclid(per_day), per_second);
    match date.strip_suffix(" (BC)") {
        Some(date) => format!("{date} (BC) {time}"),
        None => format!("{date} {time}"),
    }
}

/// The proleptic Gregorian date `days` after 1970-01-01: year (0 is 1 BC), month, day.
fn civil(days: i64) -> (i64, i64, i64) {
    // Counted in eras of 400 years that begin on the first of March, so that a leap day is an era's last day.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_those_that_duckdb_prints() {
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(18_321), "2020-02-29");
        assert_eq!(date(-719_163), "0001-12-31 (BC)");
        assert_eq!(time(36_000_500_000, 1_000_000), "10:00:00.500000");
        assert_eq!(timestamp(1_577_836_800_500_000, 1_000_000), "2020-01-01 00:00:00.500000");
        assert_eq!(timestamp(-1, 1), "1969-12-31 23:59:59");
        assert_eq!(timestamp(i64::MAX, 1_000_000), "infinity");
    }
}
