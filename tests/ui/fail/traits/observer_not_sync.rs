use std::cell::Cell;
use tool_runtime::{Agent, Event};

fn watched(agent: Agent) -> Agent {
    let seen = Cell::new(0);
    agent.observer(move |_: &Event| seen.set(seen.get() + 1))
}

fn main() {}
