//! The output of a command while it runs, for observers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::mpsc::{Receiver, Sender, channel};
use tool_core::ToolContext;

use super::utf8::Decoder;

/// The number of pieces that wait for the call, of 16 KiB at most each.
const CAPACITY: usize = 16;

/// The most bytes of a command that are emitted while it runs.
const MAX_BYTES: usize = 1 << 20;

/// Returns the two ends of a bounded queue. If an observer is slow, pieces are left out, and the
/// command does not wait for it.
pub(crate) fn queue() -> (LiveSender, Live) {
    let (sender, pieces) = channel(CAPACITY);
    let omitted = Arc::<AtomicUsize>::default();
    let live =
        Live { pieces, omitted: Arc::clone(&omitted), decoder: Decoder::default(), emitted: 0 };
    (LiveSender { sender, omitted }, live)
}

/// The end of the queue at the task that reads the output.
pub(crate) struct LiveSender {
    sender: Sender<(usize, Vec<u8>)>,
    /// The bytes that were left out since the last piece.
    omitted: Arc<AtomicUsize>,
}

impl LiveSender {
    pub(crate) fn push(&self, bytes: &[u8]) {
        match self.sender.try_reserve() {
            Ok(place) => place.send((self.omitted.swap(0, Ordering::Relaxed), bytes.to_vec())),
            Err(_) => _ = self.omitted.fetch_add(bytes.len(), Ordering::Relaxed),
        }
    }
}

/// The end of the queue at the call.
pub(crate) struct Live {
    /// Each piece with the number of bytes that were left out before it.
    pieces: Receiver<(usize, Vec<u8>)>,
    omitted: Arc<AtomicUsize>,
    decoder: Decoder,
    emitted: usize,
}

impl Live {
    /// Emits the next piece. Returns false if the output has ended.
    ///
    /// # Cancellation
    /// Dropping the future loses nothing.
    pub(crate) async fn next(&mut self, ctx: &ToolContext) -> bool {
        let Some((omitted, bytes)) = self.pieces.recv().await else { return false };
        self.emit(omitted, &bytes, ctx);
        true
    }

    /// Emits what waits, at the end of the command.
    pub(crate) fn finish(mut self, ctx: &ToolContext) {
        while let Ok((omitted, bytes)) = self.pieces.try_recv() {
            self.emit(omitted, &bytes, ctx);
        }
        self.emit(self.omitted.swap(0, Ordering::Relaxed), &[], ctx);
        let mut rest = String::new();
        self.decoder.finish(&mut rest);
        self.emit(0, rest.as_bytes(), ctx);
    }

    fn emit(&mut self, omitted: usize, bytes: &[u8], ctx: &ToolContext) {
        let text = self.text(omitted, bytes);
        if !text.is_empty() {
            ctx.emit_output(&text);
        }
    }

    /// Returns what is emitted of a piece.
    fn text(&mut self, omitted: usize, bytes: &[u8]) -> String {
        if self.emitted > MAX_BYTES {
            return String::new();
        }
        let mut text = String::new();
        if omitted > 0 {
            text = format!("\n[… {omitted} bytes omitted …]\n");
        }
        self.decoder.decode(bytes, &mut text);
        self.emitted += text.len();
        if self.emitted > MAX_BYTES {
            text.push_str("\n[… the output that follows is not shown while the command runs …]\n");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn live_output_is_bounded_and_names_what_is_left_out() {
        let (sender, mut live) = queue();
        for _ in 0..CAPACITY + 3 {
            sender.push(b"0123456789");
        }
        let mut texts = Vec::new();
        while let Ok((omitted, bytes)) = live.pieces.try_recv() {
            texts.push(live.text(omitted, &bytes));
        }
        assert_eq!(texts, ["0123456789"; CAPACITY]);
        sender.push("é".as_bytes().get(..1).unwrap());
        sender.push("é".as_bytes().get(1..).unwrap());
        let (omitted, bytes) = live.pieces.try_recv().unwrap();
        assert_eq!(live.text(omitted, &bytes), "\n[… 30 bytes omitted …]\n");
        let (omitted, bytes) = live.pieces.try_recv().unwrap();
        assert_eq!(live.text(omitted, &bytes), "é");

        let long = vec![b'x'; MAX_BYTES];
        assert!(live.text(0, &long).ends_with("while the command runs …]\n"));
        assert_eq!(live.text(5, b"more"), "");
    }
}
