//! Ends of the program: none of the processes that its tools started remains.

use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use support::processes::{wait_until, with_argument};
use tool_runtime::process::ChildProcess;

/// Selects what the program in another process does.
const SCRIPT: &str = "TOOL_TESTS_SCRIPT";
const END: &str = "TOOL_TESTS_END";
const SECONDS: &str = "TOOL_TESTS_SECONDS";

/// What a tool starts, with the number of its processes. `$0` is a unique number of seconds.
const SCRIPTS: [(&str, usize); 9] = [
    ("exec sleep $0", 1),
    ("sleep $0 & sleep $0 & wait", 3),
    // Processes whose parent has ended.
    ("(sleep $0 & sleep $0 &) ; sleep $0 & wait", 4),
    ("trap '' INT TERM HUP; sleep $0 & wait", 2),
    ("nohup sleep $0 2>/dev/null & wait", 2),
    // Processes that have left the group. Without a terminal, not every shell has jobs.
    ("$(command -v bash || command -v sh) -c 'set -m; sleep '$0' & wait' & wait", 2),
    ("setsid sleep $0 & wait", 2),
    ("(setsid sh -c 'sleep $0 & exec sleep $0' $0 &) ; sleep $0 & wait", 4),
    // A process without the environment.
    ("env -i $(command -v sleep) $0 & wait", 2),
];

/// Processes that have left the group, without the environment.
const CGROUP_SCRIPTS: [(&str, usize); 5] = [
    ("setsid env -i $(command -v sleep) $0 & wait", 2),
    ("(setsid env -i $(command -v sleep) $0 &) ; sleep $0 & wait", 3),
    ("setsid env -i $(command -v nohup) $(command -v sleep) $0 >/dev/null 2>&1 & wait", 2),
    (JOB_WITHOUT_ENVIRONMENT, 2),
    (ORPHAN_WITHOUT_TRACES, 3),
];

const JOB_WITHOUT_ENVIRONMENT: &str = "$(command -v bash || command -v sh) -c \
    'set -m; env -i '$(command -v sleep)' '$0' & wait' & wait";

/// A daemon: its parents have ended, and it has nothing in common with them but the cgroup.
const ORPHAN_WITHOUT_TRACES: &str = "setsid env -i $(command -v sh) -c \
    '(cd / && exec setsid /bin/sleep '$0' </dev/null >/dev/null 2>&1 &)' & sleep $0 & wait";

fn scripts() -> impl Iterator<Item = (&'static str, usize)> {
    SCRIPTS.into_iter().chain(CGROUP_SCRIPTS)
}

/// Returns whether a program can have a cgroup, without which a process that leaves its group and
/// clears its environment outlives the program.
fn has_cgroups() -> bool {
    let own_groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let own_group = own_groups.lines().find_map(|line| line.strip_prefix("0::"));
    ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].into_iter().any(|mount| {
        let Some(own_group) = own_group else { return false };
        let probe = format!("{mount}{own_group}/tool-tests-{}", std::process::id());
        let is_group = std::fs::create_dir(&probe).is_ok()
            && std::path::Path::new(&probe).join("cgroup.kill").exists();
        _ = std::fs::remove_dir(&probe);
        is_group
    })
}

/// Ends of the program: a signal to it, one to its group as Ctrl-C at a terminal sends it, or its
/// own exit.
const ENDS: [&str; 6] = ["KILL", "TERM", "INT", "Ctrl-C", "exit", "abort"];

/// The program: starts the script under a marker, and ends if asked to.
#[tokio::test]
#[ignore = "runs in a process of its own"]
async fn program_starts_a_script_and_ends() {
    let [script, end, seconds] =
        [SCRIPT, END, SECONDS].map(|name| std::env::var(name).expect("set by the test"));
    let (script, count) = scripts().nth(script.parse().unwrap()).unwrap();
    // A process that leaves everything at once can leave before it is moved to the cgroup.
    let is_moved = "until grep -q tool-runtime- /proc/$$/cgroup; do :; done";
    let needs_cgroup = CGROUP_SCRIPTS.iter().any(|(of_cgroup, _)| *of_cgroup == script);
    let script = if needs_cgroup { format!("{is_moved}; {script}") } else { script.to_owned() };
    let child = ChildProcess::builder("sh").args(["-c", &script, &seconds]).spawn();
    let _child = child.unwrap();
    wait_until("the script has started", || with_argument(&seconds) == count).await;
    std::fs::write(started_file(&seconds), "").unwrap();
    match end.as_str() {
        "exit" => std::process::exit(0),
        "abort" => std::process::abort(),
        // SIGINT is ignored where a shell has started the tests in the background.
        _ => {
            tokio::signal::ctrl_c().await.unwrap();
            std::process::exit(130);
        }
    }
}

