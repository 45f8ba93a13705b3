//! Warnings of model hooks.

use super::*;

#[test]
fn warning_of_a_hook_is_a_line() {
    let output = Output::default();
    let warning = json!({ "reason": "no facts" });
    Terminal::plain(output.clone()).observe(&event(0, "model.hook_warning", warning));
    assert_eq!(output.lines(), ["✗ hook  no facts"]);
}
