//! The tools, as a model sees them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tool_core::{
    OutputFormat, Row, ToolContext, ToolError, ToolErrorKind, ToolOutput, Untrusted, tool,
};

use super::error::MemoryError;
use super::fact::Fact;
use super::scope::MemoryScope;
use super::{DamagedFact, FoundFact, Memory};
use crate::Added;
use crate::KnowledgeError;

/// The owner of a fact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Owner {
    /// The user, in all conversations.
    #[default]
    User,
    /// This conversation only.
    Session,
    /// You, for all users.
    Agent,
}

#[tool]
impl Memory {
    /// Remembers a fact for later conversations.
    #[tool(name = "remember", effect = "write", idempotent, timeout = "60s")]
    async fn remember_fact(
        &self,
        /// The fact in one sentence.
        fact: &str,
        /// The subject, such as `home city`. A later fact about it replaces this one.
        about: Option<String>,
        /// The owner of the fact.
        #[arg(default)]
        scope: Owner,
        ctx: &ToolContext,
    ) -> Result<String, ToolError> {
        let scope = scope_of(ctx, scope)?;
        let mut fact = Fact::new(fact);
        fact.about = about;
        fact.learned_from = ctx.run_context().session().map(str::to_owned);
        Ok(match self.remember(&scope, fact).await.map_err(tool_error)? {
            Added::New => "Remembered.",
            Added::Replaced => "Remembered; it replaces the earlier fact about this subject.",
            Added::Unchanged => "This fact is known already.",
        }
        .to_owned())
    }

    /// Returns remembered facts that answer a question.
    #[tool(name = "recall", effect = "read", timeout = "60s")]
    async fn recall_facts(
        &self,
        /// A question, or words of the facts.
        query: &str,
        /// Number of facts.
        #[arg(default = 10, range(min = 1, max = 50))]
        limit: u8,
        #[arg(default)] output: OutputFormat,
        ctx: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let scopes = MemoryScope::of_run(&ctx.run_context());
        if scopes.is_empty() {
            let text = "This conversation has no user, session or agent, so it has no facts.";
            return Err(no_scope(text));
        }
        let facts = self.recall_each(&scopes, query, limit.into()).await.map_err(tool_error)?;
        Ok(output.render(facts.iter().map(row)))
    }

    /// Forgets a fact that `recall` returned.
    #[tool(name = "forget", effect = "write", idempotent, timeout = "60s")]
    async fn forget_fact(
        &self,
        /// The `id` of the fact.
        id: &str,
        ctx: &ToolContext,
    ) -> Result<String, ToolError> {
        for scope in MemoryScope::of_run(&ctx.run_context()) {
            if self.forget(&scope, id).await.map_err(tool_error)? {
                return Ok("Forgotten.".to_owned());
            }
        }
        let text = format!("There is no fact `{id}`: call `recall` for the ids.");
        Err(ToolError::new(ToolErrorKind::ExecutionFailed, text))
    }
}

/// Returns the row of a fact, or of one that can't be decoded.
fn row(found: &FoundFact) -> Row {
    // A fact and its subject may contain what someone else wanted to be remembered.
    let marked = |text: String| Untrusted::new("memory", text).to_string();
    let row = |id: &str| Row::new().with("id", id).with("scope", found.owner);
    match &found.fact {
        Ok(fact) => row(&fact.id)
            .with("learned_from", fact.learned_from.clone())
            .with("fact", marked(fact.with_subject())),
        Err(DamagedFact { id, text: Some(text) }) => row(id)
            .with("error", "this fact is damaged: forget it, and remember it again")
            .with("fact", marked(text.clone())),
        Err(DamagedFact { id, text: None }) => row(id).with(
            "error",
            "this fact is damaged, and hides the others of its scope: forget it, and recall again",
        ),
    }
}

fn scope_of(ctx: &ToolContext, owner: Owner) -> Result<MemoryScope, ToolError> {
    let is_owner = |scope: &MemoryScope| {
        matches!(
            (owner, scope),
            (Owner::User, MemoryScope::User(_))
                | (Owner::Session, MemoryScope::Session(_))
                | (Owner::Agent, MemoryScope::Agent(_))
        )
    };
    let name = match owner {
        Owner::User => "user",
        Owner::Session => "session",
        Owner::Agent => "agent",
    };
    let mut scopes = MemoryScope::of_run(&ctx.run_context()).into_iter();
    scopes
        .find(is_owner)
        .ok_or_else(|| no_scope(&format!("This conversation has no {name}: send another `scope`.")))
}

fn no_scope(text: &str) -> ToolError {
    ToolError::new(ToolErrorKind::ExecutionFailed, text)
}

fn tool_error(error: MemoryError) -> ToolError {
    match &error {
        MemoryError::Length { .. }
        | MemoryError::SubjectLength { .. }
        | MemoryError::Full { .. } => {
            ToolError::new(ToolErrorKind::ExecutionFailed, format!("The {error}."))
        }
        MemoryError::Corrupt { id } => {
            let text = format!("The stored fact `{id}` is damaged: call `forget` with it first.");
            ToolError::new(ToolErrorKind::ExecutionFailed, text)
        }
        MemoryError::Knowledge(KnowledgeError::Embedder(cause)) if cause.is_transient() => {
            ToolError::new(ToolErrorKind::TransientFailure, "The memory can't be used now.")
        }
        _ => ToolError::new(ToolErrorKind::ExecutionFailed, "The memory can't be used now."),
    }
    .with_source(error)
}
