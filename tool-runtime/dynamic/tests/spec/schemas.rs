//! The schema of a dynamic tool is the one of the equivalent `#[args]` struct.

use std::collections::BTreeMap;

use serde_json::Value;
use tool_dynamic::{ArgumentField, ArgumentType, ElementType, ToolSpec};
use tool_runtime::args;
use tool_runtime::schema::Schema;

use super::spec;

#[args]
#[expect(dead_code, reason = "only the schema of the type is used")]
struct Scalars {
    /// A text.
    text: String,
    #[schemars(length(min = 1, max = 20))]
    short: String,
    count: i64,
    /// The number of days.
    #[schemars(range(min = 1, max = 7))]
    days: i64,
    ratio: f64,
    #[schemars(range(min = -90.0, max = 90.0))]
    lat: f64,
    deep: bool,
}

#[args]
enum Unit {
    #[serde(rename = "celsius")]
    Celsius,
    #[serde(rename = "kelvin")]
    Kelvin,
}

#[args]
#[expect(dead_code, reason = "only the schema of the type is used")]
struct Omitted {
    text: Option<String>,
    /// The number of days.
    #[schemars(range(min = 1, max = 7))]
    days: Option<i64>,
    unit: Option<Unit>,
    /// The place to begin.
    start: Option<Place>,
    tags: Option<Vec<String>>,
    #[serde(default = "three")]
    limit: i64,
}

#[args]
#[expect(dead_code, reason = "only the schema of the type is used")]
struct Place {
    /// Degrees north.
    lat: f64,
    name: Option<String>,
}

fn three() -> i64 {
    3
}

#[args]
#[expect(dead_code, reason = "only the schema of the type is used")]
struct Containers {
    /// How to measure.
    unit: Unit,
    names: Vec<String>,
    #[schemars(length(min = 1, max = 3))]
    pair: Vec<Vec<i64>>,
    counts: BTreeMap<String, i64>,
    /// A place.
    place: Place,
}

#[args]
#[expect(dead_code, reason = "only the schema of the type is used")]
struct Stops {
    stops: Vec<Place>,
}

#[args]
struct NoArguments {}

fn field(name: &str, field_type: ArgumentType) -> ArgumentField {
    ArgumentField::new(name, field_type)
}

fn unit(name: &str) -> ArgumentField {
    field(name, ArgumentType::Enum).values(["celsius", "kelvin"])
}

fn place(name: &str) -> ArgumentField {
    field(name, ArgumentType::Object)
        .member(field("lat", ArgumentType::Number).description("Degrees north."))
        .member(field("name", ArgumentType::String).optional())
}

fn schema(spec: &ToolSpec) -> Value {
    spec.check().unwrap().definition().parameters.as_value().clone()
}

fn of<T: schemars::JsonSchema>() -> Value {
    Schema::of::<T>().as_value().clone()
}

#[test]
fn scalars_have_the_schema_of_args() {
    let mut latitude = field("lat", ArgumentType::Number);
    latitude.min = serde_json::Number::from_f64(-90.0);
    latitude.max = serde_json::Number::from_f64(90.0);
    let tool = spec([
        field("text", ArgumentType::String).description("A text."),
        field("short", ArgumentType::String).range(1, 20),
        field("count", ArgumentType::Integer),
        field("days", ArgumentType::Integer).range(1, 7).description("The number of days."),
        field("ratio", ArgumentType::Number),
        latitude,
        field("deep", ArgumentType::Boolean),
    ]);
    assert_eq!(schema(&tool), of::<Scalars>());
}

#[test]
fn optional_fields_have_the_schema_of_args() {
    let tool = spec([
        field("text", ArgumentType::String).optional(),
        field("days", ArgumentType::Integer)
            .range(1, 7)
            .optional()
            .description("The number of days."),
        unit("unit").optional(),
        place("start").optional().description("The place to begin."),
        field("tags", ArgumentType::List).items(ElementType::new(ArgumentType::String)).optional(),
        field("limit", ArgumentType::Integer).default_value(3),
    ]);
    assert_eq!(schema(&tool), of::<Omitted>());
}

#[test]
fn containers_have_the_schema_of_args() {
    let inner = ElementType::new(ArgumentType::List).items(ElementType::new(ArgumentType::Integer));
    let tool = spec([
        unit("unit").description("How to measure."),
        field("names", ArgumentType::List).items(ElementType::new(ArgumentType::String)),
        field("pair", ArgumentType::List).items(inner).range(1, 3),
        field("counts", ArgumentType::Map).items(ElementType::new(ArgumentType::Integer)),
        place("place").description("A place."),
    ]);
    assert_eq!(schema(&tool), of::<Containers>());
    let stop = place("")
        .fields
        .into_iter()
        .fold(ElementType::new(ArgumentType::Object), |it, member| it.member(member));
    let tool = spec([field("stops", ArgumentType::List).items(stop)]);
    assert_eq!(schema(&tool), of::<Stops>());
}

#[test]
fn tool_without_fields_has_the_schema_of_args() {
    assert_eq!(schema(&spec([])), of::<NoArguments>());
}
