//! All wrong arguments in one error: what the schema does not allow, and what a type rejects.

#![expect(dead_code, reason = "the values are printed")]

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use chrono::NaiveDate;
use proptest::prelude::*;
use serde_json::json;
use tool_runtime::schema::Schema;
use tool_runtime::{Tool, ToolContext, ToolDefinition, args, tool};
use uuid::Uuid;

use super::refusal;

/// A code of three capitals, which its schema does not say.
#[derive(Clone, Debug, serde::Deserialize, schemars::JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String")]
struct Airport(String);

impl TryFrom<String> for Airport {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let is_code = text.len() == 3 && text.chars().all(|c| c.is_ascii_uppercase());
        is_code.then_some(Self(text)).ok_or("no airport has this code")
    }
}

/// A number of which no common sample is valid.
#[derive(Clone, Debug, serde::Deserialize, schemars::JsonSchema)]
#[serde(try_from = "u32")]
#[schemars(with = "u32")]
struct Ticket(u32);

impl TryFrom<u32> for Ticket {
    type Error = &'static str;

    fn try_from(number: u32) -> Result<Self, Self::Error> {
        let is_sold = number % 1000 == 321;
        is_sold.then_some(Self(number)).ok_or("no such ticket")
    }
}

/// A range of days.
#[args]
#[derive(Clone, Debug)]
#[serde(try_from = "Bounds")]
struct Period {
    from: u8,
    to: u8,
}

#[args]
struct Bounds {
    from: u8,
    to: u8,
}

impl TryFrom<Bounds> for Period {
    type Error = &'static str;

    fn try_from(Bounds { from, to }: Bounds) -> Result<Self, Self::Error> {
        (from <= to).then_some(Self { from, to }).ok_or("the end precedes the start")
    }
}

#[args]
#[derive(Clone, Debug)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Internal {
    Flight { from: Airport, to: Airport, day: NaiveDate, seat: u8 },
    Ride { ticket: Ticket, other: Ticket },
}

#[args]
#[derive(Clone, Debug)]
#[serde(tag = "kind", content = "of", rename_all = "lowercase")]
enum Adjacent {
    Flight { from: Airport, day: NaiveDate, seat: u8 },
    Day(NaiveDate),
}

#[args]
#[derive(Clone, Debug)]
#[serde(rename_all = "lowercase")]
enum External {
    Flight { from: Airport, day: NaiveDate, seat: u8 },
    Day(NaiveDate),
}

#[args]
#[derive(Clone, Debug)]
#[serde(untagged)]
enum Untagged {
    Flight { from: Airport, day: NaiveDate, back: NaiveDate },
    Host { host: IpAddr, port: u16 },
}

#[args]
#[derive(Clone, Debug)]
struct Stop {
    at: Airport,
    day: NaiveDate,
    nights: u8,
}

#[args]
#[derive(Clone, Debug, Default)]
#[serde(default)]
struct Everything {
    stops: Vec<Stop>,
    tickets: Vec<Ticket>,
    pair: Option<(NaiveDate, Ticket, u8)>,
    by_name: BTreeMap<String, NaiveDate>,
    hosts: BTreeMap<String, Stop>,
    internal: Option<Internal>,
    adjacent: Option<Adjacent>,
    external: Option<External>,
    untagged: Option<Untagged>,
    period: Option<Period>,
    id: Option<Uuid>,
    address: Option<SocketAddr>,
    big: Option<i128>,
}

/// Takes named parameters.
#[tool(effect = "write")]
async fn named(n: i32, day: NaiveDate, ip: IpAddr, code: Airport, ticket: Ticket) -> String {
    format!("{n} {day} {ip} {code:?} {ticket:?}")
}

/// Takes a struct.
#[tool(effect = "write")]
async fn everything(args: Everything) -> String {
    format!("{args:?}")
}

