//! Two processes on one catalog see each other's changes.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use tool_dynamic::EntryId;
use tool_runtime::Registry;

use super::fixture::{Folder, names, open, output, spec, start, wait_until};

const FOLDER: &str = "TOOL_DYNAMIC_PEER_FOLDER";

/// The beginning of the lines that the test reads: the test harness writes others.
const ANSWER: &str = "answer: ";

/// Makes the changes that the test asks for, until its input ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the process that the test below starts"]
async fn peer_changes_the_catalog() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let registry = Registry::new();
    let catalog = open(&Path::new(&folder).join("store.db")).await;
    let registrar = start(catalog, &registry).await;
    for line in std::io::stdin().lines() {
        let line = line.unwrap();
        let words: Vec<_> = line.split(' ').collect();
        let answer = match words[..] {
            ["create", name, body] => {
                format!("{:?}", registrar.create(name, spec(name, body)).await.unwrap().state)
            }
            ["remove", name] => format!("{:?}", registrar.remove(&EntryId::tool(name)).await),
            ["disconnect", name] => {
                format!("{:?}", registrar.remove(&EntryId::connection(name)).await)
            }
            ["wait", expected] => {
                wait_until("the change", || names(&registry).join(",") == expected).await;
                // A tool has its name before it is built.
                registrar.wait_until_settled(Duration::from_secs(60)).await;
                "seen".to_owned()
            }
            // An answer is one line.
            ["call", name] => output(&registry, name).await.replace('\n', " "),
            _ => panic!("{line}"),
        };
        // The harness has not ended its line.
        println!("\n{ANSWER}{answer}");
    }
}

pub(crate) struct Peer {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Peer {
    pub(crate) fn spawn(folder: &Path) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "processes::peer_changes_the_catalog", "--ignored", "--nocapture"])
            .env(FOLDER, folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = process.stdin.take().unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        Self { process, input, output }
    }

    pub(crate) fn ask(&mut self, command: &str) -> String {
        writeln!(self.input, "{command}").unwrap();
        let mut lines = (&mut self.output).lines().map(Result::unwrap);
        let answer = lines.find_map(|line| line.strip_prefix(ANSWER).map(str::to_owned));
        answer.expect("the process answers")
    }

    /// Ends the process, and waits for it.
    pub(crate) fn end(mut self) {
        drop(self.input);
        assert!(self.process.wait().unwrap().success());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processes_see_the_changes_of_each_other() {
    let folder = Folder::new();
    let registry = Registry::new();
    let registrar = start(open(&folder.file()).await, &registry).await;
    let mut peer = Peer::spawn(folder.path());

    registrar.create("here", spec("here", "mine")).await.unwrap();
    assert_eq!(peer.ask("wait here"), "seen");
    assert_eq!(peer.ask("call here"), "mine");
    assert_eq!(peer.ask("create there yours"), "Active");
    wait_until("the tool of the peer", || names(&registry) == ["here", "there"]).await;
    let id_of_peer = EntryId::tool("there");
    wait_until("its build", || {
        registrar.status(&id_of_peer).is_some_and(|status| status.state.is_active())
    })
    .await;
    assert_eq!(output(&registry, "there").await, "yours");

    assert_eq!(peer.ask("remove here"), "Ok(())");
    wait_until("the removal", || names(&registry) == ["there"]).await;
    registrar.remove(&id_of_peer).await.unwrap();
    registrar.create("last", spec("last", "mine")).await.unwrap();
    assert_eq!(peer.ask("wait last"), "seen");
    peer.end();
    // The change was found by the next poll.
    registrar.wait_until_settled(Duration::from_secs(1)).await;
}
