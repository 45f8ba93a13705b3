//! Replies that end without being whole.

use super::*;

/// Words that were cut off stand before the end of their run, and on a line of their own.
#[test]
fn a_reply_that_is_cut_off_ends_its_line() {
    let screen = InMemoryTerm::new(20, 40);
    let terminal = Terminal::on(ProgressDrawTarget::term_like(Box::new(screen.clone())));
    let mut words = terminal.writer();
    let ended = |code: &str| json!({ "took": 0, "code": code, "error": code });
    for code in ["MODEL", "TIME_LIMIT", "DROPPED"] {
        terminal.observe(&told(0, "model", "asked", json!({})));
        write!(words, "It is no").unwrap();
        terminal.observe(&told(0, "run", "finished", ended(code)));
    }
    // Nobody reads on, though all of it is there.
    terminal.observe(&told(0, "model", "asked", json!({})));
    write!(words, "No").unwrap();
    terminal.observe(&replied("Noon."));
    terminal.observe(&told(0, "run", "finished", ended("DROPPED")));
    // The program ends the line as well.
    write!(words, "\nand").unwrap();
    drop(words);
    let expected = [
        "It is no",
        "✗ run  *  MODEL",
        "It is no",
        "✗ run  *  TIME_LIMIT",
        "It is no",
        "✗ run  *  DROPPED",
        "No",
        "✗ run  *  DROPPED",
        "and",
    ];
    assert_eq!(seen(&screen), expected);
}
