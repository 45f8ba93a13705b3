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

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use tool_runtime::{Dispatcher, Policy, Registry, ToolCall, tool, tools};
use tool_toolbox::TerminalApprover;

/// The variable of the program that asks.
const ASKS: &str = "TERMINAL_ASKS";

/// Deletes everything.
#[tool(permission = "ask")]
async fn delete() {}

#[tokio::test]
#[ignore = "another test runs it on a terminal"]
async fn program_asks_twice() {
    if std::env::var_os(ASKS).is_none() {
        return;
    }
    let policy = Policy::new().approver(TerminalApprover::new());
    let dispatcher = Dispatcher::new(Registry::try_from(tools![delete]).unwrap()).policy(policy);
    for id in ["1", "2"] {
        let call = ToolCall::new(id, "delete", "{}");
        let execution = dispatcher.dispatch(vec![call]).await.remove(0);
        println!("call {id} ran: {}", execution.is_success());
    }
}

#[test]
fn what_was_typed_before_a_question_does_not_answer_it() {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
    let input = OpenOptions::new().read(true).write(true).open(name).unwrap();
    let mut keyboard = File::from(terminal);
    keyboard.write_all(b"y\n").unwrap();
    let mut program = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "program_asks_twice", "--ignored", "--nocapture"])
        .env(ASKS, "1")
        .stdin(input)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut stderr, mut question) = (program.stderr.take().unwrap(), String::new());
    for (count, answer) in [(1, "y\ny\ny\n"), (2, "n\n")] {
        while question.matches("[n]o: ").count() < count {
            let mut buffer = [0; 1000];
            let length = stderr.read(&mut buffer).unwrap();
            assert!(length > 0, "the program has not asked {count} times: {question}");
            question += &String::from_utf8_lossy(&buffer[..length]);
        }
        keyboard.write_all(answer.as_bytes()).unwrap();
    }
    let output = String::from_utf8(program.wait_with_output().unwrap().stdout).unwrap();
    assert!(output.contains("call 1 ran: true\n"), "{output}");
    assert!(output.contains("call 2 ran: false\n"), "{output}");
}
