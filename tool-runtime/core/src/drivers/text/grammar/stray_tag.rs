//! End tags at the end of an argument that were not opened in it: leftovers of the markup of the
//! call, or a part of the value.

use super::super::markup::{END_TOKENS, TAG_NAMES};
use crate::tool::ToolDefinition;

/// The longest tag, in bytes.
const MAX_TAG_LEN: usize = 96;
/// The longest name of an end tag, in bytes.
const MAX_NAME_LEN: usize = 64;
/// The tokens around the names of tags, in the format of Kimi K3.
const OPEN: &str = "<|open|>";
const CLOSE: &str = "<|close|>";
const SEP: &str = "<|sep|>";

/// Returns true if the value of the argument `key` ends with an end tag that was not opened in it
/// and belongs to the markup of the call: it has the name of an argument, of the tool, or of a tag
/// of calls. So does an end-of-turn token.
pub(crate) fn ends_with_stray_tag(value: &str, key: &str, tool: &ToolDefinition) -> bool {
    let value = value.trim_end();
    let has_token = END_TOKENS.iter().any(|token| value.ends_with(token));
    let Some((before, tag)) = last_tag(value) else { return has_token };
    let name = name(tag).to_lowercase();
    // `</s>` is an HTML tag as well.
    (has_token || is_of_markup(&name, key, tool)) && !is_opened(before, &name)
}

/// Returns true if a value that has no end tag holds a bracket: it may be a damaged tag.
pub(crate) fn may_hold_tag(value: &str) -> bool {
    value.contains(['<', '>', '｜'])
}

/// Returns true for the name of an argument, of the tool or of a tag of calls.
pub(crate) fn is_of_markup(name: &str, key: &str, tool: &ToolDefinition) -> bool {
    let is_same = |other: &str| other.eq_ignore_ascii_case(name);
    let properties = tool.parameters.as_value().get("properties").and_then(|all| all.as_object());
    !name.is_empty()
        && (is_same(key)
            || is_same(&tool.name)
            || TAG_NAMES.contains(&name)
            || properties.is_some_and(|all| all.keys().any(|property| is_same(property))))
}

/// Splits the last tag from a value: an end tag, with or without `>`, or an empty element.
fn last_tag(value: &str) -> Option<(&str, &str)> {
    if let Some(value) = value.strip_suffix(SEP) {
        return value.rsplit_once(CLOSE);
    }
    let window = value.len().saturating_sub(MAX_TAG_LEN);
    let start = value.as_bytes().get(window..)?.iter().rposition(|byte| *byte == b'<')? + window;
    let (before, tag) = value.split_at_checked(start)?;
    let inner = tag.strip_prefix('<')?;
    let inner = inner.strip_suffix('>').unwrap_or(inner);
    let is_end = inner.trim_start().starts_with('/');
    let is_empty = tag.ends_with("/>");
    (is_end || is_empty).then_some((before.trim_end_matches('\\'), inner))
}

/// Returns the name in a tag, without a namespace: `/parameter`, `/ content `, `/｜DSML｜parameter`,
/// `/parameter=content`.
fn name(inner: &str) -> &str {
    let inner = inner.trim_matches(|c: char| c == '/' || c.is_whitespace());
    let head = inner.split(|c: char| c.is_whitespace() || c == '=').next().unwrap_or_default();
    head.rsplit([':', '｜', '|', '>']).next().unwrap_or_default()
}

/// Returns true if a start tag of this name is in `text`, which ends before the end tag.
fn is_opened(text: &str, name: &str) -> bool {
    let text = text.to_lowercase();
    let mut starts = text.match_indices(name);
    starts.any(|(at, _)| {
        text.get(..at)
            .is_some_and(|before| ["<", "<｜", OPEN].iter().any(|start| before.ends_with(start)))
    })
}

/// Returns the value without an end tag of another name, which stands for the one that is missing.
pub(crate) fn without_other_end_tag(value: &str) -> &str {
    let tags = [("<", "</", ">"), (OPEN, CLOSE, SEP)];
    tags.into_iter().find_map(|tag| before_unopened_tag(value, tag)).unwrap_or(value)
}

/// Returns the text before the end tag at the end of `text` if it was not opened there.
fn before_unopened_tag<'t>(
    text: &'t str,
    (open, close, end): (&str, &str, &str),
) -> Option<&'t str> {
    let (before, name) = text.trim_end().strip_suffix(end)?.rsplit_once(close)?;
    let is_name = |c: char| c.is_alphanumeric() || "_-.:=｜|".contains(c);
    let is_tag = (1..=MAX_NAME_LEN).contains(&name.len()) && name.chars().all(is_name);
    (is_tag && !before.contains(&format!("{open}{name}"))).then_some(before)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::ends_with_stray_tag;
    use crate::tool::ToolDefinition;

    #[test]
    fn leftover_markup_is_distinguished_from_content() {
        let schema = json!({"type": "object", "properties": {"path": {}, "content": {}}});
        let tool = ToolDefinition::new("write_file", "Writes.", schema);
        for end in [
            "</content>",
            "</Content>",
            "</CONTENT>",
            "</content >",
            "</ content>",
            "</content>\n",
            "</content",
            "<content/>",
            "\\</content>",
            "</path>",
            "</parameter>",
            "</parameter></parameter>",
            "</parameter=content>",
            "</parameter name=\"content\">",
            "</parameters>",
            "</param>",
            "</argument>",
            "</arg>",
            "</arg_value>",
            "</｜DSML｜parameter>",
            "</steptml:parameter>",
            "</function>",
            "</invoke>",
            "</tool_call>",
            "</write_file>",
            "<|im_end|>",
            "</s>",
        ] {
            let value = format!("All well.{end}");
            assert!(ends_with_stray_tag(&value, "content", &tool), "{value}");
        }
        for value in [
            "All well.",
            "<b>All well.</b>",
            "All well.</div>",
            "<content>All well.</content>",
            "<PATH d=\"x\">All</path>",
            "<parameter=x>All</parameter>",
            "<s>All</s>",
            "</content> All well.",
            "a < b",
            "a </",
            "<br/>",
            "",
        ] {
            assert!(!ends_with_stray_tag(value, "content", &tool), "{value}");
        }
    }
}
