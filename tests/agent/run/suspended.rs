//! Runs that pause for the answer to a question of a tool, and resume with it.

use tool_runtime::agent::{Paused, PendingCallError};
use tool_runtime::{Policy, ToolError};

use super::*;

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn entries(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

/// Asks two questions, one after the other.
#[tool]
async fn book(train: String, ctx: &ToolContext) -> Result<String, ToolError> {
    let log = |entry: String| ctx.get::<Log>().unwrap().0.lock().unwrap().push(entry);
    let Some(resumed) = ctx.resumed() else {
        log(format!("hold {train}"));
        return Err(ToolError::suspended("Window or aisle?", json!({})));
    };
    let answer: String = resumed.answer_as()?;
    match resumed.state["seat"].as_str() {
        None => Err(ToolError::suspended(
            format!("{answer} in a quiet coach?"),
            json!({ "seat": answer }),
        )),
        Some(seat) => {
            log(format!("book {seat}, {answer}"));
            Ok(format!("{seat}, {answer}"))
        }
    }
}

/// Counts its calls.
#[tool]
async fn count(ctx: &ToolContext) -> &'static str {
    ctx.get::<Log>().unwrap().0.lock().unwrap().push("count".into());
    "counted"
}

/// Pays a person.
#[tool(permission = "ask")]
async fn pay(to: String) -> String {
    format!("{to} is paid")
}

fn agent(log: &Log, replies: impl IntoIterator<Item = ChatReply>) -> Agent {
    Agent::new(ScriptedModel::new(replies), tools![book, count, pay])
        .extension(log.clone())
        .policy(Policy::new().approver(AskLater))
}

fn book_and_count() -> ChatReply {
    ChatReply::default().call("book", json!({ "train": "ICE 71" })).call("count", "{}")
}

/// Returns the paused run after a round trip through JSON, as another process has it.
fn paused(stopped: Stopped) -> Paused {
    assert_complete(&stopped.transcript);
    let StopReason::AwaitingApproval(paused) = stopped.reason else { panic!("{stopped}") };
    let read = serde_json::from_str(&serde_json::to_string(&paused).unwrap()).unwrap();
    assert_eq!(*paused, read);
    read
}

#[tokio::test]
async fn tool_asks_twice_and_the_run_resumes_in_other_processes() {
    let log = Log::default();
    let stopped = agent(&log, [book_and_count()]).run("Book.").await.unwrap_err();
    assert_eq!(stopped.reason.to_string(), "1 call awaits an answer: book");
    let mut waiting = paused(stopped);
    assert_eq!(waiting.pending()[0].question().as_deref(), Some("Window or aisle?"));
    assert_eq!(waiting.pending()[0].suspended_state(), Some(&json!({})));
    assert!(waiting.pending()[0].nested_run().is_none());

    let call = waiting.pending()[0].call.id.clone();
    waiting.answer(&call, "window", "Ada").unwrap();
    waiting.answer(&call, "aisle", "Ada").unwrap();
    assert!(waiting.pending()[0].is_answered());
    let mut waiting = paused(agent(&log, []).resume(waiting).finish().await.unwrap_err());
    assert_eq!(waiting.pending()[0].question().as_deref(), Some("aisle in a quiet coach?"));
    assert!(!waiting.pending()[0].is_answered());
    waiting.answer(&call, "yes", "Bob").unwrap();
    let answered_by = Arc::new(Mutex::new(None));
    let copy = Arc::clone(&answered_by);
    let agent = agent(&log, [ChatReply::text("Done.")]);
    let agent =
        agent.on_tool_result(move |it| *copy.lock().unwrap() = it.answered_by().map(str::to_owned));
    let answer = agent.resume(waiting).finish().await.unwrap();
    assert_eq!(answer.text, "Done.");
    let texts: Vec<_> = results(&answer.transcript[2]).iter().map(|it| it.text.as_str()).collect();
    assert_eq!(texts, ["aisle, yes", "counted"]);
    assert_eq!(log.entries(), ["hold ICE 71", "count", "book aisle, yes"]);
    assert_eq!(answered_by.lock().unwrap().as_deref(), Some("Bob"));
}

