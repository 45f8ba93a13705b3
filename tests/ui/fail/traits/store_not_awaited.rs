use tool_runtime::Agent;
use tool_runtime::agent::session::{MemorySessions, Session};

async fn open() -> std::io::Result<MemorySessions> {
    Ok(MemorySessions::default())
}

fn open_session(agent: &Agent) -> Session {
    agent.session(open(), "ada")
}

fn main() {}
