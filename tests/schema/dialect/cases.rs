//! Tests of the conversion of single keywords, and of limits.

use serde_json::{Value, json};
use tool_runtime::schema::{Dialect, DialectError, Schema};

const OPENAI: Dialect = Dialect::OpenAiStrict;
const ANTHROPIC: Dialect = Dialect::AnthropicStrict;

/// Converts a schema with the required member `a` of this schema.
fn convert(member: Value, dialect: Dialect) -> Result<Value, DialectError> {
    Ok(document(member, dialect)?["properties"]["a"].clone())
}

/// Converts a schema whose member refers to a definition, and returns the definition.
fn definition(name: &str, member: &Value, dialect: Dialect) -> Value {
    document(member.clone(), dialect).unwrap()["$defs"][name].clone()
}

fn document(member: Value, dialect: Dialect) -> Result<Value, DialectError> {
    let whole = json!({
        "type": "object",
        "properties": {"a": member},
        "required": ["a"],
        "$defs": {
            "Pair": {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]},
            "Tree": {
                "type": "object",
                "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}},
                "required": ["kids"],
            },
            "Name": {"type": "string", "maxLength": 9},
            "Short": {"$ref": "#/$defs/Name", "maxLength": 7},
            "Odd": {"type": "string", "pattern": "^a"},
            "Named": {"$ref": "#/$defs/Name", "title": "Theirs", "default": "b"},
            "Begun": {"$ref": "#/$defs/Name", "pattern": "^a"},
            "Chain": {
                "type": "object",
                "properties": {"next": {"anyOf": [{"$ref": "#/$defs/Chain"}, {"type": "null"}]}},
            },
        },
    });
    Ok(Schema::from(whole).for_dialect(dialect)?.as_value().clone())
}

#[test]
fn keywords_convert_to_each_dialect() {
    let pair = json!({"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"],
        "additionalProperties": false});
    let tuple = json!({"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}],
        "minItems": 2, "maxItems": 2});
    let items = json!([{"type": "integer", "description": "Item 1"},
        {"type": "string", "description": "Item 2"}]);
    for (dialect, original, expected) in [
        (OPENAI, json!({"const": "a"}), json!({"type": "string", "enum": ["a"]})),
        (
            OPENAI,
            json!({"type": "integer", "format": "int64", "default": 3}),
            json!({"type": "integer", "description": "(default: 3)"}),
        ),
        (
            OPENAI,
            json!({"$ref": "#/$defs/Pair", "description": "Two."}),
            json!({"anyOf": [{"$ref": "#/$defs/Pair"}], "description": "Two."}),
        ),
        (
            OPENAI,
            json!({"oneOf": [{"type": "string"}, {"type": "integer"}]}),
            json!({"anyOf": [{"type": "string"}, {"type": "integer"}]}),
        ),
        (
            OPENAI,
            json!({"oneOf": [{"type": "number"}, {"type": "integer"}]}),
            json!({"anyOf": [{"type": "number"}, {"type": "integer"}],
                "description": "(oneOf: \"exactly one has to fit\")"}),
        ),
        (
            OPENAI,
            tuple.clone(),
            json!({"type": "array", "items": {"anyOf": items}, "minItems": 2, "maxItems": 2}),
        ),
        (Dialect::Gemini, tuple.clone(), tuple.clone()),
        (
            ANTHROPIC,
            tuple,
            json!({"type": "array", "items": {"anyOf": items}, "description": "(maxItems: 2, minItems: 2)"}),
        ),
        (
            ANTHROPIC,
            json!({"type": "integer", "minimum": 1, "description": "Days."}),
            json!({"type": "integer", "description": "Days. (minimum: 1)"}),
        ),
        (ANTHROPIC, json!({"$ref": "#/$defs/Pair"}), pair),
        (
            Dialect::GeminiOpenApi,
            json!({"type": ["integer", "null"], "exclusiveMinimum": 0}),
            json!({"type": "integer", "nullable": true, "description": "(exclusiveMinimum: 0)"}),
        ),
        (
            Dialect::GeminiOpenApi,
            json!({"enum": [1, 2]}),
            json!({"type": "integer", "description": "(enum: [1,2])"}),
        ),
        (
            Dialect::Ollama,
            json!({"type": "object", "additionalProperties": {"type": "integer"}}),
            json!({"type": "object", "description": "(additionalProperties: {\"type\":\"integer\"})"}),
        ),
    ] {
        let converted = convert(original.clone(), dialect)
            .unwrap_or_else(|error| panic!("{original}: {error}"));
        assert_eq!(converted, expected, "{dialect}: {original}");
    }
}

