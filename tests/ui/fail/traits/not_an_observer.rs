use std::sync::Mutex;
use tool_runtime::{Agent, Event};

fn watched(agent: Agent) -> Agent {
    agent.observer(Mutex::new(Vec::<Event>::new()))
}

fn main() {}
