//! Decides what a body is, by its bytes before its declared type, and turns it into what a model
//! reads.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tool_core::message::{FileData, strip_invisible};
use tool_core::{ContentPart, Image, ToolError};
use url::Url;

use crate::charset;
use crate::client::Response;
use crate::decode::{Decoded, decode};
use crate::json;
use tool_core::__workspace::image_type;
use tool_html::to_markdown;

/// The largest image or PDF document that is sent, in bytes.
const MAX_FILE_LEN: usize = 5 * 1024 * 1024;

/// The bytes in which the kind of a text is recognized.
const HEAD_LEN: usize = 1024;

/// The content of a response, as a model receives it.
#[derive(Debug)]
pub(crate) struct Document {
    /// The kind of content, such as `HTML` or `image/png`.
    pub(crate) kind: &'static str,
    /// The number of bytes of the body.
    pub(crate) len: usize,
    pub(crate) title: Option<String>,
    pub(crate) text: String,
    /// An image or a file.
    pub(crate) part: Option<ContentPart>,
    pub(crate) notes: Vec<&'static str>,
}

/// The header `content-type`.
struct ContentType {
    essence: String,
    charset: Option<String>,
}

impl ContentType {
    fn parse(header: &str) -> Self {
        let mut parts = header.split(';');
        let essence = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
        let charset = parts.find_map(|parameter| {
            let (name, value) = parameter.split_once('=')?;
            let is_charset = name.trim().eq_ignore_ascii_case("charset");
            is_charset.then(|| value.trim().trim_matches(['"', '\'']).to_owned())
        });
        Self { essence, charset }
    }

    fn is_html(&self) -> bool {
        matches!(self.essence.as_str(), "text/html" | "application/xhtml+xml")
    }

    fn is_json(&self) -> bool {
        self.essence.ends_with("/json") || self.essence.ends_with("+json")
    }

    /// Whether the type does not state what the body is.
    fn is_vague(&self) -> bool {
        matches!(self.essence.as_str(), "" | "application/octet-stream")
    }
}

/// Converts a response. Call it [on a thread for it](tool_html::on_thread).
pub(crate) fn convert(response: Response, max_bytes: usize) -> Result<Document, ToolError> {
    let Response { url, headers, body, is_truncated, .. } = response;
    let encoding = headers.get("content-encoding");
    let Decoded { bytes, is_truncated } = decode(body, is_truncated, encoding, max_bytes)?;
    let content_type = ContentType::parse(headers.get("content-type").unwrap_or_default());
    let mut document = match media(&bytes) {
        Some(media_type) if is_truncated || bytes.len() > MAX_FILE_LEN => {
            return Err(ToolError::failed(format!(
                "The content is {media_type} of more than {MAX_FILE_LEN} bytes, which is not sent."
            )));
        }
        Some(media_type) => file(media_type, &bytes),
        None if is_binary(&bytes, &content_type) => {
            let len = bytes.len();
            let text = format!("The content is binary data of {len} bytes, not text.");
            return Err(ToolError::failed(text));
        }
        None => text(&bytes, &content_type, is_truncated, &url),
    };
    // Programs also receive the text outside of the tags of untrusted text.
    document.text = strip_invisible(&document.text).into_owned();
    document.title = document.title.map(|title| strip_invisible(&title).into_owned());
    if is_truncated {
        document.notes.push("the body is longer; its rest was not read");
    }
    Ok(document)
}

/// Returns the media type of an image or a document that models accept, by its first bytes.
fn media(bytes: &[u8]) -> Option<&'static str> {
    image_type(bytes).or_else(|| bytes.starts_with(b"%PDF-").then_some("application/pdf"))
}

/// Whether a body is no text in any encoding.
fn is_binary(bytes: &[u8], content_type: &ContentType) -> bool {
    let declares_utf16 = content_type
        .charset
        .as_deref()
        .is_some_and(|charset| charset.to_ascii_lowercase().starts_with("utf-16"));
    let has_mark = matches!(bytes, [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..]);
    memchr::memchr(0, bytes).is_some() && !declares_utf16 && !has_mark
}

fn file(media_type: &'static str, bytes: &[u8]) -> Document {
    let base64 = STANDARD.encode(bytes);
    let part = if media_type == "application/pdf" {
        // Not the name in the URL: after a redirect, a server chose it, and it is passed to the
        // model outside the tags of untrusted text.
        FileData::new(media_type, base64).name("document.pdf").into()
    } else {
        Image { media_type: media_type.into(), base64 }.into()
    };
    Document {
        kind: media_type,
        len: bytes.len(),
        title: None,
        text: String::new(),
        part: Some(part),
        notes: Vec::new(),
    }
}

fn text(bytes: &[u8], content_type: &ContentType, is_truncated: bool, url: &Url) -> Document {
    let text = charset::decode(bytes, content_type.charset.as_deref(), is_truncated);
    let mut document = Document {
        kind: "text",
        len: bytes.len(),
        title: None,
        text: String::new(),
        part: None,
        notes: Vec::new(),
    };
    let is_html = content_type.is_html() || !content_type.is_json() && begins_as_html(&text);
    if is_html && !is_json_document(content_type, &text) {
        let page = to_markdown(&text, url);
        document.kind = "HTML";
        document.title = page.title;
        document.text = page.text;
        if page.is_plain {
            document.notes.push("the page is nested too deeply or too large: only its text");
        }
        if page.has_hidden {
            document.notes.push("text that the page hides from its readers is left out");
        }
        return document;
    }
    let is_json = content_type.is_json() || content_type.is_vague() || content_type.is_html();
    match is_json.then(|| json::pretty(&text)).flatten() {
        Some(pretty) => {
            document.kind = "JSON";
            document.text = pretty;
        }
        None => document.text = text,
    }
    document
}

/// Whether a text is marked as a page, which some servers send under another type.
fn begins_as_html(text: &str) -> bool {
    let head: String = text.trim_start().chars().take(HEAD_LEN).collect();
    let head = head.to_ascii_lowercase();
    head.starts_with("<!doctype html") || head.starts_with("<html")
}

/// Whether a body that is declared as HTML is JSON, as some servers send it.
fn is_json_document(content_type: &ContentType, text: &str) -> bool {
    content_type.is_html()
        && text.trim_start().starts_with(['{', '['])
        && json::pretty(text).is_some()
}