/// Rules beside a reference apply as well; of two limits the narrower one applies.
#[test]
fn rules_beside_a_reference_are_merged() {
    let with_sibling =
        |name: &str, most: u32| json!({"$ref": format!("#/$defs/{name}"), "maxLength": most});
    let keyword = |most: u32| json!({"type": "string", "maxLength": most});
    let words =
        |most: u32| json!({"type": "string", "description": format!("(maxLength: {most})")});
    for most in [5, 7, 8, 9, 20] {
        for (name, limit) in [("Name", 9), ("Short", 7)] {
            let original = with_sibling(name, most);
            let convert = |dialect| convert(original.clone(), dialect).unwrap();
            for dialect in [OPENAI, Dialect::Gemini] {
                let wrapping = json!({"anyOf": [{"$ref": format!("#/$defs/{name}")}],
                    "description": format!("(maxLength: {most})")});
                assert_eq!(convert(dialect), wrapping, "{dialect}: {original}");
            }
            let most = most.min(limit);
            assert_eq!(convert(Dialect::GeminiOpenApi), keyword(most), "{original}");
            for dialect in [ANTHROPIC, Dialect::Ollama] {
                assert_eq!(convert(dialect), words(most), "{dialect}: {original}");
            }
        }
    }
    // They also apply if both are merged with a third schema.
    for merged in [
        json!({"allOf": [{"$ref": "#/$defs/Short"}, {"type": "string", "minLength": 2}]}),
        json!({"$ref": "#/$defs/Short", "anyOf": [{"type": "string", "minLength": 2}]}),
        json!({"type": "string", "minLength": 2, "allOf": [{"$ref": "#/$defs/Short"}]}),
        json!({"type": "string", "minLength": 2, "$ref": "#/$defs/Short", "maxLength": 8}),
    ] {
        let original = json!({"type": "object", "allOf": [
            {"properties": {"b": merged}}, {"properties": {"b": {"type": "string"}}}]});
        let converted =
            convert(original, Dialect::GeminiOpenApi).unwrap()["properties"]["b"].clone();
        let expected = json!({"type": "string", "minLength": 2, "maxLength": 7});
        assert_eq!(converted, expected, "{merged}");
    }
    let original = json!({"$ref": "#/$defs/Name", "pattern": "^a"});
    let wrapping = json!({"anyOf": [{"$ref": "#/$defs/Name"}], "pattern": "^a"});
    assert_eq!(convert(original, OPENAI), Ok(wrapping));
    let original = json!({"$ref": "#/$defs/Odd", "pattern": "b$"});
    for dialect in [ANTHROPIC, Dialect::GeminiOpenApi, Dialect::Ollama] {
        let error = convert(original.clone(), dialect).unwrap_err();
        assert!(error.reason.contains("two values of the keyword `pattern`"), "{error}");
    }
}

