//! HTTP servers that answer with prepared bytes, and record what they receive.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// The bytes that a server sends before it closes the connection.
pub(crate) enum Reply {
    Bytes(Vec<u8>),
    /// The first bytes, and then the others until the client closes the connection.
    Endless(Vec<u8>, Vec<u8>),
    /// The bytes, and then nothing until the client closes the connection.
    Stalled(Vec<u8>),
}

impl Reply {
    /// Returns a response with a status line such as `200 OK`, headers and a body.
    pub(crate) fn new(status: &str, headers: &str, body: impl AsRef<[u8]>) -> Self {
        let body = body.as_ref();
        let len = body.len();
        let mut bytes = format!("HTTP/1.1 {status}\r\n").into_bytes();
        for header in headers.lines().filter(|header| !header.is_empty()) {
            bytes.extend(format!("{header}\r\n").bytes());
        }
        bytes.extend(format!("content-length: {len}\r\nconnection: close\r\n\r\n").bytes());
        bytes.extend(body);
        Self::Bytes(bytes)
    }

    pub(crate) fn ok(content_type: &str, body: impl AsRef<[u8]>) -> Self {
        Self::new("200 OK", &format!("content-type: {content_type}"), body)
    }

    pub(crate) fn redirect(status: u16, location: &str) -> Self {
        Self::new(&format!("{status} Moved"), &format!("location: {location}"), "moved")
    }
}

/// A server on a loopback address, until the test ends.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) connections: Arc<AtomicUsize>,
    pub(crate) requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Serves a listener. The function receives the path of each request.
    pub(crate) fn start(
        listener: TcpListener,
        reply: impl Fn(&str) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let server = Self::new(&listener);
        let (reply, started) = (Arc::new(reply), server.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                started.connections.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(answer(stream, Arc::clone(&reply), started.clone()));
            }
        });
        server
    }

    /// Serves a listener by TLS.
    pub(crate) fn start_tls(
        listener: TcpListener,
        acceptor: TlsAcceptor,
        reply: impl Fn(&str) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let server = Self::new(&listener);
        let (reply, started) = (Arc::new(reply), server.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                started.connections.fetch_add(1, Ordering::SeqCst);
                let (acceptor, reply) = (acceptor.clone(), Arc::clone(&reply));
                let server = started.clone();
                tokio::spawn(async move {
                    // A client that refuses the certificate ends the handshake.
                    if let Ok(stream) = acceptor.accept(stream).await {
                        answer(stream, reply, server).await;
                    }
                });
            }
        });
        server
    }

    fn new(listener: &TcpListener) -> Self {
        Self {
            address: listener.local_addr().unwrap(),
            connections: Arc::default(),
            requests: Arc::default(),
        }
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    pub(crate) fn connection_count(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// Returns the requests so far, with their headers.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

async fn answer(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    reply: Arc<impl Fn(&str) -> Reply + Send + Sync + 'static>,
    server: Server,
) {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let head_len = request.windows(4).position(|end| end == b"\r\n\r\n");
        if let Some(head_len) = head_len {
            let head = String::from_utf8_lossy(&request[..head_len]).to_ascii_lowercase();
            let body_len = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if request.len() >= head_len + 4 + body_len.map_or(0, |len| len.parse().unwrap()) {
                break;
            }
        }
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => return,
            Ok(len) => request.extend(&buffer[..len]),
        }
    }
    let request = String::from_utf8_lossy(&request).into_owned();
    let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
    server.requests.lock().unwrap().push(request);
    match reply(&path) {
        Reply::Bytes(bytes) => {
            let _ = stream.write_all(&bytes).await;
            let _ = stream.shutdown().await;
        }
        Reply::Endless(head, chunk) => {
            let mut outcome = stream.write_all(&head).await;
            while outcome.is_ok() {
                outcome = stream.write_all(&chunk).await;
            }
        }
        Reply::Stalled(bytes) => {
            let _ = stream.write_all(&bytes).await;
            while matches!(stream.read(&mut buffer).await, Ok(len) if len > 0) {}
        }
    }
}
