use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;

use super::*;

/// Types of a single parameter: an args struct is all arguments, other types are one argument.
#[expect(dead_code, reason = "only their schemas are looked at")]
mod lone {
    use super::*;

    #[args]
    pub struct Empty {}

    #[args]
    pub struct Nested {
        pub inner: Option<Box<Nested>>,
    }

    #[derive(serde::Deserialize, schemars::JsonSchema)]
    pub struct Plain {
        pub a: i64,
        #[serde(flatten)]
        pub rest: HashMap<String, i64>,
    }

    #[args]
    pub enum Unit {
        Celsius,
        Fahrenheit,
    }

    #[args]
    #[serde(tag = "kind")]
    pub enum Tagged {
        Text { text: String },
        Number { number: i64 },
    }

    #[args]
    pub struct Wrapper(pub String);

    #[args]
    pub struct Newtype(pub Nested);

    macro_rules! tools_of {
        ($($name:ident: $ty:ty;)*) => {$(
            #[doc = "Takes one."]
            #[tool]
            pub async fn $name(value: $ty) {
                let _ = value;
            }
        )*};
    }

    tools_of! {
        empty: Empty;
        nested: Nested;
        plain: Plain;
        boxed: Box<Nested>;
        newtype: Newtype;
        unit: Unit;
        tagged: Tagged;
        wrapper: Wrapper;
        optional: Option<Nested>;
        list: Vec<Nested>;
        map: HashMap<String, i64>;
        sorted: BTreeMap<String, Nested>;
        numbered: HashMap<u32, Nested>;
        any: serde_json::Value;
        object: serde_json::Map<String, serde_json::Value>;
        text: String;
        number: f64;
        flag: bool;
        pair: (i64, i64);
    }
}

#[test]
fn single_struct_parameter_is_the_whole_arguments() {
    let is_named = |tool: &dyn Tool| {
        tool.definition().parameters.as_value().pointer("/properties/value").is_some()
    };
    let whole: [&dyn Tool; 5] =
        [&lone::empty {}, &lone::nested {}, &lone::plain {}, &lone::boxed {}, &lone::newtype {}];
    for tool in whole {
        assert!(tool.definition().validate().is_ok());
        assert!(!is_named(tool), "{}", tool.definition().name);
    }
    let named: [&dyn Tool; 14] = [
        &lone::unit {},
        &lone::tagged {},
        &lone::wrapper {},
        &lone::optional {},
        &lone::list {},
        &lone::map {},
        &lone::sorted {},
        &lone::numbered {},
        &lone::any {},
        &lone::object {},
        &lone::text {},
        &lone::number {},
        &lone::flag {},
        &lone::pair {},
    ];
    for tool in named {
        assert!(is_named(tool), "{}", tool.definition().name);
        assert!(tool.definition().validate().is_ok());
    }
}

type Ctx<'a> = &'a ToolContext;

/// Takes one of each.
#[tool]
async fn each(
    ctx: &ToolContext,
    text: &str,
    list: &[u8],
    mut number: i64,
    second: Ctx<'_>,
    optional: Option<bool>,
    map: BTreeMap<String, f32>,
) -> String {
    number += 1;
    let is_same_context = std::ptr::eq(ctx, second);
    format!("{} {text} {list:?} {number} {is_same_context} {optional:?} {map:?}", ctx.tool_name())
}

