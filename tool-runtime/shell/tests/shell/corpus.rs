//! Runs the corpus of escapes as root and as another user, within namespaces of its own: the test
//! starts itself again below `unshare`.

use std::env;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;
use tool_runtime::shell::{Sandbox, Shell};
use tool_runtime::{Policy, ToolCall};

use super::canaries::{Canaries, SECRET};
use super::cases::{CASES, Case, Control};
use super::fixture::{dispatcher, eventually, is_running};

/// The variable with the folder of the corpus, of the test within the namespaces.
const FOLDER: &str = "CORPUS_FOLDER";

/// The id of the other user.
const USER: u32 = 1234;

/// The rules that Landlock does not enforce, according to its status, with the attempts that show
/// it.
const WEAKER: [(&str, &[&str]); 6] = [
    (
        "descendants may outlive the command and the program",
        &["stay behind", "stay behind by a double fork"],
    ),
    (
        "commands see names, metadata and changes of files, and processes where /proc shows them",
        &[
            "read the size of a file",
            "watch a folder",
            "watch a folder by fanotify",
            "see processes",
            "hold a process",
        ],
    ),
    (
        "commands change the metadata of the user's files, such as permissions and times",
        &[
            "set the times of a file",
            "change the mode of a file",
            "set the times of a device",
            "change the mode of a device",
            "set the times of bubblewrap",
            "change the mode of bubblewrap",
        ],
    ),
    (
        "commands change the priority and the limits of the user's other processes",
        &[
            "read the limits of a process",
            "read the scheduling of a process",
            "read the I/O priority of a process",
            "change the priority of all processes of the user",
            "change priority of a process",
        ],
    ),
    (
        ".git/hooks and .git/config are writable",
        &[
            "write a hook",
            "write the settings",
            "replace the settings",
            "lead git to other settings",
            "lead git in a worktree to other settings",
            "rename the hooks",
            "rename the repository",
            "remove the settings",
            "change mode of a hook",
            "exchange the hooks",
            "hard link to the settings",
            "write the settings by a descriptor",
            "truncate the settings",
            "write a hook of a submodule",
            "remove the hooks",
            "mount over the hooks",
            "unmount the hooks",
        ],
    ),
    (
        "files of the workspace with setuid bits or capabilities are writable",
        &[
            "change a setuid file through a mapping",
            "write a setuid file",
            "remove a setuid file",
            "exchange a setuid file",
        ],
    ),
];

/// The command line of the processes that "stay behind" starts.
const LEFT_BEHIND: &str = "sleep\x007654321";

#[test]
fn nothing_gets_through_as_root() {
    if rustix::process::geteuid().is_root() {
        run_in_namespaces("root", None);
    } else {
        println!("skipped: not root");
    }
}

#[test]
fn nothing_gets_through_as_another_user() {
    let user = rustix::process::geteuid().is_root().then_some(USER);
    run_in_namespaces("user", user);
}

/// Makes all files read-only but those of the folder in `$1`, and becomes the program that follows.
const READ_ONLY: &str = r#"
mount --bind "$1" "$1" && mount -o remount,bind,ro / || exit 1
shift
exec "$@"
"#;

/// Starts this program again in namespaces of its own, as a user.
fn run_in_namespaces(name: &str, user: Option<u32>) {
    let folder = env::temp_dir().join(format!("tool-shell-corpus-{name}-{}", std::process::id()));
    create_repository(&folder);
    // Other users may not enter the folder of the build.
    let program = folder.join("test");
    fs::copy(env::current_exe().unwrap(), &program).unwrap();
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    // A copy of bubblewrap that belongs to the user, so that a command might change its mode.
    let path = env::var_os("PATH").unwrap();
    let bwrap = env::split_paths(&path).map(|it| it.join("bwrap")).find(|it| it.exists());
    let programs = folder.join("programs");
    fs::create_dir(&programs).unwrap();
    fs::copy(bwrap.expect("this test needs bubblewrap"), programs.join("bwrap")).unwrap();
    let path = env::join_paths([programs].into_iter().chain(env::split_paths(&path))).unwrap();
    let mut command = Command::new("unshare");
    command.args(["--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child", "--mount-proc"]);
    if rustix::process::geteuid().is_root() {
        // A hole must not leave anything on the disk.
        command.args(["sh", "-c", READ_ONLY, "sh"]).arg(&folder);
        if let Some(user) = user {
            chown(&folder, user);
            let id = user.to_string();
            command.args(["setpriv", "--reuid", &id, "--regid", &id, "--clear-groups", "--"]);
        }
    } else {
        command.args(["--user", "--map-current-user"]);
    }
    command.arg(&program);
    let inner = "corpus::corpus_within_namespaces";
    command.args(["--exact", inner, "--ignored", "--nocapture"]).current_dir(&folder);
    command.env(FOLDER, &folder).env("CANARY", SECRET).env("TMPDIR", &folder).env("PATH", path);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let error = String::from_utf8_lossy(&output.stderr);
    let _ = fs::remove_dir_all(&folder);
    println!("{text}");
    assert!(output.status.success() && text.contains("1 passed"), "{text}\n{error}");
}

