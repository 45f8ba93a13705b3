//! A process that changes a catalog is killed again and again: after each kill, catalog and
//! registry agree, and each change is in effect as a whole or not at all. Another process, which
//! lives on, follows the changes.
//!
//! The parent module opens the store: an SQLite file, or a schema of PostgreSQL.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tool_dynamic::{CatalogEntry, EntryContent, EntryId, Registrar, ToolSpec};
use tool_runtime::Registry;

use super::fixture::{Folder, names, output, spec, start, wait_until};
use super::{open_store, wait_for_server};

const FOLDER: &str = "TOOL_DYNAMIC_CRASH_FOLDER";

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// The tools of a catalog: the bodies of their versions.
type Model = BTreeMap<String, Vec<String>>;

/// A change as a line of the log, such as `3 replace a`. The number is the body.
#[derive(Clone, Debug)]
struct Change {
    number: u64,
    verb: String,
    name: String,
}

impl Change {
    fn random(number: u64) -> Self {
        let verb = *fastrand::choice(&["create", "replace", "roll_back", "remove"]).unwrap();
        let name = *fastrand::choice(&NAMES).unwrap();
        Self { number, verb: verb.to_owned(), name: name.to_owned() }
    }

    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let number = words.next()?.parse().ok()?;
        let (verb, name) = (words.next()?.to_owned(), words.next()?.to_owned());
        Some(Self { number, verb, name })
    }

    fn body(&self) -> String {
        format!("body {}", self.number)
    }

    /// Returns the tool of the change. An entry with some versions of it is longer than a record.
    fn spec(&self) -> ToolSpec {
        let mut spec = spec(&self.name, &self.body());
        spec.body.push('\n');
        spec.body.push_str(&"x".repeat(60_000));
        spec
    }

    /// Makes the change. It may be refused, as in the model.
    async fn make(&self, registrar: &Registrar) -> bool {
        let (name, id) = (self.name.as_str(), EntryId::tool(&self.name));
        let spec = self.spec();
        let result = match self.verb.as_str() {
            "create" => registrar.create(name, spec).await.map(drop),
            "replace" => registrar.replace(name, spec).await.map(drop),
            "roll_back" => {
                let entry = registrar.catalog().entry(&id).await.unwrap();
                let first = entry.and_then(|it| it.versions().next().map(|it| it.number));
                registrar.roll_back(&id, first.unwrap_or(1)).await.map(drop)
            }
            _ => registrar.remove(&id).await,
        };
        result.is_ok()
    }

    /// Returns the model after the change, as a whole.
    fn applied(&self, model: &Model) -> Model {
        let mut next = model.clone();
        match (self.verb.as_str(), next.get_mut(&self.name)) {
            ("create", None) => drop(next.insert(self.name.clone(), vec![self.body()])),
            ("replace", Some(bodies)) => bodies.push(self.body()),
            ("roll_back", Some(bodies)) => bodies.push(bodies[0].clone()),
            ("remove", Some(_)) => drop(next.remove(&self.name)),
            _ => {}
        }
        for bodies in next.values_mut() {
            let excess = bodies.len().saturating_sub(CatalogEntry::MAX_VERSIONS);
            bodies.drain(..excess);
        }
        next
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

/// Returns the tools of the catalog.
async fn model(registrar: &Registrar) -> Model {
    let contents = registrar.catalog().contents().await.unwrap();
    assert_eq!(contents.corrupt, []);
    let bodies = |content: &EntryContent| match content {
        EntryContent::Tool(spec) => first_line(&spec.body),
        other => panic!("{other:?}"),
    };
    let entries = contents.entries.iter();
    entries
        .map(|entry| {
            let versions = entry.versions().map(|version| bodies(&version.content)).collect();
            (entry.id().name().to_owned(), versions)
        })
        .collect()
}

/// Checks that the registry has exactly the tools of the catalog, in their current versions.
async fn check_registry(registry: &Registry, model: &Model) {
    assert_eq!(names(registry), model.keys().cloned().collect::<Vec<_>>());
    for (name, bodies) in model {
        let body = bodies.last().unwrap();
        assert_eq!(first_line(&output(registry, name).await), *body, "{name}");
        let snapshot = registry.snapshot();
        let description = &snapshot.definition(name).unwrap().description;
        assert_eq!(*description, format!("Returns {body}."), "{name}");
    }
}

/// Waits until a registry that follows a catalog has the current versions of its tools.
async fn wait_for_tools(registry: &Registry, model: &Model) {
    let is_current = || {
        let snapshot = registry.snapshot();
        let current = |(name, bodies): (&String, &Vec<String>)| {
            let expected = format!("Returns {}.", bodies.last().unwrap());
            snapshot.definition(name).is_some_and(|it| it.description == expected)
        };
        names(registry).len() == model.len() && model.iter().all(current)
    };
    wait_until("the current tools", is_current).await;
}

/// Changes the catalog until the process is killed.
#[tokio::test]
#[ignore = "the process that the test below kills"]
async fn child_changes_the_catalog_until_it_is_killed() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let folder = Path::new(&folder);
    let registry = Registry::new();
    let registrar = start(open_store(folder).await, &registry).await;
    registrar.wait_until_settled(Duration::from_secs(60)).await;
    let mut log = OpenOptions::new().append(true).open(folder.join("log")).unwrap();
    let text = std::fs::read_to_string(folder.join("log")).unwrap();
    let last = text.lines().filter_map(Change::parse).next_back();
    let first = last.map_or(1, |change| change.number + 1);
    // Ends by itself if the parent has ended.
    for number in first..first + 20_000 {
        let change = Change::random(number);
        // Each line is one write, so that a kill leaves no part of a line.
        let line = format!("{number} {} {}\n", change.verb, change.name);
        log.write_all(line.as_bytes()).unwrap();
        change.make(&registrar).await;
        log.write_all(b"done\n").unwrap();
    }
}

