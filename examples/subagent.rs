//! Agents as tools: one agent leaves work to another, whose run is seen within the call.
//!
//! `cargo run --example subagent` needs no key and no network: the replies of both models are scripts.

use tool_runtime::event::{EventKind, ModelEvent, RunEvent, ToolEvent};
use tool_runtime::{
    Agent, ChatReply, Effect, Event, ScriptedModel, ScriptedTurn, Usage, tool, tools,
};

/// Looks a word up in the encyclopedia.
#[tool(effect = "read")]
async fn look_up(word: String) -> String {
    match word.as_str() {
        "Ada Lovelace" => "English mathematician, born in London in 1815".into(),
        _ => format!("there is nothing on {word}"),
    }
}

/// Sends a text to the printer.
#[tool(effect = "external")]
async fn print(text: String) -> String {
    format!("printed {} letters", text.len())
}

/// Has a model, tools and limits of its own, and knows of a call nothing but its task.
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

/// One line for each thing that happens, as deep as it lies.
fn show(event: &Event) {
    let indent = "    ".repeat(event.origin.depth as usize);
    match &event.kind {
        EventKind::Run(RunEvent::Started { within, agent, .. }) => {
            let name = agent.as_deref().unwrap_or("an agent");
            println!("{indent}{name}{}", within.map(|_| ", within the call").unwrap_or_default());
        }
        EventKind::Model(ModelEvent::Replied { text, .. }) if !text.is_empty() => {
            println!("{indent}  says  {text}");
        }
        EventKind::Tool(ToolEvent::Started { call }) => println!("{indent}  calls {call}"),
        EventKind::Tool(ToolEvent::Finished(done)) => {
            println!("{indent}  sees  {}", done.result.text);
        }
        _ => {}
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let librarian = librarian()
        .max_iterations(5)
        .into_tool("librarian", "Looks things up in the library.")
        // It may do anything, unless said otherwise.
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
    // What the librarian took is paid by whoever asked it.
    println!("\n{} tokens in, {} out, all of them", answer.usage.input, answer.usage.output);
    Ok(())
}
