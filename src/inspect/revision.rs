//! Snapshots as people write them: `120`, `HEAD~3`, `2026-11-01`, `@view`, and ranges of them: `120..135`, `120..`, and
//! `120^!` for what one commit changed.

use std::cmp::Ordering;

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;

use super::InspectError;
use crate::lake::{Lake, LakeError, SnapshotId, Transaction, Value, utc};
use crate::view::{ViewError, ViewName, registry};

/// The snapshot that every lake begins with: it holds no table.
const EMPTY: SnapshotId = SnapshotId(0);

/// A snapshot as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Revision {
    /// By its number.
    Snapshot(SnapshotId),
    /// So many before the newest.
    Head(u64),
    /// The newest one that was there at that moment.
    Moment(Timestamp),
    /// What a view stands for.
    View(ViewName),
    /// So many before another one.
    Before(Box<Revision>, u64),
}

/// Two snapshots as they were written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Range {
    /// The older one.
    pub from: Revision,
    /// The newer one.
    pub to: Revision,
}

/// A text that names no snapshot.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RevisionError {
    /// It cannot be read.
    #[error("{text:?} is no snapshot: {reason}")]
    Unreadable {
        /// The text.
        text: String,
        /// Why.
        reason: String,
    },
    /// It is one snapshot where two are needed.
    #[error("{text:?} is no range of snapshots")]
    NoRange {
        /// The text.
        text: String,
    },
    /// The snapshot does not exist.
    #[error("snapshot {snapshot} does not exist{}: the lake has {}", expired(snapshot, *.newest), present(*.oldest, *.newest))]
    NoSnapshot {
        /// As it was written.
        snapshot: String,
        /// The oldest that there is.
        oldest: SnapshotId,
        /// The newest.
        newest: SnapshotId,
    },
    /// Nothing was there yet at that moment.
    #[error("no snapshot is as old as {moment}: the oldest is {oldest}, of {time}")]
    TooEarly {
        /// The moment.
        moment: Timestamp,
        /// The oldest that there is.
        oldest: SnapshotId,
        /// When it was made.
        time: String,
    },
    /// The range ends before anything was there.
    #[error("the range ends at {moment}, and no snapshot is as old: the oldest is {oldest}, of {time}")]
    EndsTooEarly {
        /// The moment.
        moment: Timestamp,
        /// The oldest that there is.
        oldest: SnapshotId,
        /// When it was made.
        time: String,
    },
    /// Nobody knows yet what comes after that moment.
    #[error("{moment} is still to come: the newest snapshot is {newest}, of {time}")]
    Future {
        /// The moment.
        moment: Timestamp,
        /// The newest that there is.
        newest: SnapshotId,
        /// When it was made.
        time: String,
    },
    /// The range runs backwards.
    #[error("the range ends with snapshot {to}, before its begin {from}")]
    Backwards {
        /// Its begin.
        from: SnapshotId,
        /// Its end.
        to: SnapshotId,
        /// Is the begin the newest snapshot, as where none is written?
        from_newest: bool,
    },
}

/// A number that was given is given once.
fn expired(snapshot: &str, newest: SnapshotId) -> &'static str {
    if snapshot.parse().is_ok_and(|id: u64| id <= newest.0) { " any more" } else { "" }
}

fn present(oldest: SnapshotId, newest: SnapshotId) -> String {
    if oldest == newest { oldest.to_string() } else { format!("{oldest} to {newest}") }
}

impl RevisionError {
    /// What the user can do next.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            RevisionError::Unreadable { .. } => {
                "write 120, HEAD, HEAD~3, 2026-11-01, 2026-11-01T08:30 (UTC), 2026-11-01T08:30+01:00 or @view"
                    .to_owned()
            }
            RevisionError::NoRange { text } => {
                format!("write {text}.. for what came since, {text}^! for what that commit changed, or FROM..TO")
            }
            RevisionError::Future { newest, .. } => format!("begin with a moment of the past, or with {newest}"),
            RevisionError::NoSnapshot { oldest, .. } if oldest.0 > 0 => {
                format!(
                    "the command snapshots lists them; others before {oldest} or between them have expired, and 0.. shows all \
                     that is there now"
                )
            }
            RevisionError::NoSnapshot { .. } => "the command snapshots lists them".to_owned(),
            RevisionError::TooEarly { oldest: EMPTY, .. } => "begin with 0..: that is the empty lake".to_owned(),
            RevisionError::TooEarly { oldest, .. } => {
                format!("begin with {oldest}.., or with 0.. for all that is there now")
            }
            RevisionError::EndsTooEarly { time, .. } => {
                format!("let it end after {time}, or leave its end out for the newest snapshot")
            }
            RevisionError::Backwards { to, from_newest: true, .. } => {
                format!("a begin that is left out is the newest snapshot: write 0..{to} for all up to {to}, or {to}..")
            }
            RevisionError::Backwards { from, to, .. } => format!("write {to}..{from}"),
        })
    }
}

