//! Tests of registries with a dialect.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;
use tool_runtime::registry::MemoryDescriptions;
use tool_runtime::schema::Dialect;
use tool_runtime::{
    DefinitionError, Dispatcher, Registry, RegistryError, Tool, ToolCall, tool, tools,
};

/// Finds a word.
#[tool(effect = "write", repair = "none")]
async fn find(word: String, #[arg(default = 3)] most: u8, radius: Option<u8>) -> String {
    format!("{word} {most} {radius:?}")
}

/// Counts words.
#[tool(effect = "read")]
async fn count(words: BTreeMap<String, u8>) -> usize {
    words.len()
}

fn counts() -> Arc<dyn Tool> {
    tools![count].into_iter().next().expect("a tool")
}

#[test]
fn inexpressible_tool_is_not_registered() {
    let refused = |error: RegistryError| match error {
        RegistryError::Definition(DefinitionError::Dialect { name, error }) => {
            assert_eq!((name.as_str(), error.path.as_str()), ("count", "words"));
        }
        error => panic!("{error}"),
    };
    refused(tools![find, count].dialect(Dialect::OpenAiStrict).unwrap_err());

    let registry = Registry::try_from(tools![find, count]).unwrap();
    refused(registry.clone().dialect(Dialect::OpenAiStrict).unwrap_err());
    let converted = registry.snapshot().definition("find").unwrap().wire_parameters().dialect();
    assert_eq!(converted, Dialect::Plain, "nothing was changed");

    let registry = tools![find].dialect(Dialect::OpenAiStrict).unwrap();
    refused(registry.register(counts()).unwrap_err());
    let error = registry.register_all_from("words", tools![count]).unwrap_err().to_string();
    assert!(error.contains("`words`") && error.contains("OpenAI (strict)"), "{error}");
    let registry = registry.dialect(Dialect::Gemini).unwrap();
    assert!(registry.register(counts()).is_ok());
}

#[test]
fn definitions_stay_in_the_dialect_after_changes() {
    let store = MemoryDescriptions::default();
    let registry = tools![].dialect(Dialect::OpenAiStrict).unwrap().descriptions(store.clone());
    registry.register_all(tools![find]).unwrap();
    registry.register_all_from("a", tools![find]).unwrap();
    store.set("find", "Looks for a word.");
    for _ in 0..2 {
        let tools = registry.snapshot();
        for tool in tools.all_definitions() {
            assert_eq!(tool.description, "Looks for a word.");
            assert_eq!(tool.parameters.dialect(), Dialect::Plain);
            let converted = tool.wire_parameters();
            assert_eq!(converted.dialect(), Dialect::OpenAiStrict);
            assert_eq!(converted.as_value()["required"], json!(["word", "most", "radius"]));
        }
    }
}

/// A null that a model has to send is no repair, even for tools without repairs.
#[tokio::test]
async fn null_of_optional_member_is_absent() {
    let dispatcher = Dispatcher::new(tools![find].dialect(Dialect::OpenAiStrict).unwrap());
    let arguments = r#"{"word": "a", "most": null, "radius": null}"#;
    let executions = dispatcher.dispatch(vec![ToolCall::new("1", "find", arguments)]).await;
    assert_eq!(executions[0].result.text, "a 3 None");
}
