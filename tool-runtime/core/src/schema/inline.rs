//! Inlining of definitions: a small model that has to follow a `$ref` may answer with the schema
//! instead of a value.
//!
//! A definition that is used once is inlined, and so is one without nested schemas, such as the
//! names of an enum. Recursive definitions stay, and so do large ones that are used several times.

use schemars::Schema as Document;
use schemars::transform::{RecursiveTransform, Transform};
use serde_json::{Map, Value};

/// Keywords that may accompany an inlined `$ref`, because they are no rules.
const ANNOTATIONS: [&str; 7] =
    ["default", "deprecated", "description", "examples", "readOnly", "title", "writeOnly"];

/// Inlines definitions as described above.
pub(super) fn inline_definitions(document: &mut Document) {
    let names: Vec<String> = match document.get("$defs") {
        Some(Value::Object(definitions)) => definitions.keys().cloned().collect(),
        _ => return,
    };
    for name in names {
        inline(document, &name);
    }
    if document.get("$defs").and_then(Value::as_object).is_some_and(Map::is_empty) {
        document.remove("$defs");
    }
}

fn inline(document: &mut Document, name: &str) {
    let reference = format!("#/$defs/{}", name.replace('~', "~0").replace('/', "~1"));
    let uses = Uses::of(document, &reference);
    let Some(Value::Object(definitions)) = document.get_mut("$defs") else { return };
    let Some(Value::Object(definition)) = definitions.get(name).cloned() else { return };
    let is_used = uses.all == 1 || uses.all > 1 && is_plain(&definition);
    let mut definition_schema = Document::from(definition.clone());
    if !is_used || uses.with_rules > 0 || Uses::of(&mut definition_schema, &reference).all > 0 {
        return;
    }
    definitions.remove(name);
    RecursiveTransform(|schema: &mut Document| {
        if refers(schema, &reference) {
            replace(schema, &definition);
        }
    })
    .transform(document);
}

/// How often a definition is used.
#[derive(Default)]
struct Uses {
    all: usize,
    /// Uses with rules beside the reference; both sets of rules apply.
    with_rules: usize,
}

impl Uses {
    fn of(document: &mut Document, reference: &str) -> Self {
        let mut uses = Self::default();
        RecursiveTransform(|schema: &mut Document| {
            if refers(schema, reference) {
                let value_here =
                    |key: &String| key == "$ref" || ANNOTATIONS.contains(&key.as_str());
                uses.all += 1;
                uses.with_rules +=
                    usize::from(!schema.as_object().is_some_and(|it| it.keys().all(value_here)));
            }
        })
        .transform(document);
        uses
    }
}

fn refers(schema: &Document, reference: &str) -> bool {
    schema.get("$ref").and_then(Value::as_str) == Some(reference)
}

/// Returns true if the definition has no nested schemas.
fn is_plain(definition: &Map<String, Value>) -> bool {
    definition.values().all(|value_here| match value_here {
        Value::Object(_) => false,
        Value::Array(value_here) => !value_here.iter().any(Value::is_object),
        _ => true,
    })
}

/// Replaces a reference. Keywords at the reference take precedence; descriptions are joined.
fn replace(schema: &mut Document, definition: &Map<String, Value>) {
    schema.remove("$ref");
    let members = schema.ensure_object();
    for (key, value) in definition {
        let value_here = members.entry(key).or_insert_with(|| value.clone());
        if let (true, Some(value), Some(inherited)) =
            (key == "description", value_here.as_str(), value.as_str())
            && !value.contains(inherited)
        {
            *value_here = format!("{value}\n{inherited}").into();
        }
    }
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde_json::json;

    use crate::schema::Schema;

    /// Of the temperature.
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only the schema of the type is used")]
    enum Unit {
        Celsius,
        Fahrenheit,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only the schema of the type is used")]
    struct Address {
        city: bool,
        sibling: Option<Box<Self>>,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only the schema of the type is used")]
    struct Span {
        from: bool,
        to: Option<Unit>,
    }

    #[test]
    fn definition_used_once_or_plain_is_inlined() {
        #[derive(JsonSchema)]
        #[expect(dead_code, reason = "only the schema of the type is used")]
        struct Args {
            /// To answer in.
            unit: Unit,
            spare: Option<Unit>,
            span: Span,
            place: Address,
        }
        let unit = json!({ "type": "string", "enum": ["Celsius", "Fahrenheit"],
            "description": "Of the temperature." });
        let or_null = json!([unit, { "type": "null" }]);
        let schema = Schema::of::<Args>();
        let members = &schema.as_value()["properties"];
        assert_eq!(members["unit"]["enum"], unit["enum"]);
        assert_eq!(members["unit"]["description"], "To answer in.\nOf the temperature.");
        assert_eq!(members["spare"]["anyOf"], or_null);
        assert_eq!(members["span"]["properties"]["to"]["anyOf"], or_null);
        // It is recursive.
        assert_eq!(members["place"], json!({ "$ref": "#/$defs/Address" }));
        let definitions = schema.as_value()["$defs"].as_object().unwrap();
        assert_eq!(definitions.keys().collect::<Vec<_>>(), ["Address"]);
    }

    #[test]
    fn large_definition_used_twice_is_kept() {
        #[derive(JsonSchema)]
        #[expect(dead_code, reason = "only the schema of the type is used")]
        struct Args {
            first: Span,
            second: Span,
        }
        let schema = Schema::of::<Args>();
        let schema = schema.as_value();
        assert_eq!(schema["properties"]["first"], json!({ "$ref": "#/$defs/Span" }));
        assert_eq!(schema["$defs"].as_object().unwrap().len(), 1);
    }

    #[test]
    fn reference_with_rules_is_kept() {
        #[derive(JsonSchema)]
        #[expect(dead_code, reason = "only the schema of the type is used")]
        struct Code(String);

        #[derive(JsonSchema)]
        #[expect(dead_code, reason = "only the schema of the type is used")]
        struct Args {
            #[schemars(extend("minLength" = 3))]
            code: Code,
        }
        let schema = Schema::of::<Args>();
        assert_eq!(schema.check(&json!({ "code": "ab" })).len(), 1);
        assert_eq!(schema.check(&json!({ "code": 1 })).len(), 1);
    }
}
