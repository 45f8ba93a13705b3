use super::*;

/// Where to look,
/// and how far.
#[args]
struct Forecast {
    /// City name, such as "Oslo".
    city: String,
    /// Days ahead.
    days: Option<u8>,
}

/// Weather forecast for a city.
///
///   Indented, and a last line.
#[tool(effect = "read", idempotent, timeout = "1500ms")]
async fn forecast(args: Forecast) -> String {
    format!("{} {:?}", args.city, args.days)
}

#[tool(name = "Say-it_2", description = "Says it.")]
async fn named(
    /// What to say;
    /// in two lines.
    text: String,
    r#type: Option<u32>,
) -> String {
    format!("{text}{:?}", r#type)
}

#[test]
fn args_struct_is_the_schema() {
    let definition = forecast {}.definition().clone();
    assert_eq!(definition.name, "forecast");
    assert_eq!(
        definition.description,
        "Weather forecast for a city.\n\n  Indented, and a last line."
    );
    assert_eq!(definition.effect, Effect::Read);
    assert!(definition.idempotent);
    assert_eq!(definition.timeout, Some(Duration::from_millis(1500)));
    assert_eq!(
        *definition.parameters.as_value(),
        json!({
            "type": "object",
            "description": "Where to look,\nand how far.",
            "properties": {
                "city": { "type": "string", "description": "City name, such as \"Oslo\"." },
                "days": {
                    "type": ["integer", "null"], "minimum": 0, "maximum": 255,
                    "description": "Days ahead.",
                },
            },
            "required": ["city"],
            "additionalProperties": false,
        })
    );
}

#[test]
fn parameters_are_the_members_of_the_schema() {
    let definition = named {}.definition().clone();
    assert_eq!(definition.name, "Say-it_2");
    assert_eq!(definition.description, "Says it.");
    assert_eq!(definition.effect, Effect::External);
    assert!(!definition.idempotent);
    assert_eq!(definition.timeout, None);
    assert_eq!(
        *definition.parameters.as_value(),
        json!({
            "type": "object",
            "properties": {
                "text": { "type": "string", "description": "What to say;\nin two lines." },
                "type": { "type": ["integer", "null"], "minimum": 0, "maximum": 4_294_967_295u32 },
            },
            "required": ["text"],
            "additionalProperties": false,
        })
    );
}

/// A doc comment before another attribute is still the description.
#[tool]
#[allow(clippy::unused_async, reason = "the attribute is what is tested")]
async fn documented() {}

#[doc = concat!("Put ", "together.")]
#[tool]
async fn computed() {}

#[test]
fn every_kind_of_doc_comment_is_the_description() {
    assert_eq!(
        documented {}.definition().description,
        "A doc comment before another attribute is still the description."
    );
    assert_eq!(computed {}.definition().description.trim(), "Put together.");
    assert_eq!(
        *documented {}.definition().parameters.as_value(),
        json!({ "type": "object", "properties": {}, "additionalProperties": false })
    );
}

#[tokio::test]
async fn annotated_function_can_be_called() {
    assert_eq!(forecast(Forecast { city: "Oslo".into(), days: None }).await, "Oslo None");
    let named = named("a".into(), Some(1)).await;
    assert_eq!(named, "aSome(1)");
}

#[test]
fn definition_is_built_once() {
    assert!(std::ptr::eq(forecast {}.definition(), forecast {}.definition()));
}

mod two {
    /// Another tool with the same name.
    #[tool_runtime::tool]
    pub async fn forecast() {}
}

#[test]
fn duplicate_names_are_refused() {
    let error = Registry::try_from(tools![forecast, two::forecast]).unwrap_err();
    assert_eq!(error, RegistryError::Duplicate { name: "forecast".into() });
}

struct Remote(ToolDefinition);

#[tool_runtime::async_trait]
impl Tool for Remote {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    async fn call(&self, _: Arguments, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text("far away"))
    }
}

#[tokio::test]
async fn handwritten_tool_joins_generated_tools() {
    let schema = json!({ "type": "object" });
    let remote = Remote(ToolDefinition::new("remote", "Far away.", schema));
    let registry = Registry::try_from(tools![forecast].with(remote).with(named {})).unwrap();
    let snapshot = registry.snapshot();
    let names: Vec<_> = snapshot.definitions().iter().map(|tool| tool.name.clone()).collect();
    assert_eq!(names, ["Say-it_2", "forecast", "remote"]);
}

#[test]
fn unsupported_definitions_are_refused() {
    let refused = |name: &str, description: &str, schema: Value| {
        let tools = Tools::new().with(Remote(ToolDefinition::new(name, description, schema)));
        Registry::try_from(tools).unwrap_err().to_string()
    };
    let object = || json!({ "type": "object" });
    assert!(refused("über", "Text.", object()).contains("`über`: expected 1 to 128"));
    assert!(refused("", "Text.", object()).contains("1 to 128"));
    assert!(refused(&"x".repeat(129), "Text.", object()).contains("1 to 128"));
    assert!(refused("x", " \n", object()).contains("no description"));
    assert!(refused("x", "Text.", json!({ "type": "string" })).contains("schema type \"string\","));
    assert!(refused("x", "Text.", json!(true)).contains("schema type null, expected \"object\""));
    let text = "description of tool `x` contains the control or invisible character \\u{202e}";
    assert_eq!(refused("x", "Does \u{202e}it.", object()), text);
    let text = "description of tool `x` is too long: 65537 bytes, at most 65536";
    assert_eq!(refused("x", &"x".repeat(65_537), object()), text);
}

#[test]
fn reference_to_a_missing_part_of_the_schema_is_refused() {
    let missing = json!({ "$ref": "#/$defs/Missing" });
    for (part, is_valid) in [
        (json!({ "$ref": "#" }), true),
        (json!({ "$ref": "#/$defs/Place" }), true),
        (json!({ "$ref": "#/$defs/Pl%61ce" }), true),
        (json!({ "$ref": "#/$defs/a~1b" }), true),
        (json!({ "$ref": "#/properties/at" }), true),
        // What only other implementations resolve is left to them.
        (json!({ "$ref": "#anchor" }), true),
        (json!({ "$ref": "https://example.com/place.json" }), true),
        // Values and names of members are no references.
        (json!({ "enum": [missing], "default": missing, "examples": [missing] }), true),
        (json!({ "properties": { "$ref": { "type": "string" } } }), true),
        (missing.clone(), false),
        (json!({ "$ref": "#/definitions/Place" }), false),
        (json!({ "type": "array", "items": missing }), false),
        (json!({ "anyOf": [{ "type": "null" }, missing] }), false),
        (json!({ "properties": { "deep": { "additionalProperties": missing } } }), false),
        (json!({ "$ref": "#/$defs/Outer" }), true),
        (json!({ "$defs": { "Inner": missing } }), false),
    ] {
        let schema = json!({
            "type": "object",
            "properties": { "at": part },
            "$defs": {
                "Place": { "type": "string" },
                "a/b": { "type": "string" },
                "Outer": { "$ref": "#/$defs/Place" },
            },
        });
        let checked = ToolDefinition::new("visit", "Visits a place.", schema).validate();
        assert_eq!(checked.is_ok(), is_valid, "{part}");
        let is_dangling =
            matches!(checked, Err(tool_runtime::DefinitionError::DanglingReference { .. }));
        assert_eq!(is_dangling, !is_valid, "{part}");
    }
}
