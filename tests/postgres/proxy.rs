//! A proxy that cuts connections when a transaction commits.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tool_runtime::store::tokio_postgres::Config;
use tool_runtime::store::tokio_postgres::config::Host;

/// When the proxy cuts a connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Cut {
    /// Before the server receives the commit: the transaction is undone.
    BeforeCommit,
    /// After the server has committed, and before the client learns of it.
    AfterCommit,
}

/// A proxy in front of the server.
pub(crate) struct Proxy {
    port: u16,
    state: Arc<State>,
}

struct State {
    cut: Cut,
    /// The number of connections to cut.
    cuts_left: AtomicUsize,
}

impl Proxy {
    pub(crate) async fn start(server: &str, cut: Cut) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State { cut, cuts_left: AtomicUsize::new(0) });
        let config: Config = server.parse().unwrap();
        let [Host::Unix(folder)] = config.get_hosts() else { panic!("the server has no socket") };
        let socket = folder.join(format!(".s.PGSQL.{}", config.get_ports()[0]));
        let shared = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = UnixStream::connect(&socket).await.unwrap();
                tokio::spawn(forward(client, server, Arc::clone(&shared)));
            }
        });
        Self { port, state }
    }

    /// Returns the configuration of a connection through the proxy.
    pub(crate) fn config(&self, config: &str) -> Config {
        let direct: Config = config.parse().unwrap();
        let mut config = Config::new();
        config
            .host("127.0.0.1")
            .port(self.port)
            .user(direct.get_user().unwrap())
            .dbname(direct.get_dbname().unwrap())
            .options(direct.get_options().unwrap());
        config
    }

    /// Cuts the connections of the next commits.
    pub(crate) fn cut(&self, commits: usize) {
        self.state.cuts_left.store(commits, Ordering::SeqCst);
    }

    pub(crate) fn cuts_left(&self) -> usize {
        self.state.cuts_left.load(Ordering::SeqCst)
    }
}

impl State {
    /// Returns whether to cut the connection now.
    fn is_cut(&self, cut: Cut, bytes: &[u8]) -> bool {
        let commits = bytes.windows(7).any(|it| it == b"COMMIT\0");
        commits
            && self.cut == cut
            && self
                .cuts_left
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1))
                .is_ok()
    }
}

/// Forwards until a side closes its connection or the proxy cuts it.
async fn forward(
    mut client: TcpStream,
    mut server: UnixStream,
    state: Arc<State>,
) -> io::Result<()> {
    let (mut request, mut reply) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        tokio::select! {
            read = client.read(&mut request) => match read? {
                0 => return Ok(()),
                read if state.is_cut(Cut::BeforeCommit, &request[..read]) => return Ok(()),
                read => server.write_all(&request[..read]).await?,
            },
            read = server.read(&mut reply) => match read? {
                0 => return Ok(()),
                read if state.is_cut(Cut::AfterCommit, &reply[..read]) => return Ok(()),
                read => client.write_all(&reply[..read]).await?,
            },
        }
    }
}
