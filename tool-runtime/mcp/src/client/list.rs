//! Lists of a server: page by page, item by item, within limits.

use std::collections::HashSet;
use std::time::Duration;

use rmcp::model::{
    ClientRequest, ListPromptsRequest, ListResourceTemplatesRequest, ListResourcesRequest,
    ListToolsRequest, PaginatedRequestParams,
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::Instant;

use super::error::McpError;
use super::limits::ListLimits;
use super::session::Session;
use super::text::{clean_line, json_bytes};

/// The number of characters of an error about an item that are kept.
const MAX_REASON_CHARS: usize = 300;

/// The number of bytes of a cursor, which the client sends back and keeps until the list ends.
const MAX_CURSOR_BYTES: usize = 8 << 10;

/// The kind of the items of a list.
#[derive(Clone, Copy, Debug)]
pub(super) enum ListKind {
    Tools,
    Resources,
    Templates,
    Prompts,
}

impl ListKind {
    pub(super) fn operation(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Resources => "resources/list",
            Self::Templates => "resources/templates/list",
            Self::Prompts => "prompts/list",
        }
    }

    fn member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
            Self::Prompts => "prompts",
        }
    }

    fn request(self, cursor: Option<String>) -> ClientRequest {
        let params = Some(PaginatedRequestParams::default().with_cursor(cursor));
        match self {
            Self::Tools => ListToolsRequest { params, ..Default::default() }.into(),
            Self::Resources => ListResourcesRequest { params, ..Default::default() }.into(),
            Self::Templates => ListResourceTemplatesRequest { params, ..Default::default() }.into(),
            Self::Prompts => ListPromptsRequest { params, ..Default::default() }.into(),
        }
    }
}

/// A list of a server.
#[derive(Debug)]
pub(super) struct Listing<T> {
    /// The items that are well-formed, in the order of the server, with their positions.
    pub(super) items: Vec<(usize, T)>,
    pub(super) malformed: Vec<MalformedItem>,
    /// Whether items were left out because of a limit.
    pub(super) is_truncated: bool,
    /// How long the server considers the list fresh.
    pub(super) ttl: Option<Duration>,
}

/// An item that is not well-formed.
#[derive(Debug)]
pub(super) struct MalformedItem {
    pub(super) index: usize,
    pub(super) name: Option<String>,
    pub(super) reason: String,
}

/// Requests all pages of a list.
pub(super) async fn list<T: DeserializeOwned>(
    session: &Session,
    kind: ListKind,
    limits: ListLimits,
    deadline: Instant,
) -> Result<Listing<T>, McpError> {
    let mut listing =
        Listing { items: Vec::new(), malformed: Vec::new(), is_truncated: false, ttl: None };
    let (mut cursor, mut cursors, mut bytes, mut index) = (None, HashSet::new(), 0, 0);
    for _ in 0..limits.pages {
        let operation = kind.operation();
        let result = session.request(kind.request(cursor), operation, deadline).await?;
        let mut page = serde_json::to_value(result).unwrap_or_default();
        let Some(Value::Array(items)) = page.get_mut(kind.member()).map(Value::take) else {
            let reason = format!("member `{}` is missing", kind.member());
            return Err(session.invalid_answer(operation, reason));
        };
        if let Some(ttl) = page.get("ttlMs").and_then(Value::as_u64) {
            let ttl = Duration::from_millis(ttl);
            listing.ttl = Some(listing.ttl.map_or(ttl, |shortest: Duration| shortest.min(ttl)));
        }
        for item in items {
            bytes += json_bytes(&item);
            if index >= limits.items || bytes > limits.bytes {
                listing.is_truncated = true;
                return Ok(listing);
            }
            listing.add(index, item);
            index += 1;
        }
        cursor = page.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
        match &cursor {
            None => return Ok(listing),
            Some(next) if next.len() > MAX_CURSOR_BYTES => {
                let reason = format!(
                    "a cursor has {} bytes, more than the {MAX_CURSOR_BYTES} that are allowed",
                    next.len()
                );
                return Err(session.invalid_answer(operation, reason));
            }
            Some(next) if !cursors.insert(next.clone()) => {
                let reason = "a cursor was repeated".to_owned();
                return Err(session.invalid_answer(operation, reason));
            }
            Some(_) => {}
        }
    }
    listing.is_truncated = true;
    Ok(listing)
}

impl<T: DeserializeOwned> Listing<T> {
    fn add(&mut self, index: usize, item: Value) {
        let name = item.get("name").and_then(Value::as_str);
        let name = name.map(|name| clean_line(name, MAX_REASON_CHARS));
        match T::deserialize(item) {
            Ok(item) => self.items.push((index, item)),
            Err(error) => {
                let reason = clean_line(&error.to_string(), MAX_REASON_CHARS);
                self.malformed.push(MalformedItem { index, name, reason });
            }
        }
    }
}
