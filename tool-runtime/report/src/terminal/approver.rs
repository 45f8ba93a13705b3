//! An approver that asks the person at the terminal.

use std::fmt;
use std::io::{self, BufRead as _, IsTerminal as _, PipeReader, Stdin, Write as _};

use serde_json::Value;
use tokio::sync::Mutex;
use tokio::task::spawn_blocking;
use tool_core::dispatch::{Approval, ApprovalRequest, Approver};
use tool_core::message::visible;
use tool_core::{RunContext, async_trait};

use super::Terminal;

/// Held while a question is open: a process has one terminal.
static TURN: Mutex<()> = Mutex::const_new(());

/// The rows of a text that are on the smallest usual screen together with the question.
const MAX_ROWS: usize = 18;

/// The columns of the smallest usual screen.
const MIN_COLUMNS: usize = 80;

/// The lines of a long preview that are repeated.
const HEAD_LINES: usize = 4;

/// The characters of a repeated line.
const HEAD_LINE_CHARS: usize = 300;

/// The characters of all repeated lines.
const HEAD_CHARS: usize = HEAD_LINES * HEAD_LINE_CHARS;

/// The characters to which the strings of long arguments are shortened, until all fit.
const STRING_CHARS: [usize; 4] = [300, 100, 40, 20];

/// Asks the person at the terminal to approve calls, one after the other.
///
/// The question shows the preview of the call, such as the diff of an edit or a command with its
/// sandbox, or else the arguments without secrets. Add [previewers](tool_core::Policy::previewer)
/// to the policy. If the text may have left the screen, its beginning is repeated directly before
/// the answers, with its size; of arguments, the beginning of each string, because the model
/// chooses their order. The answers are `y` for this call, `a` for all calls of the tool in this
/// run, and `n`, which may be followed by a reason for the model. Everything else, and the end of
/// the input, denies the call. On Unix, input from before the question is dropped, and a question
/// whose call is canceled reads nothing; on Windows, it still reads the next line. If the standard
/// input is not a terminal, every call is denied. If the program shows its runs by a [`Terminal`],
/// create the approver by [`with_display`](Self::with_display).
///
/// ```
/// use tool_runtime::Policy;
/// use tool_runtime::terminal::TerminalApprover;
///
/// let policy = Policy::new().approver(TerminalApprover::new());
/// # drop(policy);
/// ```
#[derive(Default)]
pub struct TerminalApprover {
    /// The display that pauses while a question is open.
    display: Option<Terminal>,
}

impl TerminalApprover {
    /// Creates an approver that asks on the standard error and reads the standard input.
    ///
    /// ```
    /// use tool_runtime::dispatch::Approver;
    /// use tool_runtime::terminal::TerminalApprover;
    ///
    /// assert_eq!(TerminalApprover::new().name(), "terminal");
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates an approver for a program that shows its runs on the terminal.
    ///
    /// The display is not redrawn while a question is open, so that it does not overwrite the
    /// question or the answer.
    ///
    /// ```
    /// use tool_runtime::terminal::{Terminal, TerminalApprover};
    /// use tool_runtime::{Agent, Policy, ScriptedModel, Tools};
    ///
    /// let terminal = Terminal::new();
    /// let agent = Agent::new(ScriptedModel::default(), Tools::new())
    ///     .policy(Policy::new().approver(TerminalApprover::with_display(&terminal)))
    ///     .observer(terminal);
    /// ```
    #[must_use]
    pub fn with_display(display: &Terminal) -> Self {
        Self { display: Some(display.clone()) }
    }
}

#[async_trait]
impl Approver for TerminalApprover {
    async fn approve(&self, request: &ApprovalRequest, _: &RunContext<'_>) -> Approval {
        let question = question(request);
        let turn = TURN.lock().await;
        let display = self.display.clone();
        // If the call is canceled, this future is dropped, which closes the pipe.
        let Ok((canceled, _open)) = io::pipe() else { return deny("the terminal does not answer") };
        let answer = spawn_blocking(move || {
            let _turn = turn;
            match display {
                Some(display) => display.suspend(|| ask(&question, &canceled)),
                None => ask(&question, &canceled),
            }
        });
        let answer = answer.await;
        answer.ok().and_then(Result::ok).unwrap_or_else(|| deny("the terminal does not answer"))
    }

