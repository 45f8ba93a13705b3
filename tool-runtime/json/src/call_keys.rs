//! The keys of a call in JSON, as models write it: `{"name": …, "arguments": {…}}` and the like.

/// Keys whose value may be the name of the tool.
pub const NAMES: &[&str] =
    &["name", "tool", "tool_name", "function", "function_name", "action", "recipient_name"];
/// Keys whose value may be the arguments.
pub const ARGUMENTS: &[&str] = &[
    "arguments",
    "parameters",
    "params",
    "input",
    "args",
    "kwargs",
    "tool_input",
    "tool_args",
    "tool_arguments",
    "action_input",
    "function_args",
];
/// Keys whose value may be the arguments, if another member names the tool.
pub const NAMED_ARGUMENTS: &[&str] = &["payload", "data", "inputs"];
/// Keys whose value may be a list of calls.
pub const LISTS: &[&str] = &["tool_calls", "tool_uses", "function_calls", "calls"];
/// Keys whose value may be the call.
pub const LAYERS: &[&str] = &["function", "function_call", "tool_call", "tool_use", "call"];
/// Keys, other than the name, that may accompany the arguments in a call.
pub const OTHERS: &[&str] =
    &["type", "id", "call_id", "tool_call_id", "tool_use_id", "index", "status", "jsonrpc"];
/// The key and the value that make an object a request of the Model Context Protocol, whose
/// `params` are the call.
pub const METHOD: (&str, &str) = ("method", "tools/call");

/// Returns whether `key` is one of `keys`, up to case and separators: `toolName` is `tool_name`.
///
/// ```
/// assert!(tool_json::__private::is_one_of("toolName", &["id", "tool_name"]));
/// ```
pub fn is_one_of(key: &str, keys: &[&str]) -> bool {
    keys.contains(&key) || keys.iter().any(|known| is_similar(known, key))
}

/// Returns whether two keys differ in case and separators alone.
pub(crate) fn is_similar(left: &str, right: &str) -> bool {
    let letters = |key| {
        let chars = str::chars(key).filter(|c| !matches!(c, '_' | '-' | ' '));
        chars.flat_map(char::to_lowercase)
    };
    letters(left).eq(letters(right))
}
