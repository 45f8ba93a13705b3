//! Lists of schedules, and the queries for them.

use tool_core::records::{CorruptRecord, Position};

use crate::record::{ScheduleRecord, ScheduleState};

/// The schedules to list: of one principal or all, in one state or all, page by page.
///
/// ```
/// use tool_runtime::schedule::{ScheduleList, ScheduleQuery};
///
/// let query = ScheduleQuery::all().principal("ada").limit(50);
/// let first_page = ScheduleList::default();
/// let next_page = query.after(first_page.end);
/// assert_eq!(next_page.after, None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScheduleQuery<'q> {
    /// The principal whose schedules are listed; `None` lists those of all.
    pub principal: Option<&'q str>,
    /// The state of the schedules that are listed; `None` lists those in all states.
    pub state: Option<ScheduleState>,
    /// The position after which the page starts.
    pub after: Option<Position>,
    /// The maximum number of schedules of the page, including those that can't be decoded; `None`
    /// for all.
    pub limit: Option<usize>,
}

impl<'q> ScheduleQuery<'q> {
    /// Creates a query for all schedules.
    pub fn all() -> Self {
        Self::default()
    }

    /// Lists the schedules of one principal only.
    #[must_use]
    pub fn principal(self, principal: &'q str) -> Self {
        Self { principal: Some(principal), ..self }
    }

    /// Lists the schedules in one state only, and the records that can't be decoded.
    #[must_use]
    pub fn state(self, state: ScheduleState) -> Self {
        Self { state: Some(state), ..self }
    }

    /// Starts the page after a position, such as the [end](ScheduleList::end) of the page before.
    #[must_use]
    pub fn after(self, position: impl Into<Option<Position>>) -> Self {
        Self { after: position.into(), ..self }
    }

    /// Sets the maximum number of schedules of the page.
    #[must_use]
    pub fn limit(self, limit: impl Into<Option<usize>>) -> Self {
        Self { limit: limit.into(), ..self }
    }
}

/// The schedules of a list, and the records that can't be decoded.
///
/// ```
/// use tool_runtime::records::{Expected, MemoryRecords, Records};
/// use tool_runtime::schedule::{ScheduleQuery, Schedules};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::records::StoreError> {
/// let store = MemoryRecords::new();
/// store.save("schedules", "ada/mail", Expected::Absent, "{}", None).await?;
/// let list = Schedules::new(store).list(ScheduleQuery::all()).await?;
/// assert!(list.records.is_empty());
/// assert_eq!(list.corrupt[0].key, "ada/mail");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ScheduleList {
    /// The counter of the schedules, which each change raises.
    pub counter: u64,
    /// The schedules, in the order of the list.
    pub records: Vec<ScheduleRecord>,
    /// The records that can't be decoded, with their [keys](crate::Schedules) and the reasons:
    /// another program has altered them, or a newer version of the program has written them. They
    /// do not fire.
    pub corrupt: Vec<CorruptRecord>,
    /// The position of the last listed record, after which the next page starts; `None` if the list
    /// is empty, or has the schedules that are [due](crate::Schedules::due).
    pub end: Option<Position>,
}

impl ScheduleList {
    /// Adds the records of the next page, and returns its end.
    pub(crate) fn append(&mut self, page: Self) -> Option<Position> {
        self.records.extend(page.records);
        self.corrupt.extend(page.corrupt);
        page.end
    }

    /// Removes the schedules in other states, if a state is given.
    pub(crate) fn retain(&mut self, state: Option<ScheduleState>) {
        self.records.retain(|record| state.is_none_or(|state| record.state == state));
    }

    pub(crate) fn len(&self) -> usize {
        self.records.len() + self.corrupt.len()
    }
}