impl std::str::FromStr for Revision {
    type Err = RevisionError;

    fn from_str(text: &str) -> Result<Revision, RevisionError> {
        let text = text.trim();
        if let Some(commit) = text.strip_suffix("^!") {
            return Err(RevisionError::Unreadable {
                text: text.to_owned(),
                reason: format!("it is the range of what {commit} changed"),
            });
        }
        let unreadable = |reason: String| RevisionError::Unreadable { text: text.to_owned(), reason };
        if let Some(name) = text.strip_prefix('@').filter(|name| name.ends_with('"') || !name.contains(['~', '^'])) {
            return ViewName::parse(name).map(Revision::View).map_err(|error| unreadable(error.to_string()));
        }
        if text.eq_ignore_ascii_case("head") {
            return Ok(Revision::Head(0));
        }
        if let Some(back) = text.get(..5).filter(|head| head.eq_ignore_ascii_case("head~")).map(|_| &text[5..]) {
            let back = back.parse().map_err(|_| unreadable("after HEAD~ comes a number".to_owned()))?;
            return Ok(Revision::Head(back));
        }
        if let Some((of, back)) = text.rsplit_once('~') {
            let back = back.parse().map_err(|_| unreadable("after ~ comes a number".to_owned()))?;
            return Ok(Revision::Before(Box::new(of.parse()?), back));
        }
        if let Some(of) = text.strip_suffix('^') {
            return Ok(Revision::Before(Box::new(of.parse()?), 1));
        }
        if text.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty() {
            let id = text.parse().map_err(|_| unreadable("the number is too large".to_owned()))?;
            return Ok(Revision::Snapshot(SnapshotId(id)));
        }
        moment(text).map(Revision::Moment).map_err(unreadable)
    }
}

/// A moment: with an offset as it says, without one in UTC, a date as its first moment.
fn moment(text: &str) -> Result<Timestamp, String> {
    if let Ok(moment) = text.parse::<Timestamp>() {
        return Ok(moment);
    }
    let civil = match text.parse::<Date>() {
        Ok(date) if text.len() <= "2026-11-01".len() => Ok(date.to_datetime(jiff::civil::Time::midnight())),
        _ => text.parse::<DateTime>(),
    };
    match civil.and_then(|civil| TimeZone::UTC.to_timestamp(civil)) {
        Ok(moment) => Ok(moment),
        Err(_) if text.parse::<jiff::civil::Time>().is_ok() => Err("a time needs its date".to_owned()),
        Err(_) if text.starts_with(|c: char| c.is_ascii_digit()) => Err("there is no such date or time".to_owned()),
        Err(_) => Err("it is neither a number, a date nor HEAD".to_owned()),
    }
}

impl std::str::FromStr for Range {
    type Err = RevisionError;

    /// A side that is left out is the newest snapshot; `X^!` is from the one before X to X.
    fn from_str(text: &str) -> Result<Range, RevisionError> {
        if let Some(commit) = text.trim().strip_suffix("^!") {
            let to: Revision = commit.parse()?;
            return Ok(Range { from: Revision::Before(Box::new(to.clone()), 1), to });
        }
        let (from, to) = text.split_once("..").ok_or_else(|| RevisionError::NoRange { text: text.to_owned() })?;
        if to.starts_with('.') {
            let reason = "a range has two dots".to_owned();
            return Err(RevisionError::Unreadable { text: text.to_owned(), reason });
        }
        let side = |side: &str| if side.trim().is_empty() { Ok(Revision::Head(0)) } else { side.parse() };
        Ok(Range { from: side(from)?, to: side(to)? })
    }
}

impl Range {
    /// The two snapshots. As a begin, 0 is the empty lake, whether or not that snapshot has expired.
    pub fn resolve(&self, transaction: &Transaction<'_>) -> Result<(SnapshotId, SnapshotId), InspectError> {
        self.from.refuse_future(transaction)?;
        let (from, warning) = self.from.begin(transaction)?;
        let to = self.to.resolve(transaction).map_err(|error| match error {
            InspectError::Revision(RevisionError::TooEarly { moment, oldest, time }) => {
                RevisionError::EndsTooEarly { moment, oldest, time }.into()
            }
            error => error,
        })?;
        if from > to {
            let from_newest = self.from == Revision::Head(0);
            return Err(RevisionError::Backwards { from, to, from_newest }.into());
        }
        if let Some(warning) = warning {
            tracing::warn!("{warning}");
        }
        Ok((from, to))
    }
}

