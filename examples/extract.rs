//! Structured output: the answer of a run as a validated value of a Rust type.
//!
//! Run it with `cargo run --example extract`. It needs no key and no network: the replies of the
//! model are scripted. The first value violates a rule of the type, so the model is asked again.

use tool_runtime::{Agent, ChatReply, Message, ScriptedModel, ScriptedTurn, args, tool, tools};

/// A day out.
#[args]
struct Trip {
    /// The destination.
    city: String,
    /// Travel time in hours, there and back.
    #[schemars(range(max = 12))]
    hours: u8,
    /// The sights, best first.
    sights: Vec<Sight>,
}

/// A sight.
#[args]
struct Sight {
    /// The name of the sight.
    name: String,
    /// Whether it is indoors.
    indoors: bool,
}

/// Finds the sights of a city.
#[tool(effect = "read")]
async fn sights(city: String) -> String {
    format!("{city}: Munch museum (indoors), Vigeland park (outdoors); 4 hours by train")
}

/// Scripts the replies of the model and the messages that it expects.
fn script() -> ScriptedModel {
    ScriptedModel::new([
        ScriptedTurn::new(ChatReply::default().call("sights", r#"{"city": "Oslo"}"#)),
        ScriptedTurn::new(ChatReply::text("Oslo: the Munch museum, and the park if it is dry.")),
        // The value is requested without tools, under the schema of the type.
        ScriptedTurn::new(ChatReply::text(
            r#"{"city": "Oslo", "hours": 48, "sights": [{"name": "Munch museum", "indoors": true}]}"#,
        ))
        .expect_tools::<String>([])
        .expect_last("JSON Schema"),
        // The JSON has a code fence, a trailing comma and a number in quotes. It is repaired.
        ScriptedTurn::new(ChatReply::text(
            "```json\n{\"city\": \"Oslo\", \"hours\": \"8\", \"sights\": [\n  \
             {\"name\": \"Munch museum\", \"indoors\": true},\n  \
             {\"name\": \"Vigeland park\", \"indoors\": false},\n]}\n```",
        ))
        .expect_last("hours"),
    ])
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let agent = Agent::new(script(), tools![sights]);
    let extracted = agent.extract::<Trip>("Plan a day out for me.").await?;

    for message in &extracted.transcript {
        match message {
            // The schema is too long to print.
            Message::User { .. } => match message.text().split_once("Schema: ") {
                Some((text, _)) => println!("user     {text}Schema: …"),
                None => println!("user     {}", indented(&message.text())),
            },
            Message::Assistant { .. } if message.calls().count() == 0 => {
                println!("model    {}", indented(&message.text()));
            }
            _ => message.calls().for_each(|call| println!("calls    {call}")),
        }
    }
    for fix in &extracted.fixes {
        println!("repaired {fix}");
    }
    let Trip { city, hours, sights } = extracted.value;
    println!("\n{city}, {hours} hours of travel:");
    for Sight { name, indoors } in sights {
        println!("- {name}{}", if indoors { ", indoors" } else { "" });
    }
    Ok(())
}

fn indented(text: &str) -> String {
    text.replace('\n', "\n         ")
}
