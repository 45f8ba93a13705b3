//! Keywords with a value of the wrong kind are refused, because validation would ignore them.

use serde_json::{Value, json};
use tool_runtime::{
    Arguments, DefinitionError, Registry, Tool, ToolContext, ToolDefinition, ToolError, ToolOutput,
    Tools, async_trait,
};

struct Remote(ToolDefinition);

#[async_trait]
impl Tool for Remote {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    async fn call(&self, _: Arguments, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text("done"))
    }
}

fn definition(name: &str, part: &Value) -> ToolDefinition {
    let schema = json!({ "type": "object", "properties": { "at": part } });
    ToolDefinition::new(name, "Visits a place.", schema)
}

#[test]
fn keyword_of_the_wrong_kind_is_refused_with_its_path_and_value() {
    for (part, path, value) in [
        (json!({ "type": "nubmer" }), "type", "\"nubmer\""),
        (json!({ "type": ["string", "any"] }), "type", "[\"string\",\"any\"]"),
        (json!({ "type": [] }), "type", "[]"),
        (json!({ "enum": "a" }), "enum", "\"a\""),
        (json!({ "minimum": "0" }), "minimum", "\"0\""),
        (json!({ "maximum": null }), "maximum", "null"),
        (json!({ "exclusiveMinimum": "0" }), "exclusiveMinimum", "\"0\""),
        (json!({ "exclusiveMaximum": [] }), "exclusiveMaximum", "[]"),
        (json!({ "multipleOf": 0 }), "multipleOf", "0"),
        (json!({ "multipleOf": -1 }), "multipleOf", "-1"),
        (json!({ "pattern": "(" }), "pattern", "\"(\""),
        (json!({ "pattern": 1 }), "pattern", "1"),
        (json!({ "minLength": 0.5 }), "minLength", "0.5"),
        (json!({ "maxLength": -1 }), "maxLength", "-1"),
        (json!({ "minItems": "1" }), "minItems", "\"1\""),
        (json!({ "maxItems": true }), "maxItems", "true"),
        (json!({ "minContains": -1 }), "minContains", "-1"),
        (json!({ "maxContains": -1 }), "maxContains", "-1"),
        (json!({ "minProperties": -1 }), "minProperties", "-1"),
        (json!({ "maxProperties": {} }), "maxProperties", "{}"),
        (json!({ "uniqueItems": "true" }), "uniqueItems", "\"true\""),
        (json!({ "writeOnly": "true" }), "writeOnly", "\"true\""),
        (json!({ "required": true }), "required", "true"),
        (json!({ "required": ["a", 1] }), "required", "[\"a\",1]"),
        (json!({ "dependentRequired": { "a": "b" } }), "dependentRequired", "{\"a\":\"b\"}"),
        (json!({ "$ref": 1 }), "$ref", "1"),
        (json!({ "anyOf": [] }), "anyOf", "[]"),
        (json!({ "oneOf": { "type": "string" } }), "oneOf", "{\"type\":\"string\"}"),
        (json!({ "allOf": {} }), "allOf", "{}"),
        (json!({ "anyOf": [true, "string"] }), "anyOf.1", "\"string\""),
        (json!({ "prefixItems": true }), "prefixItems", "true"),
        (json!({ "properties": ["a"] }), "properties", "[\"a\"]"),
        (json!({ "properties": { "a": "string" } }), "properties.a", "\"string\""),
        (json!({ "properties": { "a": { "minimum": "0" } } }), "properties.a.minimum", "\"0\""),
        (json!({ "patternProperties": { "(": {} } }), "patternProperties", "\"(\""),
        (json!({ "dependentSchemas": [] }), "dependentSchemas", "[]"),
        (json!({ "$defs": { "A": { "minimum": "0" } } }), "$defs.A.minimum", "\"0\""),
        (json!({ "items": "string" }), "items", "\"string\""),
        (json!({ "items": [{ "enum": 1 }] }), "items.0.enum", "1"),
        (json!({ "additionalProperties": "false" }), "additionalProperties", "\"false\""),
        (json!({ "not": { "not": 1 } }), "not.not", "1"),
        (json!({ "if": true, "then": "a" }), "then", "\"a\""),
        (json!({ "contains": 1 }), "contains", "1"),
        (json!({ "propertyNames": null }), "propertyNames", "null"),
        (json!({ "unevaluatedProperties": 0 }), "unevaluatedProperties", "0"),
    ] {
        match definition("visit", &part).validate() {
            Err(DefinitionError::MalformedKeyword { path: found, mismatch, .. }) => {
                assert_eq!(*found, *format!("properties.at.{path}"));
                assert!(mismatch.starts_with(&format!("{value}, expected ")), "{mismatch}");
            }
            other => panic!("{part}: {other:?}"),
        }
    }
    let error = definition("visit", &json!({ "minimum": "0" })).validate().unwrap_err();
    let text = "parameters of tool `visit`: keyword `properties.at.minimum` is \"0\", expected a \
                number";
    assert_eq!(error.to_string(), text);
}

#[test]
fn part_that_only_a_reference_reaches_is_checked() {
    let schema = json!({
        "type": "object",
        "properties": { "at": { "$ref": "#/parts/place" } },
        "parts": { "place": { "minimum": "0" }, "unused": { "minimum": "0" } },
    });
    let error = ToolDefinition::new("visit", "Visits a place.", schema).validate().unwrap_err();
    assert!(error.to_string().contains("keyword `#/parts/place.minimum` is \"0\""), "{error}");
}

#[test]
fn keyword_of_its_kind_and_foreign_keyword_are_accepted() {
    for part in [
        json!(true),
        json!({ "type": ["string", "null"], "enum": ["a", null], "const": "a" }),
        json!({ "minimum": -1.5, "maximum": 1e300, "multipleOf": 0.1 }),
        // Draft 4.
        json!({ "minimum": 0, "exclusiveMinimum": true, "maximum": 1, "exclusiveMaximum": false }),
        json!({ "items": [{}, true], "additionalItems": false }),
        json!({ "minLength": 2.0, "maxLength": 5 }),
        // Features that the regular expressions of the validator lack.
        json!({ "pattern": "^(?=R)" }),
        json!({ "pattern": "^\\p{L}+$" }),
        json!({ "patternProperties": { "^(?!x)": {} } }),
        // Values and names of members are no keywords.
        json!({ "enum": [{ "minimum": "0" }], "default": { "type": 1 } }),
        json!({ "const": { "enum": 1 }, "examples": [{ "items": 1 }] }),
        json!({ "properties": { "minimum": { "type": "string" }, "enum": {}, "type": {} } }),
        json!({ "x-rule": { "minimum": "0" }, "nullable": "yes", "dependencies": [] }),
    ] {
        assert_eq!(definition("visit", &part).validate(), Ok(()), "{part}");
    }
}

#[test]
fn foreign_tool_is_skipped_for_a_malformed_keyword_and_kept_with_an_unsupported_pattern() {
    let tools = Tools::new()
        .with(Remote(definition("find", &json!({ "pattern": "(" }))))
        .with(Remote(definition("visit", &json!({ "pattern": "^(?=R)" }))));
    let report = Registry::new().register_valid_from("map", tools).unwrap();
    assert_eq!(report.registered, ["map__visit"]);
    let error = report.skipped[0].error.to_string();
    assert!(error.contains("keyword `properties.at.pattern` is \"(\""), "{error}");
}
