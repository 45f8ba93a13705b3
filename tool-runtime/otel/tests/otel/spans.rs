//! The exported spans.

use std::collections::BTreeMap;

use opentelemetry_proto::tonic::trace::v1::Span;
use serde_json::{Map, Value as Data};
use tool_runtime::otel::Conventions;

use super::conventions::{Level, ROWS, Row, SPANS, Value, Versions};
use super::endpoint::json;
use super::scenario::export;

/// The attributes that are not of the conventions, or that the bridge from tracing adds.
const OTHERS: [&str; 3] = ["level", "target", "tool_runtime.tool.kind"];

/// Returns the spans by their keys in the table.
fn by_key(mut spans: Vec<Span>) -> BTreeMap<&'static str, Span> {
    spans.sort_by_key(|span| span.start_time_unix_nano);
    assert_eq!(spans.len(), SPANS.len());
    let mut found = BTreeMap::new();
    for (key, name, kind) in SPANS {
        let index = spans.iter().position(|span| span.name == name);
        let span = spans.remove(index.unwrap_or_else(|| panic!("no span `{name}`")));
        assert_eq!(span.kind, kind, "{key}");
        found.insert(key, span);
    }
    found
}

/// Whether a version of the conventions has a row.
fn applies(row: &Row, conventions: Conventions) -> bool {
    match conventions {
        Conventions::Latest => row.versions != Versions::V136,
        Conventions::V1_36 => row.versions != Versions::Latest,
        // The latest type of an attribute that has another type in each.
        _ => {
            let latest = |other: &Row| {
                (other.span, other.name, other.versions) == (row.span, row.name, Versions::Latest)
            };
            row.versions != Versions::V136 || !ROWS.iter().any(latest)
        }
    }
}

/// Returns the last word of a key: `failed chat` and `chat` have the same attributes.
fn kind_of(key: &str) -> &str {
    key.rsplit(' ').next().unwrap_or(key)
}

/// Compares the spans with the table. Returns the differences.
fn differences(
    spans: &BTreeMap<&str, Span>,
    conventions: Conventions,
    has_content: bool,
) -> Vec<String> {
    let attributes: BTreeMap<&str, Map<String, Data>> =
        spans.iter().map(|(key, span)| (*key, json(&span.attributes))).collect();
    let mut differences = Vec::new();
    let is_expected =
        |row: &&Row| applies(row, conventions) && (has_content || row.level != Level::OptIn);
    for row in ROWS.iter().filter(is_expected) {
        let found = attributes[row.span].get(row.name);
        let parsed = |text| serde_json::from_str::<Data>(text).unwrap();
        let is_met = match (row.value, found) {
            (Value::Absent(_), found) => found.is_none(),
            (Value::Is(value), Some(found)) => parsed(value) == *found,
            (Value::Json(value), Some(Data::String(found))) => parsed(value) == parsed(found),
            (Value::Is(_) | Value::Json(_), _) => false,
        };
        if !is_met {
            differences.push(format!("{row:?}, found {found:?}"));
        }
    }
    for (key, attributes) in attributes {
        for name in attributes.keys().filter(|name| !OTHERS.contains(&name.as_str())) {
            let has_row = ROWS.iter().filter(is_expected).any(|row| {
                row.name == name
                    && kind_of(row.span) == kind_of(key)
                    && !matches!(row.value, Value::Absent(_))
            });
            if !has_row {
                differences.push(format!("{key}: no row for `{name}` = {}", attributes[name]));
            }
        }
    }
    differences
}

#[test]
fn exported_spans_fit_the_table() {
    for (conventions, has_content) in [
        (Conventions::Latest, true),
        (Conventions::Latest, false),
        (Conventions::V1_36, true),
        (Conventions::Both, true),
    ] {
        let spans = by_key(export(conventions, has_content).spans());
        let found = differences(&spans, conventions, has_content);
        assert!(found.is_empty(), "{conventions:?} {has_content}:\n{}", found.join("\n"));
    }
}

#[test]
fn spans_of_a_run_are_a_tree() {
    let spans = by_key(export(Conventions::Latest, false).spans());
    for (key, span) in &spans {
        let parent = match *key {
            "run" | "failed run" => &[][..],
            "failed chat" => &spans["failed run"].span_id,
            _ => &spans["run"].span_id,
        };
        assert_eq!(span.parent_span_id, parent, "{key}");
    }
    // Only failures have the status of one.
    for (key, span) in &spans {
        let code = span.status.as_ref().map_or(0, |status| status.code);
        assert_eq!(code == 2, key.starts_with("failed"), "{key}");
    }
}

#[test]
fn comparison_finds_each_difference() {
    let spans = by_key(export(Conventions::Latest, true).spans());
    for row in ROWS.iter().filter(|row| row.versions != Versions::V136) {
        let mut changed = spans.clone();
        let attributes = &mut changed.get_mut(row.span).unwrap().attributes;
        match row.value {
            Value::Absent(_) => {
                let mut added = attributes[0].clone();
                added.key = row.name.into();
                attributes.push(added);
            }
            _ => attributes.retain(|attribute| attribute.key != row.name),
        }
        let found = differences(&changed, Conventions::Latest, true);
        assert!(!found.is_empty(), "{row:?}");
    }
    let mut unknown = spans;
    unknown.get_mut("chat").unwrap().attributes[0].key = "gen_ai.unknown".into();
    let found = differences(&unknown, Conventions::Latest, true);
    assert!(found.iter().any(|text| text.contains("no row for `gen_ai.unknown`")), "{found:?}");
}

#[test]
fn rows_name_their_source() {
    for Row { source, name, .. } in ROWS {
        assert!(source.repository.starts_with("open-telemetry/"), "{name}");
        assert!(source.file.contains("gen-ai"), "{name}");
        assert_eq!(source.commit.len(), 40, "{name}");
    }
}
