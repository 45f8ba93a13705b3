use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use tool_runtime::event::{
    Background, Channel, EventKind, JsonLines, LogEvent, Observer, Origin, Progress, Recorder,
    RunEvent, ToolEvent,
};
use tool_runtime::{
    Agent, Answer, ChatReply, Delta, Event, ScriptedModel, ToolContext, tool, tools,
};

/// Tells the time.
#[tool(effect = "read")]
async fn now() -> &'static str {
    "noon"
}

/// Runs an agent once with this observer, which receives eight events.
async fn run(observer: impl Observer + 'static) -> Answer {
    let model =
        ScriptedModel::new([ChatReply::default().call("now", "{}"), ChatReply::text("Noon.")]);
    Agent::new(model, tools![now]).observer(observer).run("When?").await.unwrap()
}

const EVENTS: u64 = 10;

/// An event with a unique number.
fn numbered(turn: u32) -> Event {
    Event::new(
        Origin::new(1.into(), turn),
        std::time::UNIX_EPOCH,
        RunEvent::Started {
            parent_run: None,
            agent: None,
            session: None,
            metadata: serde_json::Map::new(),
        },
    )
}

fn lost(event: &Event) -> Option<u64> {
    match event.kind {
        EventKind::Log(LogEvent::Dropped { count }) => Some(count),
        _ => None,
    }
}

