//! Systematic tests of text that belongs to a call, but to none of its arguments.
//!
//! `calls.rs` has a call in each format, with `§` at all places where text may stand by mistake.
//! The tests put parameters, prose that names a parameter and other prose at each of them: no tool
//! runs without a parameter that the model wrote, and no other text is lost silently. Another test
//! closes the arguments too early, at each place between two tokens.

mod calls;

use tool_runtime::drivers::{Driver, ReAct, Text};
use tool_runtime::{Agent, AssistantPart, ChatReply, Message, ScriptedModel, Tools, tool, tools};

use calls::{ARGUMENTS, BARE, CALLS, DECISIONS, PAIRS};

/// Runs a command.
#[tool(effect = "read")]
async fn run(command: String, cwd: Option<String>, shell: Option<String>) -> String {
    drop(shell);
    format!("ran {command} in {}", cwd.unwrap_or_else(|| "home".into()))
}

/// The tool again, with another effect.
mod write {
    use tool_runtime::tool;

    /// Runs a command.
    #[tool(effect = "write")]
    pub(super) async fn run(command: String, cwd: Option<String>, shell: Option<String>) -> String {
        super::run(command, cwd, shell).await
    }
}

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

/// Words that name no parameter.
const REMARKS: [&str; 4] = [" so be it ", "\nAll set.\n", " as you said", " (once) "];

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

/// Runs an agent on a reply, and returns its transcript.
async fn transcript(text: &str, tools: Tools, driver: impl Driver + 'static) -> Vec<Message> {
    let replies = [text, "Done.", "Done.", "Done."].map(ChatReply::text);
    let agent = Agent::new(ScriptedModel::new(replies), tools).driver(driver);
    match agent.run("Go").await {
        Ok(answer) => answer.transcript,
        Err(stopped) => stopped.transcript,
    }
}

/// Runs an agent on a reply, and returns the results of its calls.
async fn results(text: &str, tools: Tools, driver: impl Driver + 'static) -> Vec<String> {
    let transcript = transcript(text, tools, driver).await;
    let results = transcript.into_iter().filter_map(|message| match message {
        Message::Tool { results } => Some(results),
        _ => None,
    });
    results.flatten().map(|result| result.text.to_string()).collect()
}

async fn outcome(text: &str, driver: impl Driver + 'static) -> Outcome {
    let transcript = transcript(text, tools![run], driver).await;
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
        Some(Message::Assistant { parts, .. }) => parts
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

/// Returns the calls of all formats with prose at each place between their markers: around
/// arguments, and between two calls.
fn calls_with(prose: &[&str]) -> Vec<(&'static str, String)> {
    let mut texts = Vec::new();
    for (name, call) in CALLS.into_iter().chain(PAIRS) {
        // Text may stand before the end of the message.
        let call = call.replace("§<|eom_id|>", "<|eom_id|>");
        let more = ARGUMENTS.into_iter().filter(|(format, ..)| *format == name);
        let more =
            more.map(|(_, end, more)| call.replace(&format!("{end}§"), &format!("{end}§{more}§")));
        for call in more.chain([call.clone()]) {
            let parts: Vec<_> = call.split('§').collect();
            let places = if parts.len() == 2 { 1..2 } else { 2..parts.len() - 1 };
            texts.extend(places.flat_map(|at| written_at(&parts, at, prose)).map(|it| (name, it)));
        }
    }
    texts
}

/// Returns the calls in tags with prose behind the end tag of an argument, and this tag again.
fn calls_with_two_ends(prose: &[&str]) -> Vec<(&'static str, String)> {
    let mut texts = Vec::new();
    for (name, call) in CALLS {
        for (_, end, _) in ARGUMENTS.into_iter().filter(|(format, ..)| *format == name) {
            let (before, after) = call.split_once(&format!("{end}§")).expect("an argument");
            let call = [&before.replace('§', ""), end, "§", end, &after.replace('§', "")].concat();
            let parts: Vec<_> = call.split('§').collect();
            texts.extend(written_at(&parts, 1, prose).into_iter().map(|it| (name, it)));
        }
    }
    texts
}

fn written_at(parts: &[&str], at: usize, spellings: &[&str]) -> Vec<String> {
    let (before, after) = (parts[..at].concat(), parts[at..].concat());
    spellings.iter().map(|spelling| format!("{before}{spelling}{after}")).collect()
}

/// Text that names the parameter is never dropped, and no value swallows it.
#[tokio::test]
async fn tool_never_runs_without_a_parameter_in_prose_between_markers() {
    let (mut lost, mut quoted) = (Vec::new(), 0);
    for (name, text) in calls_with(&PROSE).into_iter().chain(calls_with_two_ends(&PROSE)) {
        match outcome(&text, Text::new()).await {
            Outcome::Lost(result) => lost.push(format!("{name}: {text}\n  => {result}")),
            outcome => quoted += usize::from(outcome == Outcome::Quoted),
        }
    }
    assert!(lost.is_empty(), "{} are lost:\n{}", lost.len(), lost.join("\n"));
    assert!(quoted > 300, "only {quoted} are refused with a quotation");
}

/// Text that names no parameter is a loss: a tool that changes something does not run, and another
/// one runs with its own arguments alone.
#[tokio::test]
async fn prose_between_markers_makes_a_call_lossy() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for (name, text) in calls_with(&REMARKS) {
        let results = results(&text, tools![write::run], Text::new()).await;
        if results.iter().any(|it| it.starts_with("ran rm")) {
            wrong.push(format!("{name}: {text}\n  => {results:?}"));
        }
        for result in self::results(&text, tools![run], Text::new()).await {
            let is_run = result.starts_with("ran rm");
            count += usize::from(is_run);
            if is_run && result != "ran rm -rf * in home" {
                wrong.push(format!("{name}: {text}\n  => {result}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 100, "only {count} calls run");
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
