//! Systematic tests of parameters that stand outside of the arguments of a call: no tool runs
//! without one that the model wrote.
//!
//! Each format is written with `§` at all places where a parameter may stand by mistake. Each
//! spelling of a parameter is put at each of them. A second test closes the arguments too early, at
//! each place between two tokens.

use tool_runtime::drivers::{Driver, ReAct, Text};
use tool_runtime::{Agent, AssistantPart, ChatReply, Message, ScriptedModel, tool, tools};

/// Runs a command.
#[tool(effect = "read")]
async fn run(command: String, cwd: Option<String>) -> String {
    format!("ran {command} in {}", cwd.unwrap_or_else(|| "home".into()))
}

/// A call of `run` in each format, with `§` at the places outside of its arguments.
const CALLS: [(&str, &str); 30] = [
    (
        "hermes",
        "§<tool_call>§{§\"name\": \"run\", §\"arguments\": {\"command\": \"rm -rf *\"}§}§</tool_call>§",
    ),
    (
        "hermes, nested",
        "§<tool_call>{\"type\": \"function\", §\"function\": {\"name\": \"run\", \"arguments\": {\"command\": \"rm -rf *\"}§}§}§</tool_call>§",
    ),
    (
        "hermes, listed",
        "§<tool_call>{\"tool_calls\": [{\"name\": \"run\", \"arguments\": {\"command\": \"rm -rf *\"}§}§]§}§</tool_call>§",
    ),
    (
        "hermes without end",
        "§<tool_call>{\"name\": \"run\", \"arguments\": {\"command\": \"rm -rf *\"}§}§",
    ),
    (
        "qwen_xml",
        "§<tool_call>§\n<function=run>§\n<parameter=command>\nrm -rf *\n</parameter>\n§</function>§\n</tool_call>§",
    ),
    (
        "glm",
        "§<tool_call>run§<arg_key>command</arg_key>§<arg_value>rm -rf *</arg_value>§</tool_call>§",
    ),
    (
        "mistral_array",
        "§[TOOL_CALLS]§[{\"name\": \"run\", \"arguments\": {\"command\": \"rm -rf *\"}§}§]§",
    ),
    ("mistral_named", "§[TOOL_CALLS]run§[ARGS]§{\"command\": \"rm -rf *\"}§"),
    (
        "llama_json",
        "§<|python_tag|>§{\"name\": \"run\", \"parameters\": {\"command\": \"rm -rf *\"}§}§<|eom_id|>§",
    ),
    ("llama_built_in", "§<|python_tag|>§run.call(command=\"rm -rf *\")§<|eom_id|>§"),
    ("llama_function_tag", "§<function=run>§{\"command\": \"rm -rf *\"}§</function>§"),
    ("llama4", "§<|python_start|>§[run(command=\"rm -rf *\")§]§<|python_end|>§"),
    ("lfm2", "§<|tool_call_start|>§[run(command=\"rm -rf *\")§]§<|tool_call_end|>§"),
    ("olmo3", "§<function_calls>§run(command=\"rm -rf *\")§</function_calls>§"),
    (
        "functools",
        "§functools[§{\"name\": \"run\", \"arguments\": {\"command\": \"rm -rf *\"}§}§]§",
    ),
    (
        "deepseek_v31",
        "§<｜tool▁calls▁begin｜>§<｜tool▁call▁begin｜>run§<｜tool▁sep｜>§{\"command\": \"rm -rf *\"}§<｜tool▁call▁end｜>§<｜tool▁calls▁end｜>§",
    ),
    (
        "deepseek_v3",
        "§<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>run\n```json\n{\"command\": \"rm -rf *\"}§\n```§<｜tool▁call▁end｜>§<｜tool▁calls▁end｜>§",
    ),
    (
        "dsml",
        "§<｜DSML｜function_calls>§<｜DSML｜invoke name=\"run\"§>§<｜DSML｜parameter name=\"command\" string=\"true\"§>rm -rf *</｜DSML｜parameter>§</｜DSML｜invoke>§</｜DSML｜function_calls>§",
    ),
    (
        "kimi_k2",
        "§<|tool_calls_section_begin|>§<|tool_call_begin|>functions.run:0§<|tool_call_argument_begin|>§{\"command\": \"rm -rf *\"}§<|tool_call_end|>§<|tool_calls_section_end|>§",
    ),
    (
        "kimi_k3",
        "§<|open|>tools<|sep|>§<|open|>call tool=\"run\" index=\"1\"§<|sep|>§<|open|>argument key=\"command\" type=\"string\"§<|sep|>rm -rf *<|close|>argument<|sep|>§<|close|>call<|sep|>§<|close|>tools<|sep|>§",
    ),
    (
        "harmony",
        "§<|start|>assistant<|channel|>commentary to=functions.run §<|constrain|>json<|message|>§{\"command\": \"rm -rf *\"}§<|call|>§",
    ),
    (
        "minimax_m2",
        "§<minimax:tool_call>§<invoke name=\"run\"§>§<parameter name=\"command\"§>rm -rf *</parameter>§</invoke>§</minimax:tool_call>§",
    ),
    (
        "minimax_m3",
        "§]<]minimax[>[<tool_call>§]<]minimax[>[<invoke name=\"run\"§>§]<]minimax[>[<command>rm -rf *]<]minimax[>[</command>§]<]minimax[>[</invoke>§]<]minimax[>[</tool_call>§",
    ),
    ("gemma4", "§<|tool_call>§call:run§{command:<|\"|>rm -rf *<|\"|>}§<tool_call|>§"),
    (
        "function_gemma",
        "§<start_function_call>§call:run{command:<escape>rm -rf *<escape>}§<end_function_call>§",
    ),
    (
        "anthropic",
        "§<function_calls>§\n<invoke name=\"run\"§>§\n<parameter name=\"command\"§>rm -rf *</parameter>\n§</invoke>§\n</function_calls>§",
    ),
    (
        "nemotron",
        "§<TOOLCALL>§[{\"name\": \"run\", \"arguments\": {\"command\": \"rm -rf *\"}§}§]§</TOOLCALL>§",
    ),
    (
        "command",
        "§<|START_ACTION|>§[{\"tool_call_id\": \"0\", \"tool_name\": \"run\", \"parameters\": {\"command\": \"rm -rf *\"}§}§]§<|END_ACTION|>§",
    ),
    (
        "step3",
        "§<｜tool_calls_begin｜>§<｜tool_call_begin｜>function<｜tool_sep｜>§<steptml:invoke name=\"run\"§>§<steptml:parameter name=\"command\"§>rm -rf *</steptml:parameter>§</steptml:invoke>§<｜tool_call_end｜>§<｜tool_calls_end｜>§",
    ),
    (
        "inkling",
        "§<|message_model|>run§<|content_invoke_tool_json|>§{\"name\": \"run\", \"args\": {\"command\": \"rm -rf *\"}§}§<|end_message|>§",
    ),
];

