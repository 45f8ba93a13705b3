//! Reading text for calls: what a reply without one costs, and that no text takes more than its length's
//! worth.

#![allow(
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a bench that can't go on should stop, and its figures are its output"
)]

mod rounds;

use rounds::Rounds;
use serde_json::json;
use tool_runtime::ToolDefinition;
use tool_runtime::drivers::text::{Offered, extract};

/// Markers, and what may follow them.
const OPENERS: [&str; 30] = [
    "<tool_call>",
    "<tool_call>{\"name\": \"weather\", \"arguments\": {\"city\": \"",
    "<tool_call>\n<function=weather>\n<parameter=city>\n",
    "<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>",
    "[TOOL_CALLS]",
    "[TOOL_CALLS]weather[ARGS]{\"city\": \"",
    "<|python_tag|>",
    "<|python_tag|>weather.call(city=\"",
    "<function=weather>{",
    "<|python_start|>[",
    "[weather(city=\"",
    "\n[weather(city=\"",
    "<|tool_call_start|>[weather(",
    "<function_calls>weather(city='",
    "functools[{",
    "functools[",
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>weather<｜tool▁sep｜>{",
    "<｜DSML｜function_calls><｜DSML｜invoke name=\"weather\">",
    "<|tool_calls_section_begin|>",
    "<|tool_call_begin|>functions.weather:0<|tool_call_argument_begin|>{\"city\": \"",
    "<|open|>call tool=\"weather\"<|sep|>",
    "<|channel|>commentary to=functions.weather<|message|>{",
    "<|channel|>analysis<|message|>",
    "<minimax:tool_call><invoke name=\"weather\">",
    "]<]minimax[>[<tool_call>",
    "<|tool_call>call:weather{city:<|\"|>",
    "\n```json\n{\"name\": \"weather\", \"arguments\": {",
    "\n{\"name\": \"weather\", \"arguments\": {\"city\": \"",
    "\nAction: weather\nAction Input: {",
    "\n<think>",
];

fn main() {
    let definition = ToolDefinition::new(
        "weather",
        "Tells the weather.",
        json!({"type": "object", "properties": {"city": {"type": "string"}}}),
    );
    let definition: &'static ToolDefinition = Box::leak(Box::new(definition));
    let offered = || Offered::new(&[definition]);

    let paragraph = "The weather in Oslo is mild in May, with some rain; bring a coat.\n\n- **Mornings** are cool \
                     (4 °C), `now` shows more.\n- See [the forecast](https://x.io) if a < b.\n\n```rust\nfn main() \
                     {\n    println!(\"{}\", 1);\n}\n```\n\n";
    let prose =
        "The weather in Oslo is mild in May, with some rain in the evenings; bring a coat. ";
    let of = |piece: &str, bytes: usize| piece.repeat(bytes / piece.len() + 1);
    let mut rounds = Rounds::new(40, 100);
    for text in [of(prose, 10_000), of(paragraph, 10_000)] {
        rounds.add(move || extract(&text, &offered()));
    }
    let times = rounds.run();
    for (name, time) in ["prose", "markdown and code"].iter().zip(times) {
        println!("10 KB of {name} without a call: {:.2} µs", time / 1e3);
    }

    for opener in OPENERS {
        let mut rounds = Rounds::new(3, 1);
        for bytes in [100_000, 1_000_000] {
            let text = of(opener, bytes);
            rounds.add(move || extract(&text, &offered()));
        }
        let times = rounds.run();
        println!(
            "1 MB of {opener:?}: {:.1} ms, {:.1} times that of 100 KB",
            times[1] / 1e6,
            times[1] / times[0]
        );
    }
}
