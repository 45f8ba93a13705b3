//! The texts for the model: instructions, and feedback on a reply.

use std::fmt::Write as _;

use super::decision::{ANSWER as FINAL_ANSWER, CALL, may_answer};
use crate::models::ChatOptions;
use crate::schema::OrderedJson;
use crate::tool::ToolDefinition;

/// Requests the answer once no more calls are needed.
pub(super) const ANSWER: &str =
    "You know enough. Now write the whole answer, for the one who asked, and nothing else.";

/// Writes the instructions, which are identical from turn to turn. The forms of a decision follow
/// the tools, because small models follow best what comes last.
pub(super) fn instructions(tools: &[&ToolDefinition], options: &ChatOptions) -> String {
    let mut text = String::new();
    if !tools.is_empty() {
        text.push_str("You have these tools, each with the JSON Schema of its args:\n");
        for tool in tools {
            let schema = OrderedJson(tool.parameters.as_value());
            let _ = writeln!(text, "- {}: {} args: {schema}", tool.name, tool.description);
        }
        text.push_str("\nDecide on the next step. ");
    }
    text.push_str(&decision_forms(tools, options));
    if !tools.is_empty() {
        text.push_str(
            "\nNever say from memory what a tool can tell, and never make up an observation.",
        );
    }
    text
}

/// Describes the forms of a decision.
fn decision_forms(tools: &[&ToolDefinition], options: &ChatOptions) -> String {
    let call = format!(
        r#"{{"thought": "which tool is needed", "type": "{CALL}", "tool": "name of the tool", "args": {{…}}}}"#
    );
    let answer = match &options.output {
        None => {
            format!(
                r#"{{"thought": "what you conclude", "type": "{FINAL_ANSWER}", "answer": "…"}}"#
            )
        }
        Some(schema) => format!(
            "{{\"thought\": \"what you conclude\", \"type\": \"{FINAL_ANSWER}\", \"answer\": …}}\nin which the answer fits \
             this JSON Schema: {}",
            OrderedJson(schema.as_value())
        ),
    };
    let begin = "Reply with exactly one JSON object and nothing else";
    match (tools.is_empty(), may_answer(tools, options)) {
        (true, _) => format!("{begin}:\n{answer}"),
        (false, false) => format!("{begin}: call a tool.\n{call}"),
        (false, true) => format!(
            "{begin}.\nIf one of the tools can do it or find it out, call the tool:\n{call}\nIts result is then told to \
             you as an observation. Only after that, or if no tool can help, answer:\n{answer}"
        ),
    }
}

/// Feedback on an empty answer.
pub(super) const EMPTY_ANSWER: &str =
    "The answer is empty. Reply with one JSON object again, with the answer in it.";
/// Feedback on a truncated answer.
pub(super) const CUT_ANSWER: &str =
    "The answer breaks off. Reply with one JSON object again, with the whole answer in it.";

/// Feedback on an answer that is the markup of a call.
pub(super) const CALL_IN_ANSWER: &str = "The answer is the markup of a tool call, which was not \
    run. Reply with one JSON object again: to call the tool, with the type `call_tool`, or with an \
    answer in words.";

/// Writes the feedback on a reply without a decision: what can't be read, and the forms of one.
pub(super) fn unreadable(
    call: Option<String>,
    tools: &[&ToolDefinition],
    options: &ChatOptions,
) -> String {
    let reason = call.unwrap_or_else(|| "That is not in the form that is needed.".to_owned());
    format!("{reason} {}", decision_forms(tools, options))
}

pub(super) fn no_such_tool(name: &str, tools: &[&ToolDefinition]) -> String {
    let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
    let names_text = match names.as_slice() {
        [] => "There are no tools to call now: answer.".to_owned(),
        names => format!("The tools are: {}. Use one of these, or answer.", names.join(", ")),
    };
    format!("There is no tool `{name}`. {names_text} Reply with one JSON object again.")
}

/// Describes arguments that are a JSON Schema instead of values.
pub(super) const SCHEMA: &str = "expected values, got the schema of such";

pub(super) fn wrong_arguments(tool: &ToolDefinition, problems: &[String]) -> String {
    let problems = problems.join("\n- ");
    let name = &tool.name;
    format!(
        "The args of `{name}` are wrong:\n- {problems}\nReply with one JSON object again, with args that fit."
    )
}

/// Writes the result of a call as an observation.
pub(super) fn observation(tool: &str, error: Option<&str>, text: &str) -> String {
    match error {
        None => format!("Observation from {tool}: {text}"),
        Some(code) => format!("Observation from {tool}, which failed ({code}): {text}"),
    }
}
