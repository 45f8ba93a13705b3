//! Members of the object of a call that are neither its name nor its arguments.

use std::ops::Range;

use serde_json::Value;

use super::super::markup::Members;
use super::without_separators;
use crate::json::__private::{ARGUMENTS, is_one_of};
use crate::tool::ToolDefinition;

/// Values of a member `type` that belong to the markup of calls.
const CALL_TYPES: [&str; 6] =
    ["function", "function_call", "tool", "tool_call", "tool_calls", "tool_use"];

/// Returns the members that would be lost if the call consisted of the members at `used` alone, and
/// text of the object that is no member. `arguments` is the text of the arguments that were read.
///
/// A key of calls such as `id`, for which `is_key` is true, is markup, unless the tool has a
/// parameter of this name and no argument for it.
pub(crate) fn leftover_members(
    members: &Members<'_>,
    used: &[Range<usize>],
    arguments: &str,
    tool: Option<&ToolDefinition>,
    is_key: impl Fn(&str) -> bool,
) -> String {
    let mut lost = Vec::new();
    for (key, range) in members.ranges() {
        let value = members.text.get(range.clone()).unwrap_or_default();
        // Arguments with unbalanced quotes may reach beyond the value of their member.
        if value == "null" || used.iter().any(|used| used.contains(&range.start)) {
            continue;
        }
        let properties = tool.and_then(|tool| tool.parameters.as_value().get("properties"));
        let is_parameter = properties.is_some_and(|properties| properties.get(key).is_some());
        let is_markup = if is_key(key) || is_one_of(key, ARGUMENTS) && is_empty(value) {
            let text = value.trim_matches(['"', '\'']);
            let is_type = key == "type" && CALL_TYPES.contains(&text);
            let is_name = tool.is_some_and(|tool| is_one_of(text, &[&tool.name]));
            !is_parameter || is_type || is_name || has_argument(arguments, key)
        } else {
            !is_parameter && is_empty(value)
        };
        if !is_markup {
            lost.push(format!("{}: {value}", Value::from(key)));
        }
    }
    let rest = members.unread().filter(|rest| !used.iter().any(|used| used.contains(&rest.start)));
    let rest = rest.and_then(|rest| members.text.get(rest)).map(without_separators);
    lost.extend(rest.filter(|rest| !rest.is_empty()).map(str::to_owned));
    lost.join(", ")
}

fn has_argument(arguments: &str, key: &str) -> bool {
    let arguments = arguments.trim_start();
    arguments.starts_with('{') && Members::of(arguments).keys().any(|it| it == key)
}

/// Returns true if a value holds nothing.
pub(crate) fn is_empty(value: &str) -> bool {
    value == "null" || value.chars().all(|c| "{}[]\"' \n\t\r".contains(c))
}
