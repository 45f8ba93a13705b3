//! Random secrets, placed wherever one could be, are in no event, result, report or log.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use proptest::sample::subsequence;
use serde_json::json;
use tool_runtime::agent::{Limits, Steering};
use tool_runtime::dispatch::{Approval, ApprovalRequest, Approver};
use tool_runtime::event::{
    FileChange, FileOp, JsonLines, NetworkRequest, ProcessStart, Progress, ProtocolError, Recorder,
};
use tool_runtime::message::{EmbeddedResource, FileData, ResourceLink};
use tool_runtime::{
    Agent, ChatReply, EffectRecord, Message, Policy, RunContext, ScriptedModel, StopReason,
    ToolCall, ToolContext, ToolError, ToolOutput, args, async_trait, tool, tools,
};

/// A secret of the policy, which the model never sees.
struct Key(String);

/// A value that holds the word.
#[args]
struct Nested {
    /// The password.
    #[arg(secret)]
    word: String,
}

/// Leaks its arguments in every way.
#[tool(effect = "read", idempotent, max_retries = 1)]
async fn leak(
    /// The name of the user.
    user: String,
    /// How to leak.
    behavior: String,
    /// The password.
    #[arg(secret)]
    word: String,
    /// More of them.
    #[arg(default)]
    nested: Vec<Nested>,
    ctx: &ToolContext,
) -> Result<ToolOutput, ToolError> {
    let inner: Vec<_> = nested.iter().map(|nested| nested.word.as_str()).collect();
    let key = ctx.get::<Key>().map(|key| key.0.as_str()).unwrap_or_default();
    let all = format!("{user} {word} {inner:?} {key}");
    let json = serde_json::to_string(&json!({ "all": all, "word": word, "key": key })).unwrap();
    let reserialized = serde_json::to_string(&json).unwrap();
    ctx.progress(Progress { message: Some(all.clone()), ..Progress::default() });
    let renamed = FileOp::Rename { to: format!("{key}/{word}") };
    let diff = format!("-{word}\n+{key}\n");
    ctx.record(FileChange::new(format!("notes/{word}/{key}"), renamed).digest(key).diff(diff));
    assert!(!ctx.redact(&all).contains(&word), "{all}");
    ctx.record(ProcessStart::new(format!("sign {word} {key}")));
    ctx.record(NetworkRequest::new("GET", format!("https://h/{word}?a={key}")));
    ctx.record(EffectRecord::other(
        "leak",
        &json!({ word.as_str(): [all, {"again": reserialized}] }),
    )?);
    match behavior.as_str() {
        "plain" => Ok(ToolOutput::text(format!("{all} {json} {reserialized} {ctx:?}"))),
        "json" => Ok(ToolOutput::json(&[&word, &json, &reserialized])?),
        "long" => Ok(ToolOutput::text(format!("{}{word}{key}{}", "x".repeat(90), "y".repeat(90)))),
        "parts" => Ok(ToolOutput::text("see")
            .with_part(EmbeddedResource::text(word.as_str(), reserialized))
            .with_part(ResourceLink::new(key, word.as_str()).description(all.as_str()))
            .with_part(FileData::new("application/pdf", "AAAA").name(json.as_str()))
            .with_part(all)
            .with_structured(json!({ word.as_str(): [key, json] }))),
        "parts of an error" => Err(ToolError::failed("see").with_part(all).with_protocol_error(
            ProtocolError::new(7).data(json!({ word.as_str(): [key, json] })),
        )),
        "error" => Err(ToolError::failed(all).with_source(json)),
        "cause" => Err(io::Error::other(format!("{word:?} {reserialized}")).into()),
        "transient" => Err(ToolError::transient(all).with_source(reserialized)),
        "panic" => panic!("{word:?} {key}"),
        _ => {
            let arguments = json!({"user": user, "behavior": "error", "word": word});
            let executions =
                ctx.dispatch(vec![ToolCall::new("", "leak", arguments.to_string())]).await;
            Ok(ToolOutput::text(executions[0].result.text.clone()))
        }
    }
}

/// Is never allowed.
#[tool(permission = "ask")]
async fn forbidden(
    /// The password.
    #[arg(secret)]
    word: String,
) -> String {
    word
}

struct DenyingApprover;

#[async_trait]
impl Approver for DenyingApprover {
    async fn approve(&self, request: &ApprovalRequest, _: &RunContext<'_>) -> Approval {
        Approval::Deny(format!("{} {request:?}", request.arguments))
    }
}

