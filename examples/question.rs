//! Questions: a tool asks a person something and continues with the answer.
//!
//! Run it with `cargo run --example question`. It needs no key and no network. A scripted model
//! books a seat; the tool holds two seats and asks which one. The run pauses as plain data, which
//! could wait in a database for days. If the input ends, the answer is `null`.

use std::error::Error;
use std::io;

use tool_runtime::agent::Paused;
use tool_runtime::{Agent, ChatReply, ScriptedModel, StopReason, Stopped};
use tool_runtime::{ToolContext, ToolError, tool, tools};

/// Books a seat on a train.
#[tool]
async fn book_seat(train: String, ctx: &ToolContext) -> Result<String, ToolError> {
    let Some(resumed) = ctx.resumed() else {
        // The first time: hold two seats, save which ones, and ask.
        let seats = ["14 window", "15 aisle"];
        return Err(ToolError::suspended("Window or aisle?", seats));
    };
    // The next time: continue with the saved state and the answer.
    let seats: Vec<String> = resumed.state_as()?;
    let Some(answer) = resumed.answer_as::<Option<String>>()? else {
        return Ok("No seat is booked: the person did not answer.".into());
    };
    match seats.iter().find(|seat| seat.ends_with(answer.trim())) {
        Some(seat) if !answer.trim().is_empty() => Ok(format!("Seat {seat} on {train} is booked.")),
        _ => Err(ToolError::suspended("Please say window or aisle.", seats)),
    }
}

/// Prints the question and reads one line; `None` if the input has ended.
fn ask(question: &str) -> io::Result<Option<String>> {
    eprint!("{question} ");
    let mut line = String::new();
    Ok((io::stdin().read_line(&mut line)? > 0).then_some(line))
}

/// Asks for the answer to each pending question.
fn answered(stopped: Stopped) -> Result<Paused, Box<dyn Error>> {
    let StopReason::AwaitingApproval(paused) = stopped.reason else { return Err(stopped.into()) };
    // What is saved here could be loaded by another process.
    let mut paused = *paused;
    let questions: Vec<_> = paused
        .pending()
        .iter()
        .filter_map(|it| Some((it.call.id.clone(), it.question()?.into_owned())))
        .collect();
    for (call, question) in questions {
        paused.answer(&call, ask(&question)?, "the terminal")?;
    }
    Ok(paused)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let model = ScriptedModel::new([
        ChatReply::default().call("book_seat", r#"{"train": "ICE 71"}"#),
        ChatReply::text("That is all."),
    ]);
    let agent = Agent::new(model, tools![book_seat])
        .on_tool_result(|execution| println!("  {}", execution.result.text));
    let mut outcome = agent.run("Book me a seat on the ICE 71.").await;
    loop {
        match outcome {
            Ok(answer) => break println!("{answer}"),
            Err(stopped) => outcome = agent.resume(answered(stopped)?).finish().await,
        }
    }
    Ok(())
}
