//! Repositories of other forms than a folder `.git`.

use std::fs;

use serde_json::json;
use tool_toolbox::Sandbox;

use super::fixture::Fixture;

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
