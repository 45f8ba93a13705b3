//! Errors: the model receives what it can act on, and the operator receives the cause.
//!
//! Run it with `cargo run --example errors`. A scripted model causes every kind of failure, and the
//! run continues after each. It needs no key and no network.

use std::error::Error;
use std::time::Duration;

use tokio::time::sleep;
use tool_runtime::{Agent, ChatReply, ScriptedModel, ToolError, tool, tools};

/// Divides two numbers.
#[tool(pure)]
async fn divide(dividend: i64, divisor: i64) -> Result<i64, ToolError> {
    // The model sent a wrong value, so the text says what to send instead.
    dividend
        .checked_div(divisor)
        .ok_or_else(|| ToolError::invalid_arguments("`divisor` is 0: send another number."))
}

/// Reads a setting.
#[tool(effect = "read")]
async fn setting(name: &str) -> Result<u16, ToolError> {
    let text = match name {
        "port" => "eighty",
        // `?` converts text to a `ToolError`.
        _ => Err(format!("there is no setting `{name}`"))?,
    };
    // The text is for the model. The source is for the operator.
    text.parse().map_err(|error: std::num::ParseIntError| {
        ToolError::failed(format!("the setting `{name}` is damaged: ask its owner"))
            .with_source(error)
    })
}

/// Asks a slow service.
#[tool(effect = "read", timeout = "50ms")]
async fn ask_slowly() -> &'static str {
    sleep(Duration::from_secs(60)).await;
    "too late"
}

/// Has a bug.
#[tool(effect = "none")]
async fn first_letter(word: String) -> char {
    word.chars().next().expect("a word has letters")
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    // The report of the panic is part of the tool result, so the default one is not needed.
    std::panic::set_hook(Box::new(|_| {}));

    let model = ScriptedModel::new([
        ChatReply::default()
            .call("divide", r#"{"dividend": 1, "divisor": 0}"#)
            .call("divide", r#"{"dividend": "one"}"#)
            .call("devide", r#"{"dividend": 1, "divisor": 2}"#)
            .call("setting", r#"{"name": "host"}"#)
            .call("setting", r#"{"name": "port"}"#)
            .call("ask_slowly", "{}")
            .call("first_letter", r#"{"word": ""}"#),
        ChatReply::text("None of that worked, and I am still here."),
    ]);
    let agent = Agent::new(model, tools![divide, setting, ask_slowly, first_letter])
        .on_tool_result(|execution| {
            println!(
                "{}\n  the model reads: {}",
                execution.call,
                execution.result.text.replace('\n', "\n    ")
            );
            if let Some(cause) = &execution.cause {
                println!("  the operator: {cause}");
            }
        });
    println!("\n{}", agent.run("Try everything.").await?);
    Ok(())
}
