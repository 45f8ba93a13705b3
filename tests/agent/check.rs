//! The startup check of an agent reports every problem that would fail its first run.

use tool_runtime::agent::{CheckProblem, Steering};
use tool_runtime::dispatch::{AskLater, Breaker, Breakers, Concurrency, Permissions, RateLimits};
use tool_runtime::registry::{Selector, SelectorInput};
use tool_runtime::{
    Agent, ChatModel, ChatOptions, ChatReply, ChatRequest, ModelError, Permission, Policy,
    RateLimit, Registry, ScriptedModel, ToolChoice, ToolContext, ToolDefinition, ToolError,
    ToolKind, ToolPreference, Tools, async_trait, tool, tools,
};

struct Database;

/// Counts the orders.
#[tool(effect = "read", extensions(Database))]
async fn count_orders() -> u32 {
    7
}

/// Cancels an order.
#[tool(permission = "ask", extensions(Database))]
async fn cancel_order(id: u32) -> String {
    format!("order {id} is cancelled")
}

/// Returns the time.
#[tool(effect = "read")]
async fn now() -> &'static str {
    "noon"
}

/// A model that lacks its key, or refuses tools and options.
#[derive(Clone, Copy, Default)]
struct Picky {
    lacks_key: bool,
    refused_tool: &'static str,
}

#[async_trait]
impl ChatModel for Picky {
    async fn reply(&self, _: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        panic!("a check sends no request")
    }

    fn check(&self) -> Result<(), ModelError> {
        if self.lacks_key {
            Err(ModelError::Setup("missing API key: set PICKY_API_KEY".into()))
        } else {
            Ok(())
        }
    }

    fn check_request(&self, request: ChatRequest<'_>) -> Result<(), ModelError> {
        if request.tools.iter().any(|tool| tool.name == self.refused_tool) {
            return Err(ModelError::Setup("schema too deep".into()));
        }
        match &request.options.tool_choice {
            ToolChoice::Tool(name) if request.tools.iter().all(|tool| tool.name != *name) => {
                Err(ModelError::Setup(format!("tool choice: `{name}` is not offered")))
            }
            _ => Ok(()),
        }
    }
}

fn lines(agent: &Agent) -> Vec<String> {
    match agent.check() {
        Ok(_) => Vec::new(),
        Err(error) => {
            let text = error.to_string();
            assert_eq!(text.lines().count(), error.problems().len(), "{text}");
            text.lines().map(ToOwned::to_owned).collect()
        }
    }
}

#[test]
fn sound_agent_has_no_problems() {
    let model = ScriptedModel::new([ChatReply::text("Hello!")]);
    assert!(lines(&Agent::new(model, tools![count_orders, now]).extension(Database)).is_empty());
    assert!(lines(&Agent::new(Picky::default(), Tools::new())).is_empty());
}

#[test]
fn duplicate_tool_is_reported_with_the_problem_of_the_model() {
    let model = Picky { lacks_key: true, ..Picky::default() };
    let agent = Agent::new(model, tools![now, now]);
    let lines = lines(&agent);
    assert_eq!(lines[0], "model: missing API key: set PICKY_API_KEY");
    assert!(lines[1].starts_with("registry: duplicate tool name `now`"), "{lines:?}");
    let error = agent.check().unwrap_err();
    assert!(matches!(error.problems(), [CheckProblem::Model(_), CheckProblem::Registry(_)]));
}

#[test]
fn missing_extension_is_reported_for_each_tool_that_the_policy_allows() {
    let agent = || Agent::new(Picky::default(), tools![count_orders, cancel_order, now]);
    let missing = |tool| {
        format!(
            "tool `{tool}`: missing extension: runtime::agent::check::Database; add one with `Agent::extension`"
        )
    };
    // Without an approver, the model can't call the tool that asks.
    assert_eq!(lines(&agent())[1..], [missing("count_orders")]);
    let asks = Policy::new().approver(AskLater);
    assert_eq!(lines(&agent().policy(asks)), [missing("cancel_order"), missing("count_orders")]);
    let denies = Permissions::default().tool("count_orders", Permission::Deny);
    let denies = Policy::new().permissions(denies).approver(AskLater);
    assert_eq!(lines(&agent().policy(denies)), [missing("cancel_order")]);
}

