//! Lists from outside: invalid tools are reported and skipped.

use tool_runtime::schema::Dialect;

use super::*;

/// Panics when it is asked for its definition.
struct Panicking;

#[async_trait]
impl Tool for Panicking {
    fn definition(&self) -> &ToolDefinition {
        panic!("no definition")
    }

    async fn call(&self, _: Arguments, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        Err(ToolError::failed("never called"))
    }
}

/// A schema without its definitions.
fn dangling() -> Value {
    json!({ "type": "object", "properties": { "at": { "$ref": "#/$defs/Place" } } })
}

fn foreign_list() -> Tools {
    let long = "n".repeat(1000);
    let tools = [
        named("good", "It."),
        named("bad name", "It."),
        named("undescribed", " "),
        Arc::new(Panicking),
        named("good", "Another."),
        named("taken", "It."),
        named(&long, "It."),
        with_schema("dangling", "It.", dangling()),
        named("last", "It."),
    ];
    tools.into_iter().collect()
}

#[test]
fn each_invalid_tool_is_reported_and_the_others_are_registered() {
    let registry = Registry::new();
    registry.register(named("p__taken", "Ours.")).unwrap();
    registry.register_from("p", named("good", "Old.")).unwrap();
    registry.register_from("p", named("older", "Old.")).unwrap();
    let report = registry.register_valid_from("p", foreign_list()).unwrap();
    assert_eq!(report.registered, ["p__good", "p__last"]);
    assert_eq!(report.removed.len(), 1);
    assert_eq!(names(&registry), ["good", "last", "older", "p__taken"]);
    let long = "n".repeat(128);
    let expected = [
        (1, Some("bad name"), "invalid tool name `bad name`"),
        (
            2,
            Some("undescribed"),
            "tool `undescribed` has no description: write a doc comment, or pass a text to `ToolDefinition::new`",
        ),
        (3, None, "definition of a tool of provider `p` panicked: no definition"),
        (4, Some("good"), "duplicate tool name `p__good`"),
        (5, Some("taken"), "tool name conflict: `p__taken`"),
        (6, Some(long.as_str()), "invalid tool name `nnn"),
        (7, Some("dangling"), "refer to `#/$defs/Place`, which does not exist"),
    ];
    assert_eq!(report.skipped.len(), expected.len());
    for (skipped, (index, name, text)) in report.skipped.iter().zip(expected) {
        assert_eq!((skipped.index, skipped.name.as_deref()), (index, name));
        assert!(skipped.error.to_string().contains(text), "{}", skipped.error);
    }
    // A list of which all tools must be valid changes nothing.
    assert!(registry.replace_all_from("p", foreign_list()).is_err());
    assert_eq!(names(&registry), ["good", "last", "older", "p__taken"]);

    let report = registry.replace_valid_from("p", foreign_list()).unwrap();
    assert_eq!((report.removed.len(), report.skipped.len()), (3, 7));
    assert_eq!(names(&registry), ["good", "last", "p__taken"]);
    let error = registry.replace_valid_from("p__", foreign_list()).unwrap_err();
    assert!(matches!(error, RegistryError::ProviderName { .. }));
    assert_eq!(names(&registry).len(), 3);
}

#[test]
fn tool_that_the_dialect_can_not_express_is_skipped() {
    let open = json!({ "type": "object", "additionalProperties": { "type": "string" } });
    let list = || [named("plain", "It."), with_schema("open", "It.", open.clone())];
    let registry = Registry::new().dialect(Dialect::OpenAiStrict).unwrap();
    assert!(registry.register_all_from("p", list().into_iter().collect()).is_err());
    let report = registry.register_valid_from("p", list().into_iter().collect()).unwrap();
    assert_eq!((report.registered, report.skipped[0].index), (vec!["p__plain".to_owned()], 1));
}
