//! Occurrences of each kind of timing, and errors of timings.

use std::time::Duration;

use tool_runtime::schedule::jiff::Timestamp;
use tool_runtime::schedule::{Timing, TimingError};

use super::fixture::time;

fn first(timing: &Timing, after: &str, count: usize) -> Vec<String> {
    timing.after(time(after)).unwrap().take(count).map(|it| it.to_string()).collect()
}

#[test]
fn cron_pattern_is_right_at_changes_of_the_clock() {
    // New York: gap from 02:00 to 03:00 on 2027-03-14, repeated hour on 2027-11-07. Lord Howe
    // changes its clock by half an hour, and Samoa skipped the whole of 2011-12-30.
    for (pattern, zone, after, expected) in [
        (
            "30 2 * * *",
            "America/New_York",
            "2027-03-13T12:00:00Z",
            ["2027-03-14T07:00:00Z", "2027-03-15T06:30:00Z"],
        ),
        (
            "30 1 * * *",
            "America/New_York",
            "2027-11-06T12:00:00Z",
            ["2027-11-07T05:30:00Z", "2027-11-08T06:30:00Z"],
        ),
        (
            "*/30 * * * *",
            "America/New_York",
            "2027-11-07T05:29:00Z",
            ["2027-11-07T05:30:00Z", "2027-11-07T06:00:00Z"],
        ),
        (
            "*/30 * * * *",
            "America/New_York",
            "2027-11-07T06:00:00Z",
            ["2027-11-07T06:30:00Z", "2027-11-07T07:00:00Z"],
        ),
        (
            "15 2 * * *",
            "Australia/Lord_Howe",
            "2027-10-02T12:00:00Z",
            ["2027-10-02T15:30:00Z", "2027-10-03T15:15:00Z"],
        ),
        (
            "0 9 30 12 *",
            "Pacific/Apia",
            "2011-12-29T12:00:00Z",
            ["2011-12-30T10:00:00Z", "2012-12-29T19:00:00Z"],
        ),
        (
            "0 9 * * *",
            "Pacific/Apia",
            "2011-12-29T12:00:00Z",
            ["2011-12-29T19:00:00Z", "2011-12-30T10:00:00Z"],
        ),
        (
            "0 12 13 * FRI",
            "UTC",
            "2027-08-06T12:00:00Z",
            ["2027-08-13T12:00:00Z", "2027-08-20T12:00:00Z"],
        ),
        (
            "@weekly",
            "UTC",
            "2027-01-01T00:00:00Z",
            ["2027-01-03T00:00:00Z", "2027-01-10T00:00:00Z"],
        ),
        (
            "30 0 9 * * * 2030",
            "UTC",
            "2027-01-01T00:00:00Z",
            ["2030-01-01T09:00:30Z", "2030-01-02T09:00:30Z"],
        ),
        (
            "0 0 29 2 *",
            "UTC",
            "2027-01-01T00:00:00Z",
            ["2028-02-29T00:00:00Z", "2032-02-29T00:00:00Z"],
        ),
    ] {
        let timing = Timing::cron(pattern, zone).unwrap();
        assert_eq!(first(&timing, after, 2), expected, "{pattern} in {zone} after {after}");
    }
}

#[test]
fn local_time_fires_once_also_if_it_is_skipped_or_repeated() {
    for (local, zone, expected) in [
        ("2027-06-01T09:00", "Europe/Oslo", "2027-06-01T07:00:00Z"),
        ("2027-03-28T02:30", "Europe/Oslo", "2027-03-28T01:30:00Z"),
        ("2027-10-31T02:30", "Europe/Oslo", "2027-10-31T00:30:00Z"),
    ] {
        let timing = Timing::at(local, zone).unwrap();
        assert_eq!(first(&timing, "2027-01-01T00:00:00Z", 2), [expected], "{local} in {zone}");
        assert_eq!(first(&timing, expected, 1), Vec::<String>::new());
    }
}

#[test]
fn interval_counts_elapsed_time_from_its_start() {
    let from = time("2027-03-27T12:00:00Z");
    let timing = Timing::every(Duration::from_secs(24 * 3600), from).unwrap();
    let expected = ["2027-03-27T12:00:00Z", "2027-03-28T12:00:00Z"];
    assert_eq!(first(&timing, "2020-01-01T00:00:00Z", 2), expected);
    let expected = ["2027-03-28T12:00:00Z", "2027-03-29T12:00:00Z"];
    for after in ["2027-03-27T12:00:00Z", "2027-03-28T11:59:59.999Z"] {
        assert_eq!(first(&timing, after, 2), expected);
    }
    let latest = Timing::every(Duration::from_secs(1), Timestamp::MAX).unwrap();
    assert_eq!(latest.after(Timestamp::MAX).unwrap().next(), None);
}

#[test]
fn timing_errors_name_the_value_and_the_reason() {
    let messages = [
        Timing::cron("0 9 * * *", "Olso"),
        Timing::cron("0 9 * *", "UTC"),
        Timing::cron("61 9 * * *", "UTC"),
        Timing::cron("", "UTC"),
        Timing::at("tomorrow", "UTC"),
        Timing::at("2027-01-01T09:00", "Mars/Olympus_Mons"),
        Timing::every(Duration::from_millis(999), Timestamp::UNIX_EPOCH),
    ]
    .map(|timing| timing.unwrap_err().to_string());
    for (message, parts) in messages.iter().zip([
        &["no time zone `Olso`", "`Europe/Oslo`"][..],
        &["cron pattern `0 9 * *` is not valid"],
        &["cron pattern `61 9 * * *` is not valid"],
        &["is not valid: it is empty"],
        &["`tomorrow` is not a local date and time"],
        &["no time zone `Mars/Olympus_Mons`"],
        &["interval of 999ms is out of range"],
    ]) {
        for part in parts {
            assert!(message.contains(part), "{message}");
        }
    }
}

#[test]
fn pattern_that_never_matches_has_no_occurrence() {
    let timing = Timing::cron("0 0 30 2 *", "Europe/Oslo").unwrap();
    assert_eq!(timing.after(time("2027-01-01T00:00:00Z")).unwrap().next(), None);
}

#[test]
fn timing_round_trips_through_json() {
    let from = time("2027-01-01T00:00:00Z");
    for timing in [
        Timing::once(from),
        Timing::at("2027-01-01T09:00:30", "europe/oslo").unwrap(),
        Timing::every(Duration::from_secs(90), from).unwrap(),
        Timing::cron(" 0  9 * * 1-5 ", "Europe/Oslo").unwrap(),
    ] {
        let text = serde_json::to_string(&timing).unwrap();
        assert_eq!(serde_json::from_str::<Timing>(&text).unwrap(), timing, "{text}");
    }
    let stored = r#"{"kind":"cron","pattern":"0 9 * * *","zone":"Europe/Atlantis"}"#;
    let removed: Timing = serde_json::from_str(stored).unwrap();
    assert!(matches!(removed.after(from), Err(TimingError::Zone { .. })));
}
