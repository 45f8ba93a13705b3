//! Events, observers and the redaction of secrets.

#[path = "events/canary.rs"]
mod canary;
#[path = "events/effects.rs"]
mod effects;
#[path = "events/json.rs"]
mod json;
#[path = "events/observers.rs"]
mod observers;
#[path = "events/secrets.rs"]
mod secrets;

use tool_runtime::{Dispatcher, Registry, Tools};

fn dispatcher(tools: Tools) -> Dispatcher {
    Dispatcher::new(Registry::try_from(tools).unwrap())
}
