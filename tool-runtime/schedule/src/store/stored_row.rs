//! Rows of the tables in databases, and the pages in which they are read.

use super::{CorruptSchedule, ScheduleError};
use crate::record::ScheduleRecord;

/// A record as databases store it.
#[derive(Clone, Debug)]
pub(crate) struct StoredRow {
    pub(crate) principal: Vec<u8>,
    pub(crate) name: Vec<u8>,
    pub(crate) revision: i64,
    /// Microseconds since 1970.
    pub(crate) wake_at: Option<i64>,
    /// JSON.
    pub(crate) record: Vec<u8>,
}

impl StoredRow {
    /// Decodes the record, or returns the reason why it can't be decoded.
    fn try_decode(&self) -> Result<ScheduleRecord, String> {
        let mut record: ScheduleRecord =
            serde_json::from_slice(&self.record).map_err(|error| error.to_string())?;
        let key = (&record.schedule.principal, &record.schedule.name);
        if (key.0.as_bytes(), key.1.as_bytes()) != (&self.principal, &self.name) {
            return Err(format!("it contains the schedule `{}` of `{}`", key.1, key.0));
        }
        record.revision = self.unsigned_revision();
        Ok(record)
    }

    fn unsigned_revision(&self) -> u64 {
        u64::try_from(self.revision).unwrap_or_default()
    }

    /// Decodes the record.
    pub(crate) fn decode(self) -> Result<ScheduleRecord, ScheduleError> {
        let name = || String::from_utf8_lossy(&self.name).into_owned();
        self.try_decode().map_err(|reason| ScheduleError::CorruptRecord { name: name(), reason })
    }

    /// Returns the record if it can be decoded.
    pub(crate) fn intact(self) -> Option<ScheduleRecord> {
        self.try_decode().ok()
    }

    /// Returns the record if it can't be decoded.
    pub(crate) fn corrupt(self) -> Option<CorruptSchedule> {
        let reason = self.try_decode().err()?;
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        let (principal, name) = (text(&self.principal), text(&self.name));
        Some(CorruptSchedule::new(principal, name, self.unsigned_revision(), reason))
    }
}

/// Reads pages until there are as many of the selected rows as the limit, or no more rows.
///
/// `page` gets the last row of the page before, and the most rows of the page.
pub(crate) async fn collect<T, F>(
    limit: usize,
    page: impl Fn(Option<StoredRow>, i64) -> F,
    select: impl Fn(StoredRow) -> Option<T>,
) -> Result<Vec<T>, ScheduleError>
where
    F: Future<Output = Result<Vec<StoredRow>, ScheduleError>>,
{
    let (mut found, mut last) = (Vec::new(), None);
    loop {
        let missing = limit.saturating_sub(found.len());
        let rows = page(last, as_integer(missing)).await?;
        let is_last = rows.len() < missing || missing == 0;
        last = rows.last().cloned();
        found.extend(rows.into_iter().filter_map(&select));
        if is_last || found.len() >= limit {
            return Ok(found);
        }
    }
}

pub(crate) fn as_integer(number: impl TryInto<i64>) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(number: i64) -> StoredRow {
        let name = number.to_string().into_bytes();
        StoredRow {
            principal: Vec::new(),
            name,
            revision: number,
            wake_at: None,
            record: Vec::new(),
        }
    }

    #[tokio::test]
    async fn pages_continue_until_there_are_enough_selected_rows() {
        let pages = std::sync::Mutex::new(Vec::new());
        let page = |last: Option<StoredRow>, limit: i64| {
            let from = last.map_or(0, |it| it.revision + 1);
            pages.lock().unwrap().push((from, limit));
            let rows = (from..20).take(usize::try_from(limit).unwrap()).map(row).collect();
            std::future::ready(Ok(rows))
        };
        let third = |row: StoredRow| (row.revision % 3 == 2).then_some(row.revision);
        for (limit, expected, expected_pages) in [
            (0, &[][..], &[(0, 0)][..]),
            (2, &[2, 5], &[(0, 2), (2, 2), (4, 1), (5, 1)]),
            (100, &[2, 5, 8, 11, 14, 17], &[(0, 100)]),
            (20, &[2, 5, 8, 11, 14, 17], &[(0, 20), (20, 14)]),
        ] {
            assert_eq!(collect(limit, page, third).await.unwrap(), expected, "{limit}");
            assert_eq!(std::mem::take(&mut *pages.lock().unwrap()), expected_pages, "{limit}");
        }
    }
}
