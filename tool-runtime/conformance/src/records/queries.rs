//! Checks of lists: prefixes, positions, orders, limits and pages.

use std::cmp::Ordering;

use tool_core::records::{Position, Record, RecordList, RecordQuery, Records};

use super::operations::{list, save};
use crate::Violation;
use crate::violation::{ensure, ensure_eq};

const PREFIX: &str = "a list has the records whose keys begin with the prefix";
const AFTER: &str = "a list begins after the position, whether or not a record is there";
const ORDER: &str =
    "a list by order has the records up to the order, the lowest first, then by key";
const LIMIT: &str = "a list has at most as many records as the limit, the first ones";
const COUNTER: &str = "a list has the counter of the collection, whatever the query";
const ALL: &str = "the conditions of a query apply together";
const PAGES: &str = "pages from end to end have each record once";

const KEYS: [&str; 18] = [
    "",
    "A/1",
    "a",
    "a\0",
    "a%",
    "a%1",
    "a/",
    "a/1",
    "a/10",
    "a/2",
    "a0",
    "a_",
    "ab",
    "b",
    "\u{e9}/1",
    "\u{ffff}",
    "\u{10ffff}",
    "\u{10ffff}1",
];
const ORDERS: [Option<i64>; 7] =
    [Some(5), None, Some(-3), Some(i64::MAX), Some(5), Some(i64::MIN), Some(0)];
const PREFIXES: [&str; 12] =
    ["", "a", "a/", "a%", "a_", "A", "a\0", "\u{e9}", "\u{10ffff}", "b", "a/1", "none"];
const LIMITS: [i64; 6] = [i64::MIN, -3, 0, 4, 5, i64::MAX];
const COUNTS: [Option<usize>; 6] = [Some(0), Some(1), Some(2), Some(17), Some(1_000), None];

/// Positions at which there is a record or none, with and without an order.
fn positions() -> Vec<Option<Position>> {
    let keys = ["", "A", "a", "a/1", "a/11", "b", "c", "\u{ffff}", "\u{10ffff}", "\u{10ffff}2"];
    let orders = [None, Some(i64::MIN), Some(-3), Some(1), Some(5), Some(i64::MAX)];
    let position = |key: &'static str| orders.map(|order| Some(Position::new(key, order)));
    keys.into_iter().flat_map(position).chain([None]).collect()
}

/// Saves records in an order that is none of the lists, and returns them with the counter.
async fn fill(store: &dyn Records) -> Result<(u64, Vec<Record>), Violation> {
    let (mut counter, mut records) = (0, Vec::new());
    let (later, first) = KEYS.split_at(7);
    for (number, key) in first.iter().rev().chain(later).enumerate() {
        let order = ORDERS.get(number % ORDERS.len()).copied().flatten();
        let value = format!("{number}");
        counter = save(store, "c", (key, &value, order), ALL).await?;
        records.push(Record::new(*key, counter, value).order(order));
    }
    // Of another collection, which no query finds.
    save(store, "d", ("a/3", "other", Some(1)), ALL).await?;
    Ok((counter, records))
}

/// Returns the records that a query selects, by the words of its documentation.
fn selected(query: &RecordQuery<'_>, records: &[Record]) -> Vec<Record> {
    let is_by_order = query.order_up_to.is_some();
    let compare = |left: &Position, right: &Position| {
        let by_order = if is_by_order { left.order.cmp(&right.order) } else { Ordering::Equal };
        by_order.then_with(|| left.key.cmp(&right.key))
    };
    let is_after = |record: &Record| {
        let position = Position::from(record);
        query.after.as_ref().is_none_or(|after| compare(&position, after) == Ordering::Greater)
    };
    let is_due = |record: &Record| {
        query.order_up_to.is_none_or(|most| record.order.is_some_and(|order| order <= most))
    };
    let mut found: Vec<_> = records
        .iter()
        .filter(|it| it.key.starts_with(query.prefix) && is_due(it) && is_after(it))
        .cloned()
        .collect();
    found.sort_by(|left, right| compare(&left.into(), &right.into()));
    found.truncate(query.limit.unwrap_or(usize::MAX));
    found
}

/// Checks each condition alone, all together, and pages.
pub(super) async fn check(store: &dyn Records) -> Result<(), Violation> {
    let (counter, records) = fill(store).await?;
    let check = async |query: RecordQuery<'_>, rule| {
        let found = list(store, "c", &query, rule).await?;
        let describe = |list: &RecordList| format!("{list:?} for {query:?}");
        ensure_eq(COUNTER, &found.counter, &counter)?;
        let expected = RecordList::new(counter, selected(&query, &records));
        let keys = |list: &RecordList| {
            let keys: Vec<_> = list.records.iter().map(|it| it.key.clone()).collect();
            format!("{keys:?} for {query:?}")
        };
        ensure_eq(rule, &keys(&found), &keys(&expected))?;
        ensure_eq(rule, &describe(&found), &describe(&expected))
    };
    for prefix in PREFIXES {
        check(RecordQuery::all().prefix(prefix), PREFIX).await?;
    }
    for limit in COUNTS {
        check(RecordQuery::all().limit(limit), LIMIT).await?;
    }
    for order in LIMITS {
        check(RecordQuery::all().order_up_to(order), ORDER).await?;
    }
    for position in positions() {
        check(RecordQuery::all().after(position.clone()), AFTER).await?;
        check(RecordQuery::all().order_up_to(i64::MAX).after(position), AFTER).await?;
    }
    // A sample of the combinations, in which each value is combined with many others.
    let mut number = 0;
    for prefix in PREFIXES {
        for position in positions() {
            for order in LIMITS.map(Some).into_iter().chain([None]) {
                for limit in COUNTS {
                    number += 1;
                    if number % 101 > 0 {
                        continue;
                    }
                    let mut query = RecordQuery::all().prefix(prefix).after(position.clone());
                    (query.order_up_to, query.limit) = (order, limit);
                    check(query, ALL).await?;
                }
            }
        }
    }
    check_pages(store, &records).await
}

async fn check_pages(store: &dyn Records, records: &[Record]) -> Result<(), Violation> {
    for limit in [1, 3, 1_000] {
        for query in [RecordQuery::all(), RecordQuery::all().order_up_to(5)] {
            let (mut pages, mut found) = (0, Vec::new());
            let mut page = query.clone().limit(limit);
            loop {
                let listed = list(store, "c", &page, PAGES).await?;
                let end = listed.end(&page);
                found.extend(listed.records);
                let Some(end) = end else { break };
                page = page.after(end);
                pages += 1;
                ensure(pages <= KEYS.len(), PAGES, "an end", || format!("{found:?} …"))?;
            }
            ensure_eq(PAGES, &found, &selected(&query, records))?;
        }
    }
    Ok(())
}