/// Rules that can't be merged are an error; none is dropped silently.
#[test]
fn rules_beside_chained_references_are_merged() {
    let original = json!({"$ref": "#/$defs/Begun", "pattern": "b$"});
    for dialect in [OPENAI, Dialect::Gemini] {
        let converted = convert(original.clone(), dialect).unwrap();
        let pattern = |schema: &Value| match dialect {
            OPENAI => schema["pattern"].clone(),
            _ => schema["description"].clone(),
        };
        let [converted_here, from_definition] =
            [converted.clone(), definition("Begun", &original, dialect)];
        let expected = match dialect {
            OPENAI => ["b$", "^a"],
            _ => ["(pattern: \"b$\")", "(pattern: \"^a\")"],
        };
        assert_eq!([pattern(&converted_here), pattern(&from_definition)], expected, "{dialect}");
        assert_eq!(converted["anyOf"], json!([{"$ref": "#/$defs/Begun"}]));
    }
    let merged = json!({"type": "object", "allOf": [
        {"properties": {"b": original}}, {"properties": {"b": {"type": "string"}}}]});
    let beside_not = json!({"allOf": [
        {"$ref": "#/$defs/Name", "not": {"const": "a"}},
        {"$ref": "#/$defs/Name", "not": {"const": "b"}},
    ]});
    for (original, keyword, dialects) in [
        (original, "pattern", &[ANTHROPIC, Dialect::GeminiOpenApi, Dialect::Ollama][..]),
        (merged, "pattern", &[OPENAI, ANTHROPIC, Dialect::Gemini, Dialect::Ollama]),
        (beside_not, "not", &[OPENAI, ANTHROPIC, Dialect::Gemini, Dialect::Ollama]),
    ] {
        for dialect in dialects {
            let error = convert(original.clone(), *dialect).unwrap_err();
            let reason = format!("two values of the keyword `{keyword}`");
            assert!(error.reason.contains(&reason), "{dialect}: {error}");
        }
    }
    // Annotations are no rules: the nearer one takes precedence.
    let original =
        json!({"$ref": "#/$defs/Named", "title": "Ours", "default": "a", "description": "A."});
    let converted = convert(original, Dialect::Ollama).unwrap();
    assert_eq!(
        converted,
        json!({"type": "string", "description": "A. (default: \"a\", maxLength: 9, title: \"Ours\")"})
    );
}

#[test]
fn inexpressible_schemas_report_path_and_reason() {
    let map = json!({"type": "object", "additionalProperties": {"type": "integer"}});
    let in_array = |inner: &Value| {
        json!({"type": "array", "items": {"type": "object",
        "properties": {"odd name": inner}}})
    };
    for (dialect, original, path, reason) in [
        (OPENAI, map.clone(), "a", "maps are not supported"),
        (OPENAI, in_array(&map), "a[][\"odd name\"]", "maps are not supported"),
        (ANTHROPIC, json!({}), "a", "any value is allowed"),
        (ANTHROPIC, json!({"$ref": "#/$defs/Tree"}), "a.kids[]", "the type contains itself"),
        (ANTHROPIC, json!({"type": "object"}), "a", "the object names no members"),
        (
            Dialect::Gemini,
            json!({"$ref": "#/$defs/Tree"}),
            "a",
            "the type contains itself in a required",
        ),
        (
            Dialect::GeminiOpenApi,
            json!({"$ref": "#/$defs/Chain"}),
            "a.next",
            "the type contains itself",
        ),
        (Dialect::GeminiOpenApi, json!({"type": "array"}), "a[]", "any value is allowed"),
        (
            Dialect::Ollama,
            json!({"$ref": "#/$defs/None"}),
            "a",
            "reference `#/$defs/None` not found",
        ),
        (
            OPENAI,
            json!({"allOf": [{"type": "string"}, {"type": "integer"}]}),
            "a",
            "no value satisfies",
        ),
    ] {
        let error = convert(original.clone(), dialect).unwrap_err();
        assert_eq!(error.path, path, "{dialect}: {original}: {error}");
        assert!(error.reason.starts_with(reason), "{dialect}: {original}: {error}");
    }
    assert!(convert(json!({"$ref": "#/$defs/Tree"}), OPENAI).is_ok());
    assert!(convert(json!({"$ref": "#/$defs/Chain"}), Dialect::Gemini).is_ok());
    for original in [
        json!({"type": "object", "oneOf": [
        {"properties": {"x": {"const": 1}}}, {"properties": {"y": {"const": 1}}}]}),
        json!({"type": "string"}),
    ] {
        let error = Schema::from(original).for_dialect(OPENAI).unwrap_err();
        assert!(error.to_string().contains("the root schema: the root"), "{error}");
    }
}

