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
/// Keys whose value may be a list of calls.
pub const LISTS: &[&str] = &["tool_calls", "tool_uses", "function_calls", "calls"];
/// Keys whose value may be the call.
pub const LAYERS: &[&str] = &["function", "function_call", "tool_call", "tool_use", "call"];
/// Keys that may accompany the arguments in a call, besides the name.
pub const OTHERS: &[&str] = &["type", "id", "call_id", "tool_call_id", "index", "status"];
