//! Code of the program's own that panics where it is least looked for: in the texts of errors, in destructors, where a
//! value is read.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};
use tool_runtime::agent::session::{
    SessionError, SessionInfo, SessionRecord, SessionStore, SessionWrite,
};
use tool_runtime::agent::window::{EvictedMessages, Summarizer, SummaryError, Window};
use tool_runtime::event::{EventKind, ModelEvent, Recorder, RunEvent};
use tool_runtime::{Dispatcher, Registry, ToolCall};

use super::*;

/// Panics where anybody prints it, or lets it go.
#[derive(Debug)]
struct Mined;

impl fmt::Display for Mined {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("on purpose")
    }
}

impl Error for Mined {}

/// A model that fails with it, and a store.
#[derive(Debug)]
struct Fails;

#[async_trait]
impl ChatModel for Fails {
    async fn reply(&self, _: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        Err(ModelError::failed(Mined))
    }
}

#[async_trait]
impl SessionStore for Fails {
    async fn load(&self, _: &str) -> Result<Option<SessionRecord>, SessionError> {
        Ok(None)
    }

    async fn save(&self, _: &str, _: SessionWrite<'_>) -> Result<u64, SessionError> {
        Err(SessionError::unavailable(Mined))
    }

    async fn list(&self) -> Result<Vec<SessionInfo>, SessionError> {
        Ok(Vec::new())
    }

    async fn delete(&self, _: &str) -> Result<(), SessionError> {
        Ok(())
    }
}

#[async_trait]
impl Summarizer for Fails {
    async fn summarize(&self, _: &EvictedMessages) -> Result<String, SummaryError> {
        Err(SummaryError::new(Mined))
    }
}

const TOLD: &str = "an error whose own text panicked: on purpose";

#[tokio::test]
async fn an_error_that_can_not_be_printed_ends_a_run_like_any_other() {
    silence_panics_on_purpose();
    let recorder = Recorder::new(10);
    let agent = Agent::new(Fails, Tools::new()).observer(recorder.clone());
    let stopped = agent.run("Go").await.unwrap_err();
    assert_eq!(stopped.why.code(), "MODEL_FAILED");
    let stopped = agent.session(Fails, "s").run("Go").await.unwrap_err();
    assert_eq!(stopped.why.code(), "SESSION");
    let ends = recorder.events().into_iter().filter_map(|event| match event.kind {
        EventKind::Run(RunEvent::Finished { error, .. }) => error,
        _ => None,
    });
    assert_eq!(ends.collect::<Vec<_>>(), [TOLD; 2]);
}

#[tokio::test]
async fn a_summary_fails_for_whatever_reason() {
    silence_panics_on_purpose();
    let recorder = Recorder::new(10);
    let window = Window::new().max_tokens(50).summarizer(Fails);
    let agent = Agent::new(ScriptedModel::new([ChatReply::text("Done.")]), Tools::new());
    let long = "word ".repeat(100);
    let said = vec![Message::user(&long), Message::assistant(&long), Message::user("Go")];
    let agent = agent.window(window).observer(recorder.clone());
    assert_eq!(agent.run(said).await.unwrap().text, "Done.");
    let failed = recorder.events().into_iter().find_map(|event| match event.kind {
        EventKind::Model(ModelEvent::SummaryFailed { reason }) => Some(reason),
        _ => None,
    });
    assert_eq!(failed.as_deref(), Some(TOLD));
}

/// Takes itself away as it is called, and panics as it goes.
struct Bomb(ToolDefinition, Registry);

impl Bomb {
    fn registered() -> Registry {
        let registry = Registry::new();
        let definition = ToolDefinition::new("bomb", "Goes.", json!({ "type": "object" }));
        registry.register(Arc::new(Self(definition, registry.clone()))).unwrap();
        registry
    }
}

#[async_trait]
impl Tool for Bomb {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    async fn call(&self, _: Arguments, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        self.1.unregister("bomb");
        Ok(ToolOutput::text("gone"))
    }
}

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("on purpose");
    }
}

#[tokio::test]
async fn a_tool_that_panics_as_it_goes_harms_no_run() {
    silence_panics_on_purpose();
    let call = || ChatReply::default().call("bomb", "{}");
    // It goes as the model is asked again, or as the run ends.
    let model = ScriptedModel::new([call(), ChatReply::text("Done.")]);
    let answer = Agent::new(model, Bomb::registered()).run("Go").await.unwrap();
    assert_eq!(results(&answer.transcript[2])[0].text, "gone");
    let model = ScriptedModel::new([call()]);
    let stopped = Agent::new(model, Bomb::registered()).run("Go").await.unwrap_err();
    assert_eq!(stopped.why.code(), "MODEL_FAILED");
    let dispatcher = Dispatcher::new(Bomb::registered());
    let done = dispatcher.dispatch(vec![ToolCall::new("1", "bomb", "{}")]).await;
    assert_eq!(done[0].result.text, "gone");
}

/// Can be read once it is even.
#[derive(Debug, PartialEq)]
struct Even(u64);

impl<'de> Deserialize<'de> for Even {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let number = u64::deserialize(from)?;
        assert!(number.is_multiple_of(2), "on purpose");
        Ok(Self(number))
    }
}

impl JsonSchema for Even {
    fn schema_name() -> Cow<'static, str> {
        "Even".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer" })
    }
}

#[tokio::test]
async fn a_value_whose_type_panics_is_asked_for_again() {
    silence_panics_on_purpose();
    let model = ScriptedModel::new([
        ScriptedTurn::new(ChatReply::text(r#"{"value": 3}"#)),
        ScriptedTurn::new(ChatReply::text(r#"{"value": 4}"#)).expect_last("it can't be taken"),
    ]);
    let found = Agent::new(model, Tools::new()).extract::<Even>("Which?").await.unwrap();
    assert_eq!(found.value, Even(4));
}
