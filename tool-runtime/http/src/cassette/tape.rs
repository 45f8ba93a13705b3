//! Content of the file: a list of exchanges, which people may read and edit.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::redaction::Redaction;
use crate::file::replace_file;
use crate::{Headers, HttpMethod, HttpRequest};

/// Headers of a response that a client may use.
const RECORDED_HEADERS: [&str; 9] = [
    "content-type",
    "date",
    "location",
    "request-id",
    "retry-after",
    "retry-after-ms",
    "x-goog-request-id",
    "x-request-id",
    "x-should-retry",
];

#[derive(Clone, Deserialize, Serialize)]
pub(super) struct RecordedExchange {
    #[serde(flatten)]
    pub(super) request: RecordedRequest,
    #[serde(flatten)]
    pub(super) response: RecordedResponse,
}

#[derive(Clone, Deserialize, PartialEq, Serialize)]
pub(super) struct RecordedRequest {
    #[serde(default, skip_serializing_if = "is_post")]
    method: HttpMethod,
    /// Without user and password. Only methods other than POST have a query, without secrets.
    url: String,
    /// The body: JSON, or else a string.
    request: Value,
}

#[derive(Clone, Deserialize, Serialize)]
pub(super) struct RecordedResponse {
    pub(super) status: u16,
    pub(super) headers: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) reply: String,
    /// Error that broke the connection, if it broke.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) connection_error: Option<String>,
}

impl RecordedRequest {
    pub(super) fn new(request: &HttpRequest, redaction: &Redaction) -> Self {
        let body = redaction.apply(&String::from_utf8_lossy(&request.body));
        let body = serde_json::from_str(&body).unwrap_or(Value::String(body));
        let (url, query) = without_user(&request.url);
        let url = match query.filter(|_| !is_post(&request.method)) {
            Some(query) => format!("{url}?{query}"),
            None => url,
        };
        Self { method: request.method, url: redaction.apply(&url), request: body }
    }
}

/// Recordings lack the method of a POST request, which is by far the most frequent one.
fn is_post(method: &HttpMethod) -> bool {
    *method == HttpMethod::Post
}

impl RecordedResponse {
    pub(super) fn new(status: u16, headers: &Headers, redaction: &Redaction) -> Self {
        let recorded = RECORDED_HEADERS.iter().filter_map(|&name| {
            let value = headers.get(name)?;
            Some((name.to_owned(), redaction.apply(value)))
        });
        Self { status, headers: recorded.collect(), reply: String::new(), connection_error: None }
    }
}

/// Recordings, and whether each was replayed.
#[derive(Default)]
pub(super) struct Tape {
    exchanges: Vec<(RecordedExchange, bool)>,
    /// Error of the last write, if it was not reported yet.
    pub(super) write_error: Option<String>,
}

impl Tape {
    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let text = fs::read_to_string(path).map_err(|error| format!("{error}; record it first"))?;
        let exchanges: Vec<RecordedExchange> =
            serde_json::from_str(&text).map_err(|error| format!("not a recording: {error}"))?;
        Ok(Self {
            exchanges: exchanges.into_iter().map(|exchange| (exchange, false)).collect(),
            write_error: None,
        })
    }

    /// Replaces the file, so that a complete one exists at any time.
    pub(super) fn write(&self, path: &Path) -> Result<(), String> {
        let exchanges: Vec<_> = self.exchanges.iter().map(|(exchange, _)| exchange).collect();
        let text = serde_json::to_string_pretty(&exchanges).map_err(|error| error.to_string())?;
        let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
        let written = folder.and_then(|()| replace_file(path, (text + "\n").as_bytes()));
        written.map_err(|error| format!("cannot be written: {error}"))
    }

    pub(super) fn add(&mut self, exchange: RecordedExchange) {
        self.exchanges.push((exchange, true));
    }

    pub(super) fn unplayed(&self) -> impl Iterator<Item = &RecordedExchange> {
        self.exchanges.iter().filter(|(_, was_played)| !was_played).map(|(exchange, _)| exchange)
    }

    /// Returns the recorded response to the same request, or an error that lists how the request
    /// differs.
    pub(super) fn play(&mut self, request: &RecordedRequest) -> Result<RecordedResponse, String> {
        let mut fresh = self.exchanges.iter_mut().filter(|(_, was_played)| !was_played);
        if let Some((exchange, was_played)) =
            fresh.find(|(exchange, _)| exchange.request == *request)
        {
            *was_played = true;
            return Ok(exchange.response.clone());
        }
        let RecordedRequest { method, url, request } = request;
        let missing = format!("no recording answers this {method} request to {url}");
        let Some(next) = self.unplayed().next() else {
            let request = excerpt(Some(request));
            return Err(format!(
                "{missing}: all {} exchanges were replayed; the request is {request}",
                self.exchanges.len()
            ));
        };
        let differs = if (next.request.method, &next.request.url) == (*method, url) {
            let (pointer, recorded, actual) = difference(&next.request.request, request);
            format!(
                "has {} at `{pointer}` where this request has {}",
                excerpt(recorded),
                excerpt(actual)
            )
        } else {
            format!("is {} {}", next.request.method, next.request.url)
        };
        Err(format!("{missing}: the next one {differs}; if that is intended, record it again"))
    }
}

/// Returns the first difference between two requests: its JSON pointer and both values.
fn difference<'v>(
    recorded: &'v Value,
    actual: &'v Value,
) -> (String, Option<&'v Value>, Option<&'v Value>) {
    let mut pointer = String::new();
    let (mut recorded, mut actual) = (recorded, actual);
    loop {
        let inner = match (recorded, actual) {
            (Value::Object(left), Value::Object(right)) => left
                .keys()
                .chain(right.keys())
                .find(|&name| left.get(name) != right.get(name))
                .map(|name| {
                    (name.replace('~', "~0").replace('/', "~1"), left.get(name), right.get(name))
                }),
            (Value::Array(left), Value::Array(right)) => (0..left.len().max(right.len()))
                .find(|&at| left.get(at) != right.get(at))
                .map(|at| (at.to_string(), left.get(at), right.get(at))),
            _ => None,
        };
        let Some((step, left, right)) = inner else {
            return (pointer, Some(recorded), Some(actual));
        };
        pointer.push('/');
        pointer.push_str(&step);
        match (left, right) {
            (Some(left), Some(right)) => (recorded, actual) = (left, right),
            _ => return (pointer, left, right),
        }
    }
}

fn excerpt(value: Option<&Value>) -> String {
    let Some(value) = value else { return "nothing".into() };
    let text = value.to_string();
    match text.char_indices().nth(200) {
        Some((end, _)) => format!("{} …", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

/// Returns a URL without user, password and query, and the query.
fn without_user(url: &str) -> (String, Option<&str>) {
    let url = url.split('#').next().unwrap_or_default();
    let (url, query) = match url.split_once('?') {
        Some((url, query)) => (url, Some(query)),
        None => (url, None),
    };
    let url = match url.split_once("://") {
        Some((scheme, rest)) => {
            let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
            let host = host.rsplit('@').next().unwrap_or_default();
            format!("{scheme}://{host}/{path}")
        }
        None => url.to_owned(),
    };
    (url, query)
}
