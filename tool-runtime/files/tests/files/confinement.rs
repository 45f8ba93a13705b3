//! Paths that lead out of the workspace, or to something that is no regular file.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::process::Command;

use crate::files::Files;
use serde_json::{Value, json};
use tool_runtime::Policy;

use super::fixture::{Fixture, dispatcher, tree};

const SECRET: &str = "correct horse battery staple";

/// Paths, and a part of the error that names the reason.
const REFUSED: [(&str, &str); 71] = [
    ("../outside/secret.txt", "contains `..`"),
    ("..", "contains `..`"),
    ("../inside/public.txt", "contains `..`"),
    ("folder/../../outside/secret.txt", "contains `..`"),
    ("folder/../public.txt", "contains `..`"),
    ("./../outside/secret.txt", "contains `..`"),
    ("folder/..", "contains `..`"),
    ("folder//..//..//outside/secret.txt", "contains `..`"),
    ("no/such/../../../outside/secret.txt", "contains `..`"),
    ("{outside}/secret.txt", "is absolute"),
    ("/etc/passwd", "is absolute"),
    ("/", "is absolute"),
    ("//etc/passwd", "is absolute"),
    ("/proc/self/environ", "is absolute"),
    ("/proc/self/root/etc/passwd", "is absolute"),
    ("/proc/self/cwd/Cargo.toml", "is absolute"),
    ("/dev/stdin", "is absolute"),
    ("{inside}/public.txt", "is absolute"),
    ("public.txt\0.png", "control character"),
    ("\0", "control character"),
    ("public.txt\n", "control character"),
    ("link_to_file", "is a link"),
    ("link_to_folder", "is a link"),
    ("link_to_folder/secret.txt", "is a link"),
    ("link_to_folder/new.txt", "is a link"),
    ("link_to_folder/deep/new.txt", "is a link"),
    ("link_absolute", "is a link"),
    ("link_within", "is a link"),
    ("link_within_absolute", "is a link"),
    ("link_to_root/etc/passwd", "is a link"),
    ("link_to_root", "is a link"),
    ("link_to_proc/self/environ", "is a link"),
    ("link_to_proc/self/root/etc/passwd", "is a link"),
    ("link_to_self_root/etc/passwd", "is a link"),
    ("link_to_fd/0", "is a link"),
    ("link_dangling", "is a link"),
    ("link_dangling/new.txt", "is a link"),
    ("link_loop", "is a link"),
    ("link_to_dot/public.txt", "is a link"),
    ("link_to_parent/outside/secret.txt", "is a link"),
    ("link_chain/secret.txt", "is a link"),
    ("folder/link_deep/secret.txt", "is a link"),
    ("fifo", "is a device, a FIFO or a socket"),
    ("socket", "is a device, a FIFO or a socket"),
    ("public.txt/below", "leads through a file"),
    ("fifo/below", "leads through a file"),
    ("folder/.../../../outside/secret.txt", "contains `..`"),
    ("link_to_dot/../outside/secret.txt", "contains `..`"),
    ("public.txt/..", "contains `..`"),
    ("../outside/secret.txt/", "contains `..`"),
    ("/dev/fd/0", "is absolute"),
    ("/proc/thread-self/root/etc/passwd", "is absolute"),
    ("public.txt\r", "control character"),
    ("folder/\t", "control character"),
    ("\u{1b}[2Jpublic.txt", "control character"),
    ("public.txt\u{7f}", "control character"),
    ("\u{9b}31m.txt", "control character"),
    ("./link_to_file", "is a link"),
    ("folder/./link_deep/secret.txt", "is a link"),
    ("folder//link_deep//secret.txt", "is a link"),
    ("folder/link_deep", "is a link"),
    ("folder/link_deep/new.txt", "is a link"),
    ("link_chain/new.txt", "is a link"),
    ("link_loop/new.txt", "is a link"),
    ("link_to_dot/link_to_dot/public.txt", "is a link"),
    ("link_to_parent/inside/public.txt", "is a link"),
    ("link_to_proc/1/root/etc/passwd", "is a link"),
    ("link_to_proc/self/fd/0", "is a link"),
    ("link_to_root/proc/self/root/etc/passwd", "is a link"),
    ("link_to_self_root", "is a link"),
    ("socket/below", "leads through a file"),
];

