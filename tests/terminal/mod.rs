//! Terminal output of a running agent.

mod events;
mod partial;
mod warnings;

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use self::events::event;
use indicatif::{InMemoryTerm, ProgressDrawTarget};
use serde_json::json;
use tokio::sync::Notify;
use tool_runtime::agent::{Limits, Prices, Steering, StreamItem};
use tool_runtime::dispatch::AskLater;
use tool_runtime::event::{Observer, Progress};
use tool_runtime::terminal::Terminal;
use tool_runtime::{
    Agent, ChatReply, Event, Policy, ScriptedModel, ScriptedTurn, ToolCall, ToolContext, ToolError,
    Tools, Usage, tool, tools,
};

/// Writer that keeps everything in memory.
#[derive(Clone, Default)]
struct Output(Arc<Mutex<Vec<u8>>>);

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Output {
    /// Returns the lines with a star in place of each duration.
    fn lines(&self) -> Vec<String> {
        let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        text.lines().map(without_times).collect()
    }
}

fn without_times(line: &str) -> String {
    let words = line.split("  ").map(|word| {
        let is_time = word.starts_with(|c: char| c.is_ascii_digit()) && word.ends_with('s');
        if is_time && !word.ends_with("tokens") { "*" } else { word }
    });
    words.collect::<Vec<_>>().join("  ")
}

/// Returns the time.
#[tool(effect = "read", idempotent, max_retries = 1)]
async fn time(city: String, ctx: &ToolContext) -> Result<String, ToolError> {
    match (city.as_str(), ctx.attempt()) {
        ("Bergen", 1) => Err(ToolError::transient("the line is dead")),
        ("Atlantis", _) => Err(ToolError::failed("it sank")),
        _ => Ok("noon".into()),
    }
}

/// Calls another tool for the time in a city.
#[tool(effect = "read")]
async fn ask(city: String, ctx: &ToolContext) -> String {
    let call = ToolCall::new("", "time", json!({ "city": city }));
    ctx.dispatch(vec![call]).await.remove(0).result.text
}

