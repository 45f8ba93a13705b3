//! Decompresses bodies, no further than the limit of their size.

use std::io::Read;

use flate2::bufread::GzDecoder;
use flate2::read::{DeflateDecoder, ZlibDecoder};
use tool_core::ToolError;

/// The most members of a gzip body that are decompressed. A member takes 20 bytes at least, and
/// much more time than its content.
const MAX_MEMBERS: usize = 1_000;

/// A decoded body.
#[derive(Debug)]
pub(crate) struct Decoded {
    pub(crate) bytes: Vec<u8>,
    /// Whether the body has more bytes.
    pub(crate) is_truncated: bool,
}

/// Decodes a body by the header `content-encoding`. What is damaged behind readable bytes is cut.
pub(crate) fn decode(
    body: Vec<u8>,
    is_truncated: bool,
    encoding: Option<&str>,
    max_bytes: usize,
) -> Result<Decoded, ToolError> {
    let encoding = encoding.unwrap_or_default().trim().to_ascii_lowercase();
    match encoding.as_str() {
        "" | "identity" => Ok(Decoded { bytes: body, is_truncated }),
        "gzip" | "x-gzip" => gunzip(&body, max_bytes),
        // Servers send both forms under this name; the first has a header.
        "deflate" if matches!(body.as_slice(), [head, ..] if head & 0x0F == 8) => {
            inflate(ZlibDecoder::new(body.as_slice()), max_bytes)
        }
        "deflate" => inflate(DeflateDecoder::new(body.as_slice()), max_bytes),
        _ => Err(ToolError::failed("The server sent a compression that was not asked for.")),
    }
}

/// Decompresses the members of a gzip body, one after the other.
fn gunzip(mut body: &[u8], max_bytes: usize) -> Result<Decoded, ToolError> {
    let mut decoded = Decoded { bytes: Vec::new(), is_truncated: false };
    for _ in 0..MAX_MEMBERS {
        inflate_into(&mut decoded, GzDecoder::new(&mut body), max_bytes)?;
        if decoded.is_truncated || body.is_empty() {
            return Ok(decoded);
        }
    }
    Ok(Decoded { is_truncated: true, ..decoded })
}

fn inflate(decoder: impl Read, max_bytes: usize) -> Result<Decoded, ToolError> {
    let mut decoded = Decoded { bytes: Vec::new(), is_truncated: false };
    inflate_into(&mut decoded, decoder, max_bytes)?;
    Ok(decoded)
}

/// Appends what a decoder returns, up to the limit of all.
fn inflate_into(
    decoded: &mut Decoded,
    decoder: impl Read,
    max_bytes: usize,
) -> Result<(), ToolError> {
    let rest = max_bytes.saturating_sub(decoded.bytes.len()) as u64;
    let outcome = decoder.take(rest.saturating_add(1)).read_to_end(&mut decoded.bytes);
    if decoded.bytes.is_empty() && outcome.is_err() {
        return Err(ToolError::failed("The server sent a body that can't be decompressed."));
    }
    decoded.is_truncated = outcome.is_err() || decoded.bytes.len() > max_bytes;
    decoded.bytes.truncate(max_bytes);
    Ok(())
}
