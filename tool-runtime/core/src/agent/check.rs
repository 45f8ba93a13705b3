//! The startup check of an agent: what would fail in its first run.

use std::error::Error;
use std::fmt;

use super::Agent;
use super::config::AgentConfig;
use crate::event::UnmatchedRule;
use crate::message::Message;
use crate::models::{ChatOptions, ChatRequest, ModelError, ToolChoice};
use crate::registry::RegistryError;
use crate::tool::{ToolDefinition, ToolKind};

impl Agent {
    /// Reports what would make the first run fail, without sending a request.
    ///
    /// Call it when the program starts. It reports all problems at once:
    ///
    /// - tools that can't be registered, such as two tools of one name
    /// - a model that can't send any request, such as a provider client with a malformed URL
    /// - a tool whose schema the model provider does not accept
    /// - options that the model provider does not accept, such as the choice of an unknown tool
    /// - a tool that asks for approval, if the [policy](Self::policy) has no
    ///   [approver](crate::Policy::approver): every call would be refused, so it is never offered
    /// - a rule by name that applies to no tool of the registry, because the name of the tool or
    ///   provider is misspelled or it is not registered yet: a
    ///   [permission](crate::dispatch::Permissions), a [rate limit](crate::dispatch::RateLimits), a
    ///   [concurrency limit](crate::dispatch::Concurrency), a
    ///   [breaker](crate::dispatch::Breakers) (also that of each provider, if no tool has one), a
    ///   [preference](crate::Registry::set_preferences) or a name in a
    ///   [view](crate::Registry::without); rules for a provider that was
    ///   [announced](crate::Registry::announce_provider) are left out; if several agents with
    ///   different tools share a policy, those without the tool report it too
    /// - a pattern in a schema that can't be enforced, because it has look-around, a back-reference
    ///   or a Unicode class; the server of a [remote](crate::ToolKind::Remote) tool enforces it
    /// - an [extension](Self::extension) that a tool declares with `extensions(…)` and that the
    ///   agent does not have; undeclared ones are not checked
    ///
    /// Otherwise, only the tools that the [policy](Self::policy) lets the model call are checked.
    /// If the tools can't be registered, the error names the first conflict, and the tools are not
    /// checked further. A sub-agent is not checked as a part of its caller: check it before
    /// [`into_tool`](Self::into_tool).
    ///
    /// [Hidden](crate::ToolPreference::hidden) tools are never offered. Their schemas are not
    /// checked, and an option that requires a call of one is reported. Their extensions are
    /// checked, because a call of a hidden tool runs.
    ///
    /// By default, the options are checked in a request with all tools, so a limit on the tools of
    /// one request is checked too. A [selector](Self::selector) chooses the tools by the
    /// conversation, which is not known yet. The check does not call it: it checks each tool alone,
    /// and the options with at most one tool, which satisfies their tool choice.
    ///
    /// Only declared extensions are checked, such as with `#[tool(extensions(…))]`. A type that a
    /// tool [requires](crate::ToolContext::require) from its context without a declaration is not
    /// seen.
    ///
    /// If there is no problem, it returns notices about settings that have an effect which is easy
    /// to miss: [hooks](crate::agent::ModelHook::reply_changes) and
    /// [validators](crate::agent::AnswerValidator::holds_back_answers) under which nothing of a
    /// reply is streamed until it is complete. Log them.
    ///
    /// # Errors
    /// Returns a [`CheckError`] with every problem.
    ///
    /// ```
    /// use tool_runtime::{Agent, ChatReply, ScriptedModel, tool, tools};
    ///
    /// struct Database;
    ///
    /// /// Counts the orders.
    /// #[tool(effect = "read", extensions(Database))]
    /// async fn count_orders() -> u32 {
    ///     7
    /// }
    ///
    /// let model = ScriptedModel::new([ChatReply::text("There are 7.")]);
    /// let agent = Agent::new(model, tools![count_orders]);
    /// let error = agent.check().unwrap_err();
    /// assert!(error.to_string().starts_with("tool `count_orders`: missing extension: "));
    ///
    /// agent.extension(Database).check()?;
    /// # Ok::<(), tool_runtime::agent::CheckError>(())
    /// ```
    pub fn check(&self) -> Result<Vec<CheckNotice>, CheckError> {
        let config = &self.config;
        let mut problems = Vec::new();
        if let Err(error) = config.model.check() {
            problems.push(CheckProblem::Model(error));
        }
        match &config.registry {
            Err(error) => problems.push(CheckProblem::Registry(error.clone())),
            Ok(registry) => {
                let snapshot = registry.snapshot();
                let tools = config.dispatcher.callable_tools(&snapshot);
                let undecided = config.dispatcher.undecidable_tools(&snapshot).into_iter();
                problems.extend(
                    undecided.map(|tool| CheckProblem::MissingApprover { tool: tool.name.clone() }),
                );
                let unmatched = config.dispatcher.unmatched_rules(&snapshot).into_iter();
                problems.extend(unmatched.map(CheckProblem::UnmatchedRule));
                check_extensions(config, &tools, &mut problems);
                problems.extend(tools.iter().filter_map(|tool| unenforced_pattern(tool)));
                // A model that can't send any request reports the same error for each of them.
                if !problems.iter().any(|problem| matches!(problem, CheckProblem::Model(_))) {
                    check_requests(config, &tools, &mut problems);
                }
            }
        }
        if problems.is_empty() { Ok(notices(config)) } else { Err(CheckError { problems }) }
    }
}