#[tokio::test]
async fn call_without_an_answer_stays_pending_beside_one_that_is_decided() {
    let log = Log::default();
    let replies = [book_and_count().call("pay", r#"{"to": "Ada"}"#), ChatReply::text("never sent")];
    let agent = agent(&log, replies);
    let stopped = agent.run("Book.").await.unwrap_err();
    assert_eq!(
        stopped.reason.to_string(),
        "1 call awaits approval: pay; 1 call awaits an answer: book"
    );
    let mut waiting = paused(stopped);
    // Decisions and answers do not stand for each other.
    let [book, pay] = [0, 1].map(|index| waiting.pending()[index].call.id.clone());
    let error = waiting.decide(&book, Approval::Once, "Ada").unwrap_err();
    assert_eq!(error, PendingCallError::AwaitsAnswer(book.clone()));
    let error = waiting.answer(&pay, "yes", "Ada").unwrap_err();
    assert_eq!(error, PendingCallError::NoQuestion(pay));
    let deep = (0..97).fold(json!(0), |inner, _| json!([inner]));
    let error = waiting.answer(&book, deep, "Ada").unwrap_err();
    assert_eq!(error, PendingCallError::AnswerTooDeep(book));
    let error = waiting.answer("other", "yes", "Ada").unwrap_err();
    assert_eq!(error, PendingCallError::Unknown("other".into()));

    waiting.decide_each(|_| Approval::Once, "Ada");
    let waiting = paused(agent.resume(waiting).finish().await.unwrap_err());
    assert_eq!(waiting.pending().len(), 1);
    assert_eq!(waiting.pending()[0].question().as_deref(), Some("Window or aisle?"));
    assert_eq!(waiting.pending()[0].redacted_arguments_json(), r#"{"train":"ICE 71"}"#);
    assert_eq!(log.entries().len(), 2);
}

#[tokio::test]
async fn question_of_a_nested_run_is_answered_there() {
    let log = Log::default();
    let agent = || {
        let clerk = agent(&log, [ChatReply::default().call("book", json!({ "train": "RJ 1" }))]);
        let clerk = clerk.into_tool("clerk", "Books.");
        let ask = ChatReply::default().call("clerk", r#"{"task": "Book."}"#);
        Agent::new(ScriptedModel::new([ask]), Tools::new().with(clerk))
    };
    let stopped = agent().run("Book.").await.unwrap_err();
    assert_eq!(stopped.reason.to_string(), "1 call awaits an answer: book within clerk");
    let mut waiting = paused(stopped);
    let outer = waiting.pending()[0].call.id.clone();
    assert_eq!(waiting.pending()[0].question(), None);
    let error = waiting.answer(&outer, "aisle", "Ada").unwrap_err();
    assert_eq!(error, PendingCallError::HasNestedRun(outer.clone()));
    let nested = waiting.nested_run_mut(&outer).unwrap();
    let inner = nested.pending()[0].call.id.clone();
    nested.answer(&inner, "aisle", "Ada").unwrap();
    let waiting = paused(agent().resume(waiting).finish().await.unwrap_err());
    let nested = waiting.pending()[0].nested_run().unwrap();
    assert_eq!(nested.pending()[0].question().as_deref(), Some("aisle in a quiet coach?"));
    assert_eq!(log.entries(), ["hold RJ 1"]);
}

#[tokio::test]
async fn session_waits_for_an_answer() {
    let (log, store) = (Log::default(), MemorySessions::new());
    let session = |replies: Vec<ChatReply>| agent(&log, replies).session(store.clone(), "ada");
    session(vec![book_and_count()]).run("Book.").await.unwrap_err();
    let transcript = session(vec![]).messages().await.unwrap();
    assert_complete(&transcript);
    assert!(results(transcript.last().unwrap())[0].text.contains("awaits an answer"));

    for answer in ["aisle", "yes"] {
        let mut waiting = session(vec![]).paused().await.unwrap().unwrap();
        let call = waiting.pending()[0].call.id.clone();
        waiting.answer(&call, answer, "Ada").unwrap();
        let session = session(vec![ChatReply::text("Done.")]);
        let outcome = session.resume_with(waiting).await.unwrap().finish().await;
        assert_eq!(outcome.is_ok(), answer == "yes");
    }
    assert_eq!(log.entries(), ["hold ICE 71", "count", "book aisle, yes"]);

    // An abandoned question is answered as a call that may have had effects.
    let session = session(vec![book_and_count(), ChatReply::text("Well.")]);
    session.run("Book again.").await.unwrap_err();
    let answer = session.abandon_paused().run("Never mind.").await.unwrap();
    let codes: Vec<_> = answer
        .transcript
        .iter()
        .filter(|it| matches!(it, Message::Tool { .. }))
        .flat_map(results)
        .filter_map(|it| it.error.clone())
        .collect();
    assert_eq!(codes, ["TOOL_INDETERMINATE"]);
}
