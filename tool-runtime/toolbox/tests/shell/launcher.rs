//! Programs that code starts in a sandbox, with further folders.

use std::fs;
use std::path::{Path, PathBuf};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tool_toolbox::{Sandbox, SandboxLauncher};

/// A folder with folders in it, removed on drop.
struct Folders(PathBuf);

impl Folders {
    fn new(name: &str) -> Self {
        let folder =
            std::env::temp_dir().join(format!("tool-launcher-{name}-{}", std::process::id()));
        for inner in ["work/inner", "shared/.git", "other"] {
            fs::create_dir_all(folder.join(inner)).unwrap();
        }
        fs::write(folder.join("shared/.git/config"), "").unwrap();
        Self(folder.canonicalize().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folders {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Runs a script and returns its output and the end of its standard error.
async fn run(launcher: &SandboxLauncher, script: &str, input: &str) -> (String, String) {
    let mut process = launcher.spawn(["sh", "-c", script]).await.unwrap();
    let mut stdin = process.take_stdin().unwrap();
    stdin.write_all(input.as_bytes()).await.unwrap();
    drop(stdin);
    let mut output = String::new();
    process.take_stdout().unwrap().read_to_string(&mut output).await.unwrap();
    process.wait().await.unwrap();
    (output, process.stderr_tail())
}

/// Returns whether a script can create a file in a folder.
async fn can_write(launcher: &SandboxLauncher, folder: &Path) -> bool {
    let script = format!("echo x > {}/new && echo written", folder.display());
    run(launcher, &script, "").await.0 == "written\n"
}

#[tokio::test]
async fn streams_of_a_program_are_separate() {
    let folders = Folders::new("streams");
    let launcher = SandboxLauncher::new(folders.path("work"), Sandbox::read_only()).unwrap();
    let (output, error) = run(&launcher, "cat; echo problem >&2", "from input").await;
    assert_eq!((output.as_str(), error.trim()), ("from input", "problem"));
    assert!(launcher.status().is_confined());
}

#[tokio::test]
async fn further_folders_are_writable_and_others_are_not() {
    let folders = Folders::new("writable");
    let sandbox = Sandbox::read_only().readable(folders.path("other"));
    let sandbox = sandbox.writable(folders.path("shared")).writable(folders.path("work/inner"));
    let launcher = SandboxLauncher::new(folders.path("work"), sandbox).unwrap();
    for (name, is_writable) in [
        ("work", false),
        ("work/inner", true),
        ("shared", true),
        ("shared/.git/hooks", false),
        ("other", false),
    ] {
        let path = folders.path(name);
        assert_eq!(can_write(&launcher, &path).await, is_writable, "{name}");
    }
    let (output, _) = run(&launcher, &format!("ls {}", folders.path("other").display()), "").await;
    assert_eq!(output, "", "readable, and nothing was written to it");
    // A workspace below a folder that is writable stays read-only.
    let sandbox = Sandbox::read_only().writable(&folders.0);
    let launcher = SandboxLauncher::new(folders.path("work"), sandbox).unwrap();
    assert!(!can_write(&launcher, &folders.path("work")).await);
    assert!(can_write(&launcher, &folders.path("other")).await);
}

#[tokio::test]
async fn file_size_is_limited() {
    let folders = Folders::new("size");
    let sandbox = Sandbox::workspace_write().file_bytes(1000);
    let launcher = SandboxLauncher::new(folders.path("work"), sandbox).unwrap();
    run(&launcher, "head -c 5000 /dev/zero > large", "").await;
    assert_eq!(fs::metadata(folders.path("work/large")).unwrap().len(), 1000);
}

#[tokio::test]
async fn folders_that_do_not_exist_or_belong_to_the_system_are_refused() {
    let folders = Folders::new("refused");
    for (folder, reason) in
        [("no/such/folder", "can't be opened"), ("/", "contains folders of the system")]
    {
        let sandbox = Sandbox::read_only().writable(folder);
        let error = SandboxLauncher::new(folders.path("work"), sandbox).unwrap_err();
        assert!(error.to_string().contains(reason), "{error}");
    }
    let launcher = SandboxLauncher::new(folders.path("work"), Sandbox::read_only()).unwrap();
    assert!(launcher.spawn(Vec::<String>::new()).await.is_err());
    assert!(launcher.spawn(["echo", "a\0b"]).await.is_err());
    let mut missing = launcher.spawn(["no-such-program"]).await.unwrap();
    assert_eq!(missing.wait().await.unwrap().code(), Some(127));
}

#[tokio::test]
async fn hidden_files_do_not_exist() {
    let folders = Folders::new("hidden");
    for (sandbox, expected) in [
        (Sandbox::read_only(), "/etc/group\n/etc/passwd\n"),
        (Sandbox::read_only().hidden("/etc/passwd"), "/etc/group\n"),
    ] {
        let launcher = SandboxLauncher::new(folders.path("work"), sandbox).unwrap();
        let (output, _) = run(&launcher, "ls /etc/group /etc/passwd", "").await;
        assert_eq!(output, expected);
    }
}
