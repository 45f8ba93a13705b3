//! The JSON Schema of checked types, as `#[args]` generates it for the equivalent types.

use serde_json::{Map, Value, json};

use super::checked_type::{CheckedField, CheckedType, Presence};

/// Returns the schema of an object with these members.
pub(super) fn object(fields: &[CheckedField]) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for field in fields {
        properties.insert(field.name.clone(), member(field));
        if field.presence == Presence::Required {
            required.push(Value::from(field.name.as_str()));
        }
    }
    let mut schema = json!({ "type": "object", "additionalProperties": false });
    if !properties.is_empty() {
        schema = with(schema, "properties", properties.into());
    }
    if !required.is_empty() {
        schema = with(schema, "required", required.into());
    }
    schema
}

/// Returns the schema of values of a type.
pub(super) fn of(checked_type: &CheckedType) -> Value {
    match checked_type {
        CheckedType::String { min, max } => {
            limited("string", [("minLength", *min), ("maxLength", *max)])
        }
        CheckedType::Integer { min, max } => {
            limited("integer", [("minimum", *min), ("maximum", *max)])
        }
        CheckedType::Number { min, max } => {
            limited("number", [("minimum", min.clone()), ("maximum", max.clone())])
        }
        CheckedType::Boolean => json!({ "type": "boolean" }),
        CheckedType::Enum(values) => json!({ "type": "string", "enum": values }),
        CheckedType::List { items, min, max } => {
            let list = limited("array", [("minItems", *min), ("maxItems", *max)]);
            with(list, "items", of(items))
        }
        CheckedType::Map { values, min, max } => {
            let map = limited("object", [("minProperties", *min), ("maxProperties", *max)]);
            with(map, "additionalProperties", of(values))
        }
        CheckedType::Object(fields) => object(fields),
    }
}

fn member(field: &CheckedField) -> Value {
    let schema = match &field.presence {
        Presence::Required => of(&field.field_type),
        Presence::Optional => nullable(of(&field.field_type), &field.field_type),
        Presence::Default(value) => with(of(&field.field_type), "default", value.clone()),
    };
    match field.description.as_str() {
        "" => schema,
        text => with(schema, "description", text.into()),
    }
}

/// Allows `null`, as an optional member of a struct does.
fn nullable(mut schema: Value, checked_type: &CheckedType) -> Value {
    if matches!(checked_type, CheckedType::Enum(_) | CheckedType::Object(_)) {
        return json!({ "anyOf": [schema, { "type": "null" }] });
    }
    if let Some(name) = schema.get_mut("type") {
        *name = json!([name.take(), "null"]);
    }
    schema
}

fn limited<T: Into<Value>>(name: &str, limits: [(&str, Option<T>); 2]) -> Value {
    let limits = limits.into_iter().filter_map(|(keyword, limit)| Some((keyword, limit?)));
    limits.fold(json!({ "type": name }), |schema, (keyword, limit)| {
        with(schema, keyword, limit.into())
    })
}

fn with(mut schema: Value, keyword: &str, value: Value) -> Value {
    if let Some(members) = schema.as_object_mut() {
        members.insert(keyword.into(), value);
    }
    schema
}
