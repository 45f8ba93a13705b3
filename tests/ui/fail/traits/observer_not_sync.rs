use std::cell::Cell;
use tool_runtime::{Agent, Event};

fn watched(agent: Agent) -> Agent {
    let hits = Cell::new(0);
    agent.observer(move |_: &Event| hits.set(hits.get() + 1))
}

fn main() {}