fn notices(config: &AgentConfig) -> Vec<CheckNotice> {
    let hooks = config.holding_hooks().map(|hook| CheckNotice::HookHoldsBackReplies { hook });
    let validators = config
        .holding_validators()
        .map(|validator| CheckNotice::ValidatorHoldsBackAnswers { validator });
    hooks.chain(validators).collect()
}

fn check_extensions(
    config: &AgentConfig,
    tools: &[&ToolDefinition],
    problems: &mut Vec<CheckProblem>,
) {
    // Calls that run elsewhere have the extensions of that place.
    if config.remote.is_some() {
        return;
    }
    let extensions = config.dispatcher.registered_extensions();
    for tool in tools {
        let missing =
            tool.extensions.iter().filter(|required| !required.is_provided_by(extensions));
        problems.extend(missing.map(|required| CheckProblem::MissingExtension {
            tool: tool.name.clone(),
            extension: required.type_name(),
        }));
    }
}

/// Returns the problem of a pattern that is not enforced.
fn unenforced_pattern(tool: &ToolDefinition) -> Option<CheckProblem> {
    let is_remote = matches!(tool.kind, ToolKind::Remote(_));
    let pattern = tool.parameters.unsupported_pattern().filter(|_| !is_remote)?;
    let (tool, pattern) = (tool.name.clone(), pattern.to_owned());
    Some(CheckProblem::UnenforcedPattern { tool, pattern })
}

/// Checks a request for each tool that can be offered; and if these are accepted, one with the
/// options of the agent.
fn check_requests(
    config: &AgentConfig,
    tools: &[&ToolDefinition],
    problems: &mut Vec<CheckProblem>,
) {
    let selectable = tools.iter().copied().filter(|tool| tool.preference.is_selectable());
    let tools: Vec<_> = selectable.collect();
    let plain = ChatOptions::default();
    let tool_errors = tools.iter().filter_map(|tool| {
        let error = check_request(config, &[tool], &plain).err()?;
        Some(CheckProblem::Tool { tool: tool.name.clone(), error })
    });
    let tool_errors: Vec<_> = tool_errors.collect();
    if tool_errors.is_empty()
        && let Err(error) =
            check_request(config, tools_for_options(config, &tools), &config.options)
    {
        problems.push(CheckProblem::Options(error));
    }
    problems.extend(tool_errors);
}

/// Returns the tools with which the options are checked: all if every run offers them, otherwise
/// the fewest that satisfy the tool choice, because a selector may leave out all others.
fn tools_for_options<'s, 't>(
    config: &AgentConfig,
    tools: &'s [&'t ToolDefinition],
) -> &'s [&'t ToolDefinition] {
    if config.selector.is_none() {
        return tools;
    }
    let mut single_tools = tools.chunks(1);
    let required = match &config.options.tool_choice {
        ToolChoice::Auto | ToolChoice::None => None,
        ToolChoice::Required => single_tools.next(),
        ToolChoice::Tool(name) => single_tools.find(|tool| tool.iter().any(|it| it.name == *name)),
    };
    required.unwrap_or_default()
}

fn check_request(
    config: &AgentConfig,
    tools: &[&ToolDefinition],
    options: &ChatOptions,
) -> Result<(), ModelError> {
    let messages = [Message::user("Hello")];
    let request = ChatRequest::new(&messages).tools(tools).options(options);
    config.model.check_request(config.driver.prepare(request).request())
}

/// The problems that [`Agent::check`] found, one line each when printed.
///
/// ```
/// use tool_runtime::agent::CheckProblem;
/// use tool_runtime::{Agent, ChatReply, ScriptedModel, tool, tools};
///
/// /// Returns the time.
/// #[tool(effect = "read")]
/// async fn now() -> &'static str {
///     "noon"
/// }
///
/// let model = ScriptedModel::new([ChatReply::text("It is noon.")]);
/// let error = Agent::new(model, tools![now, now]).check().unwrap_err();
/// assert!(matches!(error.problems(), [CheckProblem::Registry(_)]));
/// assert!(error.to_string().starts_with("registry: duplicate tool name `now`"));
/// ```
#[derive(Debug)]
pub struct CheckError {
    problems: Vec<CheckProblem>,
}