/// Creates a repository in the workspace, or again what an attempt has removed.
fn create_repository(folder: &Path) {
    fs::create_dir_all(folder.join("inside/.git/hooks")).unwrap();
    fs::write(folder.join("inside/.git/hooks/sample"), "").unwrap();
    fs::write(folder.join("inside/.git/config"), "").unwrap();
    let program = folder.join("inside/programs/setuid");
    fs::create_dir_all(folder.join("inside/programs")).unwrap();
    fs::write(&program, "program").unwrap();
    fs::set_permissions(program, Permissions::from_mode(0o4755)).unwrap();
}

fn chown(path: &Path, user: u32) {
    let owner = rustix::fs::Uid::from_raw(user);
    let group = rustix::fs::Gid::from_raw(user);
    rustix::fs::chown(path, Some(owner), Some(group)).unwrap();
    if path.is_dir() {
        fs::read_dir(path).unwrap().for_each(|entry| chown(&entry.unwrap().path(), user));
    }
}

#[tokio::test]
#[ignore = "runs within the namespaces that another test makes"]
async fn corpus_within_namespaces() {
    let Some(folder) = env::var_os(FOLDER).map(PathBuf::from) else { return };
    let is_root = rustix::process::geteuid().is_root();
    if is_root {
        let flags = rustix::fs::statvfs("/").unwrap().f_flag;
        assert!(flags.contains(rustix::fs::StatVfsMountFlags::RDONLY));
    }
    let mut canaries = Canaries::new(&folder);
    let mut failures = Vec::new();
    let landlock = Sandbox::workspace_write().landlock();
    for sandbox in [Sandbox::workspace_write(), Sandbox::read_only(), landlock] {
        let shell = Shell::new(folder.join("inside"), sandbox);
        let status = shell.check().expect("this test needs bubblewrap, namespaces and Landlock");
        create_repository(&folder);
        let is_promised = |case: &&Case| {
            let weakness = WEAKER.iter().find(|(_, names)| names.contains(&case.name));
            weakness.is_none_or(|(text, _)| !status.not_enforced().iter().any(|it| it == text))
        };
        let cases: Vec<_> = CASES.iter().filter(is_promised).collect();
        println!("{} cases, as root: {is_root}, {status}", cases.len());
        for case in cases {
            let output = run(&shell, &canaries, case).await;
            let mut damage = canaries.damage();
            damage.extend(output.contains("THROUGH").then(|| "success".to_owned()));
            damage.extend(output.contains(SECRET).then(|| "the secret".to_owned()));
            let is_left_behind = !eventually(|| !is_running(LEFT_BEHIND));
            damage.extend(is_left_behind.then(|| "a process lives on".to_owned()));
            if !damage.is_empty() {
                let name = case.name;
                failures.push(format!("{name} ({}): {damage:?}: {output}", status.sandbox()));
            }
        }
    }
    // Without a sandbox, the attempts succeed: they would show a hole.
    let shell = Shell::new(folder.join("inside"), Sandbox::none());
    let is_tried = |case: &&Case| match case.control {
        Control::Anybody => true,
        Control::Root => is_root,
        Control::NotTried => false,
    };
    for case in CASES.iter().filter(is_tried) {
        create_repository(&folder);
        let output = run(&shell, &canaries, case).await;
        canaries.damage();
        if !output.contains("THROUGH") {
            failures.push(format!("{} (control): no success: {output}", case.name));
        }
    }
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), CASES.len(), failures.join("\n"));
}

/// Runs an attempt, and returns its output.
async fn run(shell: &Shell, canaries: &Canaries, case: &Case) -> String {
    let command = format!("{}\n{}", canaries.variables(), case.script);
    let arguments = json!({ "command": command, "timeout": 30 }).to_string();
    let call = ToolCall::new("1", "shell_exec", arguments);
    let execution = dispatcher(shell, Policy::new()).dispatch(vec![call]).await.remove(0);
    assert!(execution.is_success(), "{}: {}", case.name, execution.result.text);
    execution.result.text
}
