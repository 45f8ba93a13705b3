//! What holds for every text.

use tool_runtime::drivers::text::{Formats, Offered, Reading, TextStream};

/// How a text that comes in pieces is read otherwise than the whole.
pub(crate) fn in_pieces<'t>(
    whole: &Reading,
    pieces: impl Iterator<Item = &'t str>,
    offered: &Offered<'_>,
) -> Option<String> {
    let mut stream = TextStream::new(Formats::all(), offered.clone());
    let (mut shown, mut thought, mut called) = (String::new(), String::new(), Vec::new());
    for piece in pieces {
        let more = stream.push(piece);
        if more.is_taken_back {
            shown.clear();
            called.clear();
        }
        shown.push_str(more.text);
        thought.push_str(more.reasoning);
        called.extend_from_slice(more.calls);
    }
    let read = stream.finish();
    if read != *whole {
        return Some(format!("read {read:?}, and the whole {whole:?}"));
    }
    if !whole.reasoning.starts_with(&thought) {
        return Some(format!("{thought:?} was thought, and it is {:?}", whole.reasoning));
    }
    // What the end of the text takes back was thought aloud, with the markup that was in it.
    let mut thoughts = whole.reasoning.chars();
    let is_kept = whole.text.starts_with(&shown) && whole.calls.starts_with(&called)
        || shown.trim().chars().all(|said| thoughts.any(|thought| thought == said));
    (!is_kept).then(|| format!("{shown:?} and {called:?} were shown, and it is {whole:?}"))
}
