//! Events, observers and the redaction of secrets.

mod canary;
mod display;
mod effects;
mod json;
mod observers;
mod order;
mod secret_digits;
mod secrets;
mod streams;
mod tool_facts;
mod unregistered;

use tool_runtime::{Dispatcher, Registry, Tools};

fn dispatcher(tools: Tools) -> Dispatcher {
    Dispatcher::new(Registry::try_from(tools).unwrap())
}
