//! Reports: an HTML file that shows the requests, calls and results of a run on a timeline.
//!
//! `cargo run --example report` runs an agent and writes `target/report.html`, or the file given as
//! the first argument. It needs no key and no network. `cargo run --example report -- run.html
//! log.jsonl` renders a JSON Lines log instead. With `--features terminal`, the terminal shows the
//! run in progress.

use std::env;
use std::error::Error;
use std::fs::File;
use std::io::BufReader;
use std::time::{Duration, Instant};

use tokio::time::sleep;
use tool_runtime::agent::{Limits, Prices, Steering};
use tool_runtime::event::{NetworkRequest, Progress, Recorder};
use tool_runtime::report::RunReport;
use tool_runtime::{
    Agent, ChatModel, ChatReply, ChatRequest, ModelError, ScriptedModel, ToolCall, ToolContext,
    ToolError, Usage, async_trait, tool, tools,
};

/// Returns the weather forecast for a city.
#[tool(effect = "read", idempotent, max_retries = 2)]
async fn forecast(city: String, days: u8, ctx: &ToolContext) -> Result<String, ToolError> {
    sleep(Duration::from_millis(90)).await;
    if city == "Bergen" && ctx.attempt() == 1 {
        return Err(ToolError::transient("the weather station did not answer"));
    }
    Ok(format!("{city}: 4 degrees and rain for {days} days"))
}

/// Finds trains between two cities.
#[tool(effect = "read")]
async fn trains(from: String, to: String, ctx: &ToolContext) -> String {
    for count in 1..=4 {
        sleep(Duration::from_millis(70)).await;
        let message = Some(format!("asked {count} railways"));
        ctx.progress(Progress { done: count.into(), total: Some(4.0), message });
    }
    format!("{from} to {to}: 08:25, 12:03, 15:47")
}

/// Compares the prices of rooms at several hotels.
#[tool(effect = "read")]
async fn rooms(city: String, hotels: Vec<String>, ctx: &ToolContext) -> String {
    let calls = hotels.iter().map(|hotel| {
        ToolCall::new("", "price", format!(r#"{{"city": "{city}", "hotel": "{hotel}"}}"#))
    });
    let prices = ctx.dispatch(calls.collect()).await;
    prices.iter().map(|price| price.result.text.as_str()).collect::<Vec<_>>().join("; ")
}

/// Returns the price of a room.
#[tool(effect = "read")]
async fn price(city: String, hotel: String) -> Result<String, ToolError> {
    sleep(Duration::from_millis(40 * hotel.len() as u64)).await;
    if hotel == "Grand" {
        return Err(ToolError::failed(format!("{hotel} in {city} has no rooms left")));
    }
    Ok(format!("{hotel}: 900"))
}

/// Books a seat and a room.
#[tool(effect = "write")]
async fn book(train: String, hotel: String, ctx: &ToolContext) -> Result<String, ToolError> {
    sleep(Duration::from_millis(120)).await;
    ctx.record(NetworkRequest::new("POST", "https://rail.example/seats").status(201));
    Ok(format!("A seat at {train}, a room at {hotel}."))
}

/// Model with the delay of a real one.
struct Slow(ScriptedModel);

#[async_trait]
impl ChatModel for Slow {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        sleep(Duration::from_millis(160)).await;
        self.0.reply(request).await
    }
}

/// Scripts the replies of the model, some with mistakes.
fn script() -> ScriptedModel {
    let with_usage = |mut reply: ChatReply, input, output| {
        reply.usage = Some(Usage::new(input, output));
        reply
    };
    let first = ChatReply::text("I look at the weather, the trains and the hotels at once.")
        .call("forecast", r#"{"city": "Oslo", "days": 3}"#)
        .call("forecast", r#"{"city": "Bergen", "days": 3}"#)
        .call("trains", "```json\n{'from': 'Oslo', \"to\": \"Bergen\",}\n```")
        .call("rooms", r#"{"city": "Bergen", "hotels": ["Grand", "Harbour", "Fjord"]}"#)
        .call("forcast", r#"{"city": "Voss"}"#);
    let second = ChatReply::default().call("book", r#"{"train": "08:25", "hotel": "Fjord"}"#);
    let last = ChatReply::text("You leave Oslo at 08:25 and stay at the Fjord. Take a coat.");
    ScriptedModel::new([
        with_usage(first, 812, 164),
        with_usage(second, 1_420, 38),
        with_usage(last, 1_507, 26),
    ])
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut args = env::args().skip(1);
    let path = args.next().unwrap_or_else(|| "target/report.html".into());
    let report = match args.next() {
        Some(log) => RunReport::from_json_lines(BufReader::new(File::open(log)?))?,
        None => {
            let recorder = Recorder::new(10_000);
            let (steering, prices) =
                (Steering::new(), Prices { input: 3.0, cached: 0.3, output: 15.0 });
            steering.push_untrusted("a mail", "Nothing before eight.");
            let agent = Agent::new(Slow(script()), tools![forecast, trains, rooms, price, book])
                .system("You plan trips.")
                .limits(Limits::default().max_cost(1.0, prices))
                .steering(&steering)
                .observer(recorder.clone());
            #[cfg(feature = "terminal")]
            let agent = agent.observer(tool_runtime::terminal::Terminal::new());
            println!("{}", agent.run("Plan my trip from Oslo to Bergen.").await?);
            RunReport::from(&recorder)
        }
    };
    let started = Instant::now();
    if let Some(folder) = std::path::Path::new(&path).parent() {
        std::fs::create_dir_all(folder)?;
    }
    report.write_to(&path)?;
    println!("wrote {path} in {:?}", started.elapsed());
    Ok(())
}
