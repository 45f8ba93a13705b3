//! Codecs conform, and the suite finds each defect of a codec.

use serde_json::{Value, json};
use tool_conformance::Violation;
use tool_conformance::codecs::check;
use tool_runtime::models::WireNames;
use tool_runtime::providers::__private::{
    AnthropicMessages, ChatCompletions, GenerateContent, MistralChat, OllamaChat, Responses,
};
use tool_runtime::providers::codec::Codec;
use tool_runtime::{
    AssistantPart, ChatOptions, ChatRequest, ContentPart, Message, ModelError, ToolChoice,
};

use crate::assert_found;

async fn check_codec(codec: impl Codec) -> Vec<Violation> {
    check(async |request: ChatRequest<'_>| encode(&codec, request, false)).await
}

fn encode<C: Codec>(
    codec: &C,
    request: ChatRequest<'_>,
    is_streamed: bool,
) -> Result<Value, ModelError> {
    let names = request.tools.iter().map(|tool| tool.name.as_str());
    codec.encode("some-model", request, &WireNames::new(names, C::NAME_RULES), is_streamed)
}

#[tokio::test]
async fn codecs_of_the_providers_conform() {
    assert_eq!(check_codec(AnthropicMessages::default()).await, []);
    assert_eq!(check_codec(ChatCompletions::default()).await, []);
    assert_eq!(check_codec(GenerateContent::default()).await, []);
    assert_eq!(check_codec(MistralChat::default()).await, []);
    assert_eq!(check_codec(OllamaChat::default()).await, []);
    assert_eq!(check_codec(Responses::default()).await, []);
    let codec = ChatCompletions::default();
    let streamed = check(async |request: ChatRequest<'_>| encode(&codec, request, true)).await;
    assert_eq!(streamed, []);
}

/// A change of the request, which then lacks something.
type Loss = (&'static str, &'static str, fn(&mut Vec<Message>, &mut ChatOptions));

const CONTENT: &str = "content is sent, has a note in its place, or is refused";
const CHOICES: &str = "different tool choices have different requests, or are refused";
const OPTIONS: &str = "an option is sent or refused";

/// Removes the parts of users and of results that a codec does not know.
fn retain(messages: &mut [Message], is_known: impl Fn(&ContentPart) -> bool) {
    for message in messages {
        match message {
            Message::User { parts, .. } => parts.retain(&is_known),
            Message::Tool { results } => {
                results.iter_mut().for_each(|result| result.parts.retain(&is_known));
            }
            _ => {}
        }
    }
}

/// Removes the parts of the assistant that a codec does not know.
fn retain_of_assistant(messages: &mut [Message], is_known: impl Fn(&AssistantPart) -> bool) {
    for message in messages {
        if let Message::Assistant { parts, .. } = message {
            parts.retain(&is_known);
        }
    }
}

const LOSSES: &[Loss] = &[
    (CONTENT, "text-of-system", |messages, _| {
        messages.retain(|it| !matches!(it, Message::System { .. }));
    }),
    (CONTENT, "a text of the user", |messages, _| retain(messages, |it| it.as_text().is_none())),
    (CONTENT, "an image of the user", |messages, _| {
        retain(messages, |it| !matches!(it, ContentPart::Image(_)));
    }),
    (CONTENT, "audio in a result", |messages, _| {
        retain(messages, |it| !matches!(it, ContentPart::Audio(_)));
    }),
    (CONTENT, "a file without name of the user", |messages, _| {
        retain(messages, |it| !matches!(it, ContentPart::File(_)));
    }),
    (CONTENT, "a link in a result", |messages, _| {
        retain(messages, |it| !matches!(it, ContentPart::Link(_)));
    }),
    (CONTENT, "a resource with text in a result", |messages, _| {
        retain(messages, |it| !matches!(it, ContentPart::Resource(_)));
    }),
    (CONTENT, "a text of the assistant", |messages, _| {
        retain_of_assistant(messages, |it| !matches!(it, AssistantPart::Text { .. }));
    }),
    (CONTENT, "a call", |messages, _| {
        retain_of_assistant(messages, |it| !matches!(it, AssistantPart::Call(_)));
    }),
    (CONTENT, "a failed result", |messages, _| {
        for message in messages {
            if let Message::Tool { results } = message {
                results.retain(|it| it.is_success());
            }
        }
    }),
    (CHOICES, "Required", |_, options| options.tool_choice = ToolChoice::Auto),
    (CHOICES, "Tool(", |_, options| {
        if matches!(options.tool_choice, ToolChoice::Tool(_)) {
            options.tool_choice = ToolChoice::Required;
        }
    }),
    (OPTIONS, "parallel_calls(false)", |_, options| options.parallel_calls = None),
    (OPTIONS, "temperature(0.25)", |_, options| options.temperature = None),
    (OPTIONS, "max_tokens(1234)", |_, options| options.max_tokens = None),
    (OPTIONS, "stop(", |_, options| options.stop.clear()),
    (OPTIONS, "output(", |_, options| options.output = None),
];

#[tokio::test]
async fn suite_finds_what_a_codec_drops() {
    let codec = ChatCompletions::default();
    for (rule, expected, lose) in LOSSES {
        let found = check(async |request: ChatRequest<'_>| {
            let (mut messages, mut options) = (request.messages.to_vec(), request.options.clone());
            lose(&mut messages, &mut options);
            encode(&codec, request.with_messages(&messages).options(&options), false)
        });
        let found = found.await;
        assert_found(&found, rule, expected);
        let has = found.iter().any(|it| it.rule == *rule && it.expected.contains(expected));
        assert!(has, "{expected}: {found:#?}");
    }
}

#[tokio::test]
async fn suite_finds_lost_tools_and_unclear_refusals() {
    let codec = ChatCompletions::default();
    let without_tools =
        check(async |request: ChatRequest<'_>| encode(&codec, request.tools(&[]), false));
    let rule = "the name, the description and the parameters of an offered tool are sent";
    assert_found(&without_tools.await, rule, "no tools");
    let refusal = "a refusal is `ModelError::Setup` with a reason";
    let failing = check(async |_: ChatRequest<'_>| Err(ModelError::failed("no")));
    assert_found(&failing.await, refusal, "another error");
    let silent = check(async |_: ChatRequest<'_>| Err(ModelError::Setup(" ".into())));
    assert_found(&silent.await, refusal, "no reason");
    let refusing = check(async |_: ChatRequest<'_>| Err(ModelError::Setup("none".into())));
    assert_eq!(refusing.await, []);
    let constant = check(async |_: ChatRequest<'_>| Ok(json!({ "messages": [] })));
    assert!(constant.await.len() > 30);
}