impl Revision {
    /// Nothing begins with what is still to come. As an end, it is the newest.
    fn refuse_future(&self, transaction: &Transaction<'_>) -> Result<(), InspectError> {
        let Revision::Moment(moment) = self else { return Ok(()) };
        let now = transaction.query_value("SELECT epoch_us(now())::BIGINT")?.as_i64()?;
        if moment.as_microsecond() <= now {
            return Ok(());
        }
        let newest = transaction.snapshot();
        let time = transaction.snapshot_time(newest)?.map(|time| utc(&time)).unwrap_or_default();
        Err(RevisionError::Future { moment: *moment, newest, time }.into())
    }

    /// The snapshot.
    pub fn resolve(&self, transaction: &Transaction<'_>) -> Result<SnapshotId, InspectError> {
        self.find(transaction, &|id| transaction.snapshot_exists(id))
    }

    /// The same as the begin of a range, which need not be there if it is that of the lake itself: no table was there yet.
    /// With it, what the user should know of it.
    fn begin(&self, transaction: &Transaction<'_>) -> Result<(SnapshotId, Option<String>), InspectError> {
        match self.find(transaction, &|id| Ok(id == EMPTY || transaction.snapshot_exists(id)?)) {
            Err(InspectError::Revision(RevisionError::TooEarly { moment, oldest: EMPTY, time })) => {
                let before = format!("{moment} is before the lake's first snapshot, of {time}");
                Ok((EMPTY, Some(format!("{before}: the range begins with the empty lake"))))
            }
            found => {
                let id = found?;
                Ok((id, self.gap(transaction, id)?))
            }
        }
    }

    /// What to say if snapshots have expired between a moment and the snapshot that stands for it: what they did counts as done
    /// after the moment, whether or not it was.
    fn gap(&self, transaction: &Transaction<'_>, found: SnapshotId) -> Result<Option<String>, LakeError> {
        let Revision::Moment(moment) = self else { return Ok(None) };
        let next = transaction.query_value(&format!(
            "SELECT min(snapshot_id)::BIGINT FROM {}.ducklake_snapshot WHERE snapshot_id > {found}",
            transaction.metadata()
        ))?;
        let next = next.optional(Value::as_u64)?.unwrap_or(found.0 + 1);
        let (first, last) = (found.0 + 1, next - 1);
        let expired = match last.cmp(&first) {
            Ordering::Less => return Ok(None),
            Ordering::Equal => format!("snapshot {first} has"),
            Ordering::Greater => format!("snapshots {first} to {last} have"),
        };
        Ok(Some(format!(
            "{expired} expired, so nobody knows which of their changes came after {moment}: the range begins with {found}, \
             before all of them"
        )))
    }

    fn find(
        &self,
        transaction: &Transaction<'_>,
        is_there: &dyn Fn(SnapshotId) -> Result<bool, LakeError>,
    ) -> Result<SnapshotId, InspectError> {
        let newest = transaction.snapshot();
        let (id, written) = match self {
            Revision::Snapshot(id) => (Some(*id), id.to_string()),
            Revision::Head(back) => (newest.0.checked_sub(*back).map(SnapshotId), format!("HEAD~{back}")),
            Revision::Before(of, back) => {
                let id = of.resolve(transaction)?;
                (id.0.checked_sub(*back).map(SnapshotId), format!("{id}~{back}"))
            }
            Revision::Moment(moment) => return at_moment(transaction, *moment),
            Revision::View(name) => {
                let id = standing(transaction, name)?;
                (Some(id), format!("{id}, for which view {name} stands,"))
            }
        };
        match id.filter(|id| *id <= newest) {
            Some(id) if is_there(id)? => Ok(id),
            _ => {
                let oldest = transaction.oldest_snapshot()?;
                Err(RevisionError::NoSnapshot { snapshot: written, oldest, newest }.into())
            }
        }
    }
}

/// The snapshot that a view stands for.
fn standing(transaction: &Transaction<'_>, name: &ViewName) -> Result<SnapshotId, ViewError> {
    let views = registry::views(transaction)?;
    let Some(view) = views.iter().find(|view| view.name == *name) else {
        return Err(ViewError::unknown(transaction, name, &views));
    };
    Ok(registry::state(transaction, view)?.snapshot)
}

