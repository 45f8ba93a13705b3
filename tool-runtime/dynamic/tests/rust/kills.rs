//! An agent that makes tools in Rust is killed again and again.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use super::fixture::{backend, programs_with};
use super::kill_loop::{Language, kill_repeatedly, kills, run_until_killed};

fn rust() -> Language {
    Language {
        backend: Arc::new(backend()),
        body: |output| format!("Ok(\"{output}\")"),
        child: "kills::child_makes_tools_until_it_is_killed",
    }
}

#[tokio::test]
#[ignore = "the process that the test below kills"]
async fn child_makes_tools_until_it_is_killed() {
    run_until_killed(&rust()).await;
}

#[tokio::test]
async fn killed_agent_leaves_whole_programs_that_were_built_once() {
    backend().prepare().await.unwrap();
    let tools = kill_repeatedly(&rust(), kills(3), 15_000).await;
    // The name of the folder is in the output of each tool.
    let programs = programs_with(&format!("tool-dynamic-kills-{}-rust", std::process::id()));
    let is_whole = |path: &&PathBuf| path.extension().is_none();
    let whole = programs.iter().filter(is_whole).count();
    // A process can be killed after it has published a program, before it has stored the tool.
    assert!((tools..=tools + kills(3)).contains(&whole), "{whole} programs for {tools} tools");
    for program in programs {
        fs::remove_dir_all(program).unwrap();
    }
}
