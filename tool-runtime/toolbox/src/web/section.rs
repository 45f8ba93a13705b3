//! Pages of a long text, and how the model and programs receive them.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use tool_runtime::{ContentPart, IntoToolOutput, ToolError, ToolOutput, Untrusted};

use super::content::Document;

/// The most bytes of a page, less than what a policy passes on to the model by default.
const MAX_PAGE_LEN: usize = 40_000;

/// The bytes at the end of a page within which it ends with a line.
const LAST_LINE_LEN: usize = 2_000;

/// The output of a call for programs.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct PageData {
    /// The URL of the content, after redirects.
    url: String,
    /// The status of the response.
    status: u16,
    /// The kind of content: `HTML`, `JSON`, `text`, or the media type of a file.
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// The text of the page.
    text: String,
    /// The position of the text in the whole text, in bytes.
    offset: usize,
    /// The number of bytes of the whole text.
    total: usize,
    /// The offset of the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<usize>,
}

/// One page of a document.
#[derive(Debug)]
pub(super) struct PageOutput {
    data: PageData,
    /// The size of the body.
    len: usize,
    part: Option<ContentPart>,
    notes: Vec<String>,
}

impl PageOutput {
    /// Returns the first page of a document whose others can't be requested.
    pub(super) fn first(document: &Document, url: &str, status: u16) -> Result<Self, ToolError> {
        let mut page = Self::new(document, url, status, 0)?;
        if page.data.next_offset.take().is_some() {
            page.notes.pop();
            page.notes.push(format!("the rest of {} bytes is omitted", page.data.total));
        }
        Ok(page)
    }

    /// Returns the page that begins at `offset`.
    pub(super) fn new(
        document: &Document,
        url: &str,
        status: u16,
        offset: usize,
    ) -> Result<Self, ToolError> {
        let text = &document.text;
        let total = text.len();
        if offset > 0 && offset >= total {
            let text = format!("`offset` is {offset}, and the text has {total} bytes.");
            return Err(ToolError::validation(text));
        }
        let start = (0..=offset).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let rest = text.get(start..).unwrap_or_default();
        let page = first_page(rest);
        let next_offset = (page.len() < rest.len()).then(|| start + page.len());
        let mut notes: Vec<_> = document.notes.iter().map(|note| (*note).to_owned()).collect();
        if let Some(next) = next_offset {
            let note = format!("bytes {start} to {next} of {total}: continue with `offset` {next}");
            notes.push(note);
        } else if start > 0 {
            notes.push(format!("bytes {start} to {total}, the end"));
        }
        let data = PageData {
            url: url.to_owned(),
            status,
            kind: document.kind,
            title: document.title.clone(),
            text: page.to_owned(),
            offset: start,
            total,
            next_offset,
        };
        Ok(Self { data, len: document.len, part: document.part.clone(), notes })
    }
}

fn first_page(text: &str) -> &str {
    if text.len() <= MAX_PAGE_LEN {
        return text;
    }
    let end = (0..=MAX_PAGE_LEN).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    let page = text.get(..end).unwrap_or_default();
    match page.rfind('\n') {
        Some(line_end) if line_end + LAST_LINE_LEN > end => page.get(..=line_end).unwrap_or(page),
        _ => page,
    }
}

impl IntoToolOutput for PageOutput {
    /// The status and the notes are ours. What the server sent, also its URL after a redirect, is
    /// marked as untrusted.
    fn into_tool_output(self) -> Result<ToolOutput, ToolError> {
        let PageData { url, status, kind, title, text, .. } = &self.data;
        let mut content = format!("URL: {url}\n");
        if let Some(title) = title {
            content.push_str(&format!("Title: {title}\n"));
        }
        let is_empty = text.trim().is_empty() && self.part.is_none();
        content.push_str(&format!("\n{text}"));
        let untrusted = Untrusted::new(url, content.trim_end());
        let mut header = format!("Status {status}, {kind}, {} bytes.", self.len);
        if is_empty {
            header.push_str(" The content has no text.");
        }
        for note in &self.notes {
            header.push_str(&format!("\n[{note}]"));
        }
        let value = serde_json::to_value(&self.data)?;
        let output = ToolOutput::text(format!("{header}\n{untrusted}")).with_structured(value);
        Ok(self.part.into_iter().fold(output, ToolOutput::with_part))
    }
}

impl JsonSchema for PageOutput {
    fn schema_name() -> Cow<'static, str> {
        PageData::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        PageData::json_schema(generator)
    }
}
