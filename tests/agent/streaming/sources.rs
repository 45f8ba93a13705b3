//! Sources of replies: in the stream, in the event and in the transcript.

use std::ops::ControlFlow;

use tool_runtime::agent::{ModelHook, ReplyChanges, StreamItem};
use tool_runtime::drivers::{ReAct, Text};
use tool_runtime::event::ModelEvent;
use tool_runtime::message::Source;
use tool_runtime::{
    Agent, AssistantPart, ChatReply, Message, Policy, RunContext, ScriptedModel, Tools,
    async_trait, tools,
};

use super::model_event;
use support::conversation::echo;

const TEXT: &str = "The key is hunter22. It rains.";

fn reply() -> ChatReply {
    let rain = TEXT.find("It").unwrap()..TEXT.len();
    ChatReply::new(vec![
        AssistantPart::Text { text: TEXT.into() },
        AssistantPart::Source(
            Source::web("https://w.example/hunter22").quote("hunter22").range(rain),
        ),
        AssistantPart::Source(Source::document("hunter22").range(40..50)),
    ])
}

/// What is observed of the sources of a reply.
#[derive(Debug, PartialEq)]
struct Observed {
    text: String,
    streamed: Vec<Source>,
    in_event: Vec<Source>,
    in_transcript: Vec<Source>,
}

async fn observed(agent: Agent) -> Observed {
    let mut stream = agent.stream("Rain?");
    let (mut text, mut streamed, mut in_event) = (String::new(), Vec::new(), Vec::new());
    while let Some(item) = stream.next().await {
        if let Some(ModelEvent::Replied { sources, .. }) = model_event(&item) {
            in_event.extend(sources.clone());
        }
        match item {
            StreamItem::Text(more) => text += &more,
            StreamItem::Source(source) => streamed.push(source),
            _ => {}
        }
    }
    let transcript = stream.finish().await.unwrap().transcript;
    let saved = serde_json::to_string(&transcript).unwrap();
    let transcript: Vec<Message> = serde_json::from_str(&saved).unwrap();
    let in_transcript = transcript.iter().flat_map(Message::sources).cloned().collect();
    Observed { text, streamed, in_event, in_transcript }
}

fn cited<'t>(sources: &[Source], text: &'t str) -> Vec<Option<&'t str>> {
    sources.iter().map(|source| source.cited_in(text)).collect()
}

#[tokio::test]
async fn sources_are_streamed_emitted_and_saved() {
    let model = || ScriptedModel::new([reply()]).stream_words();
    let result = observed(Agent::new(model(), Tools::new())).await;
    assert_eq!(result.streamed.len(), 2);
    assert_eq!(result.in_event, result.in_transcript);
    // A range that does not fit is removed.
    assert_eq!(result.in_event[1].range, None);
    for sources in [&result.streamed, &result.in_event] {
        assert_eq!(cited(sources, &result.text), [Some("It rains."), None]);
    }
    // Drivers that read the text keep the sources.
    for agent in [
        Agent::new(model(), tools![echo]).driver(Text::new()),
        Agent::new(ScriptedModel::new([react()]), tools![echo]).driver(ReAct::new()),
    ] {
        let result = observed(agent).await;
        assert_eq!((result.streamed.len(), result.in_event.len()), (2, 2));
        assert_eq!(result.in_event, result.in_transcript);
        for source in result.in_event.iter().filter(|source| source.range.is_some()) {
            assert_eq!(source.cited_in(&result.text), Some("It rains."));
        }
    }
}

fn react() -> ChatReply {
    let mut reply = reply();
    let answer = format!(r#"{{"thought": "Hm.", "answer": "{TEXT}"}}"#);
    reply.parts[0] = AssistantPart::Text { text: answer };
    reply
}

/// Every text of a source may contain a secret, and positions in a redacted text differ.
#[tokio::test]
async fn secrets_are_redacted_in_sources() {
    let agent = Agent::new(ScriptedModel::new([reply()]).stream_words(), Tools::new())
        .policy(Policy::new().secrets(["hunter22"]));
    let result = observed(agent).await;
    for sources in [&result.streamed, &result.in_event] {
        assert_eq!(sources[0].url.as_deref(), Some("https://w.example/[redacted]"));
        assert_eq!(sources[0].quote.as_deref(), Some("[redacted]"));
        assert_eq!(sources[1].title.as_deref(), Some("[redacted]"));
        assert_eq!(cited(sources, &result.text), [None, None]);
    }
    assert_eq!(cited(&result.in_transcript, TEXT), [Some("It rains."), None]);
    // Without a secret in the text, the range stays.
    let agent = Agent::new(ScriptedModel::new([reply()]).stream_words(), Tools::new())
        .policy(Policy::new().secrets(["another word"]));
    let result = observed(agent).await;
    assert_eq!(cited(&result.streamed, &result.text), [Some("It rains."), None]);
}

struct Shortens;

#[async_trait]
impl ModelHook for Shortens {
    fn reply_changes(&self) -> ReplyChanges {
        ReplyChanges::Whole
    }

    async fn after_reply(&self, reply: &mut ChatReply, _: &RunContext<'_>) -> ControlFlow<String> {
        for part in &mut reply.parts {
            if let AssistantPart::Text { text } = part {
                *text = text.replace("The key is hunter22. ", "");
            }
        }
        ControlFlow::Continue(())
    }
}

#[tokio::test]
async fn ranges_are_removed_if_a_hook_changes_the_text() {
    let agent = Agent::new(ScriptedModel::new([reply()]), Tools::new()).model_hook(Shortens);
    let result = observed(agent).await;
    assert_eq!(result.text, "It rains.");
    for sources in [&result.streamed, &result.in_event, &result.in_transcript] {
        assert_eq!(sources.len(), 2);
        assert!(sources.iter().all(|source| source.range.is_none()), "{sources:?}");
    }
}

/// A reply with nothing but sources answers nothing.
#[tokio::test]
async fn sources_alone_are_no_answer() {
    let mut sources = reply();
    sources.parts.remove(0);
    let stopped = Agent::new(ScriptedModel::new([sources]), Tools::new()).run("Hi").await;
    assert_eq!(stopped.unwrap_err().reason.code(), "EMPTY_REPLY");
}
