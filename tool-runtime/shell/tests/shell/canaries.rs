//! Harmless things outside of the sandbox that a command must neither see nor change.

use std::fs::{self, File, Permissions};
use std::io::Read as _;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

/// The text that no output may contain.
pub(crate) const SECRET: &str = "c4n4ry-s3cr3t";

/// Creates a message queue that every user may read.
const CREATE_QUEUE: &str = "import ctypes, os, sys; os.umask(0); \
    sys.exit(ctypes.CDLL(None).syscall(240, sys.argv[1].encode(), os.O_CREAT, 0o666, None) < 0)";

/// Canaries in the folder `outside`, and processes and sockets of the machine.
pub(crate) struct Canaries {
    pub(crate) outside: PathBuf,
    process: Child,
    priority: Option<String>,
    /// Inherited by every process that this one starts.
    _leaked: File,
    shared_memory: PathBuf,
    visits: Arc<AtomicU32>,
    names: Vec<(&'static str, String)>,
}

impl Canaries {
    /// Creates the canaries in a folder with the folders `inside` and `outside`.
    pub(crate) fn new(folder: &Path) -> Self {
        let outside = folder.join("outside");
        fs::create_dir_all(&outside).unwrap();
        fs::write(outside.join("secret.txt"), SECRET).unwrap();
        // Writable by all, so that only the sandbox is in the way.
        fs::set_permissions(&outside, Permissions::from_mode(0o777)).unwrap();
        fs::set_permissions(outside.join("secret.txt"), Permissions::from_mode(0o666)).unwrap();
        let leaked = File::open(outside.join("secret.txt")).unwrap();
        rustix::io::fcntl_setfd(&leaked, rustix::io::FdFlags::empty()).unwrap();
        let process = Command::new("/bin/sleep")
            .arg("100000")
            .env("CANARY", SECRET)
            .stdin(Stdio::null())
            .spawn()
            .unwrap();

        let name = format!("canary-{}", folder.file_name().unwrap().display());
        let shared_memory = Path::new("/dev/shm").join(&name);
        fs::write(&shared_memory, SECRET).unwrap();
        Command::new("ipcmk").args(["-M", "100"]).stdout(Stdio::null()).status().unwrap();
        let queue = Command::new("python3").args(["-c", CREATE_QUEUE, &name]).status().unwrap();
        assert!(queue.success(), "this test needs message queues");

        let visits = Arc::new(AtomicU32::new(0));
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let (tcp_port, udp_port) =
            (tcp.local_addr().unwrap().port(), udp.local_addr().unwrap().port());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        count(&visits, move || tcp.accept().is_ok());
        count(&visits, move || udp.recv(&mut [0; 16]).is_ok());
        for listener in [
            UnixListener::bind(outside.join("stream")).unwrap(),
            UnixListener::bind(folder.join("inside/stream")).unwrap(),
            UnixListener::bind_addr(&address).unwrap(),
        ] {
            count(&visits, move || listener.accept().is_ok());
        }
        let datagrams = UnixDatagram::bind(folder.join("inside/datagrams")).unwrap();
        count(&visits, move || datagrams.recv(&mut [0; 16]).is_ok());
        for socket in ["inside/stream", "inside/datagrams", "outside/stream"] {
            fs::set_permissions(folder.join(socket), Permissions::from_mode(0o777)).unwrap();
        }
        let names = vec![
            ("OUT", outside.display().to_string()),
            ("PID", process.id().to_string()),
            ("TCP", tcp_port.to_string()),
            ("UDP", udp_port.to_string()),
            ("QUEUE", name.clone()),
            ("ABSTRACT", name),
        ];
        let priority = priority(&process);
        Self { outside, process, priority, _leaked: leaked, shared_memory, visits, names }
    }

    /// Returns the definitions of shell variables with which commands find the canaries.
    pub(crate) fn variables(&self) -> String {
        let definitions = self.names.iter().map(|(name, value)| format!("export {name}='{value}'"));
        definitions.collect::<Vec<_>>().join("; ")
    }

    /// Returns what has happened to the canaries, if anything has.
    pub(crate) fn damage(&mut self) -> Vec<String> {
        let mut damage = Vec::new();
        if self.process.try_wait().unwrap().is_some() {
            damage.push("the process has ended".to_owned());
        }
        let priority = priority(&self.process);
        if priority != self.priority {
            damage.push(format!("the priority of the process is now {priority:?}"));
        }
        let visits = self.visits.swap(0, Ordering::SeqCst);
        if visits > 0 {
            damage.push(format!("{visits} visits of sockets"));
        }
        let mut names: Vec<_> = fs::read_dir(&self.outside)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .filter(|name| !["secret.txt", "stream"].contains(&name.as_str()))
            .collect();
        if !names.is_empty() {
            names.iter().for_each(|name| drop(fs::remove_file(self.outside.join(name))));
            names.sort();
            damage.push(format!("new files: {}", names.join(", ")));
        }
        let mut content = String::new();
        File::open(self.outside.join("secret.txt")).unwrap().read_to_string(&mut content).unwrap();
        if content != SECRET {
            damage.push(format!("the file is now {content:?}"));
            fs::write(self.outside.join("secret.txt"), SECRET).unwrap();
        }
        damage
    }
}

/// Returns the niceness of a process that has not been waited for.
fn priority(process: &Child) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.id())).ok()?;
    // The fields after the name of the program begin with the third one.
    stat.rsplit(") ").next()?.split(' ').nth(16).map(str::to_owned)
}

/// Counts the visits of a socket.
fn count(visits: &Arc<AtomicU32>, visited: impl Fn() -> bool + Send + 'static) {
    let visits = Arc::clone(visits);
    thread::spawn(move || {
        while visited() {
            visits.fetch_add(1, Ordering::SeqCst);
        }
    });
}

impl Drop for Canaries {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_file(&self.shared_memory);
    }
}