    fn name(&self) -> &str {
        "terminal"
    }
}

fn question(request: &ApprovalRequest) -> String {
    let name = &request.tool.name;
    let (text, head) = match &request.preview {
        Some(preview) => (preview.clone(), first_lines(preview)),
        None => {
            let json = request.redacted_arguments_json();
            let head = shortened_json(&json);
            (json, head)
        }
    };
    let head = if is_on_screen(&text) {
        String::new()
    } else {
        let (lines, chars) = (text.lines().count(), text.chars().count());
        format!(
            "\nThe call of {name} above has {lines} lines, {chars} characters. In short:\n{head}\n"
        )
    };
    format!("\n{name}\n{text}\n{head}[y]es, [a]ll in this run, [n]o: ")
}

/// Returns whether all of a text is on the smallest usual screen.
fn is_on_screen(text: &str) -> bool {
    let columns = |c: char| match c {
        '\t' => 8,
        c if c.is_ascii() => 1,
        _ => 2,
    };
    let rows = |line: &str| 1 + line.chars().map(columns).sum::<usize>() / MIN_COLUMNS;
    text.lines().map(rows).sum::<usize>() <= MAX_ROWS
}

/// Returns the first lines of a text that contain something.
fn first_lines(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.trim().is_empty()).take(HEAD_LINES);
    lines.map(|line| shortened(line, HEAD_LINE_CHARS)).collect::<Vec<_>>().join("\n")
}

/// Returns arguments with shorter strings, so that no string moves another one off the screen.
fn shortened_json(json: &str) -> String {
    let Ok(arguments) = serde_json::from_str::<Value>(json) else { return first_lines(json) };
    let short = |count| with_short_strings(&arguments, count).to_string();
    // What was an escape is a character now.
    let texts = STRING_CHARS.map(|count| visible(&short(count)).into_owned());
    let is_short = |text: &&String| text.chars().count() <= HEAD_CHARS;
    let text = texts.iter().find(is_short).or_else(|| texts.last()).map(String::as_str);
    shortened(text.unwrap_or_default(), HEAD_CHARS)
}

fn with_short_strings(value: &Value, count: usize) -> Value {
    match value {
        Value::String(text) => shortened(text, count).into(),
        Value::Array(items) => items.iter().map(|item| with_short_strings(item, count)).collect(),
        Value::Object(members) => {
            let members = members.iter();
            members.map(|(key, value)| (key.clone(), with_short_strings(value, count))).collect()
        }
        other => other.clone(),
    }
}

/// Returns the words at the beginning of a text.
fn shortened(text: &str, count: usize) -> String {
    // A run of spaces hides what follows it.
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(count) {
        Some((end, _)) => format!("{}…", words.get(..end).unwrap_or_default()),
        None => words,
    }
}

fn ask(question: &str, canceled: &PipeReader) -> io::Result<Approval> {
    let input = io::stdin();
    if !input.is_terminal() {
        return Ok(deny("there is no terminal to ask"));
    }
    // What was typed before the question does not answer it.
    #[cfg(unix)]
    rustix::termios::tcflush(&input, rustix::termios::QueueSelector::IFlush)?;
    // Not locked: other threads may write while the question is open.
    let mut output = io::stderr();
    output.write_all(question.as_bytes())?;
    output.flush()?;
    if !has_line(&input, canceled)? {
        output.write_all(b"canceled\n")?;
        return Ok(deny("the call was canceled"));
    }
    let mut line = String::new();
    input.lock().read_line(&mut line)?;
    Ok(read_answer(&line))
}

/// Waits for a line. Returns false if the question is canceled before.
#[cfg(unix)]
fn has_line(input: &Stdin, canceled: &PipeReader) -> io::Result<bool> {
    use rustix::event::{PollFd, PollFlags, poll};

    let mut streams = [PollFd::new(input, PollFlags::IN), PollFd::new(canceled, PollFlags::IN)];
    rustix::io::retry_on_intr(|| poll(&mut streams, None))?;
    let [_, canceled] = streams;
    Ok(canceled.revents().is_empty())
}

