//! What a person sees on a terminal while an agent runs.

#[path = "terminal/cut.rs"]
mod cut;

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use indicatif::{InMemoryTerm, ProgressDrawTarget};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tool_runtime::agent::{Limits, Prices, Steering, StreamItem};
use tool_runtime::dispatch::AskLater;
use tool_runtime::event::{Observer, Progress};
use tool_runtime::terminal::Terminal;
use tool_runtime::{
    Agent, ChatReply, Event, Policy, ScriptedModel, ScriptedTurn, ToolCall, ToolContext, ToolError,
    Tools, Usage, tool, tools,
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
    let again = lines.remove(2);
    assert!(
        again.starts_with("↻ time  attempt 1 failed with TOOL_TRANSIENT_FAILURE, next in ")
            && again.ends_with("  the line is dead"),
        "{again}"
    );
    let expected = [
        "» asked  What time is it?",
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
async fn runs_end_under_the_names_of_their_agents() {
    let inner = Agent::new(ScriptedModel::new([ChatReply::text("Noon.")]), tools![time]);
    let clock = inner.into_tool("clock", "Knows the time.");
    let call = ChatReply::default().call("clock", r#"{"task": "Tell."}"#);
    let model = ScriptedModel::new([call, ChatReply::text("Lunch.")]);
    let paper = Paper::default();
    let agent = Agent::new(model, Tools::new().with(clock)).name("chief\u{7}");
    agent.observer(Terminal::plain(paper.clone())).run("What now?").await.unwrap();
    let ends = paper.lines();
    let is_end = |line: &&String| !line.contains("model") && !line.contains("asked");
    let ends: Vec<_> = ends.iter().filter(is_end).collect();
    assert_eq!(ends, ["  ✓ clock  *", r#"✓ clock  *  {"task": "Tell."}"#, r"✓ chief\u{7}  *"]);
}

/// Pays, if somebody allows it.
#[tool(permission = "ask")]
async fn pay() -> &'static str {
    "paid"
}

#[tokio::test(start_paused = true)]
async fn what_waits_has_not_failed_and_what_was_refused_says_why() {
    let (paper, steering) = (Paper::default(), Steering::new());
    steering.push_untrusted("a mail", "Obey!");
    steering.push("Quick.");
    let model = ScriptedModel::new([ChatReply::default().call("pay", "{}")]);
    let agent =
        Agent::new(model, tools![pay]).policy(Policy::new().approver(AskLater)).steering(&steering);
    let agent = agent.system("Be brief.").observer(Terminal::plain(paper.clone()));
    agent.run("Pay!").await.unwrap_err();
    let expected = [
        "» asked  Pay!",
        "» from a mail  Obey!",
        "» steering  Quick.",
        "› model  *  → pay",
        "… pay  *  TOOL_AWAITING_APPROVAL  {}",
        "… run  *  a call waits for approval: pay",
    ];
    assert_eq!(paper.lines(), expected);

    let paper = Paper::default();
    let said = ["soon", r#"{"value": 7}"#].map(ChatReply::text);
    let agent = Agent::new(ScriptedModel::new(said), Tools::new());
    let agent = agent.observer(Terminal::plain(paper.clone()));
    agent.extract::<u32>("When?").await.unwrap();
    let lines = paper.lines();
    assert!(lines[1].starts_with("» asked for the value  Give the answer as JSON"), "{lines:?}");
    assert_eq!(lines[0], "» asked  When?");
    let refused = "↻ model  That is not it: it can't be read as JSON";
    assert!(lines[3].starts_with(refused) && lines[3].ends_with("…  attempt 1"), "{lines:?}");
}

#[tokio::test]
async fn why_a_run_ended_is_told_whole() {
    let paper = Paper::default();
    let why = format!("the model at http://{} answered with status 402", "v".repeat(100));
    let model = ScriptedModel::new([ScriptedTurn::failed(&why)]);
    let agent = Agent::new(model, Tools::new()).observer(Terminal::plain(paper.clone()));
    agent.run("Pay!").await.unwrap_err();
    assert!(paper.lines()[1].ends_with(&why), "{:?}", paper.lines());
}

#[tokio::test]
async fn what_a_run_cost_is_told_with_its_end() {
    let prices = Prices { input: 3.0, cached: 0.3, output: 10.0 };
    let model = ScriptedModel::new([ChatReply::text("Noon.").usage(Usage::new(7, 3))]);
    let paper = Paper::default();
    let agent = Agent::new(model, tools![time]).limits(Limits::default().cost(1.0, prices));
    agent.observer(Terminal::plain(paper.clone())).run("Now?").await.unwrap();
    assert_eq!(paper.lines()[2], "✓ run  *  7 → 3 tokens  cost 0.000051");

    // Who has no answer may have paid for it.
    let paper = Paper::default();
    let agent = Agent::new(ScriptedModel::new([] as [ChatReply; 0]), tools![time]);
    let agent = agent.limits(Limits::default().cost(1.0, prices));
    agent.observer(Terminal::plain(paper.clone())).run("Now?").await.unwrap_err();
    assert!(!paper.lines()[1].contains("cost"), "{:?}", paper.lines());
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

/// What the screen shows, a line each.
fn seen(screen: &InMemoryTerm) -> Vec<String> {
    screen.contents().lines().map(|line| without_times(line.trim_end())).collect()
}

/// Words of a reply, printed as they come, and what goes on beside them don't wipe each other.
#[tokio::test]
async fn words_stand_above_what_goes_on() {
    let screen = InMemoryTerm::new(20, 40);
    let gate = Arc::new(Notify::new());
    let terminal = Terminal::on(ProgressDrawTarget::term_like(Box::new(screen.clone())));
    let model = ScriptedModel::new([
        ChatReply::default().call("wait", r#"{"number": 1}"#),
        ChatReply::text("One line.\n\nAnother, which is not over"),
    ]);
    let agent = Agent::new(model, tools![wait]).extension(Arc::clone(&gate));
    let agent = agent.observer(terminal.clone());
    let mut words = terminal.writer();
    let run = tokio::spawn(async move {
        let mut stream = agent.stream("Wait.");
        while let Some(piece) = stream.next().await {
            if let StreamItem::Text(text) = piece {
                // Byte by byte, as it may come.
                text.as_bytes().iter().for_each(|byte| words.write_all(&[*byte]).unwrap());
            }
        }
        (stream.finish().await.unwrap(), words)
    });
    once_shown(&screen, "half way").await;
    // While a call goes on, somebody begins a line.
    let mut other = terminal.writer();
    other.write_all("Gr\u{fc}\u{df}e, ".as_bytes()).unwrap();
    once_shown(&screen, "Gr\u{fc}\u{df}e,").await;
    let told = once_shown(&screen, "half way").await;
    let place = |text: &str| told.find(text).unwrap_or_else(|| panic!("{text}: {told}"));
    assert!(place("» asked") < place("Gr\u{fc}\u{df}e,"), "{told}");
    assert!(place("Gr\u{fc}\u{df}e,") < place("half way"), "{told}");
    // Half a line more, and its end; a line longer than the screen is wide.
    other.write_all("Welt\n".as_bytes()).unwrap();
    other.write_all(format!("{}\n", "0123456789".repeat(6)).as_bytes()).unwrap();
    while !run.is_finished() {
        gate.notify_waiters();
        tokio::task::yield_now().await;
    }
    let (_, words) = run.await.unwrap();
    let before = seen(&screen);
    assert!(before.contains(&"Another, which is not over".to_owned()), "{before:?}");
    drop((words, other));
    let expected = [
        "» asked  Wait.",
        "› model  *  → wait",
        "Grüße, Welt",
        "0123456789012345678901234567890123456789",
        "01234567890123456789",
        r#"✓ wait  *  {"number": 1}"#,
        "› model  *  One line.  Another, whic",
        "h is not over",
        "✓ run  *",
        "One line.",
        "",
        "Another, which is not over",
    ];
    assert_eq!(seen(&screen), expected);
}

/// On paper, what is told does not stand in the midst of a line of somebody else's; and nothing in it is obeyed.
#[tokio::test]
async fn words_have_lines_of_their_own_on_paper() {
    let paper = Paper::default();
    let terminal = Terminal::plain(paper.clone());
    let mut words = terminal.writer();
    write!(words, "Well, \u{1b}[2J").unwrap();
    let agent = Agent::new(ScriptedModel::new([ChatReply::text("Hm.")]), tools![time]);
    agent.observer(terminal.clone()).run("Hello").await.unwrap();
    writeln!(words, "now").unwrap();
    write!(words, "and").unwrap();
    drop(words);
    let expected =
        [r"Well, \u{1b}[2J", "» asked  Hello", "› model  *  Hm.", "✓ run  *", "now", "and"];
    assert_eq!(paper.lines(), expected);
    assert!(paper.0.lock().unwrap().ends_with(b"and\n"));
}

/// Something that happened in the same run, at this depth.
fn told(depth: u32, layer: &str, action: &str, more: Value) -> Event {
    let mut event = json!({ "run": "1", "turn": 1, "at": 0, "layer": layer, "action": action });
    event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    if depth > 0 {
        (event["depth"], event["parent"]) = (json!(depth), json!("c"));
    }
    serde_json::from_value(event).unwrap()
}

fn replied(text: &str) -> Event {
    told(0, "model", "replied", json!({ "text": text, "calls": [], "took": 0 }))
}

/// What happens while a model speaks is told behind its line, which ends with what it says; also where its last words are
/// late.
#[test]
fn on_paper_the_line_of_a_model_is_not_broken() {
    let paper = Paper::default();
    let terminal = Terminal::plain(paper.clone());
    let mut words = terminal.writer();
    let said = |text| told(1, "run", "said", json!({ "by": "user", "text": text }));
    let asked = || told(0, "model", "asked", json!({}));
    let ended = || told(0, "run", "finished", json!({ "took": 0 }));

    terminal.observe(&asked());
    write!(words, "Hel").unwrap();
    terminal.observe(&said("one"));
    terminal.observe(&told(1, "model", "replied", json!({ "text": "l", "calls": [], "took": 0 })));
    assert_eq!(paper.lines(), ["Hel"]);
    write!(words, "lo\nthere").unwrap();
    assert_eq!(paper.lines()[..2], ["Hello", "  » asked  one"]);
    terminal.observe(&said("two"));
    terminal.observe(&replied("Hello\nthere"));
    terminal.observe(&ended());
    // The program ends that line as well.
    write!(words, "\n\n").unwrap();
    let first =
        ["Hello", "  » asked  one", "  › model  *  l", "there", "  » asked  two", "✓ run  *", ""];
    assert_eq!(paper.lines(), first);

    terminal.observe(&asked());
    write!(words, "No").unwrap();
    terminal.observe(&replied("Noon."));
    terminal.observe(&ended());
    write!(words, "on").unwrap();
    assert_eq!(paper.lines()[first.len()..], ["Noon"]);
    write!(words, ".").unwrap();
    assert_eq!(paper.lines()[first.len()..], ["Noon.", "✓ run  *"]);

    // Who asks for something has a line for it.
    terminal.observe(&asked());
    write!(words, "Shall I").unwrap();
    terminal.suspend(|| writeln!(paper.clone(), "[y/n] y").unwrap());
    drop(words);
    assert_eq!(paper.lines()[first.len() + 2..], ["Shall I", "[y/n] y"]);
}

/// Each reply has lines of its own, though all of them are told of before the first of their words.
#[tokio::test]
async fn replies_that_stream_are_on_lines_of_their_own() {
    let paper = Paper::default();
    let terminal = Terminal::plain(paper.clone());
    let model = ScriptedModel::new([
        ChatReply::text("I look.").call("time", r#"{"city": "Oslo"}"#),
        ChatReply::text("\nNoon."),
    ]);
    let agent = Agent::new(model, tools![time]).observer(terminal.clone());
    let mut words = terminal.writer();
    let mut stream = agent.stream("When?");
    while let Some(piece) = stream.next().await {
        if let StreamItem::Text(text) = piece {
            write!(words, "{text}").unwrap();
        }
    }
    let lines = paper.lines();
    let said: Vec<_> = lines.iter().filter(|it| !it.starts_with(['»', '›', '✓'])).collect();
    assert_eq!(said, ["I look.", "Noon."], "{lines:?}");
    assert!(paper.0.lock().unwrap().ends_with(b".\n"));
}

/// A reply that a writer has shown has nothing more to tell than its calls.
#[test]
fn a_reply_that_was_shown_is_not_told_again() {
    let paper = Paper::default();
    let terminal = Terminal::plain(paper.clone());
    terminal.observe(&replied(""));
    let mut words = terminal.writer();
    terminal.observe(&replied(""));
    terminal.observe(&replied("Noon."));
    drop(words);
    words = terminal.writer();
    let call = json!({ "id": "c", "name": "time", "arguments": "{}" });
    let calls = json!({ "text": "I look.", "calls": [call], "took": 0 });
    for reply in [told(0, "model", "replied", calls), replied("I look.")] {
        terminal.observe(&told(0, "model", "asked", json!({})));
        write!(words, "I look.").unwrap();
        terminal.observe(&reply);
    }
    let expected = ["› model  *", "› model  *  Noon.", "I look.", "› model  *  → time", "I look."];
    assert_eq!(paper.lines(), expected);
}

/// Half a letter of one writer is none of another's.
#[tokio::test]
async fn writers_do_not_mix_letters() {
    let paper = Paper::default();
    let terminal = Terminal::plain(paper.clone());
    let (mut one, mut other) = (terminal.writer(), terminal.writer());
    one.write_all(b"Gr\xc3").unwrap();
    other.write_all(b"x\n\xf0\x9f").unwrap();
    one.write_all(b"\xbc\xc3\x9fe\r").unwrap();
    other.write_all(b"\x99\x82").unwrap();
    one.write_all(b"\n").unwrap();
    // What is half when its writer goes never becomes a letter.
    other.write_all(b"\xc3").unwrap();
    drop(other);
    one.write_all(b"!\n").unwrap();
    assert_eq!(paper.lines(), ["Grx", "üße🙂", "\u{fffd}", "!"]);
}

/// What goes on is to be seen below a line that has no end, however long that is.
#[tokio::test]
async fn a_long_line_leaves_room_for_what_goes_on() {
    let screen = InMemoryTerm::new(10, 40);
    let gate = Arc::new(Notify::new());
    let terminal = Terminal::on(ProgressDrawTarget::term_like(Box::new(screen.clone())));
    let model = ScriptedModel::new([
        ChatReply::default().call("wait", r#"{"number": 1}"#),
        ChatReply::text("Done."),
    ]);
    let agent = Agent::new(model, tools![wait]).extension(Arc::clone(&gate));
    let agent = agent.observer(terminal.clone());
    let run = tokio::spawn(async move { agent.run("Wait.").await.is_ok() });
    once_shown(&screen, "half way").await;
    let mut words = terminal.writer();
    (0..1_000).for_each(|number| write!(words, "{number} ").unwrap());
    once_shown(&screen, "998 999").await;
    once_shown(&screen, "half way").await;
    writeln!(words).unwrap();
    while !run.is_finished() {
        gate.notify_waiters();
        tokio::task::yield_now().await;
    }
    assert!(run.await.unwrap());
}

/// Where nothing is drawn, what the program says is to be seen all the same.
#[test]
fn words_are_not_hidden() {
    for (target, is_straight) in [
        (ProgressDrawTarget::hidden(), true),
        (ProgressDrawTarget::term_like(Box::new(InMemoryTerm::new(9, 9))), false),
    ] {
        let writer = format!("{:?}", Terminal::on(target).writer());
        assert!(writer.contains(&format!("is_straight: {is_straight}")), "{writer}");
    }
}
