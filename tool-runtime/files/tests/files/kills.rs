//! A process that is killed while it changes files leaves whole files, and nothing else.

use std::env;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::files::Files;
use rustix::fs::{FlockOperation, flock};

use super::fixture::{Fixture, tree};

/// The variable with the folder in which the process below changes files.
const FOLDER: &str = "TOOL_TOOLBOX_FILES_FOLDER";

/// How often a process is killed.
const KILLS: usize = 30;

/// The bytes of each file.
const LEN: usize = 300_000;

#[test]
#[ignore = "runs in a process that another test kills"]
fn change_files_until_killed() {
    let Some(folder) = env::var_os(FOLDER) else { return };
    let files = Files::open(&folder).unwrap();
    for number in 0.. {
        let content = [b'a' + (number % 26) as u8; LEN];
        files.write("deep/folder/same.txt", content).unwrap();
        files.write(&format!("deep/{number}.txt"), content).unwrap();
        println!("\nwritten {number}");
    }
}

/// Changes files in another process, and kills it after a number of changes.
fn change_and_kill(folder: &Path, changes: usize) {
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "kills::change_files_until_killed", "--ignored", "--nocapture"])
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let written = lines.map(Result::unwrap).filter(|line| line.starts_with("written "));
    assert_eq!(written.take(changes).count(), changes);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn killed_writes_leave_whole_files_and_no_others() {
    let fixture = Fixture::new();
    let folder = fixture.path("");
    for kill in 0..KILLS {
        change_and_kill(&folder, 1 + kill % 3);
        let files = Files::open(&folder).unwrap();
        for (path, content) in tree(&folder) {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            assert!(!name.contains(".tmp"), "{name} after kill {kill}");
            assert_eq!(content.len(), LEN, "{name} after kill {kill}");
            assert!(content.iter().all(|byte| *byte == content[0]), "{name} after kill {kill}");
        }
        drop(files);
    }
}

#[test]
fn files_of_killed_writes_are_removed_at_the_next_open() {
    let fixture = Fixture::new();
    let names = [
        (".tool-0123456789abcdef.tmp", false),
        (".tool-fedcba9876543210.tmp", false),
        // These belong to others.
        (".tool-notes.tmp", true),
        ("tool-0123456789abcdef.tmp", true),
        ("deep/.tool-0123456789abcdef.tmp", true),
    ];
    for (name, _) in names {
        fixture.write(name, "left");
    }
    // A process that lives has such a file.
    let folder = File::open(fixture.path("")).unwrap();
    flock(&folder, FlockOperation::LockShared).unwrap();
    Files::open(fixture.path("")).unwrap();
    assert!(names.iter().all(|(name, _)| fixture.path(name).exists()));
    drop(folder);
    Files::open(fixture.path("")).unwrap();
    for (name, stays) in names {
        assert_eq!(fs::exists(fixture.path(name)).unwrap(), stays, "{name}");
    }
}