#[cfg(not(unix))]
fn has_line(_: &Stdin, _: &PipeReader) -> io::Result<bool> {
    Ok(true)
}

/// Returns the decision of an answer.
fn read_answer(line: &str) -> Approval {
    let line = line.trim();
    let (word, reason) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    match (word.to_lowercase().as_str(), reason.trim()) {
        ("y" | "yes", "") => Approval::Once,
        ("a" | "all", "") => Approval::ForRun,
        ("n" | "no", reason) if !reason.is_empty() => deny(reason),
        _ => deny("the person at the terminal said no"),
    }
}

fn deny(reason: &str) -> Approval {
    Approval::Deny(reason.to_owned())
}

impl fmt::Debug for TerminalApprover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TerminalApprover").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tool_core::dispatch::Approval;

    use super::{
        HEAD_CHARS, HEAD_LINES, MAX_ROWS, deny, first_lines, is_on_screen, read_answer,
        shortened_json,
    };

    #[test]
    fn first_lines_of_a_long_preview_are_repeated() {
        for text in ["$ ls\nsandbox: none".to_owned(), "x\n".repeat(MAX_ROWS), "x".repeat(1_000)] {
            assert!(is_on_screen(&text), "{text}");
        }
        for long in [
            "$ rm -rf /\n".to_owned() + &"> # fine\n".repeat(100),
            "$ rm -rf / # ".to_owned() + &"fine ".repeat(1_000),
            "$ rm -rf /".to_owned() + &"\n".repeat(1_000) + "sandbox: none",
            "\n".repeat(1_000) + "$ rm -rf /",
            "$ rm".to_owned() + &" ".repeat(10_000) + "-rf /",
            "$ rm -rf /".to_owned() + &"é".repeat(5_000),
        ] {
            let head = first_lines(&long);
            assert!(!is_on_screen(&long) && head.contains("$ rm -rf /"), "{head}");
            assert!(head.lines().count() <= HEAD_LINES && is_on_screen(&head), "{head}");
        }
    }

    #[test]
    fn each_string_of_long_arguments_is_repeated() {
        let command = "rm -rf /";
        for arguments in [
            json!({"a": "x".repeat(4_000), "command": command}),
            json!({"a": "x".repeat(4_000), "command": command.to_owned() + &" # fine".repeat(1_000)}),
            json!({"a": {"b": ["x".repeat(4_000), "y".repeat(4_000)]}, "command": command}),
            json!({"a": vec!["x".repeat(100); 20], "command": command}),
            json!({"a": "x", "command": " ".repeat(4_000) + command}),
        ] {
            let head = shortened_json(&arguments.to_string());
            assert!(head.contains(command) && head.chars().count() <= HEAD_CHARS, "{head}");
        }
        let head = shortened_json(&json!(vec!["x"; 1_000]).to_string());
        assert!(head.ends_with('…') && head.chars().count() <= HEAD_CHARS + 1, "{head}");
        // An escape is a plain character once it is decoded.
        let head = shortened_json(r#"{"command":"rm \u202e\u009b -rf /"}"#);
        assert!(!head.contains(['\u{202e}', '\u{9b}']), "{head}");
    }

    #[test]
    fn only_a_clear_answer_approves() {
        for (line, expected) in [
            ("y\n", Approval::Once),
            (" YES \n", Approval::Once),
            ("a\n", Approval::ForRun),
            ("n use cargo instead\n", deny("use cargo instead")),
            ("n\n", deny("the person at the terminal said no")),
            ("y but first make a backup\n", deny("the person at the terminal said no")),
            ("\n", deny("the person at the terminal said no")),
            ("", deny("the person at the terminal said no")),
            ("yy\n", deny("the person at the terminal said no")),
        ] {
            assert_eq!(read_answer(line), expected, "{line:?}");
        }
    }
}