impl CheckError {
    /// Returns every problem, in the order in which they are printed; at least one.
    pub fn problems(&self) -> &[CheckProblem] {
        &self.problems
    }
}

impl fmt::Display for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            let line_break = if index == 0 { "" } else { "\n" };
            write!(f, "{line_break}{problem}")?;
        }
        Ok(())
    }
}

impl Error for CheckError {}

/// One problem that would make the first run of an agent fail.
///
/// ```
/// use tool_runtime::agent::CheckProblem;
/// use tool_runtime::{Agent, ChatReply, ScriptedModel, tool, tools};
///
/// struct Database;
///
/// /// Counts the orders.
/// #[tool(effect = "read", extensions(Database))]
/// async fn count_orders() -> u32 {
///     7
/// }
///
/// let model = ScriptedModel::new([ChatReply::text("There are 7.")]);
/// let error = Agent::new(model, tools![count_orders]).check().unwrap_err();
/// let CheckProblem::MissingExtension { tool, .. } = &error.problems()[0] else { panic!() };
/// assert_eq!(tool, "count_orders");
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckProblem {
    /// The tools can't be registered.
    #[error("registry: {0}")]
    Registry(#[source] RegistryError),
    /// The model can't send any request.
    #[error("model: {0}")]
    Model(#[source] ModelError),
    /// The model provider does not accept the definition of a tool.
    #[error("tool `{tool}`: {error}")]
    Tool {
        /// The name of the tool.
        tool: String,
        /// The error of a request with this tool.
        #[source]
        error: ModelError,
    },
    /// The model provider does not accept a request with the options of the agent and the tools
    /// that they apply to.
    #[error("options: {0}")]
    Options(#[source] ModelError),
    /// A tool asks for approval, but the policy has no approver.
    #[error(
        "tool `{tool}`: missing approver: its permission is `ask`, so every call is refused; \
         set `Policy::approver`"
    )]
    MissingApprover {
        /// The name of the tool.
        tool: String,
    },
    /// A rule applies to no tool: its name is misspelled, the tool is not registered, or a rule for
    /// each provider finds no tool with a provider. A
    /// permission `Allow` needs the name by which models call the tool, or its full name.
    #[error("{0}")]
    UnmatchedRule(UnmatchedRule),
    /// A pattern in the schema of a tool has features that the validator lacks.
    #[error(
        "tool `{tool}`: pattern `{pattern}` is not enforced: correct its syntax; look-around, \
         back-references and Unicode classes are not supported"
    )]
    UnenforcedPattern {
        /// The name of the tool.
        tool: String,
        /// The pattern as it is written.
        pattern: String,
    },
    /// The agent has no value of an extension type that a tool requires.
    #[error("tool `{tool}`: missing extension: {extension}; add one with `Agent::extension`")]
    MissingExtension {
        /// The name of the tool.
        tool: String,
        /// The path of the Rust type.
        extension: &'static str,
    },
}

/// Notice about a setting of an agent whose effect is easy to miss. It is displayed as one line.
///
/// [`Agent::check`] returns it. The agent runs as it is set.
///
/// ```
/// use tool_runtime::agent::ModelHook;
/// use tool_runtime::{Agent, ScriptedModel, Tools, async_trait};
///
/// struct Audit;
///
/// #[async_trait]
/// impl ModelHook for Audit {}
///
/// let agent = Agent::new(ScriptedModel::default(), Tools::new()).model_hook(Audit);
/// for notice in agent.check()? {
///     assert!(notice.to_string().contains("Audit` holds back each reply"));
/// }
/// # Ok::<(), tool_runtime::agent::CheckError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CheckNotice {
    /// A hook may replace whole replies, so nothing of a reply is streamed until it is complete.
    HookHoldsBackReplies {
        /// The path of the Rust type.
        hook: &'static str,
    },
    /// A validator sees an answer before it is streamed.
    ValidatorHoldsBackAnswers {
        /// The path of the Rust type.
        validator: &'static str,
    },
}

impl fmt::Display for CheckNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HookHoldsBackReplies { hook } => write!(
                f,
                "model hook `{hook}` holds back each reply until it is complete, so streams are \
                 silent until then; if it changes no reply, or changes it in pieces, return that \
                 from `ModelHook::reply_changes`"
            ),
            Self::ValidatorHoldsBackAnswers { validator } => write!(
                f,
                "answer validator `{validator}` holds back each answer until it is accepted, so \
                 streams are silent until then; if rejected answers may be shown, return false \
                 from `AnswerValidator::holds_back_answers`"
            ),
        }
    }
}
