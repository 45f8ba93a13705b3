//! What holds for every text.

use tool_runtime::drivers::text::{Formats, Offered, Reading, TextStream};

/// How a text that comes in pieces is read otherwise than the whole.
pub(crate) fn in_pieces<'t>(
    whole: &Reading,
    pieces: impl Iterator<Item = &'t str>,
    offered: &Offered<'_>,
) -> Option<String> {
    let mut stream = TextStream::new(Formats::all(), offered.clone());
    let (mut text, mut shown) = (String::new(), String::new());
    for piece in pieces {
        text.push_str(piece);
        shown.push_str(stream.push(piece).text);
    }
    let read = stream.finish();
    if read != *whole {
        return Some(format!("read {read:?}, and the whole {whole:?}"));
    }
    // Only a model that was found to have thought aloud has what was shown taken back.
    let has_thought = ["</think>", "</seed:think>", "[/THINK]", "<|close|>think<|sep|>"]
        .iter()
        .any(|end| text.contains(end));
    let is_kept = whole.text.starts_with(&shown) || has_thought;
    (!is_kept).then(|| format!("{shown:?} was shown, and it is {:?}", whole.text))
}