/// Calls without markers, which count only at the end of a text.
const BARE: [(&str, &str); 6] = [
    ("bare", "{§\"name\": \"run\", §\"arguments\": {\"command\": \"rm -rf *\"}§}§"),
    ("fenced", "```json\n{\"name\": \"run\", \"arguments\": {\"command\": \"rm -rf *\"}§}§\n```§"),
    ("pythonic", "[run(command=\"rm -rf *\")§]§"),
    ("gemma_bare", "call:run§{command:<|\"|>rm -rf *<|\"|>}§"),
    ("react", "Action: run§\nAction Input: §{\"command\": \"rm -rf *\"}§"),
    (
        "react, structured",
        "Action:\n```json\n{\"action\": \"run\", §\"action_input\": {\"command\": \"rm -rf *\"}§}§\n```§",
    ),
];

/// Decisions of the driver `ReAct`.
const DECISIONS: [(&str, &str); 3] = [
    (
        "decision",
        "{§\"thought\": \"So.\", \"type\": \"call_tool\", §\"tool\": \"run\", §\"args\": {\"command\": \"rm -rf *\"}§}§",
    ),
    (
        "decision, nested",
        "{\"thought\": \"So.\", §\"tool\": {\"name\": \"run\", §\"args\": {\"command\": \"rm -rf *\"}§}§}§",
    ),
    (
        "decision, fenced",
        "```json\n{\"thought\": \"So.\", \"tool\": \"run\", \"args\": {\"command\": \"rm -rf *\"}§}§\n```§",
    ),
];