#[test]
fn refused_tool_is_reported_by_name() {
    let model = Picky { refused_tool: "now", ..Picky::default() };
    let agent = Agent::new(model, tools![count_orders, now]);
    let expected = [
        "tool `count_orders`: missing extension: runtime::agent::check::Database; add one with `Agent::extension`",
        "tool `now`: schema too deep",
    ];
    assert_eq!(lines(&agent), expected);
}

#[test]
fn refused_options_are_reported() {
    let options = ChatOptions::default().tool_choice(ToolChoice::Tool("then".into()));
    let agent = Agent::new(Picky::default(), tools![now]).options(options);
    assert_eq!(lines(&agent), ["options: tool choice: `then` is not offered"]);
}

/// Offers the first tools.
struct FirstTools(usize);

impl Selector for FirstTools {
    fn select<'a>(&self, selection: SelectorInput<'a>) -> Vec<&'a ToolDefinition> {
        selection.tools.iter().copied().take(self.0).collect()
    }
}

/// Returns a registry of these tools in which one is hidden.
fn hide(tools: Tools, name: &str) -> Registry {
    let registry = Registry::try_from(tools).unwrap();
    assert!(registry.prefer(name, ToolPreference::default().hidden()).unwrap());
    registry
}

#[test]
fn hidden_tool_is_checked_for_its_extensions_only() {
    let model = Picky { refused_tool: "count_orders", ..Picky::default() };
    let agent = Agent::new(model, hide(tools![count_orders, now], "count_orders"));
    let missing = "tool `count_orders`: missing extension: runtime::agent::check::Database; add one with `Agent::extension`";
    assert_eq!(lines(&agent), [missing]);
    assert_eq!(lines(&agent.extension(Database)), [""; 0]);
}

#[test]
fn required_call_of_a_hidden_tool_is_reported_with_any_selector() {
    let options = ChatOptions::default().tool_choice(ToolChoice::Tool("now".into()));
    let tools = || tools![count_orders, now];
    let agent = |registry| {
        Agent::new(Picky::default(), registry).extension(Database).options(options.clone())
    };
    let hidden = || agent(hide(tools(), "now"));
    let expected = ["options: tool choice: `now` is not offered"];
    assert_eq!(lines(&hidden()), expected);
    assert_eq!(lines(&hidden().selector(FirstTools(2))), expected);
    // Whether the selector offers the tool depends on the conversation.
    let offered = || agent(Registry::try_from(tools()).unwrap());
    assert_eq!(lines(&offered()), [""; 0]);
    assert_eq!(lines(&offered().selector(FirstTools(1))), [""; 0]);
}

/// Reminds the run of a text.
#[tool(effect = "none", extensions(Steering))]
async fn remind(text: String, ctx: &ToolContext) -> Result<(), ToolError> {
    ctx.require::<Steering>()?.push_untrusted("reminder", &text);
    Ok(())
}

#[tokio::test]
async fn steering_of_a_tool_is_provided_by_the_queue_of_the_agent() {
    let agent = || Agent::new(Picky::default(), tools![remind]);
    let missing = "tool `remind`: missing extension: tool_core::agent::steering::Steering; add one with `Agent::extension`";
    assert_eq!(lines(&agent()), [missing]);
    assert_eq!(lines(&agent().steering(&Steering::new())), [""; 0]);
    let error = remind("a".into(), &ToolContext::default()).await.unwrap_err();
    let cause = error.source().unwrap().to_string();
    assert!(cause.ends_with("or a `Steering` with `Agent::steering`"), "{cause}");
}

