use tool_runtime::Agent;

struct Person {
    name: String,
}

async fn ask(agent: &Agent) -> Option<Person> {
    let found = agent.extract::<Person>("Ada is 36.").await.ok()?;
    Some(found.value)
}

fn main() {}
