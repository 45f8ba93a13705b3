//! Files of the user that a command reaches beside the read-only mounts of a sandbox: bubblewrap
//! itself, as `/proc/1/exe`, and, for root, the devices.
//!
//! A command can't write to them, but it could change their modes and times. So bubblewrap starts
//! in a mount namespace in which they are read-only, and the sandbox inherits this.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::{getegid, geteuid};

/// Makes the files before `--` read-only, and becomes the program after it.
const SCRIPT: &str = r#"
PATH=/usr/bin:/bin:/usr/sbin:/sbin
while [ "$1" != -- ]; do
    mount -o bind,ro "$1" "$1" || exit 125
    shift
done
shift
unset PATH
exec "$@"
"#;

/// Fails if the times of a file can be set. Some versions of `mount` ignore `ro` in silence.
const CHECK: &str = r#"for file; do touch -c -r "$file" "$file" 2>/dev/null && exit 1; done; :"#;

/// The folder of the devices.
const FOLDER: &str = "/dev";

/// The devices that a sandbox shows.
const DEVICES: [&str; 6] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// The files of the user whose modes and times a command could change.
#[derive(Clone, Debug)]
pub(crate) struct OwnFiles {
    /// The way to make them read-only, if there is one.
    starter: Option<Starter>,
}

/// A command that makes files read-only and starts bubblewrap.
#[derive(Clone, Debug, Default)]
pub(crate) struct Starter {
    /// The words before the path of bubblewrap.
    pub(crate) words: Vec<OsString>,
    /// The options of bubblewrap with which the sandbox has the ids of the user.
    pub(crate) options: Vec<OsString>,
    files: Vec<PathBuf>,
}

impl OwnFiles {
    /// Finds these files, and how to make them read-only; `None` if there are none.
    pub(crate) fn find(program: &Path) -> Option<Self> {
        let user = geteuid();
        let owner = program.metadata().map(|metadata| metadata.uid());
        let is_own = owner.is_ok_and(|owner| owner == user.as_raw());
        if !is_own && !user.is_root() {
            return None;
        }
        let program = is_own.then(|| program.to_owned());
        let devices = if user.is_root() { &DEVICES[..] } else { &[] };
        let folder =
            if user.is_root() && are_in_one_file_system() { &[FOLDER][..] } else { devices };
        let files = |devices: &[&'static str]| {
            program.iter().cloned().chain(devices.iter().map(PathBuf::from)).collect()
        };
        // Within a user namespace, only single files can be mounted again.
        let mut starters =
            [Starter::new(&["--mount"], files(folder)), Starter::in_user_namespace(files(devices))]
                .into_iter();
        Some(Self { starter: starters.find(Starter::works) })
    }

    /// Returns the command that makes these files read-only, if there is one.
    pub(crate) fn starter(&self) -> Option<&Starter> {
        self.starter.as_ref()
    }
}

impl Starter {
    fn new(namespaces: &[&str], files: Vec<PathBuf>) -> Self {
        let unshare = ["/usr/bin/unshare"].into_iter().chain(namespaces.iter().copied());
        let script = ["--propagation", "private", "/bin/sh", "-c", SCRIPT, "own-files"];
        let words = unshare.chain(script).map(OsString::from);
        let words = words.chain(files.iter().map(Into::into)).chain(["--".into()]);
        Self { words: words.collect(), options: Vec::new(), files }
    }

    /// Mounts as the root of a user namespace, because `mount` lets no other user do it.
    fn in_user_namespace(files: Vec<PathBuf>) -> Self {
        let (user, group) = (geteuid().as_raw().to_string(), getegid().as_raw().to_string());
        let options = ["--uid", &user, "--gid", &group].map(OsString::from).to_vec();
        Self { options, ..Self::new(&["--user", "--map-root-user", "--mount"], files) }
    }

    fn works(&self) -> bool {
        let Some((program, arguments)) = self.words.split_first() else { return false };
        let mut command = Command::new(program);
        command.args(arguments).args(["/bin/sh", "-c", CHECK, "check"]).args(&self.files);
        command.env_clear().current_dir("/");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }
}

/// Returns whether the devices are in the file system of their folder, not mounted one by one.
fn are_in_one_file_system() -> bool {
    let file_system = |path: &str| Path::new(path).symlink_metadata().map(|it| it.dev()).ok();
    DEVICES.into_iter().all(|device| file_system(device) == file_system(FOLDER))
}
