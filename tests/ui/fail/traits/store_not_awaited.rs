use tool_runtime::Agent;
use tool_runtime::agent::session::{Memory, Session};

async fn open() -> std::io::Result<Memory> {
    Ok(Memory::default())
}

fn kept(agent: &Agent) -> Session {
    agent.session(open(), "ada")
}

fn main() {}
