//! The reasons of failed transports, for operators.

use std::error::Error;

use crate::client::tools::text::clean_line;

/// The number of characters of a reason that are kept.
const MAX_CHARS: usize = 2_000;

/// Returns the error and its causes as one line.
pub(crate) fn failure_reason(error: &(dyn Error + 'static)) -> String {
    let mut texts = Vec::<String>::new();
    let mut next = Some(error);
    while let Some(current) = next {
        #[cfg(feature = "client")]
        if let Some(failed) = http::failed_request(current) {
            return clean_line(&http::reason(failed), MAX_CHARS);
        }
        let text = current.to_string();
        if texts.last().is_none_or(|last| !last.contains(&text)) {
            texts.push(text);
        }
        next = current.source();
    }
    clean_line(&texts.join(": "), MAX_CHARS)
}

#[cfg(feature = "client")]
mod http {
    use std::error::Error;

    use rmcp::transport::streamable_http_client::StreamableHttpError;

    /// Returns the error of the HTTP client, which the SDK does not return as a source.
    pub(super) fn failed_request<'e>(
        error: &'e (dyn Error + 'static),
    ) -> Option<&'e reqwest::Error> {
        if let Some(StreamableHttpError::Client(error)) =
            error.downcast_ref::<StreamableHttpError<reqwest::Error>>()
        {
            return Some(error);
        }
        error.downcast_ref()
    }

    /// Returns what failed, where, and the causes. The URL is left out, because its query may hold
    /// a key.
    pub(super) fn reason(error: &reqwest::Error) -> String {
        let address = error.url().and_then(|url| {
            let host = url.host_str()?;
            let port = url.port_or_known_default()?;
            Some(format!("{host}:{port}"))
        });
        let address = address.as_deref().unwrap_or("the server");
        let text = error.to_string();
        let failure = if error.is_connect() {
            format!("can't connect to {address}")
        } else {
            let (failure, _) = text.split_once(" for url (").unwrap_or((&text, ""));
            format!("{address}: {failure}")
        };
        let mut texts = vec![failure];
        let mut next = error.source();
        while let Some(cause) = next {
            let text = cause.to_string();
            // The name of a layer of the HTTP client is not a cause.
            if !text.starts_with("client error (") {
                texts.push(text);
            }
            next = cause.source();
        }
        texts.join(": ")
    }
}