fn spawn(folder: &Path) -> Child {
    let module = module_path!().split_once("::").unwrap().1;
    let child = format!("{module}::child_changes_the_catalog_until_it_is_killed");
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &child, "--ignored"])
        .env(FOLDER, folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

async fn kill_repeatedly(kills: usize) {
    let folder = Folder::new();
    let log = folder.path().join("log");
    std::fs::write(&log, "").unwrap();
    open_store(folder.path()).await;
    let (mut before, mut read_lines) = (Model::new(), 0);
    let followed = Registry::new();
    let follower = start(open_store(folder.path()).await, &followed).await;
    let (mut finished, mut cut_off) = (0, 0);
    for kill in 0..kills {
        let mut child = spawn(folder.path());
        // Some are killed while they start.
        thread::sleep(Duration::from_millis(fastrand::u64(5..150)));
        // The first one is killed after some changes, however busy the machine is.
        let end = Instant::now() + Duration::from_secs(60);
        let finished_changes = || std::fs::read_to_string(&log).unwrap().matches("done").count();
        while kill == 0 && finished_changes() <= kills / 4 && Instant::now() < end {
            thread::sleep(Duration::from_millis(5));
        }
        child.kill().unwrap();
        assert!(!child.wait().unwrap().success(), "the process ended before it was killed");
        wait_for_server(child.id()).await;

        let text = std::fs::read_to_string(&log).unwrap();
        let lines: Vec<_> = text.lines().skip(read_lines).map(str::to_owned).collect();
        read_lines += lines.len();
        let mut pending = None;
        for line in &lines {
            match Change::parse(line) {
                Some(change) => pending = Some(change),
                None => {
                    let change: Change = pending.take().expect("a change that is done");
                    before = change.applied(&before);
                    finished += 1;
                }
            }
        }
        // The next process starts as this one.
        let registry = Registry::new();
        let registrar = start(open_store(folder.path()).await, &registry).await;
        let statuses = registrar.wait_until_settled(Duration::from_secs(60)).await;
        assert!(statuses.iter().all(|it| it.state.is_active()), "{statuses:?}");
        let after = model(&registrar).await;
        check_registry(&registry, &after).await;
        if let Some(change) = pending {
            let whole = change.applied(&before);
            assert!(after == before || after == whole, "kill {kill}: {change:?}\n{after:?}");
            cut_off += usize::from(whole != before);
        } else {
            assert_eq!(after, before, "kill {kill}");
        }
        if kill % 5 == 4 {
            wait_for_tools(&followed, &after).await;
            // A tool that is being started has its definition already.
            follower.wait_until_settled(Duration::from_secs(60)).await;
            check_registry(&followed, &after).await;
        }
        before = after;
        registrar.stop().await;
    }
    follower.stop().await;
    println!("{finished} changes finished, {cut_off} were cut off");
    assert!(finished > kills / 4, "the processes were killed before they changed anything");
}

#[tokio::test]
async fn killed_process_leaves_each_change_as_a_whole_or_not_at_all() {
    let kills = std::env::var("KILLS").map_or(20, |kills| kills.parse().unwrap());
    kill_repeatedly(kills).await;
}