#[test]
fn tool_that_asks_is_reported_without_an_approver() {
    let agent = || Agent::new(Picky::default(), tools![cancel_order, now]).extension(Database);
    let asks = || Permissions::default().tool("now", Permission::Ask);
    let line = |tool| {
        format!(
            "tool `{tool}`: missing approver: its permission is `ask`, so every call is refused; \
             set `Policy::approver`"
        )
    };
    let check = |policy: Policy| lines(&agent().policy(policy));
    assert_eq!(lines(&agent()), [line("cancel_order")]);
    assert_eq!(
        check(Policy::new().permissions(asks())),
        [line("cancel_order"), line("now")],
        "the permission of the policy counts, not that of the definition"
    );
    assert_eq!(check(Policy::new().permissions(asks()).approver(AskLater)), [""; 0]);
    // A predicate may allow a call.
    let allows = Permissions::default().when(|_, _| Some(Permission::Allow));
    assert_eq!(check(Policy::new().permissions(allows)), [""; 0]);
    let denies = Permissions::default().tool("cancel_order", Permission::Deny);
    assert_eq!(check(Policy::new().permissions(denies)), [""; 0]);
}

#[test]
fn permission_of_an_unknown_tool_is_reported() {
    let registry = Registry::try_from(tools![now]).unwrap();
    registry.register_all_from("shop", tools![count_orders].always_prefixed()).unwrap();
    let check = |registry: &Registry, name: &str, permission| {
        let permissions = Permissions::default().tool(name, permission);
        let policy = Policy::new().permissions(permissions).approver(AskLater);
        lines(&Agent::new(Picky::default(), registry.clone()).policy(policy).extension(Database))
    };
    let line = |name: &str, hint: &str| {
        vec![format!("permission of `{name}` applies to no tool of the registry{hint}")]
    };
    for permission in [Permission::Allow, Permission::Ask, Permission::Deny] {
        for name in ["now", "shop__count_orders"] {
            assert_eq!(check(&registry, name, permission), [""; 0], "{name}");
        }
        let nearest = "; the nearest name is `shop__count_orders`";
        assert_eq!(check(&registry, "nwo", permission), line("nwo", "; the nearest name is `now`"));
        for misspelled in ["shop__count_order", "shpo__count_orders"] {
            assert_eq!(check(&registry, misspelled, permission), line(misspelled, nearest));
        }
        assert_eq!(check(&registry, "delete_file", permission), line("delete_file", ""));
        // A name that several providers may use restricts, but allows nothing.
        let is_allowed = permission == Permission::Allow;
        let expected = if is_allowed { line("count_orders", nearest) } else { Vec::new() };
        assert_eq!(check(&registry, "count_orders", permission), expected);
    }
    // The policy of several agents may name a tool outside of the view of one.
    let view = registry.without(["now"]);
    assert_eq!(check(&view, "now", Permission::Deny), [""; 0]);
    assert!(registry.prefer("now", ToolPreference::default().disabled()).unwrap());
    assert_eq!(check(&registry, "now", Permission::Deny), [""; 0]);
}

#[test]
fn breaker_of_each_provider_is_reported_if_no_tool_has_a_provider() {
    let registry = Registry::try_from(tools![now]).unwrap();
    let check = || {
        let breakers = Breakers::default().each(Breaker::after(1));
        let policy = Policy::new().breakers(breakers);
        let agent = Agent::new(Picky::default(), registry.clone()).extension(Database);
        lines(&agent.policy(policy))
    };
    let expected = "circuit breaker of each provider applies to no tool of the registry: none has \
                    a provider; register tools with `Registry::register_all_from`";
    assert_eq!(check(), [expected]);
    registry.announce_provider("shop", "starting");
    assert_eq!(check(), [""; 0]);
    registry.register_all_from("shop", tools![count_orders]).unwrap();
    assert_eq!(check(), [""; 0]);
}

