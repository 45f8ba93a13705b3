//! Audio of a reply, whole or in pieces.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use crate::shared::{file_part, refused_part};
use tool_core::AssistantPart;

/// Audio of a message, or of one chunk of a stream.
#[derive(Default, Deserialize)]
pub(super) struct WireAudio {
    data: Option<String>,
    pub(super) transcript: Option<String>,
}

/// Audio that is being received. Each piece is encoded by itself.
#[derive(Default)]
pub(super) struct ReceivedAudio {
    bytes: Vec<u8>,
    is_invalid: bool,
}

impl ReceivedAudio {
    pub(super) fn push(&mut self, audio: &WireAudio) {
        let Some(data) = &audio.data else { return };
        match STANDARD.decode(data) {
            Ok(bytes) => self.bytes.extend(bytes),
            Err(_) => self.is_invalid = true,
        }
    }

    /// Returns the audio, or a note if it can't be decoded.
    pub(super) fn into_part(self, provider: &str) -> Option<AssistantPart> {
        let media_type = media_type(&self.bytes);
        if self.is_invalid {
            return Some(refused_part(media_type, "its data are not base64"));
        }
        (!self.bytes.is_empty())
            .then(|| file_part(provider, media_type, STANDARD.encode(&self.bytes)))
    }
}

/// Returns the media type by the first bytes. The reply does not name the format; samples without a
/// header are what streams contain.
fn media_type(bytes: &[u8]) -> &'static str {
    match bytes {
        [b'R', b'I', b'F', b'F', ..] => "audio/wav",
        [b'I', b'D', b'3', ..] | [0xFF, 0xE2..=0xFF, ..] => "audio/mpeg",
        [b'f', b'L', b'a', b'C', ..] => "audio/flac",
        [b'O', b'g', b'g', b'S', ..] => "audio/ogg",
        _ => "audio/pcm",
    }
}
