//! HTML reports: their contents, and that run data never becomes markup.

use std::io::{Read, Seek};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tool_runtime::agent::{Limits, Prices, Steering};
use tool_runtime::dispatch::{Approval, AskLater};
use tool_runtime::drivers::Text;
use tool_runtime::event::{FileChange, FileOp, JsonLines, Recorder};
use tool_runtime::message::visible;
use tool_runtime::report::RunReport;
use tool_runtime::{
    Agent, ChatReply, Message, Policy, ScriptedModel, StopReason, ToolCall, ToolContext, ToolError,
    Tools, tool, tools,
};

/// Returns the time in some cities.
#[tool(effect = "read")]
async fn times(cities: Vec<String>, ctx: &ToolContext) -> String {
    let call = |city: &String| ToolCall::new("", "time", json!({ "city": city }));
    let executions = ctx.dispatch(cities.iter().map(call).collect()).await;
    executions.iter().map(|execution| execution.result.text.as_str()).collect::<Vec<_>>().join(", ")
}

/// Returns the time in a city.
#[tool(effect = "read")]
async fn time(city: String) -> Result<String, ToolError> {
    if city == "Atlantis" {
        Err(ToolError::failed("it sank"))
    } else {
        Ok(format!("noon in {city}"))
    }
}

fn script() -> ScriptedModel {
    ScriptedModel::new([
        ChatReply::text("I look.").call("times", "```\n{'cities': ['Oslo', 'Atlantis']}\n```"),
        ChatReply::text("It is noon."),
    ])
}

async fn recorded(model: ScriptedModel, tools: Tools) -> Recorder {
    let recorder = Recorder::new(1_000);
    Agent::new(model, tools).observer(recorder.clone()).run("What time is it?").await.unwrap();
    recorder
}

/// Returns the text between two marks that occur once.
fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    let (before, rest) = text.split_once(start).expect(start);
    assert!(!before.contains(start), "{start} occurs twice");
    rest.split_once(end).expect(end).0
}

const DATA: &str = "<script type=\"application/json\" id=\"data\">";

fn data(html: &str) -> Value {
    serde_json::from_str(between(html, DATA, "</script>")).unwrap()
}

#[tokio::test]
async fn report_lists_the_events_of_a_run() {
    let report = RunReport::from(&recorded(script(), tools![times, time]).await);
    let data = data(&report.to_html());
    let rows: Vec<_> = data["rows"].as_array().unwrap().iter().collect();
    let outline: Vec<_> = rows
        .iter()
        .map(|row| json!([row["kind"], row["name"], row["parent"], row["state"], row["code"]]))
        .collect();
    let expected = json!([
        ["run", "run", null, "done", null],
        ["model", "model", 0, "done", null],
        ["tool", "times", 0, "done", null],
        ["tool", "time", 2, "done", null],
        ["tool", "time", 2, "failed", "TOOL_EXECUTION_FAILED"],
        ["model", "model", 0, "done", null],
    ]);
    assert_eq!(json!(outline), expected);
    assert_eq!(rows[2]["marks"], json!(["repaired"]));
    let details = rows[2]["details"].as_array().unwrap();
    let titles: Vec<_> = details.iter().map(|part| &part["title"]).collect();
    let expected = [
        json!(null),
        json!("Arguments, as the model wrote them"),
        json!("Arguments, as the tool read them"),
        json!("Repairs"),
        json!("Result"),
    ];
    assert_eq!(titles, expected.iter().collect::<Vec<_>>());
    let totals = &data["totals"];
    for (name, expected) in [("runs", 1), ("answered", 1), ("model", 2), ("tool", 3), ("failed", 1)]
    {
        assert_eq!(totals[name], expected, "{name}");
    }
}

