//! Results of calls as outputs: bounded, marked, with their parts in order.

use std::borrow::Cow;

use rmcp::model::{ContentBlock, ResourceContents};
use serde::Deserialize as _;
use serde_json::{Value, json};
use tool_core::__workspace::{MediaKind, UriUse, media_refusal, uri_use};
use tool_core::message::{Audio, EmbeddedResource, ResourceLink, strip_invisible};
use tool_core::schema::Schema;
use tool_core::{ContentPart, Image, ToolError, ToolOutput};

use crate::client::limits::ResultLimits;
use crate::client::tools::text::{clean_line, clean_value, json_bytes, marked};

/// The number of characters of a URI or a name that are kept.
const MAX_LABEL_CHARS: usize = 2_000;

/// The number of characters of a media type that are kept.
const MAX_MEDIA_TYPE_CHARS: usize = 100;

/// Converts the results of one tool.
#[derive(Clone, Debug)]
pub(crate) struct ResultReader {
    pub(crate) server: String,
    pub(crate) limits: ResultLimits,
    pub(crate) marks_text: bool,
    pub(crate) output: Option<Schema>,
}

/// The parts so far and what is left of the limits.
struct Parts<'r> {
    reader: &'r ResultReader,
    parts: Vec<ContentPart>,
    /// Text that is not yet a part: adjacent texts become one.
    text: String,
    text_bytes: usize,
    media_bytes: usize,
}

impl ResultReader {
    /// Converts the result of `tools/call`.
    ///
    /// # Errors
    /// The server reports an error, or its result violates the protocol or the output schema.
    pub(crate) fn read(&self, mut result: Value) -> Result<ToolOutput, ToolError> {
        let is_error = result.get("isError").and_then(Value::as_bool).unwrap_or_default();
        let structured = result.get_mut("structuredContent").map(Value::take);
        let blocks = match result.get_mut("content").map(Value::take) {
            Some(Value::Array(blocks)) => blocks,
            None | Some(Value::Null) if structured.is_some() || result.is_object() => Vec::new(),
            _ => return Err(self.invalid("its content is not a list")),
        };
        self.output(self.parts(blocks), structured, is_error)
    }

    /// Converts the result of `tools/call`, of which the SDK knows all blocks of content.
    ///
    /// # Errors
    /// The server reports an error, or its result violates the output schema.
    pub(crate) fn read_blocks(
        &self,
        blocks: Vec<ContentBlock>,
        structured: Option<Value>,
        is_error: bool,
    ) -> Result<ToolOutput, ToolError> {
        let parts = self.collect(blocks, |parts, block| parts.push_known(block));
        self.output(parts, structured, is_error)
    }

    /// Creates the output from the parts, or the structured value if there are none.
    fn output(
        &self,
        mut parts: Vec<ContentPart>,
        structured: Option<Value>,
        is_error: bool,
    ) -> Result<ToolOutput, ToolError> {
        if let (true, Some(value)) = (parts.is_empty(), &structured) {
            parts = self.parts(vec![json!({ "type": "text", "text": value.to_string() })]);
        }
        if is_error {
            return Err(self.reported(parts));
        }
        let Some(mut value) = structured else {
            return match self.output {
                None => Ok(ToolOutput::from_parts(parts)),
                Some(_) => Err(self.invalid("no structured content despite the output schema")),
            };
        };
        let mismatches = self.output.as_ref().map(|schema| schema.check(&value));
        if let Some(mismatch) = mismatches.iter().flatten().next() {
            let reason = format!("structured content does not match the output schema: {mismatch}");
            return Err(self.invalid(&reason));
        }
        let bytes = json_bytes(&value);
        if bytes > self.limits.max_structured_bytes {
            let note = format!("[structured content of {bytes} bytes was left out]");
            parts.push(ContentPart::text(note));
            return Ok(ToolOutput::from_parts(parts));
        }
        clean_value(&mut value);
        Ok(ToolOutput::from_parts(parts).with_structured(value))
    }

    /// Converts blocks of content, within the limits.
    pub(crate) fn parts(&self, blocks: Vec<Value>) -> Vec<ContentPart> {
        self.collect(blocks, |parts, block| parts.push_block(&block))
    }

