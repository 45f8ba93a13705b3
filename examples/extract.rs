//! Extract: the answer of a run as a value of a type, checked before the program has it.
//!
//! `cargo run --example extract` needs no key and no network: the model's replies are a script. Its first
//! value breaks a rule of the type, so that it is asked once more.

use tool_runtime::{Agent, ChatReply, Message, ScriptedModel, ScriptedTurn, args, tool, tools};

/// A day out.
#[args]
struct Trip {
    /// Where to.
    city: String,
    /// Hours on the way, there and back.
    #[schemars(range(max = 12))]
    hours: u8,
    /// What to see, best first.
    sights: Vec<Sight>,
}

/// Something to see.
#[args]
struct Sight {
    /// Its name.
    name: String,
    /// Whether it is under a roof.
    indoors: bool,
}

/// Finds what there is to see in a city.
#[tool(effect = "read")]
async fn sights(city: String) -> String {
    format!("{city}: Munch museum (indoors), Vigeland park (outdoors); 4 hours by train")
}

fn script() -> ScriptedModel {
    ScriptedModel::new([
        ScriptedTurn::new(ChatReply::default().call("sights", r#"{"city": "Oslo"}"#)),
        ScriptedTurn::new(ChatReply::text("Oslo: the Munch museum, and the park if it is dry.")),
        // Now without tools, and held to the schema where its provider can do that.
        ScriptedTurn::new(ChatReply::text(
            r#"{"city": "Oslo", "hours": 48, "sights": [{"name": "Munch museum", "indoors": true}]}"#,
        ))
        .expect_tools::<String>([])
        .expect_last("JSON Schema"),
        // Fenced, with a trailing comma and text for a number: read all the same.
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
    let found = agent.extract::<Trip>("Plan a day out for me.").await?;

    for message in &found.transcript {
        match message {
            // The schema, in full, is long.
            Message::User { .. } => match message.text().split_once("Schema: ") {
                Some((asked, _)) => println!("told     {asked}Schema: …"),
                None => println!("told     {}", indented(&message.text())),
            },
            Message::Assistant { .. } if message.calls().count() == 0 => {
                println!("replies  {}", indented(&message.text()));
            }
            _ => message.calls().for_each(|call| println!("calls    {call}")),
        }
    }
    for fix in &found.fixes {
        println!("repaired {fix}");
    }
    let Trip { city, hours, sights } = found.value;
    println!("\n{city}, {hours} hours on the way:");
    for Sight { name, indoors } in sights {
        println!("- {name}{}", if indoors { ", under a roof" } else { "" });
    }
    Ok(())
}

fn indented(text: &str) -> String {
    text.replace('\n', "\n         ")
}
