use tool_runtime::Agent;
use tool_runtime::agent::session::{MemoryStore, Session};

async fn open() -> std::io::Result<MemoryStore> {
    Ok(MemoryStore::default())
}

fn open_session(agent: &Agent) -> Session {
    agent.session(open(), "ada")
}

fn main() {}