    fn collect<B>(&self, blocks: Vec<B>, push: fn(&mut Parts<'_>, B)) -> Vec<ContentPart> {
        let mut parts = Parts::new(self);
        for (index, block) in blocks.into_iter().enumerate() {
            if index >= self.limits.max_parts {
                parts.push_text("[further parts were left out]");
                break;
            }
            push(&mut parts, block);
        }
        parts.finish()
    }

    /// Returns the text of the server, without invisible characters, marked as untrusted.
    pub(crate) fn mark(&self, text: &str) -> String {
        let text = strip_invisible(text);
        if self.marks_text { marked(&self.server, &text) } else { text.into_owned() }
    }

    /// Creates the error that the server reported in its result.
    fn reported(&self, parts: Vec<ContentPart>) -> ToolError {
        let mut parts = parts.into_iter().peekable();
        let text = match parts.next_if(|part| part.as_text().is_some()) {
            Some(ContentPart::Text { text }) => text,
            _ => "The tool reports an error without a text.".to_owned(),
        };
        parts.fold(ToolError::failed(text), ToolError::with_part)
    }

    fn invalid(&self, reason: &str) -> ToolError {
        let server = &self.server;
        let text = format!(
            "The call ran, but the MCP server `{server}` returned an invalid result. Go on without it."
        );
        let reason = clean_line(reason, MAX_LABEL_CHARS);
        ToolError::failed(text)
            .with_source(format!("MCP server `{server}`: invalid result: {reason}"))
    }
}

impl<'r> Parts<'r> {
    fn new(reader: &'r ResultReader) -> Self {
        let ResultLimits { max_text_bytes: text_bytes, max_media_bytes: media_bytes, .. } =
            reader.limits;
        Self { reader, parts: Vec::new(), text: String::new(), text_bytes, media_bytes }
    }

    fn push_block(&mut self, block: &Value) {
        match ContentBlock::deserialize(block) {
            Ok(block) => self.push_known(block),
            Err(_) => {
                let kind = block.get("type").and_then(Value::as_str).unwrap_or("none");
                self.push_unknown(&clean_line(kind, 40));
            }
        }
    }

    fn push_unknown(&mut self, kind: &str) {
        self.push_text(&format!("[part of unknown type `{kind}` was left out]"));
    }

    fn push_known(&mut self, block: ContentBlock) {
        match block {
            ContentBlock::Text(text) => self.push_text(&text.text),
            ContentBlock::Image(image) => {
                let media_type = media_type_label(&image.mime_type);
                match media_refusal(MediaKind::Image, &media_type, &image.data) {
                    Some(reason) => self.push_refused("image", &media_type, reason),
                    None => self.push_media(Image { media_type, base64: image.data }.into()),
                }
            }
            ContentBlock::Audio(audio) => {
                let media_type = media_type_label(&audio.mime_type);
                match media_refusal(MediaKind::Audio, &media_type, &audio.data) {
                    Some(reason) => self.push_refused("audio", &media_type, reason),
                    None => self.push_media(Audio::new(media_type, audio.data).into()),
                }
            }
            ContentBlock::ResourceLink(link) => {
                let description = link.description.as_deref().unwrap_or_default();
                let mut part = ResourceLink::new(uri_label(&link.uri), label(&link.name));
                let mut texts = vec![label(description)];
                match uri_use(&link.uri) {
                    UriUse::Link => {}
                    // The model can still read a resource by its name.
                    UriUse::Text => {
                        let text = format!("[resource: {}, {}]", part.name, part.uri);
                        texts.insert(0, text);
                        texts.retain(|text| !text.is_empty());
                        return self.push_text(&texts.join("\n"));
                    }
                    UriUse::Refused(scheme) => {
                        return self.push_text(&format!(
                            "[link `{}` was left out: its scheme `{}` is not passed on]",
                            part.name,
                            label(&scheme),
                        ));
                    }
                }
                // A name of several words may be an instruction: it belongs to the marked text.
                if part.name.contains(' ') {
                    texts.insert(0, std::mem::take(&mut part.name));
                }
                texts.retain(|text| !text.is_empty());
                part.media_type = link.mime_type.as_deref().map(media_type_label);
                part.size = link.size;
                let bytes = [&part.uri, &part.name].into_iter().chain(&texts).map(String::len);
                let Some(rest) = self.text_bytes.checked_sub(bytes.sum()) else {
                    return self.push_text("[link to a resource was left out]");
                };
                self.text_bytes = rest;
                let about = (!texts.is_empty()).then(|| self.reader.mark(&texts.join("\n")));
                part.description = about;
                self.push_part(part.into());
            }
            ContentBlock::Resource(resource) => self.push_resource(resource.resource),
            _ => self.push_unknown("other"),
        }
    }

