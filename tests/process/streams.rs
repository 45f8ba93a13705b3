//! Standard input, output and error of a child process.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use support::processes::wait_until;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tool_runtime::event::ProcessStart;
use tool_runtime::http::MessageSizeError;
use tool_runtime::process::{ChildProcess, ProcessBuilder};

fn shell(script: &str) -> ProcessBuilder {
    ChildProcess::builder("sh").args(["-c", script])
}

async fn lines(child: &mut ChildProcess) -> Vec<io::Result<String>> {
    let mut lines = Vec::new();
    while let Some(line) = child.next_line().await.transpose() {
        lines.push(line);
    }
    lines
}

#[tokio::test]
async fn lines_are_exchanged_until_the_input_is_closed() {
    let mut child = ChildProcess::builder("cat").spawn().unwrap();
    for line in ["", "one", "é 🙂", " two "] {
        child.write_line(line).await.unwrap();
        assert_eq!(child.next_line().await.unwrap().as_deref(), Some(line));
    }
    for line in ["two\nmessages", "two\rmessages", "\n"] {
        let error = child.write_line(line).await.unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
    }
    child.close_stdin();
    assert_eq!(child.next_line().await.unwrap(), None);
    assert_eq!(child.next_line().await.unwrap(), None);
    let error = child.write_line("more").await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
    assert!(child.wait().await.unwrap().success());
    assert!(child.wait().await.unwrap().success());
}

#[tokio::test]
async fn oversized_line_is_an_error_and_the_next_is_read() {
    let script = r"printf '1234567\n12345678\nnext\r\nlast'";
    let mut child = shell(script).max_line_bytes(7).spawn().unwrap();
    let lines = lines(&mut child).await;
    let texts: Vec<_> = lines.iter().map(|line| line.as_deref().ok()).collect();
    assert_eq!(texts, [Some("1234567"), None, Some("next"), Some("last")]);
    let too_long = lines[1].as_ref().unwrap_err();
    assert_eq!(too_long.kind(), io::ErrorKind::InvalidData);
    assert!(too_long.get_ref().unwrap().is::<MessageSizeError>());
}

#[tokio::test]
async fn cancelled_reads_lose_nothing() {
    let script = "for i in $(seq 300); do printf 'line '; printf \"$i\\n\"; done";
    let mut child = shell(script).spawn().unwrap();
    let mut received = Vec::new();
    loop {
        // Polled at least once, and dropped if the line is not there yet.
        match tokio::time::timeout(Duration::ZERO, child.next_line()).await {
            Ok(Ok(Some(line))) => received.push(line),
            Ok(end) => break assert!(end.unwrap().is_none()),
            Err(_) => tokio::task::yield_now().await,
        }
    }
    let expected: Vec<_> = (1..=300).map(|i| format!("line {i}")).collect();
    assert_eq!(received, expected);
}

#[tokio::test]
async fn pipes_can_be_taken_as_bytes_and_as_lines() {
    let mut child = ChildProcess::builder("cat").spawn().unwrap();
    let (mut stdin, mut stdout) = (child.take_stdin().unwrap(), child.take_stdout().unwrap());
    assert!(child.take_stdin().is_none() && child.take_stdout().is_none());
    assert!(child.take_lines().is_none() && child.next_line().await.unwrap().is_none());
    let large = vec![0xff; 1 << 20];
    let (expected, writer) = (
        large.clone(),
        tokio::spawn(async move {
            stdin.write_all(&large).await.unwrap();
        }),
    );
    let mut received = Vec::new();
    stdout.read_to_end(&mut received).await.unwrap();
    assert!(received == expected);
    writer.await.unwrap();

    let mut child = shell(r"printf 'a\nb\n\377'").spawn().unwrap();
    assert_eq!(child.next_line().await.unwrap().as_deref(), Some("a"));
    assert!(child.take_stdout().is_none(), "bytes of the next lines were read already");
    let mut lines = child.take_lines().unwrap();
    assert_eq!(lines.next_line().await.unwrap().as_deref(), Some("b"));
    assert_eq!(lines.next_line().await.unwrap().as_deref(), Some("\u{fffd}"));
}

#[tokio::test]
async fn stderr_is_read_all_the_time_and_its_tail_is_kept() {
    let received = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&received);
    let script = r"i=0; while [ $i -lt 20000 ]; do echo 'a line of text' >&2; i=$((i+1)); done;
        echo 'a long line, longer than all others' >&2; printf 'the \377 end' >&2; echo done; cat";
    let mut child = shell(script)
        .max_stderr_bytes(11)
        .max_line_bytes(20)
        .on_stderr_line(move |line| sink.lock().unwrap().push(line.to_owned()))
        .spawn()
        .unwrap();
    // The pipe is full long before, unless it is read.
    assert_eq!(child.next_line().await.unwrap().as_deref(), Some("done"));
    wait_until("the tail has arrived", || child.stderr_tail().contains("end")).await;
    child.close_stdin();
    child.wait().await.unwrap();
    assert_eq!(child.stderr_tail(), "s\nthe \u{fffd} end");
    let received = received.lock().unwrap();
    assert_eq!(received.len(), 20_001);
    assert_eq!(received.last().map(String::as_str), Some("the \u{fffd} end"));
}

#[tokio::test]
async fn panic_of_the_stderr_function_is_caught() {
    support::panics::silence_panics_on_purpose();
    let count = Arc::new(Mutex::new(0));
    let sink = Arc::clone(&count);
    let mut child = shell("echo 1 >&2; echo 2 >&2")
        .on_stderr_line(move |_| {
            *sink.lock().unwrap_or_else(std::sync::PoisonError::into_inner) += 1;
            panic!("on purpose")
        })
        .spawn()
        .unwrap();
    assert!(child.wait().await.unwrap().success());
    assert_eq!((*count.lock().unwrap(), child.stderr_tail().as_str()), (2, "1\n2\n"));
}

#[tokio::test]
async fn builder_sets_arguments_environment_and_folder() {
    let script = "pwd; echo $HOME$A$B";
    let mut command = std::process::Command::new("sh");
    command.args(["-c", script]).env_clear().env("A", "a");
    for builder in [ProcessBuilder::from(command), shell(script).env_clear().env("A", "a")] {
        let mut child = builder.env("B", "b").current_dir("/").spawn().unwrap();
        let found: Vec<_> = lines(&mut child).await.into_iter().map(Result::unwrap).collect();
        assert_eq!(found, ["/", "ab"]);
    }

    let missing = ChildProcess::builder("no-such-program-anywhere").spawn().unwrap_err();
    assert_eq!(missing.kind(), std::io::ErrorKind::NotFound);
}

#[tokio::test]
async fn environment_is_not_shown_or_recorded() {
    let builder = ChildProcess::builder("cat").arg("-u").env("TOKEN", "k3y");
    assert_eq!(format!("{builder:?}"), "ProcessBuilder(cat -u)");
    let child = builder.spawn().unwrap();
    let start = ProcessStart::from(&child);
    assert_eq!(start.command, "cat -u");
    assert!(start.background && start.pid == child.id() && child.id().is_some());
    assert!(!format!("{child:?}").contains("k3y"));
}

#[test]
fn spawn_outside_of_a_runtime_is_an_error() {
    support::panics::silence_panics_on_purpose();
    assert!(ChildProcess::builder("cat").spawn().is_err());
}
