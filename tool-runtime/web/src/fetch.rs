//! Sends a request, and converts the response on a separate thread.

use std::io;
use std::sync::Arc;

use tool_core::{ToolError, ToolErrorKind, Untrusted};
use url::Url;

use crate::client::{Client, Response};
use crate::content::{Document, convert};
use crate::recent::Fetched;
use crate::section::Redact;
use tool_html::on_thread;

/// The bytes of the page of an error status that the model receives.
const MAX_ERROR_LEN: usize = 2_000;

/// The longest delay that a server may ask for before a retry, in seconds.
const MAX_RETRY_DELAY: u64 = 3_600;

/// Fetches and converts a document.
pub(crate) async fn fetch(
    client: &Client,
    url: Url,
    redact: Redact<'_>,
) -> Result<Arc<Fetched>, ToolError> {
    let response = client.get(url).await?;
    received(client, response, redact).await
}

/// Converts a response. An error status is an error.
pub(crate) async fn received(
    client: &Client,
    response: Response,
    redact: Redact<'_>,
) -> Result<Arc<Fetched>, ToolError> {
    let (status, url) = (response.status, response.url.to_string());
    let retry_after = response.headers.get("retry-after").and_then(|delay| delay.parse().ok());
    let location = response.headers.get("location").map(str::to_owned);
    let document = convert_on_thread(response, client.max_bytes).await;
    if status < 400 {
        let mut document = document?;
        if let Some(location) = location.filter(|_| status >= 300) {
            document.text = format!("Location: {location}\n\n{}", document.text);
        }
        return Ok(Arc::new(Fetched { document, url, status }));
    }
    let is_transient = matches!(status, 408 | 425 | 429 | 500 | 502..=504);
    let kind =
        if is_transient { ToolErrorKind::TransientFailure } else { ToolErrorKind::ExecutionFailed };
    let mut error = ToolError::new(kind, format!("The server answered with status {status}."));
    if let Some(seconds) = retry_after.filter(|_| is_transient) {
        error = error.retry_after(std::time::Duration::from_secs(MAX_RETRY_DELAY.min(seconds)));
    }
    let text = document.map(|document| document.text).unwrap_or_default();
    let text = text.trim();
    let end = text.char_indices().nth(MAX_ERROR_LEN).map_or(text.len(), |(at, _)| at);
    let excerpt = redact(text, 0..end);
    if !excerpt.is_empty() {
        error = error.with_part(Untrusted::new(url, excerpt).to_string());
    }
    Err(error)
}

/// Converts a response on a separate thread.
async fn convert_on_thread(response: Response, max_bytes: usize) -> Result<Document, ToolError> {
    let failed = |error: io::Error| {
        ToolError::failed("The content can't be converted now.").with_source(error)
    };
    let converted = on_thread(move || convert(response, max_bytes)).await.map_err(failed)?;
    converted.unwrap_or_else(|| {
        Err(ToolError::failed("The content can't be converted: its HTML is not understood."))
    })
}
