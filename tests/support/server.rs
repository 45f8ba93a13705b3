//! Minimal local HTTP server: plays one reply per connection and records the requests.

use std::future::pending;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

pub struct Server {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
}

#[derive(Clone, Debug)]
pub struct Request {
    /// The request line, such as `POST /v1/chat/completions HTTP/1.1`.
    pub line: String,
    /// The headers, with names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Value,
}

pub enum Reply {
    /// Sends these bytes and closes the connection.
    Bytes(Vec<u8>),
    /// Sends these bytes and keeps the connection open.
    Open(String),
    /// Sends a success status and then this text without end.
    Endless(String),
    /// Sends a success status and then this text without end, with pauses.
    Slow(&'static str),
    /// Keeps the connection open and sends nothing.
    Never,
}

impl Reply {
    pub fn new(status: u16, body: &str) -> Self {
        Self::with_header(status, "content-type: text/plain", body)
    }

    pub fn with_header(status: u16, header: &str, body: impl AsRef<[u8]>) -> Self {
        let (body, length) = (body.as_ref(), body.as_ref().len());
        let head = format!(
            "HTTP/1.1 {status} -\r\n{header}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
        );
        Self::Bytes([head.as_bytes(), body].concat())
    }

    /// A chat completion with this message of the assistant.
    pub fn message(message: Value) -> Self {
        Self::new(200, &serde_json::json!({ "choices": [{ "message": message }] }).to_string())
    }
}

impl Server {
    /// Listens until the last of these replies is given; after that, connections are refused.
    pub async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::<Mutex<Vec<Request>>>::default();
        let (replies, sink) = (replies.into_iter().collect::<Vec<_>>(), Arc::clone(&requests));
        tokio::spawn(async move {
            for reply in replies {
                let (stream, _) = listener.accept().await.unwrap();
                let mut stream = BufReader::new(stream);
                let request = read(&mut stream).await;
                sink.lock().unwrap().push(request);
                answer(stream.get_mut(), reply).await;
            }
        });
        Self { address, requests }
    }

    /// Returns the URL of a port on which no server listens.
    pub async fn unreachable() -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        format!("http://{}/v1", listener.local_addr().unwrap())
    }

    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

async fn read(stream: &mut BufReader<TcpStream>) -> Request {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.unwrap();
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let line = lines.remove(0);
    let split = lines.iter().filter_map(|line| line.split_once(": "));
    let headers = split.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
    let mut request = Request { line, headers, body: Value::Null };

    let length = request.header("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.unwrap();
    request.body = serde_json::from_slice(&body).unwrap_or_default();
    request
}

const ENDLESS: &[u8] = b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n";

/// Sends a reply. Errors are ignored, because some tests disconnect early.
async fn answer(stream: &mut TcpStream, reply: Reply) {
    match reply {
        Reply::Bytes(bytes) => {
            let _ = stream.write_all(&bytes).await;
            let _ = stream.shutdown().await;
        }
        Reply::Open(bytes) => {
            let _ = stream.write_all(bytes.as_bytes()).await;
            pending().await
        }
        Reply::Endless(more) => {
            let _ = stream.write_all(ENDLESS).await;
            while stream.write_all(more.as_bytes()).await.is_ok() {}
        }
        Reply::Slow(more) => {
            let _ = stream.write_all(ENDLESS).await;
            while stream.write_all(more.as_bytes()).await.is_ok() {
                sleep(Duration::from_millis(5)).await;
            }
        }
        Reply::Never => pending().await,
    }
}
