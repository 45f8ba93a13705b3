//! Costs of runs, known and unknown.

use super::*;

/// The cost of a run without token counts is unknown, not zero.
#[test]
fn unknown_cost_is_reported_as_unknown() {
    let known = || {
        ("1 3 run.finished", json!({"duration_us": 3, "cost": 0.5, "usage": {"input_tokens": 7}}))
    };
    let model_requested = |run| {
        let heads = match run {
            1 => ["1 0 run.started", "1 1 model.requested"],
            _ => ["2 0 run.started", "2 1 model.requested"],
        };
        heads.map(|head| (head, json!({})))
    };
    let uncounted =
        || ("2 3 run.finished", json!({"duration_us": 3, "cost": 0.0, "error": "no answer"}));
    let [first, second] = [1, 2].map(model_requested);
    for (events, expected) in [
        (vec![], None),
        (first.to_vec(), Some("unknown")),
        ([&first[..], &[known()]].concat(), Some("0.50")),
        ([&second[..], &[uncounted()]].concat(), Some("unknown")),
        ([&second[..1], &[uncounted()]].concat(), Some("0")),
        ([&first[..], &[known()], &second[..], &[uncounted()]].concat(), Some("≥ 0.50")),
        ([&first[..], &[known()], &second[..]].concat(), Some("≥ 0.50")),
    ] {
        assert_eq!(Totals::of(&log(&events)).cost.as_deref(), expected, "{events:?}");
    }
    let rows = log(&[&second[..], &[uncounted()]].concat());
    let Some(Detail::Facts { facts }) = rows[0].details.first() else { panic!("{rows:?}") };
    assert!(facts.contains(&("Cost", Fact::Text("unknown".into()))), "{facts:?}");
}

/// The cost of a nested run is part of the outer run only if the outer run observed its end.
#[test]
fn cost_without_a_nested_run_is_a_lower_bound() {
    let usage = json!({"input_tokens": 7, "output_tokens": 3});
    let ended = |cost: f64| json!({"duration_us": 1, "cost": cost, "usage": usage});
    let counted = || json!({"text": "Hi.", "calls": [], "duration_us": 1, "usage": usage});
    let run_started = [
        ("1 0 run.started", json!({})),
        ("1 1 model.requested", json!({})),
        ("1 2 tool.started", call("a", "helper")),
        ("2 3 run.started", nested_in("a", 1, json!({"parent_run": "1"}))),
        ("2 4 model.requested", nested_in("a", 1, json!({}))),
    ];
    let replied_within = [("2 5 model.replied", nested_in("a", 1, counted()))];
    let ended_within = [("2 6 run.finished", nested_in("a", 1, ended(0.25)))];
    let more = [("1 10 run.started", json!({}))];
    let resumed_within = [
        ("1 11 tool.started", call("a", "helper")),
        ("2 12 run.started", nested_in("a", 1, json!({"parent_run": "1"}))),
    ];
    let end = [("1 20 run.finished", ended(0.5))];
    let unbilled = [(
        "1 20 run.finished",
        json!({"duration_us": 1, "cost": 0.5, "usage": {"input_tokens": 1}}),
    )];
    for (events, expected) in [
        ([&run_started[..], &replied_within, &ended_within, &end].concat(), "0.50"),
        ([&run_started[..], &replied_within, &ended_within, &more, &end].concat(), "0.50"),
        ([&run_started[..], &more, &end].concat(), "≥ 0.50"),
        ([&run_started[..], &replied_within, &more, &end].concat(), "≥ 0.50"),
        // The nested run was resumed, and its cost before that is not reported.
        ([&run_started[..], &more, &resumed_within, &ended_within, &end].concat(), "≥ 0.50"),
        // The nested run ended, but the process ended before its caller recorded that.
        ([&run_started[..], &replied_within, &ended_within, &more, &unbilled].concat(), "≥ 0.50"),
    ] {
        assert_eq!(Totals::of(&log(&events)).cost.as_deref(), Some(expected), "{events:?}");
    }
}
