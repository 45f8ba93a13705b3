//! Scores how many recorded outputs of models reach a tool: a table, not a verdict.
//!
//! `DRIVER_OUTPUTS=file.jsonl cargo test -p tool-tests --test runtime drivers::text::scores --
//! --nocapture` reads one output a line: `model`, `prompt_kind`, `finish_reason`, `content` and
//! `tool_calls`, and the offered `tool` with its `schema`. All tools of the file are offered. Calls
//! of another tool are wrong, and so are all calls in outputs for which arguments alone were
//! requested (`bare_json`, `json_schema`). With `DRIVER_DIFFERENCES=1` every text is listed with
//! its parsed calls.

use std::collections::BTreeMap;
use std::{env, fs};

use super::extract;
use serde_json::Value;
use tool_runtime::__workspace::ToolLookup;
use tool_runtime::json::parse_as;
use tool_runtime::{Effect, ToolDefinition};

/// Prompts that ask for arguments, not for a call.
const DETECTION_KINDS: [&str; 2] = ["bare_json", "json_schema"];

#[derive(Default)]
struct Score {
    texts: usize,
    /// The content itself is a call, with arguments that match the schema.
    strict: usize,
    /// A call was found.
    calls: usize,
    /// The arguments are truncated.
    cut: usize,
    /// The arguments match the schema.
    valid: usize,
    /// The called tool was not requested.
    wrong: usize,
}

#[test]
fn recorded_outputs_are_scored() {
    let Some(file) = env::var_os("DRIVER_OUTPUTS") else {
        println!("DRIVER_OUTPUTS names no file: nothing is scored");
        return;
    };
    let text = fs::read_to_string(file).expect("text");
    let outputs: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect();
    let tools = tools(&outputs);
    let lookup = ToolLookup::new(&tools.iter().collect::<Vec<_>>());
    let mut scores = BTreeMap::<_, Score>::new();
    for output in &outputs {
        let word = |key: &str| output[key].as_str().unwrap_or("?").to_owned();
        let content = word("content");
        let is_native = output["tool_calls"].as_array().is_some_and(|calls| !calls.is_empty());
        if is_native || content.trim().is_empty() {
            continue;
        }
        let is_truncated = word("finish_reason") == "length";
        let score = scores.entry((word("model"), word("prompt_kind"), is_truncated)).or_default();
        let read = extract(&content, &lookup);
        score.texts += 1;
        score.strict += usize::from(is_strict(&content, &tools));
        score.calls += read.calls.len();
        let mut lines = Vec::new();
        for call in &read.calls {
            let tool = tools.iter().find(|tool| tool.name == call.name).expect("an offered tool");
            let parsed = parse_as(&call.arguments.to_text(), tool.parameters.as_value());
            let is_valid =
                parsed.as_ref().is_ok_and(|parsed| tool.parameters.check(&parsed.value).is_empty());
            let is_truncated = parsed.as_ref().is_ok_and(|parsed| parsed.truncated);
            score.cut += usize::from(is_truncated);
            score.valid += usize::from(is_valid && !is_truncated);
            let is_expected =
                call.name == word("tool") && !DETECTION_KINDS.contains(&&*word("prompt_kind"));
            score.wrong += usize::from(!is_expected);
            lines.push(format!("{call} valid: {is_valid} cut: {is_truncated}"));
        }
        if env::var_os("DRIVER_DIFFERENCES").is_some() {
            println!(
                "{} {}\n{content}\n=> {}\n",
                word("id"),
                word("prompt_kind"),
                lines.join("\n=> ")
            );
        }
    }
    println!(
        "\n| model | prompt | cut | texts | strict and valid | calls | of these cut | valid | wrong |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for ((model, kind, is_truncated), score) in &scores {
        let Score { texts, strict, calls, cut, valid, wrong } = score;
        println!(
            "| {model} | {kind} | {is_truncated} | {texts} | {strict} | {calls} | {cut} | {valid} | {wrong} |"
        );
    }
}

fn tools(outputs: &[Value]) -> Vec<ToolDefinition> {
    let mut tools = BTreeMap::new();
    for output in outputs {
        let name = output["tool"].as_str().expect("a tool").to_owned();
        tools.insert(name, output["schema"].clone());
    }
    let define =
        |(name, schema)| ToolDefinition::new(name, "Does it.", schema).effect(Effect::Read);
    tools.into_iter().map(define).collect()
}

fn is_strict(content: &str, tools: &[ToolDefinition]) -> bool {
    let Ok(call) = serde_json::from_str::<Value>(content) else { return false };
    let tool = tools.iter().find(|tool| call["name"] == tool.name.as_str());
    tool.is_some_and(|tool| tool.parameters.check(&call["arguments"]).is_empty())
}