/// Returns an object schema with optional members of these schemas.
fn members(schemas: impl Iterator<Item = Value>) -> Value {
    let named = schemas.enumerate().map(|(at, schema)| (format!("m{at}"), schema));
    json!({"type": "object", "properties": Value::Object(named.collect())})
}

#[test]
fn size_limits_are_reported() {
    let deep = |levels: usize| {
        (1..levels).fold(
            json!({"type": "object", "properties": {"a": {"type": "integer"}},
            "required": ["a"]}),
            |inner, _| json!({"type": "object", "properties": {"a": inner}, "required": ["a"]}),
        )
    };
    let listed = |count: usize, letters: usize| {
        let values: Vec<_> = (0..count).map(|at| format!("{at:0letters$}")).collect();
        members([json!({"type": "string", "enum": values})].into_iter())
    };
    let with_members = |count: usize| members((0..count).map(|_| json!({"type": "integer"})));
    let unions = |count: usize| members((0..count).map(|_| json!({"type": ["integer", "null"]})));
    for (dialect, most, more, reason) in [
        (OPENAI, deep(10), deep(11), "nesting limit exceeded: 11 of 10"),
        (OPENAI, listed(1_000, 10), listed(1_001, 10), "listed value limit exceeded: 1001 of 1000"),
        (OPENAI, listed(250, 100), listed(251, 100), "more than 250 listed values have"),
        (OPENAI, with_members(5_000), with_members(5_001), "member limit exceeded: 5001 of 5000"),
        (ANTHROPIC, with_members(24), with_members(25), "optional member limit exceeded: 25 of 24"),
        (ANTHROPIC, unions(16), unions(17), "union limit exceeded: 17 of 16"),
    ] {
        let most = Schema::from(most).for_dialect(dialect);
        assert!(most.is_ok(), "{dialect}: {most:?}");
        let error = Schema::from(more).for_dialect(dialect).unwrap_err();
        assert!(error.reason.starts_with(reason), "{dialect}: {error}");
    }
    let converted = Schema::from(with_members(12)).for_dialect(ANTHROPIC).unwrap();
    let none = Schema::from(with_members(0)).for_dialect(ANTHROPIC).unwrap();
    assert_eq!(ANTHROPIC.check_request([&converted, &converted]), Ok(()));
    assert!(ANTHROPIC.check_request([&converted, &converted, &converted]).is_err());
    assert_eq!(ANTHROPIC.check_request(vec![&none; 20]), Ok(()));
    let error = ANTHROPIC.check_request(vec![&none; 21]).unwrap_err();
    assert!(
        error.to_string().contains("strict tool limit exceeded: 21 of 20: use a selector"),
        "{error}"
    );
}

/// A model that is held to a schema writes members in its order, so conclusions come after their
/// reasons.
#[test]
fn members_keep_the_order_of_required() {
    let original = json!({
        "type": "object",
        "properties": {
            "answer": {"type": "string"}, "more": {"type": "string"}, "reasons": {"type": "string"},
            "verdict": {
                "type": "object",
                "properties": {"it": {"type": "boolean"}, "by": {"type": "string"}},
                "required": ["it", "by"],
            },
        },
        "required": ["reasons", "answer", "verdict"],
    });
    for dialect in super::DIALECTS {
        let convert = Schema::from(original.clone()).for_dialect(dialect).unwrap();
        let is_complete = dialect == Dialect::OpenAiStrict;
        let names = ["reasons", "answer", "verdict", "more"];
        let names = if is_complete { &names[..] } else { &names[..3] };
        assert_eq!(convert.as_value()["required"], json!(names), "{dialect}");
        let inner = &convert.as_value()["properties"]["verdict"];
        assert_eq!(inner["required"], json!(["it", "by"]), "{dialect}");
    }
}
