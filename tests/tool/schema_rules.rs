//! Schema rules are checked before the body runs, at any depth.

use tool_runtime::{Arguments, Registry, Tool, args, tool, tools};

use super::call;

#[args]
#[serde(untagged)]
enum Length {
    Short(#[schemars(length(max = 3))] String),
    Long(#[schemars(length(min = 10))] String),
}

#[args]
#[serde(untagged)]
enum Count {
    Few {
        #[schemars(range(max = 5))]
        n: u32,
        #[schemars(range(max = 5))]
        m: u32,
    },
    Text {
        n: String,
    },
}

/// Measures.
#[tool]
async fn measure(length: Option<Length>, count: Option<Count>) -> String {
    let text = length.map(|length| match length {
        Length::Short(text) | Length::Long(text) => text,
    });
    let count = count.map(|count| match count {
        Count::Few { n, m } => format!("{n} {m}"),
        Count::Text { n } => n,
    });
    format!("{text:?} {count:?}")
}

#[args]
struct Listed {
    #[schemars(extend("enum" = ["km", "mile"]))]
    unit: Option<String>,
    #[schemars(extend("const" = 3))]
    three: Option<u8>,
    #[schemars(extend("dependentRequired" = {"from": ["to"]}))]
    route: Option<Route>,
}

#[args]
struct Route {
    from: Option<String>,
    to: Option<String>,
}

/// Goes.
#[tool]
async fn travel(by: Listed) -> String {
    let route = by.route.map(|route| (route.from, route.to));
    format!("{:?} {:?} {route:?}", by.unit, by.three)
}

#[args]
struct Item {
    #[serde(alias = "n")]
    name: String,
    #[schemars(range(max = 5))]
    #[serde(alias = "q")]
    quantity: u32,
}

/// Orders.
#[tool]
async fn order(items: Vec<Item>) -> String {
    items.iter().map(|item| format!("{}{}", item.name, item.quantity)).collect()
}

#[args]
struct NoArguments {}

#[args]
#[serde(untagged)]
enum Location {
    At { place: Point },
    Named { place: String },
}

#[args]
struct Point {
    x: i32,
    y: i32,
}

/// Looks.
#[tool]
async fn look(empty: Option<NoArguments>, at: Option<Location>) -> String {
    let empty = empty.map(|NoArguments {}| "empty");
    let at = at.map(|at| match at {
        Location::At { place } => format!("{} {}", place.x, place.y),
        Location::Named { place } => place,
    });
    format!("{empty:?} {at:?}")
}

async fn is_taken(tool: &impl Tool, json: &str) -> bool {
    call(tool, Arguments::from(json)).await.is_ok()
}

#[tokio::test]
async fn rules_are_checked_in_every_branch() {
    for (json, accepted) in [
        (r#"{"length": "abc"}"#, true),
        (r#"{"length": "abcdefghijk"}"#, true),
        (r#"{"length": "abcde"}"#, false),
        (r#"{"count": {"n": 5, "m": 5}}"#, true),
        (r#"{"count": {"n": "many"}}"#, true),
        (r#"{"count": {"n": 99, "m": 5}}"#, false),
        (r#"{"count": {"n": 99, "m": 99}}"#, false),
    ] {
        assert_eq!(is_taken(&measure {}, json).await, accepted, "{json}");
    }
}

#[tokio::test]
async fn added_schema_keywords_are_checked() {
    for (json, accepted) in [
        (r#"{"unit": "km", "three": 3}"#, true),
        (r#"{"unit": "foot"}"#, false),
        (r#"{"three": 4}"#, false),
        (r#"{"route": {"from": "Oslo", "to": "Rome"}}"#, true),
        (r#"{"route": {"from": "Oslo"}}"#, false),
    ] {
        assert_eq!(is_taken(&travel {}, json).await, accepted, "{json}");
    }
}

#[tokio::test]
async fn rule_violation_is_reported_among_many_errors() {
    let items = vec![r#"{"n": "x", "quantity": 1}"#; 25].join(", ");
    let json = format!(r#"{{"items": [{items}, {{"n": "x", "quantity": 99}}]}}"#);
    assert!(!is_taken(&order {}, &json).await);
    assert!(!is_taken(&order {}, r#"{"items": [{"name": "x", "q": 99}]}"#).await);
    assert!(is_taken(&order {}, r#"{"items": [{"name": "x", "quantity": 5}]}"#).await);
}

#[tokio::test]
async fn list_is_not_accepted_for_a_struct_at_any_depth() {
    for (json, accepted) in [
        (r#"{"empty": {}}"#, true),
        (r#"{"empty": []}"#, false),
        (r#"{"at": {"place": {"x": 1, "y": 2}}}"#, true),
        (r#"{"at": {"place": "[home]"}}"#, true),
        (r#"{"at": {"place": [1, 2]}}"#, false),
    ] {
        assert_eq!(is_taken(&look {}, json).await, accepted, "{json}");
    }
}

#[args]
struct Coded {
    #[schemars(regex(pattern = "^(?!x)"))]
    code: String,
}

/// Reads a code.
#[tool]
async fn read_code(coded: Coded) -> String {
    coded.code
}

#[test]
fn unsupported_pattern_is_refused() {
    let refused = Registry::try_from(tools![read_code]).unwrap_err();
    assert!(refused.to_string().contains("`^(?!x)`"), "{refused}");
}