    /// Adds a note that data were left out.
    fn push_refused(&mut self, kind: &str, media_type: &str, reason: &str) {
        self.push_text(&format!("[{kind} `{media_type}` was left out: {reason}]"));
    }

    fn push_resource(&mut self, resource: ResourceContents) {
        let limit = self.text_bytes;
        let Some(mut part) = resource_part(resource, |text| {
            let cut = truncated(text, limit);
            self.reader.mark(&cut)
        }) else {
            return self.push_text("[resource of unknown type was left out]");
        };
        part.media_type = part.media_type.as_deref().map(media_type_label);
        let part = ContentPart::from(part);
        match part.media() {
            Some(_) => self.push_media(part),
            None => {
                self.text_bytes = self.text_bytes.saturating_sub(part.plain_text().len());
                self.push_part(part);
            }
        }
    }

    fn push_text(&mut self, text: &str) {
        let cut = truncated(text, self.text_bytes);
        self.text_bytes = self.text_bytes.saturating_sub(text.len());
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(&cut);
    }

    fn push_media(&mut self, part: ContentPart) {
        let bytes = part.media().map_or(0, |media| media.base64.len());
        match self.media_bytes.checked_sub(bytes) {
            Some(rest) => {
                self.media_bytes = rest;
                self.push_part(part);
            }
            None => self.push_text(&part.plain_text()),
        }
    }

    fn push_part(&mut self, part: ContentPart) {
        self.end_text();
        self.parts.push(part);
    }

    fn end_text(&mut self) {
        if !self.text.is_empty() {
            let text = self.reader.mark(&std::mem::take(&mut self.text));
            self.parts.push(ContentPart::Text { text });
        }
    }

    fn finish(mut self) -> Vec<ContentPart> {
        self.end_text();
        self.parts
    }
}

/// Converts a resource. `mark` changes its text. Data that can't be passed on are replaced by a
/// text.
pub(crate) fn resource_part(
    resource: ResourceContents,
    mark: impl FnOnce(&str) -> String,
) -> Option<EmbeddedResource> {
    let (mut part, media_type) = match resource {
        ResourceContents::TextResourceContents { uri, mime_type, text, .. } => {
            (EmbeddedResource::text(resource_uri(&uri), mark(&text)), mime_type)
        }
        ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
            let media_type = mime_type.as_deref().unwrap_or("application/octet-stream");
            match media_refusal(MediaKind::Other, media_type, &blob) {
                Some(reason) => {
                    let media_type = media_type_label(media_type);
                    let text = format!("[data `{media_type}` were left out: {reason}]");
                    (EmbeddedResource::text(resource_uri(&uri), mark(&text)), None)
                }
                None => (EmbeddedResource::base64(resource_uri(&uri), blob), mime_type),
            }
        }
        _ => return None,
    };
    part.media_type = media_type;
    Some(part)
}

fn label(text: &str) -> String {
    clean_line(text, MAX_LABEL_CHARS)
}

/// Returns a URI, which has no spaces, so that it can't be a sentence.
fn uri_label(uri: &str) -> String {
    label(uri).replace(' ', "%20")
}

/// Returns the URI of a resource whose content is there, which is only a name: of a file, for
/// instance.
fn resource_uri(uri: &str) -> String {
    match uri_use(uri) {
        UriUse::Refused(scheme) if scheme != "file" => "[URI left out]".to_owned(),
        _ => uri_label(uri),
    }
}

fn media_type_label(text: &str) -> String {
    clean_line(text, MAX_MEDIA_TYPE_CHARS)
}

/// Truncates a text to a number of bytes, and appends a note.
fn truncated(text: &str, max_bytes: usize) -> Cow<'_, str> {
    if text.len() <= max_bytes {
        return text.into();
    }
    let mut end = max_bytes;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let left_out = text.len() - end;
    format!("{}[{left_out} bytes were left out]", text.get(..end).unwrap_or_default()).into()
}
