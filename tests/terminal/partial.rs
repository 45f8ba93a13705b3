//! Interrupted replies.

use super::*;

/// Interrupted text has its own line before the end of its run.
#[test]
fn interrupted_reply_ends_its_line() {
    let screen = InMemoryTerm::new(20, 40);
    let terminal = Terminal::with_target(ProgressDrawTarget::term_like(Box::new(screen.clone())));
    let mut writer = terminal.writer();
    let ended = |code: &str| json!({ "duration_us": 0, "code": code, "error": code });
    for code in ["MODEL_FAILED", "TIMEOUT", "DROPPED"] {
        terminal.observe(&event(0, "model.requested", json!({})));
        write!(writer, "It is no").unwrap();
        terminal.observe(&event(0, "run.finished", ended(code)));
    }
    // The stream is dropped after the complete reply.
    terminal.observe(&event(0, "model.requested", json!({})));
    write!(writer, "No").unwrap();
    terminal.observe(&replied("Noon."));
    terminal.observe(&event(0, "run.finished", ended("DROPPED")));
    // The program ends the line, too.
    write!(writer, "\nand").unwrap();
    drop(writer);
    let expected = [
        "It is no",
        "✗ run  *  MODEL_FAILED",
        "It is no",
        "✗ run  *  TIMEOUT",
        "It is no",
        "✗ run  *  DROPPED",
        "No",
        "✗ run  *  DROPPED",
        "and",
    ];
    assert_eq!(screen_lines(&screen), expected);
}
