//! Files that a model creates: in the stream, in the event, in the transcript and in a session.

use support::conversation::echo;
use tool_runtime::agent::StreamItem;
use tool_runtime::agent::session::MemorySessions;
use tool_runtime::drivers::{ReAct, Text};
use tool_runtime::event::ModelEvent;
use tool_runtime::message::GeneratedFile;
use tool_runtime::{Agent, AssistantPart, ChatReply, Message, Policy, ScriptedModel, Tools, tools};

use super::model_event;

fn image() -> GeneratedFile {
    GeneratedFile::base64("gemini", "image/png", "iVBORw0KGgo=").name("hunter22.png")
}

fn reply(text: &str) -> ChatReply {
    let text = AssistantPart::Text { text: text.into() };
    let files = [image(), GeneratedFile::stored("anthropic", "file_1")].map(AssistantPart::File);
    ChatReply::new([text].into_iter().chain(files).collect())
}

#[tokio::test]
async fn files_are_streamed_emitted_and_kept() {
    let react = r#"{"thought": "Hm.", "answer": "Here."}"#;
    let agent = |text: &str| Agent::new(ScriptedModel::new([reply(text)]), tools![echo]);
    for agent in
        [agent("Here."), agent("Here.").driver(Text::new()), agent(react).driver(ReAct::new())]
    {
        let mut stream = agent.policy(Policy::new().secrets(["hunter22"])).stream("Draw.");
        let (mut streamed, mut attachments) = (Vec::new(), Vec::new());
        while let Some(item) = stream.next().await {
            if let Some(ModelEvent::Replied { attachments: of_event, .. }) = model_event(&item) {
                attachments.extend(of_event.clone());
            }
            if let StreamItem::File(file) = item {
                streamed.push(file);
            }
        }
        let transcript = stream.finish().await.unwrap().transcript;
        let last = transcript.last().unwrap();
        let found: Vec<_> = last.generated_files().cloned().collect();
        assert_eq!(found, [image(), GeneratedFile::stored("anthropic", "file_1")]);
        assert_eq!(streamed.len(), 2);
        assert_eq!(streamed[0], image().name("[redacted].png"));
        assert_eq!(attachments[0].name.as_deref(), Some("[redacted].png"));
        assert_eq!(attachments[0].byte_len, Some(8));
        assert_eq!((attachments[1].byte_len, attachments.len()), (None, 2));
    }
}

/// An image is an answer, also without a text.
#[tokio::test]
async fn file_alone_is_an_answer_and_stays_in_its_session() {
    let file = || ChatReply::new(vec![AssistantPart::File(image())]);
    let sessions = MemorySessions::new();
    let agent = Agent::new(ScriptedModel::new([file(), ChatReply::text("A dot.")]), Tools::new());
    let session = agent.session(sessions, "s");
    let answer = session.run("Draw.").await.unwrap();
    assert_eq!(answer.text, "");
    let answer = session.run("What is it?").await.unwrap();
    let found: Vec<_> = answer.transcript.iter().flat_map(Message::generated_files).collect();
    assert_eq!(found, [&image()]);
}
