use tool_runtime::Agent;

fn driven(agent: Agent) -> Agent {
    agent.driver("react")
}

fn main() {}