/// The newest snapshot that is not younger than `moment`.
fn at_moment(transaction: &Transaction<'_>, moment: Timestamp) -> Result<SnapshotId, InspectError> {
    let metadata = transaction.metadata();
    let microseconds = moment.as_microsecond();
    let found = transaction.query_value(&format!(
        "SELECT max(snapshot_id)::BIGINT FROM {metadata}.ducklake_snapshot \
         WHERE epoch_us(snapshot_time::TIMESTAMPTZ) <= {microseconds} AND snapshot_id <= {}",
        transaction.snapshot()
    ))?;
    if let Some(id) = found.optional(Value::as_u64)? {
        return Ok(SnapshotId(id));
    }
    let oldest = transaction.oldest_snapshot()?;
    let time = transaction.snapshot_time(oldest)?.map(|time| utc(&time)).unwrap_or_default();
    Err(RevisionError::TooEarly { moment, oldest, time }.into())
}

/// The first snapshot of those that `text` asks for: the one that it names, or the first one from a moment on.
pub fn since(transaction: &Transaction<'_>, text: &str) -> Result<SnapshotId, InspectError> {
    let revision: Revision = text.parse()?;
    revision.refuse_future(transaction)?;
    let Revision::Moment(moment) = revision else { return revision.resolve(transaction) };
    let first = transaction.query_value(&format!(
        "SELECT min(snapshot_id)::BIGINT FROM {}.ducklake_snapshot WHERE epoch_us(snapshot_time::TIMESTAMPTZ) >= {}",
        transaction.metadata(),
        moment.as_microsecond()
    ))?;
    Ok(first.optional(Value::as_u64)?.map_or(SnapshotId(transaction.snapshot().0 + 1), SnapshotId))
}

/// The snapshot that `text` names, as the argument of a command.
pub fn named(lake: &Lake, text: &str) -> Result<SnapshotId, InspectError> {
    let revision: Revision = text.parse()?;
    let transaction = lake.begin()?;
    let id = revision.resolve(&transaction)?;
    transaction.rollback()?;
    Ok(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Revision, RevisionError> {
        text.parse()
    }

    #[test]
    fn revisions_are_read() {
        assert_eq!(read("120"), Ok(Revision::Snapshot(SnapshotId(120))));
        assert_eq!(read("HEAD"), Ok(Revision::Head(0)));
        assert_eq!(read("head~3"), Ok(Revision::Head(3)));
        assert_eq!(read("@mart.sales"), Ok(Revision::View(ViewName::new("mart", "sales"))));
        let before = |of: Revision, back| Ok(Revision::Before(Box::new(of), back));
        assert_eq!(read("120~3"), before(Revision::Snapshot(SnapshotId(120)), 3));
        assert_eq!(read("@v^"), before(Revision::View(ViewName::new("main", "v")), 1));
        assert_eq!(read("@\"a~1\""), Ok(Revision::View(ViewName::new("main", "a~1"))));
        let moment = |text: &str| Ok(Revision::Moment(text.parse().unwrap_or_default()));
        assert_eq!(read("2026-11-01"), moment("2026-11-01T00:00Z"));
        assert_eq!(read("2026-11-01 08:30"), moment("2026-11-01T08:30Z"));
        assert_eq!(read("2026-11-01T08:30:15.5"), moment("2026-11-01T08:30:15.5Z"));
        assert_eq!(read("2026-11-01T08:30+01:00"), moment("2026-11-01T07:30Z"));
        for wrong in [
            "",
            "^",
            "120^!",
            "~1",
            "HEAD~",
            "HEAD~x",
            "2026-13-01",
            "2026-02-30",
            "yesterdayish",
            "-1",
            "@",
            "99999999999999999999",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_said_in_plain_words() {
        let reason = |text: &str| match read(text) {
            Err(RevisionError::Unreadable { reason, .. }) => reason,
            other => format!("{other:?}"),
        };
        assert_eq!(reason("10:07"), "a time needs its date");
        assert_eq!(reason("2026-02-30"), "there is no such date or time");
        assert_eq!(reason("2026-11-01T25:00"), "there is no such date or time");
        assert_eq!(reason("soon"), "it is neither a number, a date nor HEAD");
    }

    #[test]
    fn ranges_are_read() {
        let range = |text: &str| text.parse::<Range>();
        let id = |id| Revision::Snapshot(SnapshotId(id));
        assert_eq!(range("120..135"), Ok(Range { from: id(120), to: id(135) }));
        assert_eq!(range("120.."), Ok(Range { from: id(120), to: Revision::Head(0) }));
        assert_eq!(range(".."), Ok(Range { from: Revision::Head(0), to: Revision::Head(0) }));
        assert_eq!(
            range("HEAD~3..@v"),
            Ok(Range { from: Revision::Head(3), to: Revision::View(ViewName::new("main", "v")) })
        );
        let before = Revision::Before(Box::new(id(120)), 1);
        assert_eq!(range("120^!"), Ok(Range { from: before, to: id(120) }));
        assert_eq!(range("120"), Err(RevisionError::NoRange { text: "120".to_owned() }));
    }
}
