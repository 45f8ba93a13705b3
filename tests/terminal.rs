//! What a person sees on a terminal while an agent runs.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use indicatif::{InMemoryTerm, ProgressDrawTarget};
use serde_json::json;
use tokio::sync::Notify;
use tool_runtime::event::Progress;
use tool_runtime::terminal::Terminal;
use tool_runtime::{
    Agent, ChatReply, ScriptedModel, ToolCall, ToolContext, ToolError, Usage, tool, tools,
};

/// What was written, kept.
#[derive(Clone, Default)]
struct Paper(Arc<Mutex<Vec<u8>>>);

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Paper {
    /// The lines, with a star for each time.
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

/// Tells the time.
#[tool(effect = "read", idempotent, retries = 1)]
async fn time(city: String, ctx: &ToolContext) -> Result<String, ToolError> {
    match (city.as_str(), ctx.attempt()) {
        ("Bergen", 1) => Err(ToolError::transient("the line is dead")),
        ("Atlantis", _) => Err(ToolError::failed("it sank")),
        _ => Ok("noon".into()),
    }
}

/// Tells the time in a city by another tool.
#[tool(effect = "read")]
async fn ask(city: String, ctx: &ToolContext) -> String {
    let call = ToolCall::new("", "time", json!({ "city": city }));
    ctx.dispatch(vec![call]).await.remove(0).result.text
}

#[tokio::test(start_paused = true)]
async fn plain_lines_tell_each_reply_retry_and_result() {
    let mut first = ChatReply::text("I ask.").call("time", r#"{"city": "Bergen"}"#);
    first.usage = Some(Usage::new(7, 3));
    let model = ScriptedModel::new([
        first,
        ChatReply::default().call("time", r#"{"city": "Atlantis"}"#),
        ChatReply::default().call("ask", r#"{"city": "Oslo"}"#),
        ChatReply::text("Noon."),
    ]);
    let paper = Paper::default();
    let agent = Agent::new(model, tools![time, ask]).observer(Terminal::plain(paper.clone()));
    agent.run("What time is it?").await.unwrap();

    let mut lines = paper.lines();
    let again = lines.remove(1);
    assert!(
        again.starts_with("↻ time  attempt 1 failed with TOOL_TRANSIENT_FAILURE, next in "),
        "{again}"
    );
    let expected = [
        "› model  *  7 → 3 tokens  I ask.  → time",
        r#"✓ time  *  {"city": "Bergen"}"#,
        "› model  *  → time",
        r#"✗ time  *  TOOL_EXECUTION_FAILED  {"city": "Atlantis"}"#,
        "› model  *  → ask",
        r#"  ✓ time  *  {"city":"Oslo"}"#,
        r#"✓ ask  *  {"city": "Oslo"}"#,
        "› model  *  Noon.",
        "✓ run  *",
    ];
    assert_eq!(lines, expected);
}

#[tokio::test(start_paused = true)]
async fn runs_end_under_the_names_of_their_agents() {
    let inner = Agent::new(ScriptedModel::new([ChatReply::text("Noon.")]), tools![time]);
    let clock = inner.into_tool("clock", "Knows the time.");
    let call = ChatReply::default().call("clock", r#"{"task": "Tell."}"#);
    let model = ScriptedModel::new([call, ChatReply::text("Lunch.")]);
    let paper = Paper::default();
    let agent = Agent::new(model, tool_runtime::Tools::new().with(clock)).name("chief\u{7}");
    agent.observer(Terminal::plain(paper.clone())).run("What now?").await.unwrap();
    let ends = paper.lines();
    let ends: Vec<_> = ends.iter().filter(|line| !line.contains("model")).collect();
    assert_eq!(ends, ["  ✓ clock  *", r#"✓ clock  *  {"task": "Tell."}"#, r"✓ chief\u{7}  *"]);
}

#[tokio::test]
async fn nobody_can_write_on_the_terminal_but_the_terminal() {
    for text in ["\u{1b}[2J\u{1b}]0;mine\u{7}", "a\rb\u{8}\u{8}", "\u{9b}31m", "\u{202e}gnp.exe"] {
        let arguments = json!({ "city": text }).to_string();
        let model = ScriptedModel::new([
            ChatReply::text(text).call(text, text).call("time", arguments.as_str()),
            ChatReply::text(text),
        ]);
        let paper = Paper::default();
        let terminal = Terminal::plain(paper.clone());
        Agent::new(model, tools![time]).observer(terminal).run("Hello").await.unwrap();
        let written = String::from_utf8(paper.0.lock().unwrap().clone()).unwrap();
        let is_obeyed = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
        assert!(!written.contains(is_obeyed), "{written:?}");
        assert!(written.contains(r"\u{"), "{written:?}");
    }
}

/// Says how far it is, and waits to be let go.
#[tool(effect = "read")]
async fn wait(number: u32, ctx: &ToolContext) -> Result<u32, ToolError> {
    ctx.progress(Progress { done: 1.0, total: Some(3.0), message: Some("half way".into()) });
    let gate: &Arc<Notify> = ctx.get().ok_or("there is no gate")?;
    gate.notified().await;
    Ok(number)
}

/// What is on the screen once this is.
async fn once_shown(screen: &InMemoryTerm, text: &str) -> String {
    for _ in 0..10_000 {
        if screen.contents().contains(text) {
            return screen.contents();
        }
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    panic!("{text} was never to be seen: {}", screen.contents());
}

#[tokio::test]
async fn a_terminal_shows_what_goes_on_and_then_what_came_of_it() {
    let screen = InMemoryTerm::new(40, 100);
    let gate = Arc::new(Notify::new());
    let calls = (0..15).fold(ChatReply::default(), |reply, number| {
        reply.call("wait", format!(r#"{{"number": {number}}}"#).as_str())
    });
    let terminal = Terminal::on(ProgressDrawTarget::term_like(Box::new(screen.clone())));
    let agent = Agent::new(ScriptedModel::new([calls, ChatReply::text("Done.")]), tools![wait])
        .extension(Arc::clone(&gate))
        .observer(terminal.clone());
    let run =
        tokio::spawn(async move { agent.run("Wait.").await.map(|answer| answer.to_string()) });

    // Twelve have room; of the others there is a count.
    let seen = once_shown(&screen, "and 3 more").await;
    let seen = if seen.contains("1 of 3: half way") {
        seen
    } else {
        once_shown(&screen, "half way").await
    };
    assert_eq!(seen.matches("{\"number\": ").count(), 12, "{seen}");
    assert!(!seen.contains('✓'), "{seen}");

    while !run.is_finished() {
        gate.notify_waiters();
        tokio::task::yield_now().await;
    }
    assert_eq!(run.await.unwrap().unwrap(), "Done.");
    let seen = screen.contents();
    assert_eq!(seen.matches("✓ wait").count(), 15, "{seen}");
    assert!(!seen.contains("more") && !seen.contains("half way"), "{seen}");
    assert!(seen.contains("Done.") && seen.contains("✓ run"), "{seen}");
    terminal.suspend(|| ());
}