/// Takes a nested struct as an argument.
#[tool(effect = "write")]
async fn nested(first: Everything, second: Stop, n: u8) -> String {
    format!("{first:?} {second:?} {n}")
}

/// A word whose type quotes it.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String")]
struct Quoted;

impl TryFrom<String> for Quoted {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Err(format!("{text} is wrong"))
    }
}

#[args]
#[derive(Debug)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Codes {
    A { code: Quoted, n: u8 },
}

/// Opens a door.
#[tool(effect = "write")]
async fn unlock(#[arg(secret)] pin: Quoted, codes: Codes) -> String {
    format!("{pin:?} {codes:?}")
}

/// Returns the paths that an error reports, sorted.
fn paths(error: &str) -> Vec<String> {
    let lines = error.lines().filter_map(|line| line.strip_prefix("- `"));
    let path = |line: &str| line.split('`').next().unwrap_or_default().to_owned();
    let mut paths: Vec<_> = lines.map(path).collect();
    paths.sort_unstable();
    paths
}

async fn wrong_paths(tool: &impl Tool, json: &serde_json::Value) -> Vec<String> {
    let text = refusal(tool, json.to_string()).await;
    let listed = text.lines().filter(|line| line.starts_with("- ")).count();
    let paths = paths(&text);
    assert_eq!(paths.len(), listed, "{text}");
    paths
}

#[tokio::test]
async fn each_wrong_named_argument_is_reported_once() {
    for (arguments, wrong) in [
        (
            json!({ "n": "x", "day": "24.12.2026", "ip": "localhost", "code": "osl", "ticket": 1 }),
            vec!["code", "day", "ip", "n", "ticket"],
        ),
        (json!({ "n": "x", "day": "24.12.2026" }), vec!["code", "day", "ip", "n", "ticket"]),
        (
            json!({ "n": 1, "day": "2026-12-24", "ip": "::1", "code": "OSL", "ticket": 7 }),
            vec!["ticket"],
        ),
        (
            json!({ "n": 1, "day": [], "ip": "::x", "code": "OSL", "ticket": 321, "more": 1 }),
            vec!["day", "ip", "more"],
        ),
    ] {
        assert_eq!(wrong_paths(&named {}, &arguments).await, wrong, "{arguments}");
    }
}

#[tokio::test]
async fn each_wrong_member_is_reported_once() {
    let stop = |at: &str, day: &str| json!({ "at": at, "day": day, "nights": 1 });
    for (arguments, wrong) in [
        (
            json!({ "stops": [
                stop("osl", "2026-12-24"), stop("OSL", "24.12."), { "at": "x", "nights": "two" },
            ] }),
            vec!["stops[0].at", "stops[1].day", "stops[2].at", "stops[2].day", "stops[2].nights"],
        ),
        (
            json!({ "tickets": [321, 5, 6, 1321, "x"] }),
            vec!["tickets[1]", "tickets[2]", "tickets[4]"],
        ),
        (json!({ "tickets": [5, 6] }), vec!["tickets[0]", "tickets[1]"]),
        (json!({ "pair": ["24.12.2026", 7, "x"] }), vec!["pair[0]", "pair[1]", "pair[2]"]),
        (
            json!({ "by_name": { "a": "x", "b": "2026-12-24", "c": 3, "d": "y" } }),
            vec!["by_name.a", "by_name.c", "by_name.d"],
        ),
        (
            json!({ "hosts": { "a": stop("x", "y"), "b": stop("OSL", "z") } }),
            vec!["hosts.a.at", "hosts.a.day", "hosts.b.day"],
        ),
        (
            json!({ "id": "x", "address": "y", "period": { "from": 2, "to": 1 }, "big": "z" }),
            vec!["address", "big", "id", "period"],
        ),
    ] {
        assert_eq!(wrong_paths(&everything {}, &arguments).await, wrong, "{arguments}");
        let arguments = json!({ "first": arguments, "second": stop("OSL", "soon"), "n": -1 });
        let nested_paths = wrong.iter().map(|path| format!("first.{path}"));
        let wrong: Vec<_> = nested_paths.chain(["n".to_owned(), "second.day".to_owned()]).collect();
        assert_eq!(wrong_paths(&nested {}, &arguments).await, wrong, "{arguments}");
    }
}