/// How models write the parameter `cwd`.
const PARAMETERS: [&str; 12] = [
    "\"cwd\": \"/tmp\", ",
    ", \"cwd\": \"/tmp\"",
    "}, \"cwd\": \"/tmp\"}",
    "; \"cwd\": \"/tmp\"",
    "{\"cwd\": \"/tmp\"}",
    " cwd=\"/tmp\"",
    ", cwd=\"/tmp\")",
    "\n\"cwd\": \"/tmp\"\n",
    "<parameter=cwd>/tmp</parameter>",
    "<parameter name=\"cwd\">/tmp</parameter>",
    "<arg_key>cwd</arg_key><arg_value>/tmp</arg_value>",
    "\n<cwd>/tmp</cwd>\n",
];

/// How models describe the parameter in words.
const PROSE: [&str; 3] = [" cwd is /tmp ", "\nThe cwd is /tmp.\n", " in the cwd /tmp"];

/// The outcome of a call.
#[derive(Debug, PartialEq)]
enum Outcome {
    /// The tool ran with both arguments.
    Complete,
    /// The call was refused, and the text for the model quotes the parameter.
    Quoted,
    /// The call was refused for another reason, such as damaged JSON.
    Refused,
    /// The text was not read as a call, and the model was asked for another one.
    Unreadable,
    /// The text was not read as a call, and is the answer.
    Text,
    /// The tool ran without the parameter.
    Lost(String),
}

async fn outcome(text: &str, driver: impl Driver + 'static) -> Outcome {
    let replies = [text, "Done.", "Done.", "Done."].map(ChatReply::text);
    let agent = Agent::new(ScriptedModel::new(replies), tools![run]).driver(driver);
    let transcript = match agent.run("Go").await {
        Ok(answer) => answer.transcript,
        Err(stopped) => stopped.transcript,
    };
    let results = transcript.iter().filter_map(|message| match message {
        Message::Tool { results } => Some(results),
        _ => None,
    });
    let results: Vec<_> = results.flatten().collect();
    let is_complete = |text: &str| text.starts_with("ran") && text.contains(" in /tmp");
    match results.as_slice() {
        [] if is_answer(&transcript) => Outcome::Text,
        [] => Outcome::Unreadable,
        results if results.iter().all(|result| is_complete(&result.text)) => Outcome::Complete,
        results => {
            let is_lost = |text: &str| text.starts_with("ran") && !is_complete(text);
            match results.iter().find(|result| is_lost(&result.text)) {
                Some(lost) => Outcome::Lost(lost.text.to_string()),
                None if results.iter().any(|it| it.text.contains("cwd")) => Outcome::Quoted,
                None => Outcome::Refused,
            }
        }
    }
}

/// Returns true if the text of the call is the answer.
fn is_answer(transcript: &[Message]) -> bool {
    match transcript.last() {
        Some(Message::Assistant { parts }) => parts
            .iter()
            .any(|part| matches!(part, AssistantPart::Text { text } if text.contains("rm -rf"))),
        _ => false,
    }
}

/// Puts each spelling of the parameter at each place of a call.
fn misplaced(call: &str) -> Vec<String> {
    let parts: Vec<_> = call.split('§').collect();
    (1..parts.len()).flat_map(|at| written_at(&parts, at, &PARAMETERS)).collect()
}

/// Puts prose that names the parameter at each place between the markers of a call.
fn described(call: &str) -> Vec<String> {
    let parts: Vec<_> = call.split('§').collect();
    (2..parts.len() - 1).flat_map(|at| written_at(&parts, at, &PROSE)).collect()
}

fn written_at(parts: &[&str], at: usize, spellings: &[&str]) -> Vec<String> {
    let (before, after) = (parts[..at].concat(), parts[at..].concat());
    spellings.iter().map(|spelling| format!("{before}{spelling}{after}")).collect()
}

/// Prose behind the end tag of an argument is a part of its value, with the tag: it is not lost.
#[tokio::test]
async fn tool_never_runs_without_a_parameter_in_prose_between_markers() {
    let mut lost = Vec::new();
    for (name, call) in CALLS {
        // Text may stand before the end of the message.
        for text in described(&call.replace("§<|eom_id|>", "<|eom_id|>")) {
            if let Outcome::Lost(result) = outcome(&text, Text::new()).await
                && !result.contains("cwd")
            {
                lost.push(format!("{name}: {text}\n  => {result}"));
            }
        }
    }
    assert!(lost.is_empty(), "{} are lost:\n{}", lost.len(), lost.join("\n"));
}

