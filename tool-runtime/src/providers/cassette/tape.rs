//! What is in the file: a list of exchanges, as a person may read and change it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::scrub::Scrub;
use crate::providers::transport::{Headers, HttpRequest};

/// Headers of a reply that a client may go by.
const KEPT: [&str; 8] = [
    "content-type",
    "date",
    "location",
    "request-id",
    "retry-after",
    "retry-after-ms",
    "x-goog-request-id",
    "x-request-id",
];

#[derive(Clone, Deserialize, Serialize)]
pub(super) struct Exchange {
    #[serde(flatten)]
    pub(super) asked: Asked,
    #[serde(flatten)]
    pub(super) heard: Heard,
}

#[derive(Clone, Deserialize, PartialEq, Serialize)]
pub(super) struct Asked {
    /// Without what stands before the host and behind the path.
    url: String,
    request: Value,
}

#[derive(Clone, Deserialize, Serialize)]
pub(super) struct Heard {
    pub(super) status: u16,
    pub(super) headers: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) reply: String,
    /// Why nothing follows though that was not all, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) broke: Option<String>,
}

impl Asked {
    pub(super) fn new(request: &HttpRequest, scrub: &Scrub) -> Self {
        let body = scrub.clean(&request.body);
        let request_json = serde_json::from_str(&body).unwrap_or(Value::String(body));
        Self { url: scrub.clean(&plain(&request.url)), request: request_json }
    }
}

impl Heard {
    pub(super) fn new(status: u16, headers: &Headers, scrub: &Scrub) -> Self {
        let kept = KEPT.iter().filter_map(|&name| {
            let value = headers.get(name)?;
            Some((name.to_owned(), scrub.clean(value)))
        });
        Self { status, headers: kept.collect(), reply: String::new(), broke: None }
    }
}

/// The recordings, and which of them were played.
#[derive(Default)]
pub(super) struct Tape {
    exchanges: Vec<(Exchange, bool)>,
    /// Why the last could not be written, if nobody was told.
    pub(super) unwritten: Option<String>,
}

impl Tape {
    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let text =
            fs::read_to_string(path).map_err(|error| format!("{error}; has it been recorded?"))?;
        let exchanges: Vec<Exchange> =
            serde_json::from_str(&text).map_err(|error| format!("it is no recording: {error}"))?;
        Ok(Self {
            exchanges: exchanges.into_iter().map(|one| (one, false)).collect(),
            unwritten: None,
        })
    }

    /// By way of a second file, so that there is a whole one at any time.
    pub(super) fn write(&self, path: &Path) -> Result<(), String> {
        let exchanges: Vec<_> = self.exchanges.iter().map(|(one, _)| one).collect();
        let text = serde_json::to_string_pretty(&exchanges).map_err(|error| error.to_string())?;
        let half = path.with_extension("json.part");
        let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
        let written = folder
            .and_then(|()| fs::write(&half, text + "\n"))
            .and_then(|()| fs::rename(&half, path));
        written.map_err(|error| format!("it can't be written: {error}"))
    }

    pub(super) fn add(&mut self, exchange: Exchange) {
        self.exchanges.push((exchange, true));
    }

    pub(super) fn unplayed(&self) -> impl Iterator<Item = &Exchange> {
        self.exchanges.iter().filter(|(_, was_played)| !was_played).map(|(one, _)| one)
    }

    /// What was heard when the same was asked; or what to do about it that nobody asked this.
    pub(super) fn play(&mut self, asked: &Asked) -> Result<Heard, String> {
        let mut fresh = self.exchanges.iter_mut().filter(|(_, was_played)| !was_played);
        if let Some((one, was_played)) = fresh.find(|(one, _)| one.asked == *asked) {
            *was_played = true;
            return Ok(one.heard.clone());
        }
        let Asked { url, request } = asked;
        let nothing = format!("nothing on it answers this request to {url}");
        let Some(next) = self.unplayed().next() else {
            let request = shown(Some(request));
            return Err(format!(
                "{nothing}: all {} exchanges on it were played; the request is {request}",
                self.exchanges.len()
            ));
        };
        let differs = match next.asked.url == *url {
            false => format!("goes to {}", next.asked.url),
            true => {
                let (place, recorded, asked) = difference(&next.asked.request, request);
                format!(
                    "has {} at `{place}` where this request has {}",
                    shown(recorded),
                    shown(asked)
                )
            }
        };
        Err(format!("{nothing}: the next one on it {differs}; if that is meant, record it again"))
    }
}

/// The first place where two requests differ, as a JSON pointer, and what is there.
fn difference<'v>(
    recorded: &'v Value,
    asked: &'v Value,
) -> (String, Option<&'v Value>, Option<&'v Value>) {
    let mut place = String::new();
    let (mut recorded, mut asked) = (recorded, asked);
    loop {
        let inner = match (recorded, asked) {
            (Value::Object(one), Value::Object(other)) => {
                one.keys().chain(other.keys()).find(|&name| one.get(name) != other.get(name)).map(
                    |name| {
                        (name.replace('~', "~0").replace('/', "~1"), one.get(name), other.get(name))
                    },
                )
            }
            (Value::Array(one), Value::Array(other)) => (0..one.len().max(other.len()))
                .find(|&at| one.get(at) != other.get(at))
                .map(|at| (at.to_string(), one.get(at), other.get(at))),
            _ => None,
        };
        let Some((step, one, other)) = inner else {
            return (place, Some(recorded), Some(asked));
        };
        place.push('/');
        place.push_str(&step);
        match (one, other) {
            (Some(one), Some(other)) => (recorded, asked) = (one, other),
            _ => return (place, one, other),
        }
    }
}

fn shown(value: Option<&Value>) -> String {
    let Some(value) = value else { return "nothing".into() };
    let text = value.to_string();
    match text.char_indices().nth(200) {
        Some((end, _)) => format!("{} …", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

/// An address without a user, a password and a query, any of which may be a secret.
fn plain(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    match url.split_once("://") {
        Some((scheme, rest)) => {
            let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
            let host = host.rsplit('@').next().unwrap_or_default();
            format!("{scheme}://{host}/{path}")
        }
        None => url.to_owned(),
    }
}
