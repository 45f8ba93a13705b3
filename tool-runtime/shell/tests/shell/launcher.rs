//! Programs that code starts in a sandbox, with further folders.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tool_runtime::shell::{Sandbox, SandboxLauncher};

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
    let sandbox = Sandbox::workspace_write().max_file_bytes(1000);
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

#[tokio::test]
async fn readable_link_into_the_workspace_leads_nowhere_else() {
    let folders = Folders::new("link");
    for name in ["work/tool", "secrets"] {
        fs::create_dir_all(folders.path(name)).unwrap();
        fs::write(folders.path(name).join("file"), name).unwrap();
    }
    let link = folders.path("link");
    symlink(folders.path("work/tool"), &link).unwrap();
    let sandbox = Sandbox::workspace_write().readable(&link);
    let launcher = SandboxLauncher::new(folders.path("work"), sandbox).unwrap();
    let swap = format!("rm -r tool && ln -s {} tool", folders.path("secrets").display());
    run(&launcher, &swap, "").await;
    assert!(folders.path("work/tool").is_symlink());
    let (output, _) = run(&launcher, &format!("cat tool/file {}/file", link.display()), "").await;
    assert_eq!(output, "");
}

#[tokio::test]
async fn folders_of_programs_are_not_writable() {
    let folders = Folders::new("programs");
    let sandbox = Sandbox::read_only().writable("/usr/local/bin");
    let error = SandboxLauncher::new(folders.path("work"), sandbox).unwrap_err();
    assert!(error.to_string().contains("belongs to the system"), "{error}");
    let error = SandboxLauncher::new("/usr/lib", Sandbox::workspace_write()).unwrap_err();
    assert!(error.to_string().contains("belongs to the system"), "{error}");
    assert!(SandboxLauncher::new("/usr/lib", Sandbox::read_only()).is_ok());
    for (folder, reason) in [
        ("/usr/local", "belongs to the system or its programs"),
        ("/etc/ssl", "belongs to the system or its programs"),
        ("/opt", "contains /opt, which belongs to the system or its programs"),
        ("/usr/share", "belongs to the system or its programs"),
        ("/var/lib", "contains /var/lib/"),
    ] {
        let sandboxes = [Sandbox::workspace_write(), Sandbox::workspace_write().landlock()].map(Ok);
        let written = Err(Sandbox::read_only().writable(folder));
        for sandbox in sandboxes.into_iter().chain([written]) {
            let launcher = match sandbox {
                Ok(sandbox) => SandboxLauncher::new(folder, sandbox),
                Err(sandbox) => SandboxLauncher::new(folders.path("work"), sandbox),
            };
            let error = launcher.unwrap_err().to_string();
            assert!(error.contains(reason), "{folder}: {error}");
        }
    }
}

#[tokio::test]
async fn environment_is_in_no_command_line() {
    let folders = Folders::new("environment");
    let value = format!("t0k3n-{}", std::process::id());
    let sandbox = Sandbox::read_only().env("TOKEN", &value).env("EMPTY", "").env("LINES", "a\nb");
    let launcher = SandboxLauncher::new(folders.path("work"), sandbox).unwrap();
    let mut process = launcher.spawn(["sh", "-c", "env; read -r line"]).await.unwrap();
    let mut output = vec![0; 1000];
    let mut length = 0;
    let mut stdout = process.take_stdout().unwrap();
    while !String::from_utf8_lossy(&output[..length]).contains("LINES=a\nb\n") {
        length += stdout.read(&mut output[length..]).await.unwrap();
    }
    let text = String::from_utf8_lossy(&output[..length]).into_owned();
    assert!(text.contains(&format!("TOKEN={value}\n")) && text.contains("EMPTY=\n"), "{text}");
    for entry in fs::read_dir("/proc").unwrap() {
        let words = fs::read(entry.unwrap().path().join("cmdline")).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&words).contains(&value));
    }
    process.kill().await.unwrap();
}

/// Programs such as systemd, runc and container tools try it first.
#[tokio::test]
async fn openat2_is_answered_as_by_an_old_kernel() {
    let folders = Folders::new("openat2");
    let script = "python3 -c 'import ctypes; libc = ctypes.CDLL(None, use_errno=True); \
        print(libc.syscall(437, -100, b\".\", b\"\\0\" * 24, 24), ctypes.get_errno())'";
    for sandbox in [Sandbox::read_only(), Sandbox::read_only().landlock()] {
        let launcher = SandboxLauncher::new(folders.path("work"), sandbox).unwrap();
        assert_eq!(run(&launcher, script, "").await.0, "-1 38\n");
    }
}