/// Creates the workspace of the table.
fn hostile_workspace() -> Fixture {
    let fixture = Fixture::new();
    let outside = fixture.folder.join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret.txt"), SECRET).unwrap();
    fixture.write("public.txt", "public");
    fixture.write("folder/file.txt", "public");
    let link = |target: &str, name: &str| symlink(target, fixture.path(name)).unwrap();
    let (inside, outside) = (fixture.path("public.txt"), outside.to_str().unwrap().to_owned());
    link("../outside/secret.txt", "link_to_file");
    link("../outside", "link_to_folder");
    link(&format!("{outside}/secret.txt"), "link_absolute");
    link("public.txt", "link_within");
    link(inside.to_str().unwrap(), "link_within_absolute");
    link("/", "link_to_root");
    link("/proc", "link_to_proc");
    link("/proc/self/root", "link_to_self_root");
    link("/proc/self/fd", "link_to_fd");
    link("nowhere", "link_dangling");
    link("link_loop", "link_loop");
    link(".", "link_to_dot");
    link("..", "link_to_parent");
    link("link_to_folder", "link_chain");
    link("../../outside", "folder/link_deep");
    let fifo = Command::new("mkfifo").arg(fixture.path("fifo")).status().unwrap();
    assert!(fifo.success());
    UnixListener::bind(fixture.path("socket")).unwrap();
    fixture
}

