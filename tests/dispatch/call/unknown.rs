//! The result of a call to an unknown tool.

use tool_runtime::{Permission, ToolPreference};

use super::*;

async fn unknown_tool_text(dispatcher: &Dispatcher, name: &str) -> String {
    dispatcher.dispatch(calls(&[(name, "{}")])).await.remove(0).result.text
}

fn definition(name: &str) -> ToolDefinition {
    ToolDefinition::new(name, "It.", json!({ "type": "object" }))
}

struct Named(ToolDefinition, Availability);

#[async_trait]
impl Tool for Named {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn availability(&self) -> Availability {
        self.1.clone()
    }

    async fn call(&self, _: Arguments, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text("ok"))
    }
}

fn named(definition: ToolDefinition) -> Arc<dyn Tool> {
    Arc::new(Named(definition, Availability::Available))
}

fn numbered(count: usize) -> Registry {
    let tools = (0..count).map(|n| named(definition(&format!("tool_{n:02}"))));
    Registry::try_from(tools.collect::<Tools>()).unwrap()
}

#[tokio::test]
async fn unknown_name_is_answered_with_the_available_tools() {
    assert_eq!(
        unknown_tool_text(&all(), "launch_rocket").await,
        "There is no tool named `launch_rocket`. The tools are `add`, `crash`, `fail`, `hang`."
    );
    assert_eq!(
        unknown_tool_text(&dispatcher(Tools::new()), "add").await,
        "There is no tool named `add`. There are no tools."
    );
    assert_eq!(
        unknown_tool_text(&all(), "functions.add").await,
        "There is no tool named `functions.add`. Did you mean `add`?"
    );
    // Control characters are escaped.
    assert_eq!(
        unknown_tool_text(&dispatcher(Tools::new()), "a\n\u{1b}[2J\u{202e}ü").await,
        r"There is no tool named `a\n\u{1b}[2J\u{202e}ü`. There are no tools."
    );
    let text = unknown_tool_text(&all(), &"long".repeat(100_000)).await;
    assert!(text.len() < 300, "{text}");
}

#[tokio::test]
async fn long_tool_list_is_truncated_with_a_count() {
    let all = unknown_tool_text(&Dispatcher::new(numbered(20)), "launch").await;
    assert!(all.ends_with("`tool_18`, `tool_19`."), "{all}");
    let truncated = unknown_tool_text(&Dispatcher::new(numbered(25)), "launch").await;
    assert!(truncated.ends_with("`tool_18`, `tool_19` and 5 more."), "{truncated}");
}

#[tokio::test]
async fn unknown_name_points_to_the_search_tool() {
    let registry = numbered(24);
    registry.register(named(definition("look_up").finds_tools())).unwrap();
    let dispatcher = Dispatcher::new(registry.clone());
    assert_eq!(
        unknown_tool_text(&dispatcher, "launch").await,
        "There is no tool named `launch`. There are 25 tools: call `look_up` to find the one that \
         you need."
    );
    assert_eq!(
        unknown_tool_text(&dispatcher, "tol_07").await,
        "There is no tool named `tol_07`. Did you mean `tool_07` or `tool_00` or `tool_01`? Call \
         `look_up` to find others."
    );
    // A search tool that is denied is not suggested.
    registry.prefer("look_up", ToolPreference::default().hidden()).unwrap();
    let text = unknown_tool_text(&dispatcher, "launch").await;
    assert!(text.ends_with(" and 4 more."), "{text}");
}

#[tokio::test]
async fn suggestion_never_names_a_forbidden_tool() {
    let mut denied = definition("mail_denied");
    denied.permission = Permission::Deny;
    let mut needy = definition("mail_needy");
    needy.requires = vec!["network".into()];
    let disabled = definition("mail_disabled").preference(ToolPreference::default().disabled());
    let hidden = definition("mail_hidden").preference(ToolPreference::default().hidden());
    let outside = definition("mail_outside");
    let tools = [denied, needy, disabled, hidden, outside, definition("other")];
    let registry = Registry::try_from(tools.map(named).into_iter().collect::<Tools>()).unwrap();
    let unavailable = Availability::Unavailable("gone".into());
    registry.register(Arc::new(Named(definition("mail_away"), unavailable))).unwrap();
    let dispatcher = Dispatcher::new(registry.without(["mail_outside"]));
    for name in ["mail", "mail_disabled", "mail_outside", "launch"] {
        let text = format!("There is no tool named `{name}`. The tools are `other`.");
        assert_eq!(unknown_tool_text(&dispatcher, name).await, text);
    }
}

/// The suggestion for a tool of one provider names the providers of similar tools.
#[tokio::test]
async fn suggestion_names_a_tool_of_another_provider_in_full() {
    let registry = Registry::new();
    let provide = |provider: &str| {
        registry.register_from(provider, named(definition("find"))).unwrap();
    };
    provide("github");
    provide("jira");
    let _ = registry.unregister_provider("github");
    let dispatcher = Dispatcher::new(registry.clone());
    for name in ["github__find", "github.find", "github:find", "githubFind", "mcp__github__find"] {
        let text = format!("There is no tool named `{name}`. Did you mean `jira__find`?");
        assert_eq!(unknown_tool_text(&dispatcher, name).await, text);
    }
    // The same holds if no tool is similar.
    let text = unknown_tool_text(&dispatcher, "github__launch").await;
    assert!(text.ends_with("The tools are `jira__find`."), "{text}");
    // A name without a provider gets the names that models see.
    let text = unknown_tool_text(&dispatcher, "fnd").await;
    assert!(text.ends_with("Did you mean `find`?"), "{text}");

    // The most similar name comes first.
    ["github", "gitlab", "a", "b"].into_iter().for_each(provide);
    let text = unknown_tool_text(&dispatcher, "githb__find").await;
    assert!(text.contains("Did you mean `github__find` or"), "{text}");
    registry.register(named(definition("find"))).unwrap();
    let text = unknown_tool_text(&dispatcher, "functions.finds").await;
    assert!(text.contains("Did you mean `find` or"), "{text}");
}

/// The names of one batch share the search for similar names.
#[tokio::test]
async fn many_unknown_names_are_answered_among_many_tools() {
    let registry = numbered(2_000);
    let dispatcher = Dispatcher::new(registry);
    let names: Vec<_> = (0..1_000).map(|n| format!("tool{n:02}")).collect();
    let calls = calls(&names.iter().map(|name| (name.as_str(), "{}")).collect::<Vec<_>>());
    let executions = dispatcher.dispatch(calls).await;
    let (suggested, listed): (Vec<_>, Vec<_>) =
        executions.iter().partition(|it| it.result.text.contains("Did you mean `tool_"));
    assert_eq!((suggested.len(), listed.len()), (500, 500));
    assert!(listed.iter().all(|it| it.result.text.ends_with("and 1980 more.")));
    assert!(executions.iter().all(|it| it.result.error.as_deref() == Some("TOOL_NOT_FOUND")));
}

#[tokio::test]
async fn name_of_a_megabyte_is_answered_in_brief() {
    let name = "é".repeat(500_000);
    let text = unknown_tool_text(&Dispatcher::new(numbered(25)), &name).await;
    assert!(text.len() < 1_000, "{} bytes", text.len());
    assert!(text.starts_with("There is no tool named `éé"), "{text}");
}
