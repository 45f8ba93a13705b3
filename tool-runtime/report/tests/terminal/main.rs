//! Tests of the approver at the terminal, on a terminal of the test.

#![cfg(target_os = "linux")]
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test stops at the first failure"
)]

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixListener;
use std::process::{Child, ChildStderr, Command, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use tokio::io::AsyncReadExt as _;
use tokio::net::UnixStream;
use tool_runtime::terminal::TerminalApprover;
use tool_runtime::{Dispatcher, Policy, Registry, ToolCall, tool, tools};

/// The variable of the program that asks.
const ASKS: &str = "TERMINAL_ASKS";

/// Deletes everything.
#[tool(permission = "ask")]
async fn delete() {}

/// Runs a command.
#[tool(permission = "ask")]
async fn command(_note: String, _line: String) {}

fn dispatcher() -> Dispatcher {
    let policy = Policy::new().approver(TerminalApprover::new());
    Dispatcher::new(Registry::try_from(tools![command, delete]).unwrap()).policy(policy)
}

async fn call(dispatcher: &Dispatcher, id: &str) {
    let call = ToolCall::new(id, "delete", "{}");
    let execution = dispatcher.dispatch(vec![call]).await.remove(0);
    println!("call {id} ran: {}", execution.is_success());
}

#[tokio::test]
#[ignore = "another test runs it on a terminal"]
async fn program_asks_twice() {
    if std::env::var_os(ASKS).is_none() {
        return;
    }
    let dispatcher = dispatcher();
    for id in ["1", "2"] {
        call(&dispatcher, id).await;
    }
}

#[tokio::test]
#[ignore = "another test runs it on a terminal"]
async fn program_cancels_a_question() {
    let Some(socket) = std::env::var_os(ASKS) else { return };
    let mut signal = UnixStream::connect(socket).await.unwrap();
    let (dispatcher, mut buffer) = (dispatcher(), [0]);
    tokio::select! {
        () = call(&dispatcher, "1") => {}
        // The other end closes it.
        length = signal.read(&mut buffer) => assert_eq!(length.unwrap(), 0),
    }
    let mut line = String::new();
    tokio::task::spawn_blocking(move || {
        std::io::stdin().read_line(&mut line).unwrap();
        println!("program reads: {line}");
    })
    .await
    .unwrap();
    call(&dispatcher, "2").await;
}

#[tokio::test]
#[ignore = "another test runs it on a terminal"]
async fn program_asks_about_a_long_call() {
    if std::env::var_os(ASKS).is_none() {
        return;
    }
    let note = "x".repeat(4_000);
    let arguments = format!(r#"{{"_note": "{note}", "_line": "rm -rf /"}}"#);
    dispatcher().dispatch(vec![ToolCall::new("1", "command", arguments)]).await;
}

/// A program on a terminal of the test.
struct Program {
    keyboard: File,
    child: Child,
    stderr: ChildStderr,
    /// The standard error of the program so far.
    text: String,
}

impl Program {
    /// Starts a test above. `typed` was typed before.
    fn start(test: &str, value: &OsStr, typed: &str) -> Self {
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&terminal).unwrap();
        unlockpt(&terminal).unwrap();
        let name = ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
        let input = OpenOptions::new().read(true).write(true).open(name).unwrap();
        let mut keyboard = File::from(terminal);
        keyboard.write_all(typed.as_bytes()).unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--ignored", "--nocapture"])
            .env(ASKS, value)
            .stdin(input)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stderr = child.stderr.take().unwrap();
        Self { keyboard, child, stderr, text: String::new() }
    }

    /// Waits until the program has written a text this number of times.
    fn wait_for(&mut self, text: &str, count: usize) {
        while self.text.matches(text).count() < count {
            let deadline = Timespec { tv_sec: 60, tv_nsec: 0 };
            let mut stderr = [PollFd::new(&self.stderr, PollFlags::IN)];
            let ready = poll(&mut stderr, Some(&deadline)).unwrap();
            assert_eq!(ready, 1, "the program does not go on: {}", self.text);
            let mut buffer = [0; 1000];
            let length = self.stderr.read(&mut buffer).unwrap();
            assert!(length > 0, "the program ended: {}", self.text);
            self.text += &String::from_utf8_lossy(&buffer[..length]);
        }
    }

    fn type_in(&mut self, text: &str) {
        self.keyboard.write_all(text.as_bytes()).unwrap();
    }

    /// Returns the standard output at the end of the program.
    fn output(self) -> String {
        String::from_utf8(self.child.wait_with_output().unwrap().stdout).unwrap()
    }
}

#[test]
fn what_was_typed_before_a_question_does_not_answer_it() {
    let mut program = Program::start("program_asks_twice", OsStr::new("1"), "y\n");
    for (count, answer) in [(1, "y\ny\ny\n"), (2, "n\n")] {
        program.wait_for("[n]o: ", count);
        program.type_in(answer);
    }
    let output = program.output();
    assert!(output.contains("call 1 ran: true\n"), "{output}");
    assert!(output.contains("call 2 ran: false\n"), "{output}");
}

#[test]
fn canceled_question_leaves_the_next_line_to_others() {
    let path = std::env::temp_dir().join(format!("terminal-{}", std::process::id()));
    let listener = UnixListener::bind(&path).unwrap();
    let mut program = Program::start("program_cancels_a_question", path.as_os_str(), "");
    let (signal, _) = listener.accept().unwrap();
    std::fs::remove_file(path).unwrap();
    program.wait_for("[n]o: ", 1);
    drop(signal);
    program.wait_for("[n]o: canceled\n", 1);
    // A question that still reads takes the first line.
    program.type_in("first\nsecond\n");
    program.wait_for("[n]o: ", 2);
    program.type_in("y\n");
    let output = program.output();
    assert!(output.contains("program reads: first\n"), "{output}");
    assert!(output.contains("call 2 ran: true\n") && !output.contains("call 1"), "{output}");
}

#[test]
fn short_form_of_a_long_call_is_directly_before_the_answers() {
    let mut program = Program::start("program_asks_about_a_long_call", OsStr::new("1"), "");
    let answers = "[y]es, [a]ll in this run, [n]o: ";
    program.wait_for(answers, 1);
    let short = format!(r#"{{"_line":"rm -rf /","_note":"{}…"}}"#, "x".repeat(300));
    let end = format!(" characters. In short:\n{short}\n{answers}");
    assert!(program.text.ends_with(&end), "{}", program.text);
    assert!(
        program.text.contains("\nThe call of command above has 1 lines, 4"),
        "{}",
        program.text
    );
    program.type_in("n\n");
    program.output();
}