#[test]
fn every_rule_that_applies_to_no_tool_is_reported() {
    let registry = Registry::try_from(tools![now]).unwrap();
    registry.register_all_from("shop", tools![count_orders].always_prefixed()).unwrap();
    let limit = RateLimit::per_minute(1);
    let breaker = Breaker::after(1);
    let matched = Policy::new()
        .permissions(Permissions::default().provider("shop", Permission::Allow))
        .rate_limits(RateLimits::default().tool("count_orders", limit).provider("shop", limit))
        .concurrency(Concurrency::default().max_tool_calls("now", 1).max_provider_calls("shop", 1))
        .breakers(Breakers::default().each(breaker).provider("shop", breaker));
    let check = |registry: &Registry, policy: Policy| {
        lines(&Agent::new(Picky::default(), registry.clone()).policy(policy).extension(Database))
    };
    assert_eq!(check(&registry, matched), [""; 0]);

    let permissions = Permissions::default().provider("shpo", Permission::Deny);
    let near_shop = "; the nearest name is `shop`";
    let near_now = "; the nearest name is `now`";
    for (policy, rule, nearest) in [
        (Policy::new().permissions(permissions), "permission of provider `shpo`", near_shop),
        (
            Policy::new().rate_limits(RateLimits::default().tool("nwo", limit)),
            "rate limit of `nwo`",
            near_now,
        ),
        (
            Policy::new().rate_limits(RateLimits::default().provider("shpo", limit)),
            "rate limit of provider `shpo`",
            near_shop,
        ),
        (
            Policy::new().concurrency(Concurrency::default().max_tool_calls("nwo", 1)),
            "concurrency limit of `nwo`",
            near_now,
        ),
        (
            Policy::new().concurrency(Concurrency::default().max_provider_calls("bank", 1)),
            "concurrency limit of provider `bank`",
            "",
        ),
        (
            Policy::new().breakers(Breakers::default().provider("shpo", breaker)),
            "circuit breaker of provider `shpo`",
            near_shop,
        ),
    ] {
        let expected = format!("{rule} applies to no tool of the registry{nearest}");
        assert_eq!(check(&registry, policy), [expected]);
    }

    // The tools of a provider that was announced are not known yet.
    let permissions = Permissions::default()
        .tool("bank__pay", Permission::Deny)
        .provider("bank", Permission::Ask);
    let of_bank = || Policy::new().permissions(permissions.clone()).approver(AskLater);
    assert_eq!(check(&registry, of_bank()).len(), 2);
    registry.announce_provider("bank", "the server `bank` is starting");
    assert_eq!(check(&registry, of_bank()), [""; 0]);
    registry.end_announcement("bank");
    assert_eq!(check(&registry, of_bank()).len(), 2);

    let view = registry.only(["now", "shop__count_orders", "delete"]).without(["nwo"]);
    let expected = ["delete", "nwo"].map(|name| {
        let nearest = if name == "nwo" { near_now } else { "" };
        format!("view of `{name}` applies to no tool of the registry{nearest}")
    });
    assert_eq!(check(&view, Policy::new()), expected);
    let preferences = [("nwo".to_owned(), ToolPreference::default().disabled())];
    registry.set_preferences(preferences.into()).unwrap();
    let expected = format!("preference of `nwo` applies to no tool of the registry{near_now}");
    assert_eq!(check(&registry, Policy::new()), [expected]);
}

#[test]
fn pattern_that_is_not_enforced_is_reported() {
    let agent = |kind: ToolKind| {
        let schema = serde_json::json!({
            "type": "object",
            "properties": { "code": { "type": "string", "pattern": "^(?=R)" } },
        });
        let mut definition = ToolDefinition::new("find", "Finds a part.", schema);
        definition.kind = kind;
        Agent::new(Picky::default(), Tools::new().with(UncalledTool(definition)))
    };
    let expected = "tool `find`: pattern `^(?=R)` is not enforced: correct its syntax; \
                    look-around, back-references \
                    and Unicode classes are not supported";
    assert_eq!(lines(&agent(ToolKind::Function)), [expected]);
    assert_eq!(lines(&agent(ToolKind::Remote("parts".into()))), [""; 0]);
}

/// Tool with any definition.
struct UncalledTool(ToolDefinition);

