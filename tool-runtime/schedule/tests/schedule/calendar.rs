//! Occurrences of random cron patterns beside an independent computation: walking through each
//! minute of real time, and comparing its local time with the pattern.

use proptest::prelude::*;
use tool_runtime::schedule::Timing;
use tool_runtime::schedule::jiff::tz::{AmbiguousOffset, TimeZone};
use tool_runtime::schedule::jiff::{SignedDuration, Timestamp, civil::DateTime};

/// Zones with all kinds of changes: none, whole and half hours, both hemispheres, changes of the
/// standard time, and of the date line.
const ZONES: [&str; 50] = [
    "Africa/Abidjan",
    "Africa/Cairo",
    "Africa/Casablanca",
    "Africa/El_Aaiun",
    "Africa/Juba",
    "Africa/Khartoum",
    "Africa/Sao_Tome",
    "Africa/Windhoek",
    "America/Anchorage",
    "America/Argentina/San_Luis",
    "America/Asuncion",
    "America/Caracas",
    "America/Chicago",
    "America/Goose_Bay",
    "America/Havana",
    "America/Mexico_City",
    "America/New_York",
    "America/Nuuk",
    "America/Phoenix",
    "America/Santiago",
    "America/Sao_Paulo",
    "America/Scoresbysund",
    "America/St_Johns",
    "America/Whitehorse",
    "Antarctica/Casey",
    "Antarctica/Troll",
    "Asia/Amman",
    "Asia/Beirut",
    "Asia/Damascus",
    "Asia/Dhaka",
    "Asia/Gaza",
    "Asia/Jerusalem",
    "Asia/Kathmandu",
    "Asia/Kolkata",
    "Asia/Pyongyang",
    "Asia/Tehran",
    "Asia/Tokyo",
    "Asia/Ulaanbaatar",
    "Atlantic/Azores",
    "Australia/Adelaide",
    "Australia/Lord_Howe",
    "Australia/Sydney",
    "Europe/Dublin",
    "Europe/Istanbul",
    "Europe/London",
    "Europe/Moscow",
    "Europe/Oslo",
    "Europe/Volgograd",
    "Pacific/Apia",
    "Pacific/Chatham",
];

/// The first and the last year of the computation.
const YEARS: std::ops::Range<i16> = 2010..2030;

/// A pattern as sets of values, and its text.
#[derive(Clone, Debug)]
struct Pattern {
    minutes: Vec<i8>,
    hours: Vec<i8>,
    /// `None` matches every day.
    days: Option<Vec<i8>>,
    months: Option<Vec<i8>>,
    /// From Sunday, 0.
    weekdays: Option<Vec<i8>>,
    /// Whether minutes and hours are lists, so that the job has fixed times.
    text: String,
    has_fixed_times: bool,
}

impl Pattern {
    fn matches_day(&self, local: DateTime) -> bool {
        let day = self.days.as_ref().map(|days| days.contains(&local.day()));
        let weekday = local.weekday().to_sunday_zero_offset();
        let weekday = self.weekdays.as_ref().map(|weekdays| weekdays.contains(&weekday));
        let matches_day = match (day, weekday) {
            (Some(day), Some(weekday)) => day || weekday,
            (day, weekday) => day.unwrap_or(true) && weekday.unwrap_or(true),
        };
        matches_day && self.months.as_ref().is_none_or(|months| months.contains(&local.month()))
    }

    fn matches(&self, local: DateTime) -> bool {
        local.second() == 0
            && self.minutes.contains(&local.minute())
            && self.hours.contains(&local.hour())
            && self.matches_day(local)
    }
}

fn list(values: &[i8]) -> String {
    values.iter().map(i8::to_string).collect::<Vec<_>>().join(",")
}

fn values(range: std::ops::Range<i8>, most: usize) -> impl Strategy<Value = Vec<i8>> {
    proptest::collection::btree_set(range, 1..=most).prop_map(|set| set.into_iter().collect())
}

fn patterns() -> impl Strategy<Value = Pattern> {
    let times = prop_oneof![
        // Fixed times, often at night, when clocks change.
        (values(0..60, 1), prop_oneof![values(0..4, 1), values(0..24, 1)]).prop_map(
            |(minutes, hours)| {
                let text = format!("{} {}", list(&minutes), list(&hours));
                (minutes, hours, text, true)
            }
        ),
        prop_oneof![Just(5_i8), Just(15), Just(20), Just(30)].prop_map(|step| {
            let minutes = (0..60).step_by(step as usize).collect();
            (minutes, (0..24).collect(), format!("*/{step} *"), false)
        }),
    ];
    let days = proptest::option::of(values(1..32, 3));
    let months = proptest::option::of(values(1..13, 4));
    let weekdays = proptest::option::of(values(0..7, 3));
    (times, days, months, weekdays).prop_map(|(times, days, months, weekdays)| {
        let (minutes, hours, times, has_fixed_times) = times;
        let field = |values: &Option<Vec<i8>>| values.as_deref().map_or_else(|| "*".into(), list);
        let text = format!("{times} {} {} {}", field(&days), field(&months), field(&weekdays));
        Pattern { minutes, hours, days, months, weekdays, text, has_fixed_times }
    })
}