#[tokio::test]
async fn each_wrong_member_of_an_enum_is_reported_once() {
    for (arguments, wrong) in [
        (
            json!({ "internal": {
                "kind": "flight", "from": "OSL", "to": "osl", "day": "2026-12-24", "seat": 1,
            } }),
            vec!["internal.to"],
        ),
        (
            json!({ "internal": {
                "kind": "flight", "from": "osl", "to": "rom", "day": "24.12.", "seat": "x",
            } }),
            vec!["internal.day", "internal.from", "internal.seat", "internal.to"],
        ),
        (
            json!({ "internal": { "kind": "flight", "from": "OSL", "to": "ROM", "day": "24.12." } }),
            vec!["internal.day", "internal.seat"],
        ),
        (
            json!({ "internal": { "kind": "ride", "ticket": 1, "other": 2 } }),
            vec!["internal.other", "internal.ticket"],
        ),
        (
            json!({ "internal": { "kind": "walk", "from": "x" }, "id": "x" }),
            vec!["id", "internal.kind"],
        ),
        (json!({ "internal": { "from": "x" }, "id": "x" }), vec!["id", "internal.kind"]),
        (
            json!({ "adjacent": {
                "kind": "flight", "of": { "from": "osl", "day": "24.12.", "seat": 1 },
            } }),
            vec!["adjacent.of.day", "adjacent.of.from"],
        ),
        (
            json!({ "adjacent": {
                "kind": "flight", "of": { "from": "osl", "day": "24.12.", "seat": "x" },
            } }),
            vec!["adjacent.of.day", "adjacent.of.from", "adjacent.of.seat"],
        ),
        (json!({ "adjacent": { "kind": "day", "of": "24.12." } }), vec!["adjacent.of"]),
        (
            json!({ "external": { "flight": { "from": "osl", "day": "24.12.", "seat": "x" } } }),
            vec!["external.flight.day", "external.flight.from", "external.flight.seat"],
        ),
        (json!({ "external": { "day": "24.12." } }), vec!["external.day"]),
        (
            json!({ "untagged": { "from": "OSL", "day": "24.12.", "back": "25.12." } }),
            vec!["untagged.back", "untagged.day"],
        ),
        (
            json!({ "untagged": { "from": "osl", "day": "2026-12-24", "back": "25.12." } }),
            vec!["untagged.back", "untagged.from"],
        ),
        (
            json!({ "untagged": { "host": "here", "port": "x" } }),
            vec!["untagged.host", "untagged.port"],
        ),
    ] {
        assert_eq!(wrong_paths(&everything {}, &arguments).await, wrong, "{arguments}");
        let mut arguments = arguments;
        arguments["address"] = "nowhere".into();
        let mut wrong: Vec<_> = wrong.into_iter().chain(["address"]).collect();
        wrong.sort_unstable();
        assert_eq!(wrong_paths(&everything {}, &arguments).await, wrong, "{arguments}");
    }
}

#[tokio::test]
async fn digits_beyond_64_bits_are_no_error() {
    let text = r#"{"id": "x", "big": 170141183460469231731687303715884105727}"#;
    assert_eq!(paths(&refusal(&everything {}, text).await), ["id"]);
}

#[tokio::test]
async fn errors_about_secrets_quote_no_value() {
    for json in [
        json!({ "pin": "hunter2", "codes": { "kind": "a", "code": "hunter2", "n": 1 } }),
        json!({ "pin": "hunter2", "codes": { "kind": "a", "code": "hunter2", "n": "hunter2" } }),
        json!({ "pin": ["hunter2"], "codes": "hunter2" }),
    ] {
        let error = unlock {}.call(json.to_string().as_str().into(), &ToolContext::default()).await;
        let error = error.unwrap_err();
        assert!(paths(error.text()).contains(&"pin".to_owned()), "{}", error.text());
        assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
    }
}

