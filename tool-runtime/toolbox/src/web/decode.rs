//! Decompresses bodies, no further than the limit of their size.

use std::io::Read;

use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use tool_runtime::ToolError;

/// A decoded body.
#[derive(Debug)]
pub(super) struct Decoded {
    pub(super) bytes: Vec<u8>,
    /// Whether the body has more bytes.
    pub(super) is_truncated: bool,
}

/// Decodes a body by the header `content-encoding`. What is damaged behind readable bytes is cut.
pub(super) fn decode(
    body: Vec<u8>,
    is_truncated: bool,
    encoding: Option<&str>,
    max_bytes: usize,
) -> Result<Decoded, ToolError> {
    let encoding = encoding.unwrap_or_default().trim().to_ascii_lowercase();
    match encoding.as_str() {
        "" | "identity" => Ok(Decoded { bytes: body, is_truncated }),
        "gzip" | "x-gzip" => inflate(MultiGzDecoder::new(body.as_slice()), max_bytes),
        // Servers send both forms under this name; the first has a header.
        "deflate" if matches!(body.as_slice(), [head, ..] if head & 0x0F == 8) => {
            inflate(ZlibDecoder::new(body.as_slice()), max_bytes)
        }
        "deflate" => inflate(DeflateDecoder::new(body.as_slice()), max_bytes),
        _ => Err(ToolError::failed("The server sent a compression that was not asked for.")),
    }
}

fn inflate(decoder: impl Read, max_bytes: usize) -> Result<Decoded, ToolError> {
    let mut bytes = Vec::new();
    let limit = (max_bytes as u64).saturating_add(1);
    let outcome = decoder.take(limit).read_to_end(&mut bytes);
    let is_truncated = outcome.is_err() || bytes.len() > max_bytes;
    if bytes.is_empty() && outcome.is_err() {
        return Err(ToolError::failed("The server sent a body that can't be decompressed."));
    }
    bytes.truncate(max_bytes);
    Ok(Decoded { bytes, is_truncated })
}