/// Walks through real time minute by minute.
fn walk(pattern: &Pattern, zone: &TimeZone, start: Timestamp, end: Timestamp) -> Vec<Timestamp> {
    let minute = SignedDuration::from_mins(1);
    let mut occurrences = Vec::new();
    let mut at = start;
    while at < end {
        at += minute;
        let local = zone.to_datetime(at);
        let before = zone.to_datetime(at - minute);
        let skipped = before.checked_add(minute).unwrap();
        let is_repeated = match zone.to_ambiguous_timestamp(local).offset() {
            AmbiguousOffset::Fold { after, .. } => zone.to_offset(at) == after,
            _ => false,
        };
        let is_due = if pattern.has_fixed_times {
            let mut in_gap = skipped;
            let mut fires_after_gap = false;
            while in_gap < local {
                fires_after_gap |= pattern.matches(in_gap);
                in_gap = in_gap.checked_add(minute).unwrap();
            }
            fires_after_gap || (pattern.matches(local) && !is_repeated)
        } else {
            pattern.matches(local)
        };
        if is_due {
            occurrences.push(at);
        }
    }
    occurrences
}

/// Returns windows of time around the changes of the clock, and some others.
fn windows(zone: &TimeZone, random_days: &[u32]) -> Vec<(Timestamp, Timestamp)> {
    let year = |year: i16| {
        let start = DateTime::new(year, 1, 1, 0, 0, 0, 0).unwrap();
        TimeZone::UTC.to_timestamp(start).unwrap()
    };
    let (first, last) = (year(YEARS.start), year(YEARS.end));
    let (day, hours) = (SignedDuration::from_hours(24), SignedDuration::from_hours(4));
    let changes = zone.following(first).map(|change| change.timestamp());
    let changes = changes.take_while(|at| *at < last).map(|at| {
        let whole_minute = Timestamp::from_second(at.as_second().div_euclid(60) * 60).unwrap();
        whole_minute - hours
    });
    let others = random_days.iter().map(|days| first + day * (*days as i32));
    let changes = changes.map(|start| (start, start + hours * 2));
    changes.chain(others.map(|start| (start, start + day * 2))).collect()
}

fn check(pattern: &Pattern, zone_name: &str, random_days: &[u32]) {
    let zone = TimeZone::get(zone_name).unwrap();
    let timing = Timing::cron(&pattern.text, zone_name).unwrap();
    for (start, end) in windows(&zone, random_days) {
        let expected = walk(pattern, &zone, start, end);
        let found: Vec<_> = timing.after(start).unwrap().take_while(|at| *at <= end).collect();
        assert_eq!(found, expected, "{} in {zone_name} from {start}", pattern.text);
        // Any time between two occurrences leads to the next one.
        for pair in expected.windows(2) {
            let between = pair[0] + (pair[1].duration_since(pair[0]) / 3);
            assert_eq!(timing.after(between).unwrap().next(), Some(pair[1]));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..Default::default() })]

    #[test]
    fn occurrences_equal_a_walk_through_real_time(
        pattern in patterns(),
        zone in proptest::sample::select(&ZONES[..]),
        days in proptest::collection::vec(0..7300_u32, 3),
    ) {
        check(&pattern, zone, &days);
    }
}

#[test]
fn fixed_time_of_each_day_fires_once_a_day_in_all_zones() {
    let pattern = Pattern {
        minutes: vec![30],
        hours: vec![2],
        days: None,
        months: None,
        weekdays: None,
        text: "30 2 * * *".into(),
        has_fixed_times: true,
    };
    for zone in ZONES {
        check(&pattern, zone, &[]);
    }
}

/// A gap may end on the next day, which the pattern excludes: North Korea skipped the last half
/// hour of a Friday, Samoa a whole Friday.
#[test]
fn time_in_a_gap_before_midnight_fires_at_the_end_of_the_gap() {
    for hour in [0, 23] {
        for minute in [0, 29, 30, 32, 59] {
            for (weekday, days) in [(5, None), (6, None), (5, Some(vec![28]))] {
                let day = days.as_deref().map_or_else(|| "*".into(), list);
                let pattern = Pattern {
                    minutes: vec![minute],
                    hours: vec![hour],
                    text: format!("{minute} {hour} {day} * {weekday}"),
                    days,
                    months: None,
                    weekdays: Some(vec![weekday]),
                    has_fixed_times: true,
                };
                for zone in ["Asia/Pyongyang", "Pacific/Apia", "America/Sao_Paulo"] {
                    check(&pattern, zone, &[]);
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..Default::default() })]

    #[test]
    #[ignore = "the long version of the test above"]
    fn occurrences_equal_a_walk_through_real_time_in_all_zones(
        pattern in patterns(),
        zone in proptest::sample::select(&ZONES[..]),
        days in proptest::collection::vec(0..7300_u32, 10),
    ) {
        check(&pattern, zone, &days);
    }
}