#[test]
fn tool_that_decodes_by_itself_reports_each_wrong_argument_once() {
    let definition = ToolDefinition::new("fly", "Flies.", Schema::of::<Stop>());
    let arguments = json!({ "at": "osl", "day": "24.12.", "nights": "x", "more": 1 });
    let error = definition.decode_arguments::<Stop>(&arguments.into(), &ToolContext::default());
    let error = error.unwrap_err();
    assert_eq!(paths(error.text()), ["at", "day", "more", "nights"], "{}", error.text());
}

/// The values at one path: a valid one, one that the schema refuses, and one that the type refuses.
struct Field {
    path: &'static str,
    wrong: [serde_json::Value; 2],
}

/// Valid arguments, and the values that can be damaged.
fn fields() -> (serde_json::Value, Vec<Field>) {
    let stop = json!({ "at": "OSL", "day": "2026-12-24", "nights": 1 });
    let valid = json!({
        "first": {
            "stops": [stop, stop, stop],
            "pair": ["2026-12-24", 321, 1],
            "by_name": { "a": "2026-12-24", "b": "2026-12-25" },
            "internal": {
                "kind": "flight", "from": "OSL", "to": "ROM", "day": "2026-12-24", "seat": 1,
            },
            "adjacent": { "kind": "flight", "of": { "from": "OSL", "day": "2026-12-24", "seat": 1 } },
            "external": { "flight": { "from": "OSL", "day": "2026-12-24", "seat": 1 } },
            "id": "67e55044-10b1-426f-9247-bb680e5f3b0a",
            "address": "192.0.2.1:80",
        },
        "second": stop,
        "n": 1,
    });
    let date = || [json!(7), json!("24.12.2026")];
    let code = || [json!({}), json!("osl")];
    let count = || [json!("x"), json!(-1)];
    let fields = [
        ("first.stops[0].at", code()),
        ("first.stops[0].day", date()),
        ("first.stops[1].at", code()),
        ("first.stops[1].nights", count()),
        ("first.stops[2].day", date()),
        ("first.pair[0]", date()),
        ("first.pair[1]", [json!("x"), json!(5)]),
        ("first.pair[2]", count()),
        ("first.by_name.a", date()),
        ("first.by_name.b", date()),
        ("first.internal.from", code()),
        ("first.internal.day", date()),
        ("first.internal.seat", count()),
        ("first.adjacent.of.from", code()),
        ("first.adjacent.of.day", date()),
        ("first.external.flight.from", code()),
        ("first.external.flight.day", date()),
        ("first.id", [json!([]), json!("Ada")]),
        ("first.address", [json!(80), json!("here")]),
        ("second.at", code()),
        ("second.day", date()),
        ("n", count()),
    ];
    (valid, fields.into_iter().map(|(path, wrong)| Field { path, wrong }).collect())
}

fn damage(arguments: &mut serde_json::Value, path: &str, wrong: serde_json::Value) {
    let pointer = format!("/{}", path.replace(['.', '['], "/").replace(']', ""));
    *arguments.pointer_mut(&pointer).unwrap() = wrong;
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn exactly_the_damaged_values_are_reported(
        damaged in proptest::collection::btree_map(0..22_usize, any::<bool>(), 1..8),
    ) {
        let (mut arguments, fields) = fields();
        let mut wrong = Vec::new();
        for (at, is_type_error) in damaged {
            let field = &fields[at];
            damage(&mut arguments, field.path, field.wrong[usize::from(is_type_error)].clone());
            wrong.push(field.path);
        }
        wrong.sort_unstable();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let reported = runtime.block_on(wrong_paths(&nested {}, &arguments));
        prop_assert_eq!(reported, wrong, "{}", arguments);
    }
}
