//! The tool `file_read`: numbered lines of a text, or an image.

pub(crate) mod content;
pub(crate) mod lines;

use std::io::{self, BufReader, Cursor, Read, Seek};
use std::ops::Range;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use encoding_rs::{Encoding, UTF_8};
use encoding_rs_io::DecodeReaderBytesBuilder;
use tool_core::{Image, ToolError, ToolErrorKind, ToolOutput};

use crate::error::{io_error, path_error};
use crate::path::RelativePath;
use crate::root::Root;
use crate::version::{MAX_CONTENT, Version};
use content::{Content, HEAD_LEN, is_utf16};
use lines::{Columns, LineEnd, MARGIN, read_line, skip_lines};

/// The most lines of a result, and the default.
const MAX_LINES: u64 = 2000;

/// The most characters of a line.
const MAX_LINE_LEN: usize = 2000;

/// The most bytes of a result, less than what a policy passes on to the model by default.
const MAX_BYTES: usize = 60_000;

/// The largest image that is sent, in bytes.
const MAX_IMAGE_LEN: u64 = 5 * 1024 * 1024;

/// The lines of a file to read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LineRange {
    /// The number of the first line, from 1.
    pub(crate) offset: u64,
    pub(crate) limit: Option<u64>,
    /// The number of the first character of each line, from 1.
    pub(crate) column: u64,
}

/// The output of a call, or the reason why there is none.
#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) output: Result<ToolOutput, ToolError>,
    /// The version that the run knows now; `None` if there is no file.
    pub(crate) version: Option<Version>,
}

/// Returns a part of a text without secrets, also of those that reach into the part.
pub(crate) type Redact<'r> = &'r dyn Fn(&str, Range<usize>) -> String;

/// Reads a file, in constant memory.
///
/// # Errors
/// Returns an error if the run knows no more about the file than before.
pub(crate) fn read(
    root: &Root,
    path: &RelativePath,
    range: LineRange,
    redact: Redact<'_>,
) -> Result<Reading, ToolError> {
    let (mut file, metadata) = match root.file(path) {
        Ok(opened) => opened,
        Err(error) => {
            let is_missing = error.has_kind(io::ErrorKind::NotFound);
            let error = path_error(path, error);
            if !is_missing {
                return Err(error);
            }
            return Ok(Reading { output: Err(error), version: None });
        }
    };
    let len = metadata.len();
    let failed = |error| io_error(path, error);
    let mut bytes = Vec::new();
    file.by_ref().take(MAX_CONTENT + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 <= MAX_CONTENT {
        let version = Some(Version::of_content(&bytes));
        let output = match Content::detect(&bytes, true) {
            Content::Image(media_type) => image(path, &bytes, media_type),
            Content::Binary => Err(binary(path, bytes.len() as u64)),
            Content::Text(encoding) => {
                Ok(text(path, (Cursor::new(&bytes), encoding), range, redact)?)
            }
        };
        return Ok(Reading { output, version });
    }
    bytes.truncate(HEAD_LEN);
    bytes.shrink_to_fit();
    let output = match Content::detect(&bytes, false) {
        Content::Text(encoding) => {
            file.rewind().map_err(failed)?;
            Ok(text(path, (file, encoding), range, redact)?)
        }
        Content::Image(_) | Content::Binary => Err(binary(path, len)),
    };
    Ok(Reading { output, version: Some(Version::of_large_file(&metadata)) })
}

fn binary(path: &RelativePath, len: u64) -> ToolError {
    let text = format!("`{path}` is a binary file of {len} bytes, not text.");
    ToolError::new(ToolErrorKind::ExecutionFailed, text)
}

fn image(
    path: &RelativePath,
    bytes: &[u8],
    media_type: &'static str,
) -> Result<ToolOutput, ToolError> {
    let len = bytes.len() as u64;
    if len > MAX_IMAGE_LEN {
        let text =
            format!("`{path}` is an image of {len} bytes; at most {MAX_IMAGE_LEN} are sent.");
        return Err(ToolError::new(ToolErrorKind::ExecutionFailed, text));
    }
    let image = Image { media_type: media_type.into(), base64: STANDARD.encode(bytes) };
    Ok(ToolOutput::text(format!("{path}: {media_type}, {len} bytes")).with_image(image))
}

fn text(
    path: &RelativePath,
    (source, encoding): (impl Read, &'static Encoding),
    range: LineRange,
    redact: Redact<'_>,
) -> Result<ToolOutput, ToolError> {
    let failed = |error| io_error(path, error);
    let mut decoder = DecodeReaderBytesBuilder::new();
    // A byte order mark is detected and removed. UTF-8 is passed through.
    decoder.strip_bom(true).utf8_passthru(true);
    if encoding != UTF_8 && !is_utf16(encoding) {
        decoder.encoding(Some(encoding));
    }
    let mut reader = BufReader::with_capacity(HEAD_LEN, decoder.build(source));
    let skipped = skip_lines(&mut reader, range.offset.saturating_sub(1)).map_err(failed)?;
    let skipped_columns = range.column.saturating_sub(1);
    let columns = Columns { skipped: skipped_columns, limit: MAX_LINE_LEN, margin: MARGIN };
    let limit = range.limit.unwrap_or(MAX_LINES).min(MAX_LINES);
    let (mut output, mut number) = (String::new(), skipped);
    let (mut has_crlf, mut has_lf) = (false, false);
    let mut notes = Vec::new();
    while let Some(line) = read_line(&mut reader, columns).map_err(failed)? {
        if number - skipped >= limit || output.len() > MAX_BYTES {
            let next = number + 1;
            notes.push(format!("more lines follow: continue with `offset` {next}"));
            break;
        }
        number += 1;
        has_crlf |= line.end == LineEnd::Crlf;
        has_lf |= line.end == LineEnd::Lf;
        output.push_str(&format!("{number}\t{}\n", line.redacted(redact)));
        if line.omitted > 0 {
            let next = columns.skipped + MAX_LINE_LEN as u64 + 1;
            notes.push(format!(
                "line {number} has {} more characters: continue with `offset` {number}, \
                 `limit` 1 and `column` {next}",
                line.omitted
            ));
        }
    }
    if output.is_empty() {
        if skipped > 0 || range.offset > 1 {
            let text = format!("`{path}` has {skipped} lines: send a smaller `offset`.");
            return Err(ToolError::new(ToolErrorKind::ExecutionFailed, text));
        }
        notes.push("the file is empty".to_owned());
    }
    if encoding != UTF_8 {
        notes.push(format!("decoded from {}", encoding.name()));
    }
    if has_crlf {
        let ends = if has_lf { "line ends are mixed: CRLF and LF" } else { "lines end with CRLF" };
        notes.push(ends.to_owned());
    }
    for note in notes {
        output.push_str(&format!("[{note}]\n"));
    }
    output.pop();
    Ok(ToolOutput::text(output))
}
