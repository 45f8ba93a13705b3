//! Strings that the type of an argument can't parse, such as dates and UUIDs.

use chrono::{DateTime, NaiveDate, Utc};
use serde_json::json;
use tool_runtime::{Tool, args, tool};
use uuid::Uuid;

use super::refusal;

/// A room.
#[args]
struct Room {
    /// When it is taken.
    nights: Vec<NaiveDate>,
    /// Whose it is.
    guest: Guest,
}

#[args]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Guest {
    Known {
        id: Uuid,
    },
    New {
        #[serde(default)]
        since: Option<DateTime<Utc>>,
        name: String,
    },
}

/// Books a room.
#[tool(effect = "write")]
async fn book(room: Room) -> usize {
    let _ = match room.guest {
        Guest::Known { id } => id.to_string(),
        Guest::New { since, name } => format!("{since:?} {name}"),
    };
    room.nights.len()
}

/// Lists what happened.
#[tool(effect = "read")]
async fn list(since: DateTime<Utc>, end_date: NaiveDate, most: u8) -> String {
    format!("{since} {end_date} {most}")
}

/// Opens a door.
#[tool(effect = "write")]
async fn open(#[arg(secret)] key: Uuid) -> String {
    key.to_string()
}

async fn violation_lines(tool: &impl Tool, json: &str) -> Vec<String> {
    let text = refusal(tool, json).await;
    let lines = text.lines().filter_map(|line| line.strip_prefix("- "));
    lines.map(str::to_owned).collect()
}

#[tokio::test]
async fn each_invalid_string_is_reported_with_its_format() {
    let date = "expected a string in date format, such as \"2026-12-24\"";
    let time = "expected a string in date-time format, such as \"2026-12-24T18:30:00Z\"";
    let uuid = "expected a string in uuid format, such as";
    for (json, lines) in [
        (
            r#"{"since": "2026-12-24T10:00:00", "end_date": "2026-02-30", "most": 3}"#,
            vec![
                format!("`since`: {time}, got \"2026-12-24T10:00:00\": premature end of input"),
                format!("`end_date`: {date}, got \"2026-02-30\": input is out of range"),
            ],
        ),
        // Violations of the schema are reported as well.
        (
            r#"{"since": "soon", "end_date": "2026-12-24", "most": -1}"#,
            vec![
                "`most`: expected an integer from 0 to 255, got -1".to_owned(),
                format!("`since`: {time}, got \"soon\": input contains invalid characters"),
            ],
        ),
    ] {
        assert_eq!(violation_lines(&list {}, json).await, lines, "{json}");
    }
    let json = r#"{"nights": ["2026-12-24", "the next"], "guest": {"kind": "known", "id": "Ada"}}"#;
    let [night, guest] = violation_lines(&book {}, json).await.try_into().unwrap();
    assert!(night.starts_with(&format!("`nights[1]`: {date}, got \"the next\": ")), "{night}");
    assert!(guest.starts_with(&format!("`guest.id`: {uuid}")), "{guest}");
    let json = r#"{"nights": [], "guest": {"kind": "new", "name": "Ada", "since": "ever"}}"#;
    let [since] = violation_lines(&book {}, json).await.try_into().unwrap();
    assert!(since.starts_with(&format!("`guest.since`: {time}, got \"ever\"")), "{since}");
}

#[tokio::test]
async fn secret_values_are_not_repeated_in_errors() {
    let [key] = violation_lines(&open {}, r#"{"key": "hunter2"}"#).await.try_into().unwrap();
    assert!(key.starts_with("`key`: expected a string in uuid format, such as"), "{key}");
    assert!(!key.contains("hunter2"), "{key}");
}

#[tokio::test]
async fn large_arguments_are_reported_with_the_type_error_alone() {
    let nights = |count| {
        let mut nights = vec!["2026-12-24"; count];
        nights.push("ever");
        json!({ "nights": nights, "guest": { "kind": "new", "name": "Ada" } }).to_string()
    };
    let [small] = violation_lines(&book {}, &nights(10)).await.try_into().unwrap();
    assert!(small.starts_with("`nights[10]`: expected a string in date format"), "{small}");
    let [large] = violation_lines(&book {}, &nights(10_000)).await.try_into().unwrap();
    assert!(large.starts_with("`nights[10000]`: ") && !large.contains("expected"), "{large}");
}