/// Arguments of `leak` in every state that models send them in.
fn arguments(behavior: &str, word: &str) -> Vec<String> {
    let sound =
        json!({"user": "ada", "behavior": behavior, "word": word, "nested": [{"word": word}]});
    let quoted = json!(word).to_string();
    let ascii: String = word.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
    vec![
        sound.to_string(),
        json!(sound.to_string()).to_string(),
        format!("```json\n{sound}\n```"),
        format!(r#"{{"user": "ada", "behavior": "{behavior}", "word": "{ascii}"}}"#),
        // Malformed JSON, repairable or not.
        format!(
            r#"{{user: 'ada', how: '{behavior}', word: {quoted}, nested: [{{"word": {quoted}}},]"#
        ),
        format!(r#"{{"user": "ada", "behavior": "{behavior}", "word": {quoted}"#),
        format!(r#"{{"user": "ada" "word" {quoted} ] {{ "#),
        format!(r#"{{"user": "ada", "behavior": "{behavior}", "Word": {quoted}}}"#),
        format!(r#"{{"user": "ada", "behavior": "{behavior}", "pass_word": {quoted}}}"#),
        format!(
            r#"{{"user": "ada", "behavior": "{behavior}", "word": [{quoted}], "nested": {quoted}}}"#
        ),
        format!(r#"["ada", "{behavior}", {quoted}]"#),
        format!(r#"{{"user": {{"word": {quoted}}}, "behavior": 5}}"#),
    ]
}

/// The spellings of a secret in a text.
fn spellings(secret: &str) -> Vec<String> {
    let json = |text: &str| {
        let quoted = json!(text).to_string();
        quoted[1..quoted.len() - 1].to_owned()
    };
    let debug = format!("{secret:?}");
    vec![
        secret.to_owned(),
        json(secret),
        json(&json(secret)),
        json(&json(&json(secret))),
        debug[1..debug.len() - 1].to_owned(),
        secret.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect(),
    ]
}

#[derive(Clone, Default)]
struct Paper(Arc<Mutex<Vec<u8>>>);

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

const BEHAVIORS: [&str; 10] = [
    "plain",
    "json",
    "long",
    "parts",
    "parts of an error",
    "error",
    "cause",
    "transient",
    "panic",
    "within",
];

/// Returns all output of a run that uses every feature, with some of the behaviors.
async fn read(behaviors: &[&str], word: &str, key: &str) -> Vec<(&'static str, String)> {
    let mut replies = Vec::new();
    for &behavior in behaviors {
        let mut reply = ChatReply::text(format!("I shall say {word} and {}.", json!(word)));
        for arguments in arguments(behavior, word) {
            reply = reply.call("leak", arguments);
        }
        let unknown = json!({"behavior": behavior, "word": word}).to_string();
        replies.push(reply.call("leek", unknown).call("forbidden", json!({ "word": word })));
    }
    replies.push(ChatReply::text(format!("{word} {key}")));
    let (recorder, paper) = (Recorder::new(10_000), Paper::default());
    let lines = JsonLines::new(paper.clone()).unwrap();
    let steering = Steering::new();
    steering.push(format!("Say {key}.")).unwrap();
    steering.push_untrusted(&format!("a mail of {key}"), &format!("{key}, {}", json!(key)));
    let agent = Agent::new(ScriptedModel::new(replies), tools![leak, forbidden])
        .system(format!("The key is {key}."))
        .steering(&steering)
        .limits(Limits::default().max_repeats(None))
        .policy(
            Policy::new()
                .secrets([key])
                .approver(DenyingApprover)
                .max_output_bytes(100 + word.len() / 2),
        )
        .extension(Key(key.to_owned()))
        .observer(recorder.clone())
        .observer(lines.clone());
    let debug = format!("{agent:?}");
    let transcript = match agent.run(format!("Leak {key}.")).await {
        Ok(answer) => answer.transcript,
        Err(stopped) => {
            assert!(matches!(stopped.reason, StopReason::IterationLimit(_)), "{stopped}");
            stopped.transcript
        }
    };
    lines.flush().unwrap();
    let written = String::from_utf8(paper.0.lock().unwrap().clone()).unwrap();
    assert!(recorder.dropped_count() == 0 && recorder.executions().len() >= behaviors.len() * 14);
    let results = transcript.into_iter().filter(|message| matches!(message, Message::Tool { .. }));
    let results: Vec<_> = results.collect();
    assert_eq!(results.len(), behaviors.len());
    vec![
        ("agent", debug),
        ("events", format!("{:?}", recorder.events())),
        ("lines", written),
        ("results", serde_json::to_string(&results).unwrap()),
        ("results for people", format!("{results:?}")),
    ]
}

/// Random words that occur nowhere else, with punctuation and escapes.
fn secret() -> impl Strategy<Value = String> {
    let odd = proptest::collection::vec(
        prop_oneof![
            3 => "[a-zA-Z0-9]{1,4}",
            1 => "[ -~]{1,3}",
            1 => Just("\n".to_owned()),
            1 => Just("\\u0041".to_owned()),
            1 => Just("\"\\\"".to_owned()),
            1 => "[é🔑\u{200b}\u{7}]{1,2}",
        ],
        1..6,
    );
    ("[A-Z][a-z]{3}[0-9]{3}", odd, "[0-9]{3}[a-z]{3}")
        .prop_map(|(head, odd, tail)| format!("{head}{}{tail}", odd.concat()))
}

/// Checks that the secrets are in no output of a run.
fn check(behaviors: &[&str], word: &str, key: &str) -> Result<(), TestCaseError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    for (place, text) in runtime.block_on(read(behaviors, word, key)) {
        // Without a redaction there was no secret, and the test would prove nothing.
        prop_assert!(text.contains("[redacted]") || place == "agent", "{place}");
        for spelled in spellings(word).into_iter().chain(spellings(key)) {
            if let Some(at) = text.find(&spelled) {
                let excerpt_start =
                    text[..at].char_indices().rev().nth(200).map_or(0, |(at, _)| at);
                let excerpt = &text[excerpt_start..at + spelled.len()];
                prop_assert!(false, "{spelled} in the {place}: {excerpt}");
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    #[test]
    fn secret_is_in_no_event_result_or_report(
        behaviors in subsequence(&BEHAVIORS[..], 2), word in secret(), key in secret(),
    ) {
        check(&behaviors, &word, &key)?;
    }

    #[test]
    #[ignore = "takes ten seconds; the test above tries some behaviors with each secret"]
    fn secret_is_in_no_output_of_any_behavior(word in secret(), key in secret()) {
        check(&BEHAVIORS, &word, &key)?;
    }
}
