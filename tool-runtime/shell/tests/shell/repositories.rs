//! Repositories of other forms than a folder `.git`.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;
use tool_runtime::shell::{Sandbox, SandboxLauncher};

use super::fixture::{Fixture, eventually};

#[tokio::test]
async fn bare_repository_keeps_its_hooks_and_settings() {
    let fixture = Fixture::with(Sandbox::workspace_write(), |folder| {
        for name in ["objects", "refs", "hooks"] {
            fs::create_dir(folder.join(name)).unwrap();
        }
        fs::write(folder.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(folder.join("config"), "[core]\n\tbare = true\n").unwrap();
    });
    for attempt in [
        "echo x >hooks/post-receive",
        "echo x >>config",
        "rm config",
        "mv hooks old-hooks",
        "echo evil >commondir",
        "mkdir modules/evil",
    ] {
        let (code, output) = fixture.run(attempt).await;
        assert_ne!(code, 0, "{attempt}: {output}");
    }
    assert_eq!(fs::read_dir(fixture.path("hooks")).unwrap().count(), 0);
    // Git takes it for the same repository as before, and can write to it.
    let (code, output) = fixture.run("git rev-parse --is-bare-repository --git-dir").await;
    assert_eq!((code, output.trim()), (0, "true\n."));
    let (code, output) = fixture.run("git hash-object -w --stdin <HEAD").await;
    assert_eq!(code, 0, "{output}");
}

#[tokio::test]
async fn file_that_names_a_repository_cannot_be_changed() {
    let fixture = Fixture::with(Sandbox::workspace_write(), |folder| {
        fs::write(folder.join(".git"), "gitdir: /elsewhere/.git/worktrees/w\n").unwrap();
    });
    for attempt in [
        "echo gitdir: evil >.git",
        "rm .git",
        "mv .git old",
        "mkdir new && mv -T new .git",
        "ln .git linked && echo gitdir: evil >linked",
    ] {
        let (code, output) = fixture.run(attempt).await;
        assert_ne!(code, 0, "{attempt}: {output}");
    }
    let content = fixture.value("shell_exec", json!({ "argv": ["cat", ".git"] })).await;
    assert_eq!(content["output"], "gitdir: /elsewhere/.git/worktrees/w\n");
}

/// Creates a repository with a commit in the workspace.
fn create_repository(folder: &Path) {
    let script = "git init -q && echo one >file && git add file && \
        git -c user.name=Ada -c user.email=ada@example.com commit -q -m first";
    let status = Command::new("sh").args(["-c", script]).current_dir(folder).status().unwrap();
    assert!(status.success(), "this test needs git");
}

/// Returns the lines about what a command has left behind.
async fn left_behind(fixture: &Fixture, command: &str) -> Vec<String> {
    let value = fixture.value("shell_exec", json!({ "command": command })).await;
    assert_eq!(value["exit_code"], 0, "{command}: {value}");
    let lines = value["left_behind"].as_array().cloned().unwrap_or_default();
    lines.iter().map(|line| line.as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn links_that_git_would_follow_are_removed_and_reported() {
    let sandboxes = [Sandbox::workspace_write(), Sandbox::workspace_write().landlock()];
    for sandbox in sandboxes {
        let fixture = Fixture::with(sandbox, create_repository);
        let outside = fixture.folder.join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("profile"), "mine").unwrap();
        let file = outside.join("profile").display().to_string();
        for (script, paths) in [
            ("ln -s 'FILE' .git/COMMIT_EDITMSG.x", &[".git/COMMIT_EDITMSG.x"][..]),
            ("ln -sf 'FILE' .git/COMMIT_EDITMSG", &[".git/COMMIT_EDITMSG"]),
            ("ln -s 'FILE' .git/FETCH_HEAD", &[".git/FETCH_HEAD"]),
            ("ln -s 'FILE' .git/TAG_EDITMSG", &[".git/TAG_EDITMSG"]),
            ("ln -sf 'FILE' .git/logs/HEAD", &[".git/logs/HEAD"]),
            ("ln -sf 'FILE' .git/index", &[".git/index"]),
            ("ln -s 'FILE' .git/packed-refs", &[".git/packed-refs"]),
            ("mkdir .git/x; ln -s 'FILE' .git/x/y; chmod 300 .git/x", &[".git/x/y"]),
            ("mv .git/logs .git/l; ln -s '../..' .git/logs", &[".git/logs"]),
            ("ln -s a .git/a", &[".git/a"]),
            ("ln -s /no/such/file .git/b", &[".git/b"]),
            ("ln -s 'FILE' .git/objects/pack/c", &[".git/objects/pack/c"]),
            ("ln -s x .git/$'\\n\\e[2J'", &[".git/\\n\\u{1b}[2J"]),
            // A descendant makes it again while the command ends.
            (
                "(trap '' HUP TERM; while :; do ln -sfn 'FILE' .git/MERGE_MSG; done) & sleep 0.1",
                &[".git/MERGE_MSG"],
            ),
        ] {
            let is_endless = script.contains("while");
            if is_endless && fixture.shell.check().unwrap().to_string().contains("landlock") {
                // There, descendants outlive the command.
                continue;
            }
            let mut lines = left_behind(&fixture, &script.replace("FILE", &file)).await;
            if is_endless {
                // `ln -f` first makes a link with a random name, which its end can leave.
                lines.retain(|line| line.contains("MERGE_MSG"));
            }
            assert_eq!(lines.len(), paths.len(), "{script}: {lines:?}");
            for (path, line) in paths.iter().zip(&lines) {
                assert!(line.starts_with(&format!("removed the link \"{path}\" -> ")), "{line}");
            }
            let found = links(&fixture.path(".git"));
            assert!(found.is_empty(), "{script}: {found:?}");
        }
        assert_eq!(fs::read_to_string(outside.join("profile")).unwrap(), "mine");
    }
}

/// Returns the links below a folder.
fn links(folder: &Path) -> Vec<PathBuf> {
    let mut links = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let file_type = entry.file_type().unwrap();
        if file_type.is_symlink() {
            links.push(entry.path());
        } else if file_type.is_dir() {
            links.extend(self::links(&entry.path()));
        }
    }
    links
}

#[tokio::test]
async fn links_of_repositories_that_a_command_creates_are_removed() {
    for (script, path) in [
        ("git init -q && ln -s /etc/hostname .git/COMMIT_EDITMSG", ".git/COMMIT_EDITMSG"),
        ("git init -q && mkdir -p .git/modules/m && ln -s / .git/modules/m/x", ".git/modules/m/x"),
        ("mkdir -p .git/worktrees/w && ln -s / .git/worktrees/w/logs", ".git/worktrees/w/logs"),
        ("mkdir evil && ln -s evil .git", ".git"),
        ("git init -q --bare . && ln -s / COMMIT_EDITMSG", "COMMIT_EDITMSG"),
    ] {
        let fixture = Fixture::new(Sandbox::workspace_write());
        let lines = left_behind(&fixture, script).await;
        assert_eq!(lines.len(), 1, "{script}: {lines:?}");
        assert!(lines[0].starts_with(&format!("removed the link {path:?} -> ")), "{lines:?}");
        assert!(fixture.path(path).symlink_metadata().is_err(), "{script}");
    }
}

#[tokio::test]
async fn links_that_existed_before_stay_and_are_reported() {
    let fixture = Fixture::with(Sandbox::workspace_write(), |folder| {
        create_repository(folder);
        fs::create_dir(folder.join("shared")).unwrap();
        fs::write(folder.join("shared/exclude"), "").unwrap();
        symlink("/usr/share", folder.join(".git/foreign")).unwrap();
        symlink("refs/heads", folder.join(".git/own")).unwrap();
        symlink("../../shared/exclude", folder.join(".git/info/exclude2")).unwrap();
    });
    let status = fixture.shell.check().unwrap().to_string();
    assert!(status.contains(".git/foreign") && status.contains("and 1 more"), "{status}");
    assert_eq!(left_behind(&fixture, "touch .git/x").await, Vec::<String>::new());
    assert_eq!(links(&fixture.path(".git")).len(), 3);
    // One that leads elsewhere now, and one that was exchanged.
    let lines = left_behind(&fixture, "mv shared old && ln -s /usr/lib shared").await;
    assert!(lines.len() == 1 && lines[0].contains(".git/info/exclude2"), "{lines:?}");
    let lines = left_behind(&fixture, "ln -sfn /usr/lib .git/foreign").await;
    assert!(lines.len() == 1 && lines[0].contains("\"/usr/lib\""), "{lines:?}");
    assert_eq!(links(&fixture.path(".git")), [fixture.path(".git/own")]);
}

#[tokio::test]
async fn command_that_is_stopped_leaves_no_links() {
    let fixture = Fixture::with(Sandbox::workspace_write(), create_repository);
    let command = "ln -sf /etc/hostname .git/COMMIT_EDITMSG; echo; sleep 1000";
    let arguments = json!({ "command": command, "timeout": 1 });
    let value = fixture.value("shell_exec", arguments).await;
    assert_eq!(
        (&value["timed_out"], value["left_behind"].as_array().unwrap().len()),
        (&json!(true), 1)
    );
    assert!(links(&fixture.path(".git")).is_empty());

    let link = fixture.path(".git/FETCH_HEAD");
    let command = "ln -s /etc/hostname .git/FETCH_HEAD; sleep 1000";
    let call = fixture.call("shell_exec", json!({ "command": command }));
    let exists = {
        let link = link.clone();
        move || eventually(|| link.is_symlink())
    };
    tokio::select! {
        _ = call => panic!("the command has ended"),
        exists = tokio::task::spawn_blocking(exists) => assert!(exists.unwrap()),
    }
    assert!(eventually(|| !link.is_symlink()));
    // The next result reports it.
    let lines = eventually_left_behind(&fixture).await;
    assert!(lines.len() == 1 && lines[0].contains("FETCH_HEAD"), "{lines:?}");
}

/// Runs commands until one reports what earlier ones have left behind.
async fn eventually_left_behind(fixture: &Fixture) -> Vec<String> {
    for _ in 0..100 {
        let lines = left_behind(fixture, "true").await;
        if !lines.is_empty() {
            return lines;
        }
    }
    Vec::new()
}

#[tokio::test]
async fn background_process_can_not_write_to_a_repository() {
    let fixture = Fixture::with(Sandbox::workspace_write(), create_repository);
    let command = "ln -s /etc/hostname .git/FETCH_HEAD; echo x >.git/MERGE_MSG; \
        git log --oneline | wc -l; echo x >file";
    fixture.value("shell_start", json!({ "command": command })).await;
    let value = fixture.value("shell_output", json!({ "process": 1, "wait": 30 })).await;
    let output = value["output"].as_str().unwrap();
    assert_eq!(output.matches("Read-only file system").count(), 2, "{output}");
    assert!(output.contains("\n1\n"), "{output}");
    assert_eq!(fs::read_to_string(fixture.path("file")).unwrap(), "x\n");
    // A repository that it creates itself is cleaned at its end.
    let fixture = Fixture::new(Sandbox::workspace_write());
    let command = "git init -q; ln -s /etc/hostname .git/COMMIT_EDITMSG";
    fixture.value("shell_start", json!({ "command": command })).await;
    let value = fixture.value("shell_output", json!({ "process": 1, "wait": 30 })).await;
    let output = value["output"].as_str().unwrap();
    assert!(output.contains("sandbox: removed the link \".git/COMMIT_EDITMSG\""), "{output}");
    assert!(links(&fixture.path(".git")).is_empty());
}

#[tokio::test]
async fn commits_work_in_the_sandbox() {
    let fixture = Fixture::with(Sandbox::workspace_write(), create_repository);
    let script = "echo two >>file && git -c user.name=Ada -c user.email=ada@example.com commit -qam \
        second && git gc -q && git log --oneline | wc -l";
    assert_eq!(left_behind(&fixture, script).await, Vec::<String>::new());
    let (_, output) = fixture.run("git log --oneline | wc -l").await;
    assert_eq!(output, "2\n");
}

#[tokio::test]
async fn program_that_leaves_links_in_a_new_repository_is_an_error() {
    let fixture = Fixture::with(Sandbox::workspace_write(), create_repository);
    let folder = fixture.folder.join("written");
    fs::create_dir(&folder).unwrap();
    let sandbox = Sandbox::read_only().writable(&folder);
    let launcher = SandboxLauncher::new(fixture.path(""), sandbox).unwrap();
    let script = format!("cd '{}' && git init -q && ln -s / .git/x", folder.display());
    let mut process = launcher.spawn(["sh", "-c", &script]).await.unwrap();
    let error = process.wait().await.unwrap_err().to_string();
    assert!(error.starts_with("links left behind: removed the link \".git/x\""), "{error}");
    assert!(links(&folder.join(".git")).is_empty());
}

/// Creates repositories of each form in subfolders.
fn create_nested(folder: &Path) {
    for name in ["sub", "deep/er"] {
        fs::create_dir_all(folder.join(name)).unwrap();
        create_repository(&folder.join(name));
    }
    for name in ["objects", "refs", "hooks"] {
        fs::create_dir_all(folder.join("store.git").join(name)).unwrap();
    }
    fs::write(folder.join("store.git/HEAD"), "ref: refs/heads/main\n").unwrap();
    fs::write(folder.join("store.git/config"), "[core]\n\tbare = true\n").unwrap();
    fs::create_dir(folder.join("worktree")).unwrap();
    fs::write(folder.join("worktree/.git"), "gitdir: /elsewhere\n").unwrap();
}

#[tokio::test]
async fn repositories_in_subfolders_keep_their_hooks_and_settings() {
    let fixture = Fixture::with(Sandbox::workspace_write(), create_nested);
    for attempt in [
        "echo x >sub/.git/hooks/pre-commit",
        "echo x >>sub/.git/config",
        "rm sub/.git/config",
        "mv sub/.git sub/old",
        "rm -rf sub/.git/hooks",
        "echo evil >deep/er/.git/commondir",
        "echo evil >deep/er/.git/config.worktree",
        "mkdir deep/er/.git/modules/evil",
        "mkdir deep/er/.git/worktrees/evil",
        "echo x >store.git/hooks/post-receive",
        "echo x >>store.git/config",
        "echo gitdir: evil >worktree/.git",
        "rm worktree/.git",
    ] {
        let (code, output) = fixture.run(attempt).await;
        assert_ne!(code, 0, "{attempt}: {output}");
    }
    let script = "cd sub && echo two >>file && \
        git -c user.name=Ada -c user.email=ada@example.com commit -qam second";
    assert_eq!(left_behind(&fixture, script).await, Vec::<String>::new());
    // In the background, they are read-only.
    let command = "echo x >sub/.git/MERGE_MSG; echo x >store.git/FETCH_HEAD; echo x >sub/file";
    fixture.value("shell_start", json!({ "command": command })).await;
    let value = fixture.value("shell_output", json!({ "process": 1, "wait": 30 })).await;
    let output = value["output"].as_str().unwrap();
    assert_eq!(output.matches("Read-only file system").count(), 2, "{output}");
    assert_eq!(fs::read_to_string(fixture.path("sub/file")).unwrap(), "x\n");
}

#[tokio::test]
async fn links_in_repositories_of_subfolders_are_removed_and_reported() {
    for sandbox in [Sandbox::workspace_write(), Sandbox::workspace_write().landlock()] {
        let fixture = Fixture::with(sandbox, create_nested);
        for (script, path) in [
            ("ln -sf /etc/hostname sub/.git/COMMIT_EDITMSG", "sub/.git/COMMIT_EDITMSG"),
            ("ln -s / deep/er/.git/FETCH_HEAD", "deep/er/.git/FETCH_HEAD"),
            ("ln -sf / deep/er/.git/logs/HEAD", "deep/er/.git/logs/HEAD"),
            ("ln -s / sub/.git/logs/x; chmod 300 sub/.git/logs", "sub/.git/logs/x"),
            ("ln -s / sub/.git/logs/x; chmod 300 sub", "sub/.git/logs/x"),
            ("ln -s / store.git/FETCH_HEAD", "store.git/FETCH_HEAD"),
            ("mkdir x; ln -s ../sub x/.git", "x/.git"),
        ] {
            let lines = left_behind(&fixture, script).await;
            let removed = format!("removed the link {path:?} -> ");
            assert!(lines.iter().any(|line| line.starts_with(&removed)), "{script}: {lines:?}");
            assert!(fixture.path(path).symlink_metadata().is_err(), "{script}");
        }
    }
}

#[tokio::test]
async fn new_repositories_in_subfolders_are_reported() {
    let fixture = Fixture::with(Sandbox::workspace_write(), create_nested);
    for (script, paths) in [
        ("git init -q new", &["new/.git"][..]),
        ("git init -q a/b/c", &["a/b/c/.git"]),
        ("git init -q --bare bare", &["bare"]),
        ("cp -r sub copy", &["copy/.git"]),
        ("mkdir file && echo 'gitdir: ../sub/.git' >file/.git", &["file/.git"]),
        ("mv sub moved && git init -q sub", &["moved/.git", "sub/.git"]),
        ("touch new/file", &[]),
    ] {
        let lines = left_behind(&fixture, script).await;
        let expected = paths.iter().map(|path| {
            format!("the repository {path:?} is new: git runs its hooks and what its settings name")
        });
        assert_eq!(lines, expected.collect::<Vec<_>>(), "{script}");
    }
}

#[tokio::test]
async fn many_repositories_in_subfolders_are_read_only() {
    // The most whose parts are mounted one by one.
    for (count, is_read_only) in [(16, false), (17, true)] {
        let fixture = Fixture::with(Sandbox::workspace_write(), |folder| {
            for number in 0..count {
                let path = folder.join(format!("sub{number}"));
                fs::create_dir(&path).unwrap();
                create_repository(&path);
            }
        });
        let (code, output) = fixture.run("echo x >sub0/.git/hooks/post-commit").await;
        assert_ne!(code, 0, "{count}: {output}");
        let (code, output) = fixture.run("echo x >>sub0/.git/config").await;
        assert_ne!(code, 0, "{count}: {output}");
        let (code, output) = fixture.run("echo x >sub0/.git/MERGE_MSG").await;
        assert_eq!(code != 0, is_read_only, "{count}: {output}");
        let (code, output) = fixture.run("echo x >sub0/file").await;
        assert_eq!(code, 0, "{count}: {output}");
    }
}
