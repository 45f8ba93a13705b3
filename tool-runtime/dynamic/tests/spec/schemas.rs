//! The schema of a dynamic tool is the one of the equivalent `#[args]` struct.

use std::collections::BTreeMap;

use serde_json::Value;
use tool_dynamic::{ArgumentField, ElementType, FieldType, ToolSpec};
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

fn field(name: &str, field_type: FieldType) -> ArgumentField {
    ArgumentField::new(name, field_type)
}

fn unit(name: &str) -> ArgumentField {
    field(name, FieldType::Enum).values(["celsius", "kelvin"])
}

fn place(name: &str) -> ArgumentField {
    field(name, FieldType::Object)
        .member(field("lat", FieldType::Number).description("Degrees north."))
        .member(field("name", FieldType::String).optional())
}

fn schema(spec: &ToolSpec) -> Value {
    spec.check().unwrap().definition().parameters.as_value().clone()
}

fn of<T: schemars::JsonSchema>() -> Value {
    Schema::of::<T>().as_value().clone()
}

#[test]
fn scalars_have_the_schema_of_args() {
    let mut latitude = field("lat", FieldType::Number);
    latitude.min = serde_json::Number::from_f64(-90.0);
    latitude.max = serde_json::Number::from_f64(90.0);
    let tool = spec([
        field("text", FieldType::String).description("A text."),
        field("short", FieldType::String).range(1, 20),
        field("count", FieldType::Integer),
        field("days", FieldType::Integer).range(1, 7).description("The number of days."),
        field("ratio", FieldType::Number),
        latitude,
        field("deep", FieldType::Boolean),
    ]);
    assert_eq!(schema(&tool), of::<Scalars>());
}

#[test]
fn optional_fields_have_the_schema_of_args() {
    let tool = spec([
        field("text", FieldType::String).optional(),
        field("days", FieldType::Integer).range(1, 7).optional().description("The number of days."),
        unit("unit").optional(),
        place("start").optional().description("The place to begin."),
        field("tags", FieldType::List).items(ElementType::new(FieldType::String)).optional(),
        field("limit", FieldType::Integer).default_value(3),
    ]);
    assert_eq!(schema(&tool), of::<Omitted>());
}

#[test]
fn containers_have_the_schema_of_args() {
    let inner = ElementType::new(FieldType::List).items(ElementType::new(FieldType::Integer));
    let tool = spec([
        unit("unit").description("How to measure."),
        field("names", FieldType::List).items(ElementType::new(FieldType::String)),
        field("pair", FieldType::List).items(inner).range(1, 3),
        field("counts", FieldType::Map).items(ElementType::new(FieldType::Integer)),
        place("place").description("A place."),
    ]);
    assert_eq!(schema(&tool), of::<Containers>());
    let stop = place("")
        .fields
        .into_iter()
        .fold(ElementType::new(FieldType::Object), |it, member| it.member(member));
    let tool = spec([field("stops", FieldType::List).items(stop)]);
    assert_eq!(schema(&tool), of::<Stops>());
}

#[test]
fn tool_without_fields_has_the_schema_of_args() {
    assert_eq!(schema(&spec([])), of::<NoArguments>());
}
