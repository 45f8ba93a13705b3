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
    // Processes that have left the group.
    ("set -m; sleep $0 & wait", 2),
    ("setsid sleep $0 & wait", 2),
    ("(setsid sh -c 'sleep $0 & exec sleep $0' $0 &) ; sleep $0 & wait", 4),
    // A process without the environment.
    ("env -i $(command -v sleep) $0 & wait", 2),
];

/// Ends of the program: a signal to it, one to its group as Ctrl-C at a terminal sends it, or its
/// own exit.
const ENDS: [&str; 6] = ["KILL", "TERM", "INT", "Ctrl-C", "exit", "abort"];

/// The program: starts the script under a marker, and ends if asked to.
#[tokio::test]
#[ignore = "runs in a process of its own"]
async fn program_starts_a_script_and_ends() {
    let [script, end, seconds] =
        [SCRIPT, END, SECONDS].map(|name| std::env::var(name).expect("set by the test"));
    let (script, count) = SCRIPTS[script.parse::<usize>().unwrap()];
    let child = ChildProcess::builder("sh").args(["-c", script, &seconds]).spawn();
    let _child = child.unwrap();
    wait_until("the script has started", || with_argument(&seconds) == count).await;
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

#[tokio::test]
async fn nothing_outlives_the_program() {
    for (number, (script, count)) in SCRIPTS.into_iter().enumerate() {
        let programs: Vec<_> = (0..)
            .zip(ENDS)
            .map(|(end_number, end)| {
                let seconds = format!("{}{number}{end_number}", std::process::id());
                let program = Command::new(std::env::current_exe().unwrap())
                    .args(["--exact", "process::program_end::program_starts_a_script_and_ends"])
                    .args(["--ignored", "--nocapture"])
                    .envs([(SCRIPT, number.to_string()), (END, end.to_owned())])
                    .env(SECONDS, &seconds)
                    .process_group(0)
                    .stdout(Stdio::null())
                    .stderr(Stdio::null())
                    .spawn();
                (program.unwrap(), end, seconds)
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
                wait_until(script, || with_argument(&seconds) == count).await;
                let kill = Command::new("kill").args(["-s", signal, "--", &target]).status();
                assert!(kill.unwrap().success());
            }
            assert!(!program.wait().unwrap().success() || end == "exit");
            wait_until(&format!("{script} by {end}"), || with_argument(&seconds) == 0).await;
        }
    }
}