#[async_trait]
impl tool_runtime::Tool for UncalledTool {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    async fn call(
        &self,
        _: tool_runtime::Arguments,
        _: &tool_runtime::ToolContext,
    ) -> Result<tool_runtime::ToolOutput, tool_runtime::ToolError> {
        panic!("a check calls no tool")
    }
}

#[cfg(feature = "anthropic")]
#[test]
fn limit_of_tools_in_a_request_is_checked_unless_a_selector_chooses_them() {
    use tool_runtime::providers::Anthropic;
    use tool_runtime::schema::Dialect;

    let agent = |options| {
        let definition = |number| {
            let schema = serde_json::json!({ "type": "object", "additionalProperties": false });
            ToolDefinition::new(format!("tool_{number:02}"), "Waits.", schema)
        };
        let tools = Tools::new().with_all((1..=21).map(|number| UncalledTool(definition(number))));
        let registry = Registry::try_from(tools).unwrap();
        let registry = registry.dialect(Dialect::AnthropicStrict).unwrap();
        let model = Anthropic::new("http://localhost:1/v1", "claude");
        Agent::new(model, registry).options(options)
    };
    for choice in [ToolChoice::Auto, ToolChoice::Required, ToolChoice::Tool("tool_02".into())] {
        let agent = || agent(ChatOptions::default().tool_choice(choice.clone()));
        assert_eq!(lines(&agent().selector(FirstTools(5))), [""; 0], "{choice:?}");
        let lines = lines(&agent());
        assert!(lines[0].starts_with("options: "), "{lines:?}");
        assert!(lines[0].contains("strict tool limit exceeded: 21 of 20"), "{lines:?}");
        assert_eq!(lines.len(), 1);
    }
    // Options that no request can have are reported with a selector too.
    let agent = agent(ChatOptions::default().temperature(f64::NAN)).selector(FirstTools(5));
    assert_eq!(lines(&agent), ["options: invalid temperature: NaN, expected a finite number"]);
}

#[cfg(feature = "openai")]
mod clients {
    use tool_runtime::RegistryError;
    use tool_runtime::providers::OpenAi;
    use tool_runtime::schema::Dialect;

    use super::*;

    #[test]
    fn malformed_url_of_a_client_is_reported() {
        let agent = Agent::new(OpenAi::new("no url", "gpt"), tools![now]);
        let lines = lines(&agent);
        assert!(lines[0].starts_with("model: "), "{lines:?}");
        assert_eq!(lines.len(), 1);
    }

    #[test]
    fn schema_in_the_dialect_of_another_provider_is_reported() {
        let model = OpenAi::new("http://localhost:1/v1", "gpt");
        let registry = Registry::try_from(tools![cancel_order]).unwrap();
        let registry = registry.dialect(Dialect::AnthropicStrict).unwrap();
        let policy = Policy::new().approver(AskLater);
        let agent = Agent::new(model, registry).policy(policy).extension(Database);
        let lines = lines(&agent);
        assert!(lines[0].starts_with("tool `cancel_order`: "), "{lines:?}");
        assert_eq!(lines.len(), 1);
    }

    #[test]
    fn hidden_tool_in_the_dialect_of_another_provider_is_not_reported() {
        let model = OpenAi::new("http://localhost:1/v1", "gpt");
        let registry = hide(tools![now], "now").dialect(Dialect::AnthropicStrict).unwrap();
        assert_eq!(lines(&Agent::new(model, registry)), [""; 0]);
    }

    #[test]
    fn schema_that_its_dialect_cannot_express_is_reported() {
        let registry = || -> Result<Registry, RegistryError> {
            let schema = serde_json::json!({ "type": "object", "patternProperties": { "^a": {} } });
            let definition = ToolDefinition::new("map", "Maps.", schema);
            let registry = Registry::new();
            registry.register(std::sync::Arc::new(UncalledTool(definition)))?;
            registry.dialect(Dialect::OpenAiStrict)
        };
        let agent = Agent::new(OpenAi::new("http://localhost:1/v1", "gpt"), registry());
        let lines = lines(&agent);
        assert!(lines[0].starts_with("registry: "), "{lines:?}");
    }
}
