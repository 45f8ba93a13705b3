//! Transport that plays prepared replies in prepared pieces.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use tool_runtime::async_trait;
use tool_runtime::http::{
    BodyStream, Headers, HttpBody, HttpRequest, HttpResponse, Transport, TransportError,
};

/// Plays one reply per request and records the requests. Clones share both.
#[derive(Clone, Default)]
pub struct Canned {
    replies: Arc<Mutex<VecDeque<Reply>>>,
    requests: Arc<Mutex<Vec<HttpRequest>>>,
}

pub struct Reply {
    pub status: u16,
    pub headers: Headers,
    pub pieces: Vec<Vec<u8>>,
    /// Whether the connection fails after the pieces.
    pub breaks: bool,
}

impl Reply {
    pub fn new(status: u16, pieces: Vec<Vec<u8>>) -> Self {
        Self { status, headers: Headers::default(), pieces, breaks: false }
    }

    pub fn text(status: u16, body: &str) -> Self {
        Self::new(status, vec![body.into()])
    }
}

impl Canned {
    pub fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        let replies = Arc::new(Mutex::new(replies.into_iter().collect()));
        Self { replies, ..Self::default() }
    }

    pub fn requests(&self) -> Vec<HttpRequest> {
        self.requests.lock().unwrap().clone()
    }
}

#[async_trait]
impl Transport for Canned {
    async fn send(&self, request: &HttpRequest) -> Result<HttpResponse, TransportError> {
        self.requests.lock().unwrap().push(request.clone());
        let next = self.replies.lock().unwrap().pop_front();
        let Reply { status, headers, pieces, breaks } =
            next.ok_or_else(|| TransportError::Setup("no prepared reply is left".into()))?;
        let body = HttpBody::new(CannedBody { pieces: pieces.into(), breaks });
        let mut reply = HttpResponse::new(status, body);
        reply.headers = headers;
        Ok(reply)
    }
}

struct CannedBody {
    pieces: VecDeque<Vec<u8>>,
    breaks: bool,
}

#[async_trait]
impl BodyStream for CannedBody {
    async fn next(&mut self) -> Result<Option<Vec<u8>>, TransportError> {
        match self.pieces.pop_front() {
            None if self.breaks => {
                Err(TransportError::Connection("the connection was reset".into()))
            }
            next => Ok(next),
        }
    }
}
