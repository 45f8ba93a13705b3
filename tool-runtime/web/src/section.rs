//! Sections of a long text, and how the model and programs receive them.

use std::borrow::Cow;
use std::ops::Range;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use tool_core::{ContentPart, IntoToolOutput, ToolError, ToolOutput, Untrusted};

use crate::content::Document;

/// The most bytes of a section, less than what a policy passes on to the model by default.
const MAX_SECTION_LEN: usize = 40_000;

/// The bytes at the end of a section within which it ends with a line.
const LAST_LINE_LEN: usize = 2_000;

/// The bytes beyond a section that are searched for secrets, so that one across its end is found as
/// a whole.
const MARGIN: usize = 16 * 1024;

/// Returns a part of a text without secrets, also of those that reach into the part.
pub(crate) type Redact<'r> = &'r (dyn Fn(&str, Range<usize>) -> String + Sync);

/// The output of a call for programs.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct SectionData {
    /// The URL of the content, after redirects.
    url: String,
    /// The status of the response.
    status: u16,
    /// The kind of content: `HTML`, `JSON`, `text`, or the media type of a file.
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// The text of the section.
    text: String,
    /// The position of the text in the whole text, in bytes.
    offset: usize,
    /// The number of bytes of the whole text.
    total: usize,
    /// The offset of the next section.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<usize>,
}

/// One section of a document.
#[derive(Debug)]
pub(crate) struct SectionOutput {
    data: SectionData,
    /// The size of the body.
    len: usize,
    part: Option<ContentPart>,
    notes: Vec<String>,
}

impl SectionOutput {
    /// Returns the first section of a document whose others can't be requested.
    pub(crate) fn first(
        document: &Document,
        url: &str,
        status: u16,
        redact: Redact<'_>,
    ) -> Result<Self, ToolError> {
        let mut section = Self::new(document, url, status, 0, redact)?;
        if section.data.next_offset.take().is_some() {
            section.notes.pop();
            section.notes.push(format!("the rest of {} bytes is omitted", section.data.total));
        }
        Ok(section)
    }

    /// Returns the section that begins at `offset`.
    pub(crate) fn new(
        document: &Document,
        url: &str,
        status: u16,
        offset: usize,
        redact: Redact<'_>,
    ) -> Result<Self, ToolError> {
        let text = &document.text;
        let total = text.len();
        if offset > 0 && offset >= total {
            let text = format!("The text has {total} bytes: send a smaller `offset`.");
            return Err(ToolError::invalid_arguments(text));
        }
        let boundary =
            |at: usize| (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let start = boundary(offset);
        let rest = text.get(start..).unwrap_or_default();
        let section = first_section(rest);
        let next_offset = (section.len() < rest.len()).then(|| start + section.len());
        let mut notes: Vec<_> = document.notes.iter().map(|note| (*note).to_owned()).collect();
        if let Some(next) = next_offset {
            let note = format!("bytes {start} to {next} of {total}: continue with `offset` {next}");
            notes.push(note);
        } else if start > 0 {
            notes.push(format!("bytes {start} to {total}, the end"));
        }
        let data = SectionData {
            url: url.to_owned(),
            status,
            kind: document.kind,
            title: document.title.clone(),
            text: {
                let end = start + section.len();
                let first = boundary(start.saturating_sub(MARGIN));
                let window = text.get(first..boundary(total.min(end + MARGIN))).unwrap_or_default();
                redact(window, start - first..end - first)
            },
            offset: start,
            total,
            next_offset,
        };
        Ok(Self { data, len: document.len, part: document.part.clone(), notes })
    }
}

fn first_section(text: &str) -> &str {
    if text.len() <= MAX_SECTION_LEN {
        return text;
    }
    let end = (0..=MAX_SECTION_LEN).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    let section = text.get(..end).unwrap_or_default();
    match section.rfind('\n') {
        Some(line_end) if line_end + LAST_LINE_LEN > end => {
            section.get(..=line_end).unwrap_or(section)
        }
        _ => section,
    }
}

impl IntoToolOutput for SectionOutput {
    /// The status and the notes are ours. What the server sent, also its URL after a redirect, is
    /// marked as untrusted.
    fn into_tool_output(self) -> Result<ToolOutput, ToolError> {
        let SectionData { url, status, kind, title, text, .. } = &self.data;
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

impl JsonSchema for SectionOutput {
    fn schema_name() -> Cow<'static, str> {
        SectionData::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        SectionData::json_schema(generator)
    }
}