/// The reasoning is in the row of its request. Structured output is part of one run.
#[tokio::test]
async fn report_shows_reasoning_and_extraction() {
    let recorder = Recorder::new(100);
    let replies = ["<think>Noon.</think>It is noon.", r#"{"value": "noon"}"#];
    let agent = Agent::new(ScriptedModel::new(replies.map(ChatReply::text)), tools![time]);
    let agent = agent.driver(Text::new()).observer(recorder.clone());
    agent.extract::<String>("What time is it?").await.unwrap();
    let data = data(&RunReport::from(&recorder).to_html());
    assert_eq!((&data["totals"]["runs"], &data["totals"]["answered"]), (&json!(1), &json!(1)));
    let rows = data["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 3);
    let reasoning = &rows[1]["details"][1];
    assert_eq!(*reasoning, json!({ "title": "Reasoning", "text": "Noon.", "form": "folded" }));
}

/// The row of a run shows the prompt, however the run ended.
#[tokio::test]
async fn stopped_and_paused_runs_show_their_prompt() {
    /// Pays a bill.
    #[tool(permission = "ask")]
    async fn pay() -> &'static str {
        "paid"
    }

    let summaries = |recorder: &Recorder| {
        let data = data(&RunReport::from(recorder).to_html());
        let rows = data["rows"].as_array().unwrap().iter();
        let runs = rows.filter(|row| row["kind"] == "run");
        runs.map(|row| row["summary"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let agent = |recorder: &Recorder| {
        let calls = ScriptedModel::new([ChatReply::default().call("pay", "{}")]);
        Agent::new(calls, tools![pay]).observer(recorder.clone())
    };
    let recorder = Recorder::new(100);
    let stopped = agent(&recorder)
        .policy(Policy::new().approver(AskLater))
        .run("Pay\nAda!")
        .await
        .unwrap_err();
    let StopReason::AwaitingApproval(mut paused) = stopped.reason else { panic!("{stopped}") };
    assert_eq!(summaries(&recorder), ["Pay Ada!"]);
    // The resumed run fails because the script has ended.
    let call = paused.pending()[0].call.id.clone();
    paused.decide(&call, Approval::Once, "Grace").unwrap();
    agent(&recorder).resume(*paused).finish().await.unwrap_err();
    let [first, second] = &summaries(&recorder)[..] else { panic!() };
    assert_eq!(first, "Pay Ada!");
    assert!(second.starts_with("Pay Ada! — "), "{second}");

    let recorder = Recorder::new(100);
    let stopped = agent(&recorder).max_iterations(1).run("Pay!").await.unwrap_err();
    let transcript = stopped.transcript.into_iter().chain([Message::user("And Bob?")]);
    agent(&recorder).max_iterations(1).run(transcript.collect::<Vec<_>>()).await.unwrap_err();
    let [first, second] = &summaries(&recorder)[..] else { panic!() };
    assert!(first.starts_with("Pay! — ") && second.starts_with("And Bob? — "), "{first} {second}");
}

#[tokio::test]
async fn report_of_a_log_equals_report_of_its_recorder() {
    let mut file = tempfile();
    let (log, recorder) = (JsonLines::new(file.try_clone().unwrap()).unwrap(), Recorder::new(100));
    let agent = Agent::new(script(), tools![times, time]);
    agent.observer(log.clone()).observer(recorder.clone()).run("What time is it?").await.unwrap();
    log.flush().unwrap();
    let mut lines = String::new();
    file.rewind().unwrap();
    file.read_to_string(&mut lines).unwrap();

    let recorded = RunReport::from(&recorder).to_html();
    let render = |lines: &str| RunReport::from_json_lines(lines.as_bytes()).unwrap().to_html();
    assert_eq!(render(&lines), recorded);

    // Lines that are not events are counted: unknown layers, truncated lines and invalid text.
    let broken = lines.clone()
        + "\n  \n{\"event\":\"hook.ran\"}\n{\"text\": \"\\ud800\"}\n{\"run\":\"1\",\"tu";
    let (broken, whole) = (data(&render(&broken)), data(&recorded));
    assert_eq!(broken["totals"]["unreadable"], 3);
    assert_eq!(broken["rows"], whole["rows"]);

    // The first line of the next process follows the truncated line of the last one.
    let glued = data(&render(&format!("{}{lines}", r#"{"run":"1","te"#)));
    assert_eq!(glued["totals"]["unreadable"], 1);
    assert_eq!(glued["rows"], whole["rows"]);
}

fn tempfile() -> std::fs::File {
    let path = std::env::temp_dir().join(format!("report-{}.jsonl", std::process::id()));
    let mut options = std::fs::File::options();
    let file = options.read(true).write(true).create(true).truncate(true).open(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    file
}

#[tokio::test]
async fn dropped_events_are_counted() {
    let recorder = Recorder::new(3);
    let agent = Agent::new(script(), tools![times, time]).observer(recorder.clone());
    agent.run("What time is it?").await.unwrap();
    let data = data(&RunReport::from(&recorder).to_html());
    assert_eq!(data["totals"]["dropped"], recorder.dropped_count());
    assert!(recorder.dropped_count() > 0);
}

const HOSTILE: [&str; 8] = [
    "</script><script>alert(1)</script>",
    "<!-- <script> --> ]]> <![CDATA[ <?php",
    "\" onload=\"alert(1)\" ' onload='alert(1)' `",
    "&lt;/script&gt; &#60; %3Cscript%3E",
    "\u{2028}\u{2029}\u{0}\u{1b}[31m\u{202e}\u{feff}",
    "{\"lone\": \"\\ud800\"}",
    "</style></textarea></title></noscript>",
    "\\u003c/script\\u003e\\",
];

#[tokio::test]
async fn run_data_never_becomes_markup() {
    /// Returns, records or fails with its argument.
    #[tool(effect = "read")]
    async fn echo(text: String, ctx: &ToolContext) -> Result<String, ToolError> {
        ctx.record(FileChange::new(text.clone(), FileOp::Write).diff(text.clone()));
        if ctx.attempt() == 1 { Err(ToolError::failed(text)) } else { Ok(text) }
    }

    /// Records a run with the text in every role.
    async fn record(text: &str, model: ScriptedModel) -> Recorder {
        let (recorder, steering) = (Recorder::new(1_000), Steering::new());
        steering.push(text).unwrap();
        steering.push_untrusted(text, text);
        let agent = Agent::new(model, tools![echo]).system(text).name(text).steering(&steering);
        let prices = Prices { input: 1.0, cached: 1.0, output: 1.0 };
        let agent =
            agent.limits(Limits::default().max_cost(1.0, prices)).observer(recorder.clone());
        agent.extract::<String>(text).await.unwrap();
        recorder
    }

    let empty = RunReport::from_events(&[]).to_html();
    let frame = |html: &str| html.replace(between(html, DATA, "</script>"), "");
    for text in HOSTILE {
        let call = json!({ "text": text }).to_string();
        let model = ScriptedModel::new([
            ChatReply::text(text).call("echo", call.as_str()).call(text, text),
            ChatReply::text(text),
            // The value is missing.
            ChatReply::text(text),
            ChatReply::text(json!({ "value": text }).to_string()),
        ]);
        let recorder = record(text, model).await;
        let html = RunReport::from(&recorder).to_html();
        assert_eq!(frame(&html), frame(&empty), "{text:?} is outside the data");
        let written = between(&html, DATA, "</script>");
        let active =
            |c: char| matches!(c, '<' | '>' | '&' | '\0'..='\u{1f}' | '\u{2028}' | '\u{2029}');
        assert!(!written.contains(active), "{text:?} is visible to HTML");
        // The data holds the text, with marks for what would deceive a person.
        let text = &*visible(text);
        let data = data(&html);
        assert!(data["rows"].to_string().contains(&json!(text).to_string()), "{text:?}");
        let run = &data["rows"][0];
        for title in ["System prompt", "Prompt"] {
            let mut parts = run["details"].as_array().unwrap().iter();
            assert!(parts.any(|part| part["title"] == title && part["text"] == text), "{title}");
        }
        let notes = run["notes"].to_string();
        let source = json!(format!("from {text}: {text}")).to_string();
        assert!(notes.contains(&source) && notes.contains("steering message"), "{notes}");
    }
}

#[test]
fn content_security_policy_allows_only_own_style_and_script() {
    let html = RunReport::from_events(&[]).to_html();
    let policy = between(&html, "Content-Security-Policy\" content=\"", "\"");
    let mut rules: Vec<_> = policy.split("; ").collect();
    let hash = |block: &str| format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(block)));
    let script = between(&html, "<script>", "</script>");
    assert_eq!(
        rules.pop(),
        Some(&*format!("script-src {}", hash(script))),
        "page.rs has another hash"
    );
    let style = between(&html, "<style>", "</style>");
    assert_eq!(
        rules.pop(),
        Some(&*format!("style-src {}", hash(style))),
        "page.rs has another hash"
    );
    assert_eq!(rules, ["default-src 'none'", "base-uri 'none'", "form-action 'none'"]);
    for word in
        ["http:", "https:", "//www", "url(", "@import", "innerHTML", "eval(", "insertAdjacent"]
    {
        assert!(!html.contains(word), "the page has {word}");
    }
}

#[test]
fn single_event_is_rendered() {
    let events = [
        json!({"event": "tool.cancelled", "call": "gone"}),
        json!({"event": "log.dropped", "count": 7}),
        json!({"event": "run.finished", "duration_us": 5}),
        json!({"event": "tool.progress", "call": "c", "progress": {"done": null}}),
    ];
    for mut event in events {
        event["run"] = json!("1");
        event["turn"] = json!(0);
        event["at"] = json!(10);
        let parsed: tool_runtime::Event = serde_json::from_value(event.clone()).unwrap();
        let rendered = data(&RunReport::from_events([&parsed]).to_html());
        assert!(!rendered["rows"].as_array().unwrap().is_empty(), "{event}");
    }
}

/// Returns a megabyte.
#[tool(effect = "read")]
async fn dump() -> String {
    "start ".to_owned() + &"x".repeat(1 << 20) + " end"
}

#[tokio::test]
async fn long_texts_are_embedded_in_part_with_a_note() {
    const CALLS: usize = 6;
    let reply = (0..CALLS).fold(ChatReply::default(), |reply, _| reply.call("dump", "{}"));
    let model = ScriptedModel::new([reply, ChatReply::text("Done.")]);
    let recorder = recorded(model, tools![dump]).await;
    let html = RunReport::from(&recorder).to_html();
    assert!(html.len() < CALLS << 20, "{} bytes", html.len());
    let data = data(&html);
    assert!(data["totals"]["left_out"].as_u64().unwrap() > 4 << 20);
    assert_eq!(data["totals"]["left_out_rows"], 0);
    let note = "[… the middle of this text is left out …]";
    let (start, end) = (format!("start {}", "x".repeat(100)), format!("{} end", "x".repeat(100)));
    assert!([note, &start, &end].iter().all(|text| html.matches(text).count() >= CALLS));
}
