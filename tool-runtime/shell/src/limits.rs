//! The environment and the limits of each process of a command.

use std::path::Path;

use rustix::process::{Resource, getrlimit};

use crate::sandbox::Sandbox;

/// The limit that is never enforced without the program that sets it.
pub(crate) const NO_FILE_LIMIT: &str = "the size of files (no prlimit)";

/// The protection that takes a shell which can close all files.
pub(crate) const NO_BASH: &str = "the hiding of files that the program has opened without \
    close-on-exec, from descriptor 10 on (no bash)";

/// The environment of a command, before that of the program.
const ENVIRONMENT: [(&str, &str); 4] = [
    ("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"),
    ("HOME", "/tmp"),
    ("LANG", "C.UTF-8"),
    ("TERM", "dumb"),
];

/// Returns the environment of a sandboxed command. Later variables replace earlier ones.
pub(crate) fn environment(sandbox: &Sandbox) -> impl Iterator<Item = (&str, &str)> {
    let of_program = sandbox.env.iter().map(|(name, value)| (&**name, &**value));
    ENVIRONMENT.into_iter().chain(of_program)
}

/// Returns the program that sets limits, if the machine has it.
pub(crate) fn prlimit() -> Option<&'static str> {
    ["/usr/bin/prlimit", "/bin/prlimit"].into_iter().find(|path| Path::new(path).exists())
}

/// Returns the words before a command that limit each of its processes.
pub(crate) fn limits(sandbox: &Sandbox) -> Vec<String> {
    let Some(prlimit) = prlimit() else { return Vec::new() };
    vec![
        prlimit.to_owned(),
        format!("--data={}", at_most(Resource::Data, sandbox.max_memory_bytes)),
        format!("--nproc={}", at_most(Resource::Nproc, sandbox.max_processes.into())),
        format!("--fsize={}", at_most(Resource::Fsize, sandbox.max_file_bytes)),
        "--core=0".to_owned(),
        "--".to_owned(),
    ]
}

/// Returns a limit, or that of this program if it is lower, because only root can raise it.
fn at_most(resource: Resource, limit: u64) -> u64 {
    getrlimit(resource).maximum.map_or(limit, |maximum| maximum.min(limit))
}