#[tokio::test]
async fn every_form_of_parameter_is_decoded() {
    let output = call(&each {}, r#"{"text": "a", "list": [1, 2], "number": 3, "map": {"x": 0.5}}"#);
    assert_eq!(output.await.unwrap(), "tool a [1, 2] 4 true None {\"x\": 0.5}");
    let object = json!({ "text": "a", "list": [], "number": 3, "map": {}, "optional": true });
    assert_eq!(call(&each {}, object).await.unwrap(), "tool a [] 4 true Some(true) {}");
}

mod renamed {
    pub use tool_runtime::ToolContext as Call;
}

/// Takes the context under other names.
#[tool]
async fn aliased(hidden: Ctx<'_>, _: &renamed::Call, text: &str) -> String {
    format!("{} {text}", hidden.tool_name())
}

#[tokio::test]
async fn context_is_recognized_under_any_alias() {
    assert_eq!(call(&aliased {}, r#"{"text": "a"}"#).await.unwrap(), "tool a");
    let schema = aliased {}.definition().parameters.clone();
    assert_eq!(schema.as_value()["properties"].as_object().unwrap().len(), 1);
}

#[tokio::test]
async fn context_is_not_an_argument() {
    let schema = each {}.definition().parameters.clone();
    let members: Vec<_> = schema.as_value()["properties"].as_object().unwrap().keys().collect();
    assert_eq!(members, ["list", "map", "number", "optional", "text"]);
    let text = r#"{"text": "a", "list": [], "number": 3, "map": {}, "ctx": null}"#;
    assert!(refusal(&each {}, text).await.contains("`ctx`"));
}

/// Takes an exact number.
#[tool]
async fn exact(number: u64, long: i128) -> String {
    format!("{number} {long}")
}

#[tokio::test]
async fn numbers_keep_all_digits() {
    let text =
        r#"{"number": 18446744073709551615, "long": -170141183460469231731687303715884105728}"#;
    let output = call(&exact {}, text).await.unwrap();
    assert_eq!(output, "18446744073709551615 -170141183460469231731687303715884105728");
}

#[args]
struct Trip {
    /// Where to start.
    from: String,
    stops: Vec<Stop>,
    #[schemars(range(min = 1, max = 7))]
    days: Option<u8>,
    class: Class,
}

#[args]
struct Stop {
    city: String,
    nights: u8,
}

#[args]
#[serde(rename_all = "lowercase")]
#[derive(Debug)]
enum Class {
    First,
    Second,
}

/// Plans a trip.
#[tool(effect = "none")]
async fn trip(trip: Trip) -> String {
    let stops: Vec<_> = trip.stops.iter().map(|stop| (&stop.city, stop.nights)).collect();
    format!("{} {stops:?} {:?} {:?}", trip.from, trip.days, trip.class)
}

#[tokio::test]
async fn all_wrong_arguments_are_reported_at_once() {
    let text = r#"{
        "stops": [{"city": "Rome", "nights": 2}, {"city": {}, "nights": "two"}],
        "days": 9, "class": "third", "hotel": true
    }"#;
    assert_eq!(
        refusal(&trip {}, text).await,
        "`trip` was not called: its arguments are wrong.\n\
         - `from` is missing: expected a string (Where to start)\n\
         - `class`: expected one of \"first\", \"second\", got \"third\"\n\
         - `days`: expected an integer from 1 to 7, got 9\n\
         - `hotel` is not known here: leave it out, or use `from`\n\
         - `stops[1].city`: expected a string, got the object {}\n\
         - `stops[1].nights`: expected an integer from 0 to 255, got the string \"two\"\n\
         Call it again with this put right."
    );
}

#[tokio::test]
async fn schema_rules_are_checked_before_the_body_runs() {
    let with_days =
        |days: u32| format!(r#"{{"from":"Oslo","stops":[],"days":{days},"class":"first"}}"#);
    assert_eq!(call(&trip {}, with_days(7)).await.unwrap(), "Oslo [] Some(7) First");
    assert!(refusal(&trip {}, with_days(8)).await.contains("`days`"));
    assert!(refusal(&trip {}, with_days(0)).await.contains("`days`"));
    assert!(refusal(&trip {}, with_days(300)).await.contains("`days`"));
}

#[tokio::test]
async fn wrapped_arguments_are_unwrapped() {
    let json = r#"{"from": "Oslo", "stops": [], "class": "second"}"#;
    for text in [
        format!("```json\n{json}\n```"),
        format!("Here you are: {json}"),
        format!("<tool_call>{json}</tool_call>"),
        format!("\u{feff}{json}"),
        serde_json::to_string(json).unwrap(),
    ] {
        let ctx = ToolContext::default();
        let output = trip {}.call(text.as_str().into(), &ctx).await.unwrap();
        assert_eq!(output.as_text(), "Oslo [] None Second", "{text}");
        assert!(!ctx.fixes().is_empty(), "{text}");
    }
    let ctx = ToolContext::default();
    trip {}.call(json.into(), &ctx).await.unwrap();
    assert!(ctx.fixes().is_empty());
}

#[tokio::test]
async fn non_object_arguments_are_refused() {
    for text in ["", "null", "[]", "\"Oslo\"", "5", "{", "Oslo", "{\"from\": }"] {
        let output = refusal(&trip {}, text).await;
        assert!(output.starts_with("`trip` was not called"), "{text}: {output}");
    }
}

/// A code of two capitals.
#[derive(Debug)]
#[expect(dead_code, reason = "printed")]
struct Country(String);

impl<'de> Deserialize<'de> for Country {
    fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let text = String::deserialize(input)?;
        if text.len() == 2 && text.chars().all(|c| c.is_ascii_uppercase()) {
            return Ok(Self(text));
        }
        Err(serde::de::Error::custom("expected a country code, such as \"NO\""))
    }
}

impl schemars::JsonSchema for Country {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Country".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string" })
    }
}

/// Lists them.
#[tool]
async fn countries(list: Vec<Country>) -> String {
    format!("{list:?}")
}

