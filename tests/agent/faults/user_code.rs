//! User code that panics in unexpected places: in the text of an error, in a destructor, while a
//! value is deserialized.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::sync::LazyLock;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};
use tool_runtime::agent::session::{
    SessionError, SessionInfo, SessionLocks, SessionOwner, SessionQuery, SessionRecord,
    SessionStore, SessionWrite,
};
use tool_runtime::agent::window::{EvictedMessages, Summarizer, Window};
use tool_runtime::event::{EventKind, ModelEvent, Recorder, RunEvent};
use tool_runtime::{Dispatcher, Registry, ToolCall};

use super::*;

/// Error that panics when it is printed.
#[derive(Debug)]
struct PanickingError;

impl fmt::Display for PanickingError {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("on purpose")
    }
}

impl Error for PanickingError {}

/// Model, store and summarizer that fail with `PanickingError`.
#[derive(Debug)]
struct Fails;

#[async_trait]
impl ChatModel for Fails {
    async fn reply(&self, _: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        Err(ModelError::failed(PanickingError))
    }
}

#[async_trait]
impl SessionStore for Fails {
    async fn load(&self, _: &str) -> Result<Option<SessionRecord>, SessionError> {
        Ok(None)
    }

    async fn save(&self, _: &str, _: SessionWrite<'_>) -> Result<u64, SessionError> {
        Err(SessionError::unavailable(PanickingError))
    }

    async fn list(&self, _: SessionQuery<'_>) -> Result<Vec<SessionInfo>, SessionError> {
        Ok(Vec::new())
    }

    async fn delete(&self, _: &str, _: Option<u64>) -> Result<(), SessionError> {
        Ok(())
    }

    async fn set_title(&self, _: &str, _: Option<&str>) -> Result<(), SessionError> {
        Ok(())
    }

    async fn rename(&self, _: &str, _: &str, _: Option<u64>) -> Result<(), SessionError> {
        Ok(())
    }

    async fn acquire(&self, _: &str, _: &SessionOwner, _: Duration) -> Result<u64, SessionError> {
        Ok(1)
    }
    async fn renew(&self, _: &str, _: u64, _: Duration) -> Result<(), SessionError> {
        Ok(())
    }
    async fn release(&self, _: &str, _: u64) -> Result<(), SessionError> {
        Ok(())
    }

    fn locks(&self) -> &SessionLocks {
        static LOCKS: LazyLock<SessionLocks> = LazyLock::new(SessionLocks::new);
        &LOCKS
    }
}

#[async_trait]
impl Summarizer for Fails {
    async fn summarize(&self, _: &EvictedMessages) -> Result<String, Box<dyn Error + Send + Sync>> {
        Err(PanickingError.into())
    }
}

const ERROR_TEXT: &str = "an error whose own text panicked: on purpose";

#[tokio::test]
async fn error_with_panicking_text_ends_the_run() {
    silence_panics_on_purpose();
    let recorder = Recorder::new(10);
    let agent = Agent::new(Fails, Tools::new()).observer(recorder.clone());
    let stopped = agent.run("Go").await.unwrap_err();
    assert_eq!(stopped.reason.code(), "MODEL_FAILED");
    let stopped = agent.session(Fails, "s").run("Go").await.unwrap_err();
    assert_eq!(stopped.reason.code(), "SESSION");
    let ends = recorder.events().into_iter().filter_map(|event| match event.kind {
        EventKind::Run(RunEvent::Finished { error, .. }) => error,
        _ => None,
    });
    assert_eq!(ends.collect::<Vec<_>>(), [ERROR_TEXT; 2]);
}

#[tokio::test]
async fn summary_error_with_panicking_text_is_recorded() {
    silence_panics_on_purpose();
    let recorder = Recorder::new(10);
    let window = Window::new().max_tokens(50).summarizer(Fails);
    let agent = Agent::new(ScriptedModel::new([ChatReply::text("Done.")]), Tools::new());
    let long = "word ".repeat(100);
    let conversation = vec![Message::user(&long), Message::assistant(&long), Message::user("Go")];
    let agent = agent.window(window).observer(recorder.clone());
    assert_eq!(agent.run(conversation).await.unwrap().text, "Done.");
    let failed = recorder.events().into_iter().find_map(|event| match event.kind {
        EventKind::Model(ModelEvent::SummaryFailed { reason }) => Some(reason),
        _ => None,
    });
    assert_eq!(failed.as_deref(), Some(ERROR_TEXT));
}

/// Tool that unregisters itself when it is called, and panics in its destructor.
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
async fn tool_with_panicking_destructor_does_not_stop_the_run() {
    silence_panics_on_purpose();
    let call = || ChatReply::default().call("bomb", "{}");
    // The tool is dropped with the next model request, or at the end of the run.
    let model = ScriptedModel::new([call(), ChatReply::text("Done.")]);
    let answer = Agent::new(model, Bomb::registered()).run("Go").await.unwrap();
    assert_eq!(results(&answer.transcript[2])[0].text, "gone");
    let model = ScriptedModel::new([call()]);
    let stopped = Agent::new(model, Bomb::registered()).run("Go").await.unwrap_err();
    assert_eq!(stopped.reason.code(), "MODEL_SCRIPT");
    let dispatcher = Dispatcher::new(Bomb::registered());
    let executions = dispatcher.dispatch(vec![ToolCall::new("1", "bomb", "{}")]).await;
    assert_eq!(executions[0].result.text, "gone");
}

/// Number whose deserialization panics unless it is even.
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
async fn extraction_is_retried_after_a_panicking_type() {
    silence_panics_on_purpose();
    let model = ScriptedModel::new([
        ScriptedTurn::new(ChatReply::text(r#"{"value": 3}"#)),
        ScriptedTurn::new(ChatReply::text(r#"{"value": 4}"#)).expect_last("it can't be taken"),
    ]);
    let extracted = Agent::new(model, Tools::new()).extract::<Even>("Which?").await.unwrap();
    assert_eq!(extracted.value, Even(4));
}