#[tokio::test]
async fn slow_channel_reader_receives_the_number_of_dropped_events() {
    let channel = Channel::new(4);
    let (mut slow, mut late) = (channel.reader(), channel.reader());
    for turn in 1..=10 {
        channel.observe(&numbered(turn));
    }
    assert_eq!(lost(&slow.next().await.unwrap()), Some(6));
    for turn in 7..=10 {
        assert_eq!(*slow.next().await.unwrap(), numbered(turn));
    }
    assert!(slow.try_next().is_none());
    // Each reader has its own position, and a new reader receives only new events.
    let mut new = channel.reader();
    channel.observe(&numbered(11));
    assert_eq!(lost(&late.try_next().unwrap()), Some(7));
    assert_eq!(*new.next().await.unwrap(), numbered(11));
    drop(channel);
    assert!(new.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn run_continues_without_channel_readers() {
    let channel = Channel::new(2);
    let mut reader = channel.reader();
    assert_eq!(run(channel).await.to_string(), "Noon.");
    assert_eq!(lost(&reader.next().await.unwrap()), Some(EVENTS - 2));
}

#[test]
fn recorder_evicts_the_oldest_event() {
    let recorder = Recorder::new(3);
    let shared = recorder.clone();
    for turn in 1..=5 {
        shared.observe(&numbered(turn));
    }
    let turns: Vec<_> = recorder.events().iter().map(|event| event.origin.turn).collect();
    assert_eq!((turns.as_slice(), recorder.dropped_count()), (&[3, 4, 5][..], 2));
    assert_eq!(recorder.filter(|event| event.origin.turn > 4).len(), 1);
    recorder.clear();
    assert!(recorder.events().is_empty() && recorder.dropped_count() == 0);
}

/// Blocks until it is opened.
struct Gate(Mutex<Receiver<()>>);

impl Gate {
    fn new() -> (Sender<()>, Self) {
        let (open, gate) = channel();
        (open, Self(Mutex::new(gate)))
    }

    /// Waits until the sender is dropped.
    fn wait(&self) {
        let _ = self.0.lock().unwrap().recv();
    }
}

#[tokio::test]
async fn run_does_not_wait_for_a_slow_background_observer() {
    let (open, gate) = Gate::new();
    let recorder = Recorder::new(100);
    let sink = recorder.clone();
    let slow = Background::with_capacity(2, move |event: &Event| {
        gate.wait();
        sink.observe(event);
    })
    .unwrap();
    // If the observer ran in the task of the run, this would never end.
    assert_eq!(run(slow.clone()).await.to_string(), "Noon.");
    assert!(recorder.events().is_empty());
    drop(open);
    slow.flush().unwrap();
    let events = recorder.events();
    let missed: u64 = events.iter().filter_map(lost).sum();
    let read = events.iter().filter(|event| lost(event).is_none()).count() as u64;
    assert!(missed >= EVENTS - 3, "{missed}");
    assert_eq!(missed + read, EVENTS);
}

#[tokio::test]
async fn observer_that_panics_receives_the_next_event() {
    let recorder = Recorder::new(100);
    let sink = recorder.clone();
    let first = AtomicBool::new(true);
    let clumsy = Background::new(move |event: &Event| {
        assert!(!first.swap(false, Ordering::Relaxed), "on the first event");
        sink.observe(event);
    })
    .unwrap();
    assert_eq!(run(clumsy.clone()).await.to_string(), "Noon.");
    let error = clumsy.flush().unwrap_err();
    assert!(error.to_string().contains("on the first event"), "{error}");
    clumsy.flush().unwrap();
    let events = recorder.events();
    assert_eq!(events.iter().filter_map(lost).sum::<u64>(), 1);
    assert_eq!(events.len() as u64, EVENTS);
}

/// Counts to three.
#[tool(effect = "none")]
async fn count(ctx: &ToolContext) -> u32 {
    for step in 1..=3 {
        ctx.progress(Progress { done: f64::from(step), total: None, message: None });
    }
    3
}

/// Records the events of running calls.
struct Running(Recorder);

impl Observer for Running {
    fn observe(&self, event: &Event) {
        self.0.observe(event);
    }

    fn only_running_calls(&self) -> bool {
        true
    }
}

#[tokio::test]
async fn observer_of_running_calls_receives_no_start_and_no_end() {
    let is_progress =
        |event: &Event| matches!(event.tool_event(), Some(ToolEvent::Progress { .. }));
    for is_beside_another in [false, true] {
        let (running, all) = (Recorder::new(100), Recorder::new(100));
        let model =
            ScriptedModel::new([ChatReply::default().call("count", "{}"), ChatReply::text("3")]);
        let mut agent = Agent::new(model, tools![count]).observer(Running(running.clone()));
        if is_beside_another {
            agent = agent.observer(all.clone());
        }
        agent.run("Count.").await.unwrap();
        assert_eq!(running.events().len(), 3);
        assert!(running.events().iter().all(is_progress));
        // Beside it, the other one receives everything.
        let ends = if is_beside_another { 1 } else { 0 };
        assert_eq!(all.executions().len(), ends);
        assert_eq!(all.events().iter().filter(|event| is_progress(event)).count(), 3 * ends);
    }
}

/// Emits data and output.
#[tool(effect = "none")]
async fn show(ctx: &ToolContext) {
    ctx.emit("step", 1);
    ctx.emit_output("one\n");
}

#[tokio::test]
async fn observer_of_running_calls_receives_what_a_tool_emits() {
    let running = Recorder::new(100);
    let model =
        ScriptedModel::new([ChatReply::default().call("show", "{}"), ChatReply::text("Done.")]);
    let agent = Agent::new(model, tools![show]).observer(Running(running.clone()));
    agent.run("Show.").await.unwrap();
    let names: Vec<_> = running.events().iter().map(Event::name).collect();
    assert_eq!(names, ["tool.data_emitted", "tool.output_emitted"]);
}

/// The written bytes, and the result of the next write.
#[derive(Clone, Default)]
struct Paper {
    written: Arc<Mutex<Vec<u8>>>,
    fails: Arc<AtomicBool>,
}

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.fails.load(Ordering::Relaxed) {
            return Err(io::Error::other("the disk is full"));
        }
        // In small writes, as a pipe may accept them.
        let chunk = &bytes[..bytes.len().min(7)];
        self.written.lock().unwrap().extend(chunk);
        Ok(chunk.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Paper {
    fn events(&self) -> Vec<Event> {
        let text = String::from_utf8(self.written.lock().unwrap().clone()).unwrap();
        assert!(text.is_empty() || text.ends_with('\n'));
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

#[tokio::test]
async fn each_json_line_is_an_event() {
    let (paper, recorder) = (Paper::default(), Recorder::new(100));
    let log = JsonLines::new(paper.clone()).unwrap();
    let (lines, sink) = (log.clone(), recorder.clone());
    run(move |event: &Event| {
        lines.observe(event);
        sink.observe(event);
    })
    .await;
    log.flush().unwrap();
    assert_eq!(paper.events(), recorder.events());
}

/// A writer that waits.
struct Waits(Gate, Paper);

impl Write for Waits {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.wait();
        self.1.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn run_does_not_wait_for_a_slow_writer() {
    let (open, gate) = Gate::new();
    let paper = Paper::default();
    let log = JsonLines::with_capacity(2, Waits(gate, paper.clone())).unwrap();
    // One event that blocks the writer, and a full queue.
    for _ in 0..10 {
        run(log.clone()).await;
    }
    drop(open);
    log.flush().unwrap();
    let events = paper.events();
    let missed: u64 = events.iter().filter_map(lost).sum();
    let read = events.iter().filter(|event| lost(event).is_none()).count() as u64;
    assert_eq!(missed + read, 10 * EVENTS);
}

#[test]
fn failed_writes_are_reported_as_dropped_events() {
    let paper = Paper::default();
    let log = JsonLines::new(paper.clone()).unwrap();
    paper.fails.store(true, Ordering::Relaxed);
    let large = |turn| {
        let mut event = numbered(turn);
        let call = tool_runtime::ToolCall::new("c", "t", "x".repeat(20_000));
        event.kind = ToolEvent::Started { call, tool: None }.into();
        event
    };
    log.observe(&large(1));
    log.observe(&large(2));
    assert_eq!(log.flush().unwrap_err().to_string(), "the disk is full");
    paper.fails.store(false, Ordering::Relaxed);
    log.observe(&numbered(3));
    log.flush().unwrap();
    let events = paper.events();
    assert_eq!(events.iter().filter_map(lost).sum::<u64>(), 2);
    assert_eq!(events.last(), Some(&numbered(3)));
}

/// Waits.
#[tool(effect = "read")]
async fn wait(ctx: &tool_runtime::ToolContext) {
    if ctx.parent_call().is_none() {
        ctx.dispatch(vec![tool_runtime::ToolCall::new("", "wait", "{}")]).await;
    }
    std::future::pending().await
}

#[tokio::test(start_paused = true)]
async fn abandoned_call_emits_its_end() {
    for count in [1, 2] {
        let recorder = Recorder::new(100);
        let dispatcher = super::dispatcher(tools![wait]).observer(recorder.clone());
        let calls = (0..count).map(|n| tool_runtime::ToolCall::new(n.to_string(), "wait", "{}"));
        let dispatched = dispatcher.dispatch(calls.collect());
        tokio::time::timeout(std::time::Duration::from_secs(1), dispatched).await.unwrap_err();
        // Aborted tasks end at their next poll.
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        let executions = recorder.executions();
        assert_eq!(executions.len(), 2 * count, "{executions:?}");
        assert_eq!(
            recorder
                .filter(|event| matches!(event.kind, EventKind::Tool(ToolEvent::Started { .. })))
                .len(),
            2 * count
        );
        assert!(executions.iter().all(|execution| execution.failed_with("TOOL_INDETERMINATE")));
    }
}

/// Records events and pieces of replies in the order in which they arrive.
#[derive(Clone, Default)]
struct Arrivals(Arc<Mutex<Vec<String>>>);

impl Observer for Arrivals {
    fn observe(&self, event: &Event) {
        let arrival = match lost(event) {
            Some(count) => format!("lost {count}"),
            None => event.name().to_owned(),
        };
        self.0.lock().unwrap().push(arrival);
    }

    fn receives_deltas(&self) -> bool {
        true
    }

    fn observe_delta(&self, _: &Origin, delta: Delta<'_>) {
        let arrival = match delta {
            Delta::Text(text) => format!("text {text}"),
            Delta::Call { name, .. } => format!("call {name}"),
            Delta::Arguments { text, .. } => format!("arguments {text}"),
            other => format!("{other:?}"),
        };
        self.0.lock().unwrap().push(arrival);
    }
}

#[tokio::test]
async fn background_observer_receives_pieces_between_the_events_around_them() {
    let arrivals = Arrivals::default();
    let background = Background::new(arrivals.clone()).unwrap();
    run(background.clone()).await;
    background.flush().unwrap();
    let direct = Arrivals::default();
    run(direct.clone()).await;
    let entries = arrivals.0.lock().unwrap();
    assert_eq!(*entries, *direct.0.lock().unwrap());
    let piece = entries.iter().position(|arrival| arrival == "text Noon.").unwrap();
    assert_eq!(
        (entries[piece - 1].as_str(), entries[piece + 1].as_str()),
        ("model.requested", "model.replied")
    );
    // An observer that needs no pieces causes no streaming.
    assert!(!Background::new(|_: &Event| {}).unwrap().receives_deltas());
}

#[test]
fn background_observer_receives_the_number_of_dropped_pieces() {
    let (blocked, release) = channel::<()>();
    let arrivals = Arrivals::default();
    struct Waits(Arrivals, Mutex<Receiver<()>>);
    impl Observer for Waits {
        fn observe(&self, event: &Event) {
            let _ = self.1.lock().unwrap().recv();
            self.0.observe(event);
        }
        fn receives_deltas(&self) -> bool {
            true
        }
        fn observe_delta(&self, origin: &Origin, delta: Delta<'_>) {
            self.0.observe_delta(origin, delta);
        }
    }
    let waits = Waits(arrivals.clone(), Mutex::new(release));
    let background = Background::with_capacity(2, waits).unwrap();
    background.observe(&numbered(1));
    let origin = Origin::new(1.into(), 1);
    let mut pushed = 0;
    // The thread waits in the first event, so the queue fills up.
    while pushed < 1_000 {
        background.observe_delta(&origin, Delta::Text(&pushed.to_string()));
        pushed += 1;
    }
    drop(blocked);
    background.flush().unwrap();
    let entries = arrivals.0.lock().unwrap().clone();
    let texts = entries.iter().filter(|arrival| arrival.starts_with("text ")).count();
    let lost: usize = entries
        .iter()
        .filter_map(|arrival| arrival.strip_prefix("lost "))
        .map(|count| count.parse::<usize>().unwrap())
        .sum();
    assert!((1..=2).contains(&texts), "{entries:?}");
    assert_eq!(texts + lost, pushed, "{entries:?}");
}
