//! Context: values that the program gives to tools and the model never sees.
//!
//! Run it with `cargo run --example context`. Two customers ask for their orders. The customer is
//! not an argument, so the model can't ask for the orders of another one.

use std::collections::HashMap;

use tool_runtime::{Agent, ChatReply, Extensions, ScriptedModel, ToolContext, ToolError};
use tool_runtime::{tool, tools};

/// The customer who is signed in.
#[derive(Clone)]
struct Customer(&'static str);

/// The orders of all customers; a real program would use a database.
#[derive(Clone)]
struct Orders(HashMap<&'static str, Vec<&'static str>>);

/// Lists the customer's orders.
#[tool(effect = "read", idempotent)]
async fn orders(
    ctx: &ToolContext,
    /// Return only orders whose name contains this text.
    containing: Option<String>,
) -> Result<Vec<&'static str>, ToolError> {
    let Customer(name) = ctx.get().ok_or("no customer is signed in")?;
    let Orders(all) = ctx.get().ok_or("there is no database")?;

    println!("  (call {} of {} for {name})", ctx.call_id(), ctx.tool_name());
    let text = containing.unwrap_or_default();
    let own_orders = all.get(name).into_iter().flatten();
    Ok(own_orders.filter(|order| order.contains(&text)).copied().collect())
}

fn script() -> ScriptedModel {
    ScriptedModel::new([
        ChatReply::default().call("orders", "{}").call("orders", r#"{"containing": "tea"}"#),
        ChatReply::text("That's all there is."),
    ])
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let database = Orders(HashMap::from([
        ("Ada", vec!["green tea", "a teapot", "biscuits"]),
        ("Kim", vec!["coffee"]),
    ]));

    for customer in [Customer("Ada"), Customer("Kim")] {
        println!("{} asks:", customer.0);
        let agent = Agent::new(script(), tools![orders])
            .extension(database.clone())
            .extension(customer)
            .on_tool_result(|execution| {
                println!("  {} → {}", execution.call, execution.result.text)
            });
        agent.run("What did I order?").await?;
    }

    // A unit test calls the function directly, with its own context.
    let extensions = Extensions::default().with(Customer("Kim")).with(database);
    let ctx = ToolContext::default().with_extensions(extensions);
    assert_eq!(orders(&ctx, Some("coff".into())).await.ok(), Some(vec!["coffee"]));
    Ok(())
}