#[tokio::test]
async fn custom_deserialize_errors_have_a_path() {
    for arguments in [
        Arguments::from(r#"{"list": ["NO", "no"]}"#),
        Arguments::from(r#"```{"list": ["NO", "no"]}```"#),
        Arguments::from(json!({ "list": ["NO", "no"] })),
    ] {
        let output = refusal(&countries {}, arguments).await;
        assert!(
            output.contains("\n- `list[1]`: expected a country code, such as \"NO\"\n"),
            "{output}"
        );
    }
}

#[tokio::test]
async fn duplicate_argument_is_refused() {
    let output = refusal(&exact {}, r#"{"number": 1, "long": 2, "number": 3}"#).await;
    assert!(output.contains("twice"), "{output}");
}

/// Returns the encodings in which models send the same arguments.
fn spellings(json: &str) -> [Arguments; 6] {
    [
        json.into(),
        format!("```json\n{json}\n```").as_str().into(),
        format!("Here are the arguments:\n{json}").as_str().into(),
        format!("<tool_call>{json}</tool_call>").as_str().into(),
        serde_json::to_string(json).unwrap().as_str().into(),
        Arguments::Value(Value::from(json).into()),
    ]
}

/// Returns the result, or `None` if the arguments are refused; it is the same for each encoding.
pub async fn output_of_each_encoding(tool: &impl Tool, json: &str) -> Option<String> {
    let mut all = Vec::new();
    for arguments in spellings(json) {
        all.push(call(tool, arguments).await.ok());
    }
    assert!(all.iter().all(|it| *it == all[0]), "{json}: {all:?}");
    all.swap_remove(0)
}

#[args]
struct Town {
    #[serde(alias = "town")]
    city: String,
    #[serde(default, deserialize_with = "number_or_text")]
    days: u8,
    #[serde(default, rename = "long-stay")]
    long: bool,
}

fn number_or_text<'de, D: serde::Deserializer<'de>>(input: D) -> Result<u8, D::Error> {
    let value = Value::deserialize(input)?;
    let number = value.as_u64().or_else(|| value.as_str()?.parse().ok());
    number
        .and_then(|number| number.try_into().ok())
        .ok_or_else(|| serde::de::Error::custom("expected a number"))
}

#[args]
struct RuledTown {
    #[serde(alias = "town")]
    city: String,
    #[serde(default, deserialize_with = "number_or_text")]
    #[schemars(range(max = 7))]
    days: u8,
    #[serde(default, rename = "long-stay")]
    long: bool,
    #[schemars(range(min = 1))]
    rooms: Option<u8>,
}

/// Visits it.
#[tool]
async fn visit(town: Town) -> String {
    format!("{} {} {}", town.city, town.days, town.long)
}

/// Visits it by the rules.
#[tool]
async fn visit_by_rules(town: RuledTown) -> String {
    let _ = town.rooms;
    format!("{} {} {}", town.city, town.days, town.long)
}

/// Rules apply to what the schema describes. The type alone decides about the rest.
#[tokio::test]
async fn schema_rules_apply_besides_the_type() {
    for (json, plain, ruled) in [
        (r#"{"city": "Oslo"}"#, Some("Oslo 0 false"), Some("Oslo 0 false")),
        (r#"{"town": "Oslo"}"#, Some("Oslo 0 false"), None),
        (r#"{"town": "Oslo", "days": "3"}"#, Some("Oslo 3 false"), None),
        (r#"{"city": "Oslo", "days": "9"}"#, Some("Oslo 9 false"), None),
        (
            r#"{"city": "Oslo", "days": 3, "long-stay": true}"#,
            Some("Oslo 3 true"),
            Some("Oslo 3 true"),
        ),
        (r#"{"city": "Oslo", "days": 8}"#, Some("Oslo 8 false"), None),
        (r#"{"city": "Oslo", "long": true}"#, None, None),
        (r#"{"city": "Oslo", "town": "Rome"}"#, None, None),
        (r#"{"city": "Oslo", "city": "Rome"}"#, None, None),
        (r#"{"city": "Oslo", "days": "many"}"#, None, None),
        (r#"["Oslo", 3, true]"#, None, None),
        (r"{}", None, None),
    ] {
        assert_eq!(output_of_each_encoding(&visit {}, json).await.as_deref(), plain, "{json}");
        assert_eq!(
            output_of_each_encoding(&visit_by_rules {}, json).await.as_deref(),
            ruled,
            "{json}"
        );
    }
}

/// Counts.
#[tool]
async fn count(number: u128, share: f64, rest: Option<Value>) -> String {
    format!("{number} {share:e} {rest:?}")
}

#[tokio::test]
async fn digits_and_keys_survive_unwrapping() {
    let json = r#"{"number": 340282366920938463463374607431768211455, "share": 0.1}"#;
    let output = output_of_each_encoding(&count {}, json).await;
    assert_eq!(output.unwrap(), "340282366920938463463374607431768211455 1e-1 None");
    let json = r#"{"number": 340282366920938463463374607431768211456, "share": 0.1}"#;
    assert_eq!(output_of_each_encoding(&count {}, json).await, None);
    let json = r#"{"number": 1.0, "share": 2, "number": 3}"#;
    assert_eq!(output_of_each_encoding(&count {}, json).await, None);
    let json = r#"{"number": 1.0, "share": 2}"#;
    assert_eq!(output_of_each_encoding(&count {}, json).await.unwrap(), "1 2e0 None");
}