/// The calls that name a path.
fn calls(path: &str) -> [(&'static str, Value); 9] {
    [
        ("file_read", json!({ "path": path })),
        ("file_list", json!({ "path": path })),
        ("glob", json!({ "path": path, "pattern": "**" })),
        ("grep", json!({ "path": path, "pattern": "." })),
        ("file_write", json!({ "path": path, "content": "pwned" })),
        ("file_edit", json!({ "path": path, "edits": [{ "old": "horse", "new": "pwned" }] })),
        ("file_move", json!({ "path": path, "to": "moved.txt" })),
        ("file_move", json!({ "path": "public.txt", "to": path })),
        ("file_delete", json!({ "path": path })),
    ]
}

#[tokio::test]
async fn paths_out_of_the_workspace_are_refused_by_every_tool() {
    let fixture = hostile_workspace();
    let before = tree(&fixture.folder);
    let mut count = 0;
    for (path, reason) in REFUSED {
        let inside = fixture.path("");
        let outside = fixture.folder.join("outside");
        let path = path
            .replace("{inside}", inside.to_str().unwrap().trim_end_matches('/'))
            .replace("{outside}", outside.to_str().unwrap());
        for (tool, arguments) in calls(&path) {
            // What is no folder is not listed, and a path that is taken is no free one.
            let is_target = arguments["to"] == path;
            let is_other_reason = !reason.starts_with("contains")
                && (matches!(tool, "file_list" | "glob" | "grep") || is_target);
            let execution = fixture.call(tool, arguments).await;
            let text = &execution.result.text;
            assert!(!execution.is_success(), "{tool} {path:?}: {text}");
            assert!(is_other_reason || text.contains(reason), "{tool} {path:?}: {text}");
            // An error about the form of a path names the argument that contains it.
            let argument = if is_target { "`to` " } else { "`path` " };
            let is_form =
                ["contains", "is absolute", "control"].iter().any(|it| reason.contains(it));
            assert!(!is_form || text.contains(argument), "{tool} {path:?}: {text}");
            assert!(!text.contains("horse"), "{tool} {path:?}: {text}");
            assert!(execution.effects.is_empty(), "{tool} {path:?}");
            count += 1;
        }
    }
    assert!(count >= 600, "{count} cases");
    assert_eq!(tree(&fixture.folder), before);
}

#[tokio::test]
async fn walks_list_no_links_and_search_no_special_files() {
    let fixture = hostile_workspace();
    let files = fixture.text("glob", json!({ "pattern": "**", "all": true })).await;
    assert_eq!(files, "path: folder/file.txt\npath: public.txt");
    let lines = fixture.text("grep", json!({ "pattern": "horse|public", "all": true })).await;
    let expected = "path: folder/file.txt | line: 1 | text: public\n\
                    path: public.txt | line: 1 | text: public";
    assert_eq!(lines, expected);
    let error = fixture.error("grep", json!({ "pattern": "a", "path": "fifo" })).await;
    assert_eq!(error, "`fifo` is a device, a FIFO or a socket, not a regular file.");
    let list = fixture.text("file_list", json!({ "depth": 5 })).await;
    for row in [
        "path: link_to_folder | type: link",
        "path: fifo | type: other",
        "path: socket | type: other",
        "path: folder/link_deep | type: link",
        "path: public.txt | type: file | bytes: 6",
    ] {
        assert!(list.lines().any(|line| line == row), "{row}\n{list}");
    }
    assert!(!list.contains("secret"), "{list}");
}

#[tokio::test]
async fn other_mounts_and_devices_are_refused() {
    let root = dispatcher(&Files::open("/").unwrap(), Policy::new());
    let devices = dispatcher(&Files::open("/dev").unwrap(), Policy::new());
    for (dispatcher, path, reason) in [
        (&root, "proc/self/environ", "into another mount"),
        (&root, "proc/self/root/etc/passwd", "into another mount"),
        (&root, "proc/1/cmdline", "into another mount"),
        (&root, "sys/kernel/notes", "into another mount"),
        (&devices, "null", "is a device"),
        (&devices, "zero", "is a device"),
        (&devices, "tty", "is a device"),
        (&devices, "fd/0", "is a link"),
        (&devices, "stdin", "is a link"),
    ] {
        for (tool, arguments) in calls(path) {
            if matches!(tool, "file_read" | "file_write" | "file_edit" | "file_delete") {
                let call = tool_runtime::ToolCall::new("1", tool, arguments.to_string());
                let execution = dispatcher.dispatch(vec![call]).await.remove(0);
                let text = &execution.result.text;
                assert!(!execution.is_success() && text.contains(reason), "{tool} {path}: {text}");
            }
        }
    }
}

#[tokio::test]
async fn metadata_of_git_is_read_but_not_changed() {
    let fixture = Fixture::new();
    fixture.write(".git/config", "[core]\n");
    fixture.write("module/.git", "gitdir: ../.git/modules/module\n");
    fixture.write("hook", "#!/bin/sh\n");
    let before = tree(&fixture.folder);
    for path in
        [".git/config", ".git/hooks/pre-commit", ".GIT/config", "module/.git", "a/.git/config"]
    {
        for (tool, arguments) in calls(path) {
            let changes = !matches!(tool, "file_read" | "file_list" | "glob" | "grep");
            if changes && arguments["path"] != "public.txt" {
                let text = fixture.error(tool, arguments).await;
                assert!(text.contains("metadata of git"), "{tool} {path}: {text}");
            }
        }
        let text = fixture.error("file_move", json!({ "path": "hook", "to": path })).await;
        assert!(text.contains("metadata of git"), "{text}");
    }
    assert_eq!(tree(&fixture.folder), before);
    assert_eq!(fixture.text("file_read", json!({ "path": ".git/config" })).await, "1\t[core]");
}

#[tokio::test]
async fn ignore_files_that_are_links_or_fifos_have_no_effect() {
    let fixture = Fixture::new();
    fs::write(fixture.folder.join("rules"), "public.txt\n").unwrap();
    fs::write(fixture.folder.join(".gitignore"), "public.txt\n").unwrap();
    fixture.write("public.txt", "");
    fixture.write("folder/file.txt", "");
    symlink("../rules", fixture.path(".gitignore")).unwrap();
    // Opening it for reading would wait for a writer.
    let fifo = Command::new("mkfifo").arg(fixture.path("folder/.ignore")).status().unwrap();
    assert!(fifo.success());
    let files = fixture.text("glob", json!({ "pattern": "*" })).await;
    assert_eq!(files, "path: folder/file.txt\npath: public.txt");
}

#[tokio::test]
async fn folder_stays_the_workspace_after_its_path_was_taken() {
    let fixture = Fixture::new();
    fixture.write("public.txt", "first");
    fs::rename(fixture.path(""), fixture.folder.join("renamed")).unwrap();
    fs::create_dir(fixture.path("")).unwrap();
    fixture.write("public.txt", SECRET);
    assert_eq!(fixture.text("file_read", json!({ "path": "public.txt" })).await, "1\tfirst");
}

#[test]
fn files_of_the_program_are_not_written_through_links() {
    let fixture = hostile_workspace();
    let outside = tree(&fixture.folder.join("outside"));
    // The others have places for the path of a folder.
    for (path, reason) in REFUSED.into_iter().filter(|(path, _)| !path.contains('{')) {
        let error = fixture.files.write(path, "pwned").unwrap_err().to_string();
        assert!(error.contains(reason), "{path:?}: {error}");
    }
    assert!(fixture.files.write(".git/hooks/x", "").is_err());
    assert_eq!(tree(&fixture.folder.join("outside")), outside);
    assert_eq!(fixture.read("public.txt"), "public");
    for text in ["one", "two"] {
        fixture.files.write("target/new/report.html", text).unwrap();
        assert_eq!(fixture.read("target/new/report.html"), text);
    }
}
