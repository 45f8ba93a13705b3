//! Tests of tags around calls that are no part of their format, and of end tags that are left over.

use tool_runtime::drivers::text::extract;

use super::corpus::{Case, files};
use super::{invariants, lookup, tools};

/// Formats that count only at the end of the text are not found in tags. Reasoning holds no calls.
const WITHOUT_MARKER: [&str; 6] =
    ["fenced", "gemma_bare", "llama_json", "pythonic", "react", "think"];

#[test]
fn tags_around_calls_are_removed_with_them() {
    let tools = tools::all();
    let lookup = lookup(&tools);
    for file in files() {
        let name = file.file_stem().expect("a name").to_string_lossy().into_owned();
        let case = Case::all(&file).swap_remove(0);
        let unwrapped = extract(&case.text, &lookup);
        if WITHOUT_MARKER.contains(&name.as_str()) || unwrapped.calls.is_empty() {
            continue;
        }
        for tag in ["tool_calls", "function_calls", "tools"] {
            for text in [
                format!("<{tag}>{}</{tag}>", case.text.trim_end()),
                format!("<{tag}>\n{}\n</{tag}>\n", case.text.trim_end()),
                format!("{}\n</{tag}>", case.text.trim_end()),
            ] {
                let parsed = extract(&text, &lookup);
                assert_eq!(parsed.calls, unwrapped.calls, "{name}: {text}");
                assert_eq!(parsed.text, unwrapped.text, "{name}: {text}");
                let pieces = text.split_inclusive(['>', ' ']);
                let difference = invariants::streamed_difference(&parsed, pieces, &lookup);
                assert_eq!(difference, None, "{name}");
            }
        }
    }
}
