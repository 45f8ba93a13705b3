//! Costs of runs, known and unknown.

use super::*;

/// The cost of a run without token counts is unknown, not zero.
#[test]
fn unknown_cost_is_reported_as_unknown() {
    let known = || ("1 3 run finished", json!({"took": 3, "cost": 0.5, "usage": {"input": 7}}));
    let asked = |run| {
        let heads = match run {
            1 => ["1 0 run started", "1 1 model asked"],
            _ => ["2 0 run started", "2 1 model asked"],
        };
        heads.map(|head| (head, json!({})))
    };
    let uncounted = || ("2 3 run finished", json!({"took": 3, "cost": 0.0, "error": "no answer"}));
    let [one, other] = [1, 2].map(asked);
    for (events, expected) in [
        (vec![], None),
        (one.to_vec(), Some("unknown")),
        ([&one[..], &[known()]].concat(), Some("0.50")),
        ([&other[..], &[uncounted()]].concat(), Some("unknown")),
        ([&other[..1], &[uncounted()]].concat(), Some("0")),
        ([&one[..], &[known()], &other[..], &[uncounted()]].concat(), Some("≥ 0.50")),
        ([&one[..], &[known()], &other[..]].concat(), Some("≥ 0.50")),
    ] {
        assert_eq!(Totals::of(&log(&events)).cost.as_deref(), expected, "{events:?}");
    }
    let rows = log(&[&other[..], &[uncounted()]].concat());
    let Some(Detail::Facts { facts }) = rows[0].details.first() else { panic!("{rows:?}") };
    assert!(facts.contains(&("Cost", Fact::Text("unknown".into()))), "{facts:?}");
}

/// The cost of a nested run is part of the outer run only if the outer run observed its end.
#[test]
fn cost_without_a_nested_run_is_a_lower_bound() {
    let usage = json!({"input": 7, "output": 3});
    let ended = |cost: f64| json!({"took": 1, "cost": cost, "usage": usage});
    let counted = || json!({"text": "Hi.", "calls": [], "took": 1, "usage": usage});
    let began = [
        ("1 0 run started", json!({})),
        ("1 1 model asked", json!({})),
        ("1 2 tool started", call("a", "helper")),
        ("2 3 run started", within("a", 1, json!({"within": "1"}))),
        ("2 4 model asked", within("a", 1, json!({}))),
    ];
    let replied_within = [("2 5 model replied", within("a", 1, counted()))];
    let ended_within = [("2 6 run finished", within("a", 1, ended(0.25)))];
    let more = [("1 10 run started", json!({}))];
    let resumed_within = [
        ("1 11 tool started", call("a", "helper")),
        ("2 12 run started", within("a", 1, json!({"within": "1"}))),
    ];
    let end = [("1 20 run finished", ended(0.5))];
    let unbilled = [("1 20 run finished", json!({"took": 1, "cost": 0.5, "usage": {"input": 1}}))];
    for (events, expected) in [
        ([&began[..], &replied_within, &ended_within, &end].concat(), "0.50"),
        ([&began[..], &replied_within, &ended_within, &more, &end].concat(), "0.50"),
        ([&began[..], &more, &end].concat(), "≥ 0.50"),
        ([&began[..], &replied_within, &more, &end].concat(), "≥ 0.50"),
        // The nested run was resumed, and its cost before that is not reported.
        ([&began[..], &more, &resumed_within, &ended_within, &end].concat(), "≥ 0.50"),
        // The nested run ended, but the process ended before its caller recorded that.
        ([&began[..], &replied_within, &ended_within, &more, &unbilled].concat(), "≥ 0.50"),
    ] {
        assert_eq!(Totals::of(&log(&events)).cost.as_deref(), Some(expected), "{events:?}");
    }
}
