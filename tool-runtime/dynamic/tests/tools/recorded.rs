//! A small model that was trained for code (Qwen2.5-Coder-0.5B behind llama.cpp) makes tools from
//! prompts, recorded once and replayed since. Texts of this crate that have changed since were
//! changed in the recording, because the replay compares them. In the replies of the model, only
//! the member `language` was, which was called `kind` when it was recorded.
//! `cargo test … --test tools recorded -- --nocapture` prints the runs.
//!
//! To record again, set `RECORD_FROM=…` to any value, with a server on port 8091 whose chat
//! template encodes calls.

use std::env;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tool_runtime::agent::Limits;
use tool_runtime::http::{
    Cassette, HttpRequest, HttpResponse, ReqwestTransport, Transport, TransportError,
};
use tool_runtime::providers::OpenAi;
use tool_runtime::{Agent, ChatOptions, async_trait};

use super::fixture::{Fixture, allowed};

const SYSTEM: &str = "\
Make each tool with `new_tool`, and call it in your next turn. The `language` is `javascript`, \
and the `effect` is `none`. Send the arguments of the tool in `fields`. The body has no function \
header: it reads `args` and ends with `return`. If `new_tool` reports an error, correct the body \
and send the whole spec again.
Example: {\"name\": \"add\", \"description\": \"Adds two numbers.\", \"language\": \"javascript\", \
\"effect\": \"none\", \"fields\": [{\"name\": \"a\", \"type\": \"number\"}, {\"name\": \"b\", \
\"type\": \"number\"}], \"body\": \"return args.a + args.b;\"}";

const PROMPTS: [&str; 6] = [
    "Make the tool `primes`, without fields, that returns the primes below 30. Then call it.",
    "Make the tool `squares`, without fields, that returns the squares of 1 to 9. Then call it.",
    "Make the tool `is_even` with the field `n` (integer). Then call it with 7.",
    "Make the tool `vowels` with the field `text` (string), that counts vowels by a regular expression.",
    "Make the tool `roman` with the field `n` (integer), that returns Roman numerals, with a loop.",
    "Make the tool `fizzbuzz`, without fields, that returns FizzBuzz from 1 to 15. Then call it.",
];

/// The definitions in a request, which are not recorded: they change more often than the model.
type Definitions = Arc<Mutex<Value>>;

/// Removes the definitions from requests, before they are recorded or looked up.
struct Removing(Cassette, Definitions);

/// Puts the definitions back into requests that are sent to a server.
struct Restoring(ReqwestTransport, Definitions);

fn changed(request: &HttpRequest, change: impl FnOnce(&mut Value)) -> HttpRequest {
    let mut body = serde_json::from_slice(&request.body).unwrap();
    change(&mut body);
    request.clone().body(body.to_string())
}

#[async_trait]
impl Transport for Removing {
    async fn send(&self, request: &HttpRequest) -> Result<HttpResponse, TransportError> {
        let request = changed(request, |body| {
            let removed = body.as_object_mut().unwrap().remove("tools");
            *self.1.lock().unwrap() = removed.unwrap_or_default();
        });
        self.0.send(&request).await
    }
}

#[async_trait]
impl Transport for Restoring {
    async fn send(&self, request: &HttpRequest) -> Result<HttpResponse, TransportError> {
        let request = changed(request, |body| body["tools"] = self.1.lock().unwrap().clone());
        self.0.send(&request).await
    }
}

/// Results of all runs.
#[derive(Debug, Default, PartialEq, Eq)]
struct Table {
    /// Calls of `new_tool`.
    attempts: usize,
    /// Attempts that were refused because of an error in the spec or the body.
    refused: usize,
    /// Attempts whose body did not compile.
    uncompiled: usize,
    /// Tools that were registered.
    registered: usize,
    /// Tools that were registered after an attempt of the same run was refused.
    corrected: usize,
    /// Runs in which the tool was called with success.
    used: usize,
}

#[tokio::test]
async fn small_model_makes_tools_from_prompts() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tools/cassettes/qwen.json");
    let definitions = Definitions::default();
    let cassette = match env::var("RECORD_FROM") {
        Ok(_) => {
            let server = Restoring(ReqwestTransport::new(), Arc::clone(&definitions));
            Cassette::record(path, server)
        }
        Err(_) => Cassette::replay(path).unwrap(),
    };
    let mut table = Table::default();
    for prompt in PROMPTS {
        let fixture = Fixture::new().await;
        let model = OpenAi::new("http://127.0.0.1:8091/v1", "qwen2.5-coder-0.5b-instruct")
            .timeout(Duration::from_secs(600))
            .transport(Removing(cassette.clone(), Arc::clone(&definitions)));
        let executions = Arc::<Mutex<Vec<_>>>::default();
        let sink = Arc::clone(&executions);
        let agent = Agent::new(model, fixture.registry.clone())
            .policy(allowed())
            .system(SYSTEM)
            .options(ChatOptions::default().temperature(0.0).max_tokens(300))
            .limits(Limits::default().max_iterations(5).max_repeats(2))
            .on_event(move |event| {
                if let Some(execution) = event.execution() {
                    sink.lock().unwrap().push(execution.clone());
                }
            });
        let ended = agent.run(prompt).await;
        println!("{prompt}");
        let (mut refused, mut names, mut used) = (0, Vec::new(), false);
        for execution in executions.lock().unwrap().iter() {
            let (call, result) = (&execution.call, &execution.result.text);
            println!("    {} {}\n        {result}", call.name, call.arguments);
            if call.name != "new_tool" {
                used |= execution.is_success() && names.contains(&call.name.to_string());
                continue;
            }
            table.attempts += 1;
            if execution.is_success() {
                table.corrected += usize::from(refused > 0 && names.is_empty());
                names = fixture.names();
            } else if !result.starts_with("Not run") {
                refused += 1;
                table.uncompiled += usize::from(result.contains("`body`: SyntaxError"));
            }
        }
        println!("    {}", ended.map_or_else(|error| error.to_string(), |answer| answer.text));
        table.refused += refused;
        table.registered += names.len();
        table.used += usize::from(used);
    }
    assert_eq!(cassette.unplayed_count(), 0);
    // It makes tools, and it corrects some members, but no body and no tool as a whole. It repeats
    // `new_tool` instead of calling what it has made.
    let expected =
        Table { attempts: 25, refused: 12, uncompiled: 7, registered: 4, corrected: 0, used: 0 };
    assert_eq!(table, expected);
}
