//! Definitions in the places that use them: a small model that would have to follow a `$ref` answers with
//! the schema instead of a value.
//!
//! A definition that is used once goes where it is used, and one that has no schemas in it, such as the names of
//! an enum, wherever it is. What holds itself stays a definition, and so does what is large and used several times.

use schemars::Schema as Document;
use schemars::transform::{RecursiveTransform, Transform};
use serde_json::{Map, Value};

/// What may stand beside a `$ref` that is replaced, for it rules nothing.
const SAID: [&str; 7] =
    ["default", "deprecated", "description", "examples", "readOnly", "title", "writeOnly"];

/// The document with as few definitions as that leaves.
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
    let mut own = Document::from(definition.clone());
    if !is_used || uses.ruled > 0 || Uses::of(&mut own, &reference).all > 0 {
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

/// How often a definition is referred to.
#[derive(Default)]
struct Uses {
    all: usize,
    /// With rules beside the reference, which hold as well as those of the definition.
    ruled: usize,
}

impl Uses {
    fn of(document: &mut Document, reference: &str) -> Self {
        let mut uses = Self::default();
        RecursiveTransform(|schema: &mut Document| {
            if refers(schema, reference) {
                let said = |key: &String| key == "$ref" || SAID.contains(&key.as_str());
                uses.all += 1;
                uses.ruled +=
                    usize::from(!schema.as_object().is_some_and(|it| it.keys().all(said)));
            }
        })
        .transform(document);
        uses
    }
}

fn refers(schema: &Document, reference: &str) -> bool {
    schema.get("$ref").and_then(Value::as_str) == Some(reference)
}

/// Whether nothing in it is a schema of its own.
fn is_plain(definition: &Map<String, Value>) -> bool {
    definition.values().all(|said| match said {
        Value::Object(_) => false,
        Value::Array(said) => !said.iter().any(Value::is_object),
        _ => true,
    })
}

/// What is said at the place of use goes before what the definition says; of two descriptions both are wanted.
fn replace(schema: &mut Document, definition: &Map<String, Value>) {
    schema.remove("$ref");
    let members = schema.ensure_object();
    for (key, value) in definition {
        let said = members.entry(key).or_insert_with(|| value.clone());
        if let (true, Some(here), Some(there)) =
            (key == "description", said.as_str(), value.as_str())
            && !here.contains(there)
        {
            *said = format!("{here}\n{there}").into();
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
    #[expect(dead_code, reason = "only its schema is wanted; so below")]
    enum Unit {
        Celsius,
        Fahrenheit,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "as above")]
    struct Place {
        city: bool,
        kin: Option<Box<Self>>,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "as above")]
    struct Span {
        from: bool,
        to: Option<Unit>,
    }

    #[test]
    fn what_is_used_once_or_is_plain_stands_where_it_is_used() {
        #[derive(JsonSchema)]
        #[expect(dead_code, reason = "as above")]
        struct Args {
            /// To answer in.
            unit: Unit,
            spare: Option<Unit>,
            span: Span,
            place: Place,
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
        // It holds itself.
        assert_eq!(members["place"], json!({ "$ref": "#/$defs/Place" }));
        let definitions = schema.as_value()["$defs"].as_object().unwrap();
        assert_eq!(definitions.keys().collect::<Vec<_>>(), ["Place"]);
    }

    #[test]
    fn what_is_large_and_used_twice_is_said_once() {
        #[derive(JsonSchema)]
        #[expect(dead_code, reason = "as above")]
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
    fn rules_beside_a_reference_keep_it() {
        #[derive(JsonSchema)]
        #[expect(dead_code, reason = "as above")]
        struct Code(String);

        #[derive(JsonSchema)]
        #[expect(dead_code, reason = "as above")]
        struct Args {
            #[schemars(extend("minLength" = 3))]
            code: Code,
        }
        let schema = Schema::of::<Args>();
        assert_eq!(schema.check(&json!({ "code": "ab" })).len(), 1);
        assert_eq!(schema.check(&json!({ "code": 1 })).len(), 1);
    }
}
