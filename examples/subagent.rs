//! Sub-agents: an agent calls another agent as a tool.
//!
//! Run it with `cargo run --example subagent`. It needs no key and no network: the replies of both
//! models are scripted.

use tool_runtime::event::{EventKind, ModelEvent, RunEvent, ToolEvent};
use tool_runtime::{
    Agent, ChatReply, Effect, Event, ScriptedModel, ScriptedTurn, Usage, tool, tools,
};

/// Looks up a word in the encyclopedia.
#[tool(effect = "read")]
async fn look_up(word: String) -> String {
    match word.as_str() {
        "Ada Lovelace" => "English mathematician, born in London in 1815".into(),
        _ => format!("there is nothing on {word}"),
    }
}

/// Prints a text.
#[tool(effect = "external")]
async fn print(text: String) -> String {
    format!("printed {} letters", text.len())
}

/// Returns the sub-agent. It has its own model, tools and limits, and receives only the task.
fn librarian() -> Agent {
    let model = ScriptedModel::new([
        ScriptedTurn::new(
            ChatReply::default()
                .call("look_up", r#"{"word": "Ada"}"#)
                .call("look_up", r#"{"word": "Ada Lovelace"}"#)
                .usage(Usage::new(120, 20)),
        )
        .expect_tools(["look_up"])
        .expect_last("When and where was Ada Lovelace born?"),
        ScriptedTurn::new(ChatReply::text("In London, in 1815.").usage(Usage::new(180, 10))),
    ]);
    Agent::new(model, tools![look_up]).system("Look it up; answer in one sentence.")
}

/// Prints one line for each event, indented by the depth of its run.
fn show(event: &Event) {
    let indent = "    ".repeat(event.origin.depth as usize);
    match &event.kind {
        EventKind::Run(RunEvent::Started { parent_run, agent, .. }) => {
            let name = agent.as_deref().unwrap_or("an agent");
            println!("{indent}{name}{}", parent_run.map(|_| " (nested run)").unwrap_or_default());
        }
        EventKind::Model(ModelEvent::Replied { text, .. }) if !text.is_empty() => {
            println!("{indent}  reply   {text}");
        }
        EventKind::Tool(ToolEvent::Started { call, .. }) => println!("{indent}  call    {call}"),
        EventKind::Tool(ToolEvent::Finished(execution)) => {
            println!("{indent}  result  {}", execution.result.text);
        }
        _ => {}
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let librarian = librarian()
        .max_iterations(5)
        .into_tool("librarian", "Looks things up in the library.")
        // The default is `Effect::External`.
        .effect(Effect::Read);
    let model = ScriptedModel::new([
        ScriptedTurn::new(
            ChatReply::default()
                .call("librarian", r#"{"task": "When and where was Ada Lovelace born?"}"#)
                .usage(Usage::new(90, 15)),
        )
        .expect_tools(["librarian", "print"]),
        ScriptedTurn::new(
            ChatReply::default()
                .call("print", r#"{"text": "Ada Lovelace, London 1815"}"#)
                .usage(Usage::new(130, 15)),
        )
        .expect_last("In London, in 1815."),
        ScriptedTurn::new(ChatReply::text("The label is printed.").usage(Usage::new(150, 5))),
    ]);
    let agent = Agent::new(model, tools![print].with(librarian)).on_event(show);

    let answer = agent.run("Print a label for the bust of Ada Lovelace.").await?;
    // The usage of the sub-agent is part of the total.
    println!(
        "\n{} tokens in, {} out, including the sub-agent",
        answer.usage.input_tokens, answer.usage.output_tokens
    );
    Ok(())
}
