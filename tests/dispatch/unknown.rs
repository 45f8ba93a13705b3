//! What a model is told that called a tool which there isn't.

use tool_runtime::{Permission, ToolPreference};

use super::*;

async fn told(dispatcher: &Dispatcher, name: &str) -> String {
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
async fn an_unknown_name_is_answered_with_what_there_is() {
    assert_eq!(
        told(&all(), "launch_rocket").await,
        "There is no tool named `launch_rocket`. The tools are `add`, `crash`, `fail`, `hang`."
    );
    assert_eq!(
        told(&dispatcher(Tools::new()), "add").await,
        "There is no tool named `add`. There are no tools."
    );
    assert_eq!(
        told(&all(), "functions.add").await,
        "There is no tool named `functions.add`. Did you mean `add`?"
    );
    // Its control characters are shown and not obeyed.
    assert_eq!(
        told(&dispatcher(Tools::new()), "a\n\u{1b}[2J\u{202e}ü").await,
        r"There is no tool named `a\n\u{1b}[2J\u{202e}ü`. There are no tools."
    );
    let text = told(&all(), &"long".repeat(100_000)).await;
    assert!(text.len() < 300, "{text}");
}

#[tokio::test]
async fn of_many_tools_some_are_named_and_the_rest_counted() {
    let all = told(&Dispatcher::new(numbered(20)), "launch").await;
    assert!(all.ends_with("`tool_18`, `tool_19`."), "{all}");
    let some = told(&Dispatcher::new(numbered(25)), "launch").await;
    assert!(some.ends_with("`tool_18`, `tool_19` and 5 more."), "{some}");
}

#[tokio::test]
async fn who_can_search_is_sent_to_the_search() {
    let registry = numbered(24);
    registry.register(named(definition("look_up").finds_tools())).unwrap();
    let dispatcher = Dispatcher::new(registry.clone());
    assert_eq!(
        told(&dispatcher, "launch").await,
        "There is no tool named `launch`. There are 25 tools: call `look_up` to find the one that \
         you need."
    );
    assert_eq!(
        told(&dispatcher, "tol_07").await,
        "There is no tool named `tol_07`. Did you mean `tool_07` or `tool_00` or `tool_01`? Call \
         `look_up` to find others."
    );
    // One that may not be called finds nothing.
    registry.prefer("look_up", ToolPreference::default().hidden()).unwrap();
    let text = told(&dispatcher, "launch").await;
    assert!(text.ends_with(" and 4 more."), "{text}");
}

#[tokio::test]
async fn nobody_is_sent_to_what_may_not_be_called() {
    let mut denied = definition("mail_denied");
    denied.permission = Permission::Deny;
    let mut needy = definition("mail_needy");
    needy.requires = vec!["network".into()];
    let disabled = definition("mail_disabled").preference(ToolPreference::default().disabled());
    let hidden = definition("mail_hidden").preference(ToolPreference::default().hidden());
    let outside = definition("mail_outside");
    let tools = [denied, needy, disabled, hidden, outside, definition("other")];
    let registry = Registry::try_from(tools.map(named).into_iter().collect::<Tools>()).unwrap();
    let away = Availability::Unavailable("gone".into());
    registry.register(Arc::new(Named(definition("mail_away"), away))).unwrap();
    let dispatcher = Dispatcher::new(registry.without(["mail_outside"]));
    for said in ["mail", "mail_disabled", "mail_outside", "launch"] {
        let text = format!("There is no tool named `{said}`. The tools are `other`.");
        assert_eq!(told(&dispatcher, said).await, text);
    }
}

/// A model that asks for one provider's tool is told whose the others are.
#[tokio::test]
async fn nobody_is_sent_to_anothers_tool_unawares() {
    let registry = Registry::new();
    let provide = |provider: &str| {
        registry.register_from(provider, named(definition("find"))).unwrap();
    };
    provide("github");
    provide("jira");
    let _ = registry.withdraw("github");
    let dispatcher = Dispatcher::new(registry.clone());
    for said in ["github__find", "github.find", "github:find", "githubFind", "mcp__github__find"] {
        let text = format!("There is no tool named `{said}`. Did you mean `jira__find`?");
        assert_eq!(told(&dispatcher, said).await, text);
    }
    // Also where nothing is like it.
    let text = told(&dispatcher, "github__launch").await;
    assert!(text.ends_with("The tools are `jira__find`."), "{text}");
    // One who asks for nobody's has the name that models are shown.
    let text = told(&dispatcher, "fnd").await;
    assert!(text.ends_with("Did you mean `find`?"), "{text}");

    // The one that is most like what was said comes first.
    ["github", "gitlab", "a", "b"].into_iter().for_each(provide);
    let text = told(&dispatcher, "githb__find").await;
    assert!(text.contains("Did you mean `github__find` or"), "{text}");
    registry.register(named(definition("find"))).unwrap();
    let text = told(&dispatcher, "functions.finds").await;
    assert!(text.contains("Did you mean `find` or"), "{text}");
}
