//! The output that the model receives: its limit, and characters that people can't see.

use tool_runtime::message::{EmbeddedResource, FileData, ResourceLink, strip_invisible};
use tool_runtime::{ContentPart, Policy};

use super::*;

/// Says a lot.
#[tool]
async fn print(bytes: usize) -> Result<String, ToolError> {
    let text = format!("begin {} end", "x".repeat(bytes));
    if bytes == 50 { Err(text.into()) } else { Ok(text) }
}

#[tokio::test]
async fn model_receives_the_head_and_the_tail_of_a_long_output() {
    let dispatcher = dispatcher(tools![print]).policy(Policy::new().max_output_bytes(20));
    let calls =
        ["1", "50", "90"].map(|n| ToolCall::new(n, "print", format!(r#"{{"bytes": {n}}}"#)));
    let executions = dispatcher.dispatch(calls.into()).await;
    assert_eq!((texts(&executions)[0], &executions[0].full_text), ("begin x end", &None));
    for (execution, cut) in executions[1..].iter().zip([40, 80]) {
        let all = cut + 20;
        let truncated = format!("begin xxxx\n[… {cut} of {all} bytes left out …]\nxxxxxx end");
        assert_eq!(execution.result.text, truncated);
        assert_eq!(execution.full_text.as_ref().unwrap().len(), all);
    }
}

/// Returns a text in one of the places where a model reads it.
#[tool]
async fn echo(text: String, place: String) -> Result<ToolOutput, ToolError> {
    let output = ToolOutput::text("");
    match place.as_str() {
        "text" => Ok(ToolOutput::text(text)),
        "json" => Ok(ToolOutput::text(json!({ "text": text }).to_string())),
        "error" => Err(ToolError::failed(text)),
        "part of an error" => Err(ToolError::failed("").with_part(text)),
        "part" => Ok(output.with_part(text)),
        "file" => Ok(output.with_part(FileData::new("application/pdf", "JVBERi0=").name(text))),
        "link" => Ok(output.with_part(ResourceLink::new("file:///a", text))),
        "address" => Ok(output.with_part(ResourceLink::new(text, "a"))),
        "description" => {
            Ok(output.with_part(ResourceLink::new("file:///a", "a").description(text)))
        }
        "resource" => Ok(output.with_part(EmbeddedResource::text("file:///a", text))),
        place => Err(ToolError::failed(format!("unknown place {place}"))),
    }
}

/// Returns what a nested call has returned.
#[tool]
async fn echo_nested(text: String, ctx: &ToolContext) -> String {
    let arguments = json!({ "text": text, "place": "text" });
    let executions = ctx.dispatch(vec![ToolCall::new("1", "echo", arguments)]).await;
    executions[0].result.text.chars().count().to_string()
}

#[tokio::test]
async fn characters_that_people_can_not_see_are_marked_in_every_result() {
    let dispatcher = dispatcher(tools![echo, echo_nested]);
    let places = [
        "text",
        "json",
        "error",
        "part of an error",
        "part",
        "file",
        "link",
        "address",
        "description",
        "resource",
    ];
    for place in places {
        for (text, marked) in [
            ("a\u{200b}b", "a<U+200B>b"),
            ("a\u{202e}b", "a<U+202E>b"),
            ("a\u{2066}b", "a<U+2066>b"),
            ("a\u{ad}b", "a<U+00AD>b"),
            ("a\u{7f}b", "a<U+007F>b"),
            ("a\u{9b}b", "a<U+009B>b"),
            ("\u{e0041}\u{e0042}", "<U+E0041><U+E0042>"),
            ("\u{fe0f}\u{e0101}", "<U+FE0F><U+E0101>"),
            ("\u{feff}a", "<U+FEFF>a"),
            ("a\u{3164}", "a<U+3164>"),
            ("می\u{200c}خواهم 👩\u{200d}💻 é\r\n\t", "می\u{200c}خواهم 👩\u{200d}💻 é\r\n\t"),
        ] {
            let execution = dispatcher.call("echo", json!({ "text": text, "place": place })).await;
            let read = match execution.result.parts.as_slice() {
                [ContentPart::File(file)] => file.name.clone().unwrap(),
                _ => execution.result.plain_text().into_owned(),
            };
            let in_json = json!(marked).to_string();
            let marked = if place == "json" { in_json.trim_matches('"') } else { marked };
            assert!(read.contains(marked), "{place}: {read:?}");
            assert_eq!(strip_invisible(&read), read, "{place}");
            if place == "json" {
                assert_eq!(execution.structured_value().unwrap()["text"], text);
            }
        }
    }
    // The tool that makes the call reads what is there.
    let execution = dispatcher.call("echo_nested", json!({ "text": "a\u{200b}b" })).await;
    assert_eq!(execution.result.text, "3");
}
