//! An agent that makes tools in JavaScript is killed again and again.

use std::sync::Arc;

use tool_dynamic::JavaScript;

use super::kill_loop::{Language, kill_repeatedly, kills, run_until_killed};

fn javascript() -> Language {
    Language {
        backend: Arc::new(JavaScript::new()),
        body: |output| format!("return '{output}';"),
        child: "kills::child_makes_tools_until_it_is_killed",
    }
}

#[tokio::test]
#[ignore = "the process that the test below kills"]
async fn child_makes_tools_until_it_is_killed() {
    run_until_killed(&javascript()).await;
}

#[tokio::test]
async fn killed_agent_leaves_whole_scripts_that_were_made_once() {
    kill_repeatedly(&javascript(), kills(5), 400).await;
}