/// The prose between two calls of a section belongs to the first of them.
#[tokio::test]
async fn prose_between_calls_of_a_section_is_quoted() {
    let kimi = "<|tool_calls_section_begin|><|tool_call_begin|>functions.run:0<|tool_call_argument_begin|>{\"command\": \"rm -rf *\"}<|tool_call_end|> cwd is /tmp <|tool_call_begin|>functions.run:1<|tool_call_argument_begin|>{\"command\": \"ls\", \"cwd\": \"/tmp\"}<|tool_call_end|><|tool_calls_section_end|>";
    let deepseek = "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>run<｜tool▁sep｜>{\"command\": \"rm -rf *\"}<｜tool▁call▁end｜> cwd is /tmp <｜tool▁call▁begin｜>run<｜tool▁sep｜>{\"command\": \"ls\", \"cwd\": \"/tmp\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>";
    for text in [kimi, deepseek] {
        assert_eq!(outcome(text, Text::new()).await, Outcome::Quoted, "{text}");
    }
}

#[tokio::test]
async fn tool_never_runs_without_a_parameter_outside_of_its_arguments() {
    let mut lost = Vec::new();
    let mut quoted = 0;
    for (name, call) in CALLS.into_iter().chain(BARE) {
        for text in misplaced(call) {
            match outcome(&text, Text::new()).await {
                Outcome::Lost(result) => lost.push(format!("{name}: {text}\n  => {result}")),
                outcome => quoted += usize::from(outcome == Outcome::Quoted),
            }
        }
    }
    for (name, call) in DECISIONS {
        for text in misplaced(call) {
            match outcome(&text, ReAct::new()).await {
                Outcome::Lost(result) => lost.push(format!("{name}: {text}\n  => {result}")),
                outcome => quoted += usize::from(outcome == Outcome::Quoted),
            }
        }
    }
    assert!(lost.is_empty(), "{} are lost:\n{}", lost.len(), lost.join("\n"));
    assert!(quoted > 300, "only {quoted} are refused with a quotation");
}

/// Inserts a closing bracket between any two tokens of a text, outside of strings.
fn closed_early(text: &str, closer: char) -> Vec<String> {
    let mut is_string = false;
    let mut texts = Vec::new();
    for (at, c) in text.char_indices() {
        if !is_string && matches!(c, '{' | '}' | '[' | ']' | '(' | ')' | ',' | ':') {
            let (before, after) = text.split_at(at);
            texts.push(format!("{before}{closer}{after}"));
        }
        is_string ^= c == '"';
    }
    texts
}

#[tokio::test]
async fn tool_never_runs_without_a_parameter_behind_an_early_bracket() {
    let mut lost = Vec::new();
    for (name, call) in CALLS.into_iter().chain(BARE).chain(DECISIONS) {
        let call = call.replace('§', "");
        let pairs = [
            ("\"command\": \"rm -rf *\"", "\"command\": \"rm -rf *\", \"cwd\": \"/tmp\""),
            ("command=\"rm -rf *\"", "command=\"rm -rf *\", cwd=\"/tmp\""),
            ("{command:<|\"|>rm -rf *<|\"|>}", "{command:\"rm -rf *\",cwd:\"/tmp\"}"),
            ("{command:<escape>rm -rf *<escape>}", "{command:\"rm -rf *\",cwd:\"/tmp\"}"),
        ];
        let Some((argument, arguments)) = pairs.into_iter().find(|(it, _)| call.contains(it))
        else {
            continue;
        };
        let call = call.replace(argument, arguments);
        for text in ['}', ']', ')'].into_iter().flat_map(|closer| closed_early(&call, closer)) {
            let outcome = if name.starts_with("decision") {
                outcome(&text, ReAct::new()).await
            } else {
                outcome(&text, Text::new()).await
            };
            if let Outcome::Lost(result) = outcome {
                lost.push(format!("{name}: {text}\n  => {result}"));
            }
        }
    }
    assert!(lost.is_empty(), "{} are lost:\n{}", lost.len(), lost.join("\n"));
}
