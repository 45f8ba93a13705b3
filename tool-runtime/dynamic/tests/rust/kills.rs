//! An agent that makes tools in Rust is killed again and again.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;

use super::fixture::{backend, folder};
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

/// Returns the programs that contain a text.
fn programs(text: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(folder().join("programs")).into_iter().flatten().flatten();
    let contains = |name: &String| {
        let program = fs::read(folder().join("programs").join(name).join("tool"));
        program.unwrap_or_default().windows(text.len()).any(|part| part == text.as_bytes())
    };
    entries.map(|entry| entry.file_name().into_string().unwrap()).filter(contains).collect()
}

#[tokio::test]
async fn killed_agent_leaves_whole_programs_that_were_built_once() {
    backend().prepare().await.unwrap();
    let tools = kill_repeatedly(&rust(), kills(3), 15_000).await;
    // The name of the folder is in the output of each tool.
    let programs = programs(&format!("tool-dynamic-kills-{}-rust", std::process::id()));
    let whole = programs.iter().filter(|name| !name.contains('.')).count();
    // A process can be killed after it has published a program, before it has stored the tool.
    assert!((tools..=tools + kills(3)).contains(&whole), "{whole} programs for {tools} tools");
    for name in programs {
        fs::remove_dir_all(folder().join("programs").join(name)).unwrap();
    }
}
