//! Tests of tags around calls that are no part of their format, and of end tags that are left over.

use super::extract;

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

/// What models write after their calls: end-of-turn tokens, and a start tag instead of an end tag.
#[test]
fn markup_after_calls_is_removed() {
    let tools = tools::all();
    let lookup = lookup(&tools);
    for text in [
        "<|tool_call>call:now{}<tool_call|><|tool_response>",
        "<start_function_call>call:now{}<end_function_call><start_function_response>",
        "<tool_call>now</tool_call><|observation|>",
        "<tool_call>now</tool_call>\n<|user|>\n",
        "<tool_call>{\"name\": \"now\", \"arguments\": {}}<tool_call>",
        "<tool_call>{\"name\": \"now\", \"arguments\": {}}</tool_call>\n<tool_call>\n",
        "[TOOL_CALLS][{\"name\": \"now\", \"arguments\": {}}][TOOL_CALLS]",
    ] {
        let parsed = extract(text, &lookup);
        assert_eq!((parsed.calls.len(), parsed.text.as_str()), (1, ""), "{text}");
        let pieces = text.split_inclusive(['>', ' ', '{']);
        assert_eq!(invariants::streamed_difference(&parsed, pieces, &lookup), None, "{text}");
    }
}
