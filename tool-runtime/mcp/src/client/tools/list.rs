//! Lists of a server: page by page, item by item, within limits.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    ClientRequest, ListPromptsRequest, ListResourceTemplatesRequest, ListResourcesRequest,
    ListToolsRequest, PaginatedRequestParams, ServerResult,
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::Instant;

use crate::client::connect::session::Session;
use crate::client::error::McpError;
use crate::client::limits::ListLimits;
use crate::client::tools::page::{PageItem, PageLimits};
use crate::client::tools::text::{clean_line, json_bytes};
use crate::client::wire::traffic::RequestSlot;

/// The number of characters of an error about an item that are kept.
const MAX_REASON_CHARS: usize = 300;

/// The number of bytes of a cursor, which the client sends back and keeps until the list ends.
const MAX_CURSOR_BYTES: usize = 8 << 10;

/// The kind of the items of a list.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ListKind {
    Tools,
    Resources,
    Templates,
    Prompts,
}

impl ListKind {
    pub(crate) fn operation(self) -> &'static str {
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
pub(crate) struct Listing<T> {
    /// The items that are well-formed, in the order of the server, with their positions.
    pub(crate) items: Vec<(usize, T)>,
    pub(crate) malformed: Vec<MalformedItem>,
    /// Whether items were left out because of a limit.
    pub(crate) is_truncated: bool,
    /// How long the server considers the list fresh.
    pub(crate) ttl: Option<Duration>,
}

/// An item that is not well-formed.
#[derive(Debug)]
pub(crate) struct MalformedItem {
    pub(crate) index: usize,
    pub(crate) name: Option<String>,
    pub(crate) reason: String,
}

/// Requests all pages of a list.
pub(crate) async fn list<T: DeserializeOwned>(
    session: &Session,
    kind: ListKind,
    limits: ListLimits,
    deadline: Instant,
) -> Result<Listing<T>, McpError> {
    let mut listing =
        Listing { items: Vec::new(), malformed: Vec::new(), is_truncated: false, ttl: None };
    let (mut cursor, mut cursors, mut bytes, mut index) = (None, HashSet::new(), 0, 0);
    // Values take more memory than their text, those of most definitions about twice as much.
    let mut memory = limits.max_bytes.saturating_mul(2);
    for _ in 0..limits.max_pages {
        let operation = kind.operation();
        let max_items = limits.max_items.saturating_sub(index);
        let slot = RequestSlot::of_page(PageLimits {
            member: kind.member(),
            max_items,
            max_bytes: memory,
        });
        let request = kind.request(cursor);
        let result = session.request_in(Arc::clone(&slot), request, operation, deadline).await?;
        let page = slot.take_page().unwrap_or_default();
        let Some(items) = page.items else {
            let reason = format!("member `{}` is missing", kind.member());
            return Err(session.invalid_answer(operation, reason));
        };
        if let Some(ttl) = page.ttl_ms {
            let ttl = Duration::from_millis(ttl);
            listing.ttl = Some(listing.ttl.map_or(ttl, |shortest: Duration| shortest.min(ttl)));
        }
        memory = memory.saturating_sub(page.bytes);
        let accepted = Accepted::of(&result);
        for item in items {
            bytes += json_bytes(&item.value);
            if bytes > limits.max_bytes {
                listing.is_truncated = true;
                return Ok(listing);
            }
            listing.add(index, item, &accepted);
            index += 1;
        }
        if page.is_truncated {
            listing.is_truncated = true;
            return Ok(listing);
        }
        cursor = page.next_cursor;
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

/// The names of the tools that the SDK accepts, if it decides: over HTTP, it refuses tools whose
/// annotations of headers are invalid.
struct Accepted<'r>(Option<HashSet<&'r str>>);

impl<'r> Accepted<'r> {
    fn of(result: &'r ServerResult) -> Self {
        Self(match result {
            ServerResult::ListToolsResult(list) => {
                Some(list.tools.iter().map(|tool| &*tool.name).collect())
            }
            _ => None,
        })
    }

    fn contains(&self, name: Option<&str>) -> bool {
        let Self(Some(names)) = self else { return true };
        name.is_some_and(|name| names.contains(name))
    }
}

impl<T: DeserializeOwned> Listing<T> {
    fn add(&mut self, index: usize, item: PageItem, accepted: &Accepted<'_>) {
        let name = item.value.get("name").and_then(Value::as_str);
        let is_accepted = accepted.contains(name);
        let name = name.map(|name| clean_line(name, MAX_REASON_CHARS));
        let read = if item.is_too_deep {
            Err("it is nested too deeply".to_owned())
        } else {
            let read = T::deserialize(item.value).map_err(|error| error.to_string());
            read.and_then(|item| {
                let refused = || "its `x-mcp-header` annotations are invalid".to_owned();
                if is_accepted { Ok(item) } else { Err(refused()) }
            })
        };
        match read {
            Ok(item) => self.items.push((index, item)),
            Err(reason) => {
                let reason = clean_line(&reason, MAX_REASON_CHARS);
                self.malformed.push(MalformedItem { index, name, reason });
            }
        }
    }
}