#[tokio::test(start_paused = true)]
async fn plain_output_has_a_line_for_each_reply_retry_and_result() {
    let mut first = ChatReply::text("I ask.").call("time", r#"{"city": "Bergen"}"#);
    first.usage = Some(Usage::new(7, 3));
    let model = ScriptedModel::new([
        first,
        ChatReply::default().call("time", r#"{"city": "Atlantis"}"#),
        ChatReply::default().call("ask", r#"{"city": "Oslo"}"#),
        ChatReply::text("Noon."),
    ]);
    let output = Output::default();
    let agent = Agent::new(model, tools![time, ask]).observer(Terminal::plain(output.clone()));
    agent.run("What time is it?").await.unwrap();

    let mut lines = output.lines();
    let retry = lines.remove(2);
    assert!(
        retry.starts_with("↻ time  attempt 1 failed with TOOL_TRANSIENT_FAILURE, next in ")
            && retry.ends_with("  the line is dead"),
        "{retry}"
    );
    let expected = [
        "» prompt  What time is it?",
        "› model  *  7 → 3 tokens  I ask.  → time",
        r#"✓ time  *  {"city": "Bergen"}"#,
        "› model  *  → time",
        r#"✗ time  *  TOOL_EXECUTION_FAILED  {"city": "Atlantis"}"#,
        "› model  *  → ask",
        r#"  ✓ time  *  {"city":"Oslo"}"#,
        r#"✓ ask  *  {"city": "Oslo"}"#,
        "› model  *  Noon.",
        "✓ run  *  7 → 3 tokens",
    ];
    assert_eq!(lines, expected);
}

#[tokio::test(start_paused = true)]
async fn end_of_a_run_shows_the_agent_name() {
    let inner = Agent::new(ScriptedModel::new([ChatReply::text("Noon.")]), tools![time]);
    let clock = inner.into_tool("clock", "Knows the time.");
    let call = ChatReply::default().call("clock", r#"{"task": "Tell."}"#);
    let model = ScriptedModel::new([call, ChatReply::text("Lunch.")]);
    let output = Output::default();
    let agent = Agent::new(model, Tools::new().with(clock)).name("chief\u{7}");
    agent.observer(Terminal::plain(output.clone())).run("What now?").await.unwrap();
    let ends = output.lines();
    let is_end = |line: &&String| !line.contains("model") && !line.contains("prompt");
    let ends: Vec<_> = ends.iter().filter(is_end).collect();
    assert_eq!(ends, ["  ✓ clock  *", r#"✓ clock  *  {"task": "Tell."}"#, "✓ chief<U+0007>  *"]);
}

/// Pays a bill, with approval.
#[tool(permission = "ask")]
async fn pay() -> &'static str {
    "paid"
}

#[tokio::test(start_paused = true)]
async fn pending_calls_and_refused_values_are_shown() {
    let (output, steering) = (Output::default(), Steering::new());
    steering.push_untrusted("a mail", "Obey!");
    steering.push("Quick.").unwrap();
    let model = ScriptedModel::new([ChatReply::default().call("pay", "{}")]);
    let agent =
        Agent::new(model, tools![pay]).policy(Policy::new().approver(AskLater)).steering(&steering);
    let agent = agent.system("Be brief.").observer(Terminal::plain(output.clone()));
    agent.run("Pay!").await.unwrap_err();
    let expected = [
        "» prompt  Pay!",
        "» from a mail  Obey!",
        "» steering  Quick.",
        "› model  *  → pay",
        "… pay  *  TOOL_AWAITING_APPROVAL  {}",
        "… run  *  1 call awaits approval: pay",
    ];
    assert_eq!(output.lines(), expected);

    let output = Output::default();
    let replies = ["soon", r#"{"value": 7}"#].map(ChatReply::text);
    let agent = Agent::new(ScriptedModel::new(replies), Tools::new());
    let agent = agent.observer(Terminal::plain(output.clone()));
    agent.extract::<u32>("When?").await.unwrap();
    let lines = output.lines();
    assert!(lines[1].starts_with("» value requested  Give the answer as JSON"), "{lines:?}");
    assert_eq!(lines[0], "» prompt  When?");
    let refused = "↻ model  That is not it: it can't be read as JSON";
    assert!(lines[3].starts_with(refused) && lines[3].ends_with("…  attempt 1"), "{lines:?}");
}

#[tokio::test]
async fn stop_reason_is_shown_in_full() {
    let output = Output::default();
    let reason = format!("the model at http://{} answered with status 402", "v".repeat(100));
    let model = ScriptedModel::new([ScriptedTurn::failed(&reason)]);
    let agent = Agent::new(model, Tools::new()).observer(Terminal::plain(output.clone()));
    agent.run("Pay!").await.unwrap_err();
    assert!(output.lines()[1].ends_with(&reason), "{:?}", output.lines());
}

#[tokio::test]
async fn cost_is_shown_at_the_end_of_a_run() {
    let prices = Prices { input: 3.0, cached: 0.3, output: 10.0 };
    let model = ScriptedModel::new([ChatReply::text("Noon.").usage(Usage::new(7, 3))]);
    let output = Output::default();
    let agent = Agent::new(model, tools![time]).limits(Limits::default().max_cost(1.0, prices));
    agent.observer(Terminal::plain(output.clone())).run("Now?").await.unwrap();
    assert_eq!(output.lines()[2], "✓ run  *  7 → 3 tokens  cost 0.000051");

    // A run without usage shows no cost.
    let output = Output::default();
    let agent = Agent::new(ScriptedModel::new([] as [ChatReply; 0]), tools![time]);
    let agent = agent.limits(Limits::default().max_cost(1.0, prices));
    agent.observer(Terminal::plain(output.clone())).run("Now?").await.unwrap_err();
    assert!(!output.lines()[1].contains("cost"), "{:?}", output.lines());
}

#[tokio::test]
async fn control_characters_are_escaped() {
    for text in ["\u{1b}[2J\u{1b}]0;mine\u{7}", "a\rb\u{8}\u{8}", "\u{9b}31m", "\u{202e}gnp.exe"] {
        let arguments = json!({ "city": text }).to_string();
        let model = ScriptedModel::new([
            ChatReply::text(text).call(text, text).call("time", arguments.as_str()),
            ChatReply::text(text),
        ]);
        let output = Output::default();
        let terminal = Terminal::plain(output.clone());
        Agent::new(model, tools![time]).observer(terminal).run("Hello").await.unwrap();
        let written = String::from_utf8(output.0.lock().unwrap().clone()).unwrap();
        let is_control = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
        assert!(!written.contains(is_control), "{written:?}");
        assert!(written.contains("<U+"), "{written:?}");
    }
}

/// Reports progress and waits for a notification.
#[tool(effect = "read")]
async fn wait(number: u32, ctx: &ToolContext) -> Result<u32, ToolError> {
    ctx.progress(Progress { done: 1.0, total: Some(3.0), message: Some("half way".into()) });
    let gate: &Arc<Notify> = ctx.get().ok_or("there is no gate")?;
    gate.notified().await;
    Ok(number)
}

/// Waits until the screen shows the text, and returns its contents.
async fn wait_for(screen: &InMemoryTerm, text: &str) -> String {
    for _ in 0..10_000 {
        if screen.contents().contains(text) {
            return screen.contents();
        }
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    panic!("{text} never appeared: {}", screen.contents());
}

#[tokio::test]
async fn terminal_shows_running_calls_and_then_their_results() {
    let screen = InMemoryTerm::new(40, 100);
    let gate = Arc::new(Notify::new());
    let calls = (0..15).fold(ChatReply::default(), |reply, number| {
        reply.call("wait", format!(r#"{{"number": {number}}}"#).as_str())
    });
    let terminal = Terminal::with_target(ProgressDrawTarget::term_like(Box::new(screen.clone())));
    let agent = Agent::new(ScriptedModel::new([calls, ChatReply::text("Done.")]), tools![wait])
        .extension(Arc::clone(&gate))
        .observer(terminal.clone());
    let run =
        tokio::spawn(async move { agent.run("Wait.").await.map(|answer| answer.to_string()) });

    // Twelve calls have a line. The others are counted.
    let contents = wait_for(&screen, "and 3 more").await;
    let contents = if contents.contains("1 of 3: half way") {
        contents
    } else {
        wait_for(&screen, "half way").await
    };
    assert_eq!(contents.matches("{\"number\": ").count(), 12, "{contents}");
    assert!(!contents.contains('✓'), "{contents}");

    while !run.is_finished() {
        gate.notify_waiters();
        tokio::task::yield_now().await;
    }
    assert_eq!(run.await.unwrap().unwrap(), "Done.");
    let contents = screen.contents();
    assert_eq!(contents.matches("✓ wait").count(), 15, "{contents}");
    assert!(!contents.contains("more") && !contents.contains("half way"), "{contents}");
    assert!(contents.contains("Done.") && contents.contains("✓ run"), "{contents}");
    terminal.suspend(|| ());
}

/// Returns the lines of the screen without durations.
fn screen_lines(screen: &InMemoryTerm) -> Vec<String> {
    screen.contents().lines().map(|line| without_times(line.trim_end())).collect()
}

/// Streamed text and progress lines do not overwrite each other.
#[tokio::test]
async fn streamed_text_is_above_progress_lines() {
    let screen = InMemoryTerm::new(20, 40);
    let gate = Arc::new(Notify::new());
    let terminal = Terminal::with_target(ProgressDrawTarget::term_like(Box::new(screen.clone())));
    let model = ScriptedModel::new([
        ChatReply::default().call("wait", r#"{"number": 1}"#),
        ChatReply::text("One line.\n\nAnother, which is not over"),
    ]);
    let agent = Agent::new(model, tools![wait]).extension(Arc::clone(&gate));
    let agent = agent.observer(terminal.clone());
    let mut writer = terminal.writer();
    let run = tokio::spawn(async move {
        let mut stream = agent.stream("Wait.");
        while let Some(piece) = stream.next().await {
            if let StreamItem::Text(text) = piece {
                // The text arrives byte by byte.
                text.as_bytes().iter().for_each(|byte| writer.write_all(&[*byte]).unwrap());
            }
        }
        (stream.finish().await.unwrap(), writer)
    });
    wait_for(&screen, "half way").await;
    // Another writer begins a line while a call runs.
    let mut second = terminal.writer();
    second.write_all("Gr\u{fc}\u{df}e, ".as_bytes()).unwrap();
    wait_for(&screen, "Gr\u{fc}\u{df}e,").await;
    let contents = wait_for(&screen, "half way").await;
    let position = |text: &str| contents.find(text).unwrap_or_else(|| panic!("{text}: {contents}"));
    assert!(position("» prompt") < position("Gr\u{fc}\u{df}e,"), "{contents}");
    assert!(position("Gr\u{fc}\u{df}e,") < position("half way"), "{contents}");
    // The writer ends its line and writes a line that is wider than the screen.
    second.write_all("Welt\n".as_bytes()).unwrap();
    second.write_all(format!("{}\n", "0123456789".repeat(6)).as_bytes()).unwrap();
    while !run.is_finished() {
        gate.notify_waiters();
        tokio::task::yield_now().await;
    }
    let (_, writer) = run.await.unwrap();
    let before = screen_lines(&screen);
    assert!(before.contains(&"Another, which is not over".to_owned()), "{before:?}");
    drop((writer, second));
    let expected = [
        "» prompt  Wait.",
        "› model  *  → wait",
        "Grüße, Welt",
        "0123456789012345678901234567890123456789",
        "01234567890123456789",
        r#"✓ wait  *  {"number": 1}"#,
        "› model  *  One line.  Another, which is not over",
        "✓ run  *",
        "One line.",
        "",
        "Another, which is not over",
    ];
    // Where the line of the reply wraps depends on the length of its time.
    assert_eq!(screen_lines(&screen).concat(), expected.concat());
}

/// In plain output, event lines do not interrupt a line of text, and control characters are
/// escaped.
#[tokio::test]
async fn plain_output_keeps_text_and_events_on_separate_lines() {
    let output = Output::default();
    let terminal = Terminal::plain(output.clone());
    let mut writer = terminal.writer();
    write!(writer, "Well, \u{1b}[2J").unwrap();
    let agent = Agent::new(ScriptedModel::new([ChatReply::text("Hm.")]), tools![time]);
    agent.observer(terminal.clone()).run("Hello").await.unwrap();
    writeln!(writer, "now").unwrap();
    write!(writer, "and").unwrap();
    drop(writer);
    let expected =
        ["Well, <U+001B>[2J", "» prompt  Hello", "› model  *  Hm.", "✓ run  *", "now", "and"];
    assert_eq!(output.lines(), expected);
    assert!(output.0.lock().unwrap().ends_with(b"and\n"));
}

fn replied(text: &str) -> Event {
    event(0, "model.replied", json!({ "text": text, "calls": [], "duration_us": 0 }))
}

/// Events during a streamed reply are printed after the line of the text, also if the last text
/// arrives late.
#[test]
fn plain_output_does_not_interrupt_a_streamed_line() {
    let output = Output::default();
    let terminal = Terminal::plain(output.clone());
    let mut writer = terminal.writer();
    let message = |text| event(1, "run.message_added", json!({ "source": "user", "text": text }));
    let requested = || event(0, "model.requested", json!({}));
    let ended = || event(0, "run.finished", json!({ "duration_us": 0 }));

    terminal.observe(&requested());
    write!(writer, "Hel").unwrap();
    terminal.observe(&message("one"));
    let nested = json!({ "text": "l", "calls": [], "duration_us": 0 });
    terminal.observe(&event(1, "model.replied", nested));
    assert_eq!(output.lines(), ["Hel"]);
    write!(writer, "lo\nthere").unwrap();
    assert_eq!(output.lines()[..2], ["Hello", "  » prompt  one"]);
    terminal.observe(&message("two"));
    terminal.observe(&replied("Hello\nthere"));
    terminal.observe(&ended());
    // The program ends the line, too.
    write!(writer, "\n\n").unwrap();
    let first =
        ["Hello", "  » prompt  one", "  › model  *  l", "there", "  » prompt  two", "✓ run  *", ""];
    assert_eq!(output.lines(), first);

    terminal.observe(&requested());
    write!(writer, "No").unwrap();
    terminal.observe(&replied("Noon."));
    terminal.observe(&ended());
    write!(writer, "on").unwrap();
    assert_eq!(output.lines()[first.len()..], ["Noon"]);
    write!(writer, ".").unwrap();
    assert_eq!(output.lines()[first.len()..], ["Noon.", "✓ run  *"]);

    // A prompt gets a separate line.
    terminal.observe(&requested());
    write!(writer, "Shall I").unwrap();
    terminal.suspend(|| writeln!(output.clone(), "[y/n] y").unwrap());
    drop(writer);
    assert_eq!(output.lines()[first.len() + 2..], ["Shall I", "[y/n] y"]);
}

/// Each reply has its own lines, although its event may arrive before its first text.
#[tokio::test]
async fn streamed_replies_have_lines_of_their_own() {
    let output = Output::default();
    let terminal = Terminal::plain(output.clone());
    let model = ScriptedModel::new([
        ChatReply::text("I look.").call("time", r#"{"city": "Oslo"}"#),
        ChatReply::text("\nNoon."),
    ]);
    let agent = Agent::new(model, tools![time]).observer(terminal.clone());
    let mut writer = terminal.writer();
    let mut stream = agent.stream("When?");
    while let Some(piece) = stream.next().await {
        if let StreamItem::Text(text) = piece {
            write!(writer, "{text}").unwrap();
        }
    }
    let lines = output.lines();
    let text: Vec<_> = lines.iter().filter(|line| !line.starts_with(['»', '›', '✓'])).collect();
    assert_eq!(text, ["I look.", "Noon."], "{lines:?}");
    assert!(output.0.lock().unwrap().ends_with(b".\n"));
}

/// If a writer has printed the text of a reply, its event line shows the calls only.
#[test]
fn printed_reply_is_not_printed_again() {
    let output = Output::default();
    let terminal = Terminal::plain(output.clone());
    terminal.observe(&replied(""));
    let mut writer = terminal.writer();
    terminal.observe(&replied(""));
    terminal.observe(&replied("Noon."));
    drop(writer);
    writer = terminal.writer();
    let call = json!({ "id": "c", "name": "time", "arguments": "{}" });
    let calls = json!({ "text": "I look.", "calls": [call], "duration_us": 0 });
    for reply in [event(0, "model.replied", calls), replied("I look.")] {
        terminal.observe(&event(0, "model.requested", json!({})));
        write!(writer, "I look.").unwrap();
        terminal.observe(&reply);
    }
    let expected = ["› model  *", "› model  *  Noon.", "I look.", "› model  *  → time", "I look."];
    assert_eq!(output.lines(), expected);
}

/// Incomplete UTF-8 of one writer does not join the bytes of another.
#[tokio::test]
async fn writers_do_not_mix_bytes() {
    let output = Output::default();
    let terminal = Terminal::plain(output.clone());
    let (mut first, mut second) = (terminal.writer(), terminal.writer());
    first.write_all(b"Gr\xc3").unwrap();
    second.write_all(b"x\n\xf0\x9f").unwrap();
    first.write_all(b"\xbc\xc3\x9fe\r").unwrap();
    second.write_all(b"\x99\x82").unwrap();
    first.write_all(b"\n").unwrap();
    // Incomplete bytes of a dropped writer are replaced.
    second.write_all(b"\xc3").unwrap();
    drop(second);
    first.write_all(b"!\n").unwrap();
    assert_eq!(output.lines(), ["Grx", "üße🙂", "\u{fffd}", "!"]);
}

/// Progress lines stay visible below an unfinished line of any length.
#[tokio::test]
async fn long_line_leaves_room_for_progress() {
    let screen = InMemoryTerm::new(10, 40);
    let gate = Arc::new(Notify::new());
    let terminal = Terminal::with_target(ProgressDrawTarget::term_like(Box::new(screen.clone())));
    let model = ScriptedModel::new([
        ChatReply::default().call("wait", r#"{"number": 1}"#),
        ChatReply::text("Done."),
    ]);
    let agent = Agent::new(model, tools![wait]).extension(Arc::clone(&gate));
    let agent = agent.observer(terminal.clone());
    let run = tokio::spawn(async move { agent.run("Wait.").await.is_ok() });
    wait_for(&screen, "half way").await;
    let mut writer = terminal.writer();
    (0..1_000).for_each(|number| write!(writer, "{number} ").unwrap());
    wait_for(&screen, "998 999").await;
    wait_for(&screen, "half way").await;
    writeln!(writer).unwrap();
    while !run.is_finished() {
        gate.notify_waiters();
        tokio::task::yield_now().await;
    }
    assert!(run.await.unwrap());
}

/// Text is written directly if nothing is drawn.
#[test]
fn text_is_written_to_hidden_targets() {
    for (target, is_direct) in [
        (ProgressDrawTarget::hidden(), true),
        (ProgressDrawTarget::term_like(Box::new(InMemoryTerm::new(9, 9))), false),
    ] {
        let writer = format!("{:?}", Terminal::with_target(target).writer());
        assert!(writer.contains(&format!("is_direct: {is_direct}")), "{writer}");
    }
}
