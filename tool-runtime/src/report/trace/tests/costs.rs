//! What runs cost, as far as that is known.

use super::*;

/// What a run cost that nobody counted is not nothing.
#[test]
fn a_cost_that_is_unknown_is_told_to_be() {
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
    for (told, expected) in [
        (vec![], None),
        (one.to_vec(), Some("unknown")),
        ([&one[..], &[known()]].concat(), Some("0.50")),
        ([&other[..], &[uncounted()]].concat(), Some("unknown")),
        ([&other[..1], &[uncounted()]].concat(), Some("0")),
        ([&one[..], &[known()], &other[..], &[uncounted()]].concat(), Some("≥ 0.50")),
        ([&one[..], &[known()], &other[..]].concat(), Some("≥ 0.50")),
    ] {
        assert_eq!(Totals::of(&log(&told)).cost.as_deref(), expected, "{told:?}");
    }
    let rows = log(&[&other[..], &[uncounted()]].concat());
    let Some(Detail::Facts { facts }) = rows[0].details.first() else { panic!("{rows:?}") };
    assert!(facts.contains(&("Cost", Fact::Text("unknown".into()))), "{facts:?}");
}

/// What a run within another took stands in the outer one's bill only where the outer one heard of its end.
#[test]
fn a_cost_without_that_of_a_run_within_is_told_to_be_more() {
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
    let goes_on_within = [
        ("1 11 tool started", call("a", "helper")),
        ("2 12 run started", within("a", 1, json!({"within": "1"}))),
    ];
    let end = [("1 20 run finished", ended(0.5))];
    let unbilled = [("1 20 run finished", json!({"took": 1, "cost": 0.5, "usage": {"input": 1}}))];
    for (told, expected) in [
        ([&began[..], &replied_within, &ended_within, &end].concat(), "0.50"),
        ([&began[..], &replied_within, &ended_within, &more, &end].concat(), "0.50"),
        ([&began[..], &more, &end].concat(), "≥ 0.50"),
        ([&began[..], &replied_within, &more, &end].concat(), "≥ 0.50"),
        // It went on, and what it took before that is told of by nobody.
        ([&began[..], &more, &goes_on_within, &ended_within, &end].concat(), "≥ 0.50"),
        // It ended, and the process died before its caller wrote that down.
        ([&began[..], &replied_within, &ended_within, &more, &unbilled].concat(), "≥ 0.50"),
    ] {
        assert_eq!(Totals::of(&log(&told)).cost.as_deref(), Some(expected), "{told:?}");
    }
}