/// Returns the file that a program creates when it has started its script, and so has named the
/// group of the script to the shell that waits beside it.
fn started_file(seconds: &str) -> std::path::PathBuf {
    std::env::temp_dir().join(format!("tool-tests-started-{seconds}"))
}

/// Returns the process ids of the shells that wait beside a program.
fn shells(program: u32) -> Vec<String> {
    let id = format!("{program}-");
    let is_shell = |pid: &String| {
        let arguments = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let mut arguments = arguments.split('\0').skip_while(|argument| *argument != "watchdog");
        arguments.nth(1).is_some_and(|program| program.starts_with(&id))
    };
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(is_shell).collect()
}

fn start_program(script: usize, end: &str, seconds: &str) -> std::process::Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "process::program_end::program_starts_a_script_and_ends"])
        .args(["--ignored", "--nocapture"])
        .envs([(SCRIPT, &*script.to_string()), (END, end), (SECONDS, seconds)])
        .process_group(0)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// A process that a tool has started can kill the shell, or stop it.
#[tokio::test]
async fn killed_or_stopped_shell_is_replaced() {
    let seconds = format!("{}9999", std::process::id());
    let mut program = start_program(1, "TERM", &seconds);
    let pid = program.id();
    let (_, count) = SCRIPTS[1];
    wait_until("the script has started", || with_argument(&seconds) == count).await;
    for signal in ["KILL", "STOP", "TSTP", "QUIT", "TTIN", "SEGV", "TTOU", "STOP", "KILL"] {
        let killed = shells(pid);
        assert_eq!(killed.len(), 1, "{killed:?}");
        let kill = |pid: &str| Command::new("kill").args(["-s", signal, pid]).status().unwrap();
        assert!(kill(&killed[0]).success());
        let is_replaced = || matches!(&*shells(pid), [shell] if *shell != killed[0]);
        wait_until(&format!("another shell after {signal}"), is_replaced).await;
    }
    program.kill().unwrap();
    program.wait().unwrap();
    wait_until("nothing is left", || with_argument(&seconds) == 0).await;
    _ = std::fs::remove_file(started_file(&seconds));
}

/// The program: stops its shell, and starts processes until another shell replaces it.
#[tokio::test]
#[ignore = "runs in a process of its own"]
async fn program_stops_its_shell_and_ends() {
    let seconds = std::env::var(SECONDS).expect("set by the test");
    let (script, count) = SCRIPTS[1];
    let child = ChildProcess::builder("sh").args(["-c", script, &seconds]).spawn();
    let _child = child.unwrap();
    wait_until("the script has started", || with_argument(&seconds) == count).await;
    let stopped = shells(std::process::id());
    assert_eq!(stopped.len(), 1, "{stopped:?}");
    let stop = Command::new("kill").args(["-s", "STOP", &stopped[0]]).status().unwrap();
    assert!(stop.success());
    for _ in 0..2_000 {
        drop(ChildProcess::builder("true").spawn().unwrap());
        let shells = shells(std::process::id());
        if shells.len() == 1 && shells != stopped {
            std::process::exit(0);
        }
    }
    std::process::exit(1);
}

/// A process that a tool has started can stop the shell, which then reads nothing.
#[tokio::test]
async fn shell_that_does_not_read_is_replaced() {
    let seconds = format!("{}7777", std::process::id());
    let mut program = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "process::program_end::program_stops_its_shell_and_ends"])
        .args(["--ignored", "--nocapture"])
        .env(SECONDS, &seconds)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    assert!(program.wait().unwrap().success(), "the shell was not replaced");
    wait_until("nothing is left", || with_argument(&seconds) == 0).await;
}

#[tokio::test]
async fn nothing_outlives_the_program() {
    let has_cgroups = has_cgroups();
    for (number, (script, _)) in scripts().enumerate() {
        if !has_cgroups && number >= SCRIPTS.len() {
            eprintln!("not tested, because no cgroup can be created: {script}");
            continue;
        }
        let programs: Vec<_> = (0..)
            .zip(ENDS)
            .map(|(end_number, end)| {
                let seconds = format!("{}{number}{end_number}", std::process::id());
                (start_program(number, end, &seconds), end, seconds)
            })
            .collect();
        for (mut program, end, seconds) in programs {
            let pid = program.id();
            let signal = match end {
                "exit" | "abort" => None,
                "Ctrl-C" => Some(("INT", format!("-{pid}"))),
                signal => Some((signal, pid.to_string())),
            };
            if let Some((signal, target)) = signal {
                wait_until(script, || started_file(&seconds).exists()).await;
                let kill = Command::new("kill").args(["-s", signal, "--", &target]).status();
                assert!(kill.unwrap().success());
            }
            assert!(!program.wait().unwrap().success() || end == "exit");
            wait_until(&format!("{script} by {end}"), || with_argument(&seconds) == 0).await;
            std::fs::remove_file(started_file(&seconds)).unwrap();
        }
    }
}
