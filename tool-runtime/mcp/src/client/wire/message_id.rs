//! The id of a message of which only the beginning and the end are known.

use rmcp::model::RequestId;

/// Returns the id of the request that a cut response answers.
///
/// Servers write the members of a response in one of two orders: the id before the result, or after
/// it. Other orders are not recognized.
pub(crate) fn response_id(head: &[u8], tail: &[u8]) -> Option<RequestId> {
    let head = String::from_utf8_lossy(head);
    let tail = String::from_utf8_lossy(tail);
    id_at_start(&head).or_else(|| id_at_end(&tail))
}

/// Reads the id of a response from its beginning alone.
pub(crate) fn id_at_start(head: &str) -> Option<RequestId> {
    let mut rest = head.trim_start().strip_prefix('{')?.trim_start();
    if let Some(after) = member(rest, "jsonrpc") {
        rest = after.strip_prefix("\"2.0\"")?.trim_start().strip_prefix(',')?.trim_start();
    }
    parse(member(rest, "id")?)
}

fn id_at_end(tail: &str) -> Option<RequestId> {
    let (_, after) = tail.rsplit_once("\"id\"")?;
    let value = after.trim_start().strip_prefix(':')?.trim_start();
    let id = parse(value)?;
    // Behind the id only the version and the end of the object may follow.
    let rest = value.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || "\"-_".contains(c));
    let rest: String = rest.split_whitespace().collect();
    matches!(rest.as_str(), "}" | ",\"jsonrpc\":\"2.0\"}").then_some(id)
}

/// Returns what follows the name of a member and its colon.
fn member<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let rest = text.strip_prefix('"')?.strip_prefix(name)?.strip_prefix('"')?;
    Some(rest.trim_start().strip_prefix(':')?.trim_start())
}

fn parse(value: &str) -> Option<RequestId> {
    if let Some(text) = value.strip_prefix('"') {
        let (id, _) = text.split_once('"')?;
        return Some(RequestId::String(id.into()));
    }
    let digits = value.len() - value.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    // A number at the very end may continue.
    let number = value.get(..digits).filter(|_| digits < value.len())?;
    Some(RequestId::Number(number.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_is_found_before_or_after_the_result() {
        let number = |n| Some(RequestId::Number(n));
        for (head, tail, expected) in [
            (r#"{"jsonrpc":"2.0","id":7,"result":{"a"#, r#"aaa"}}"#, number(7)),
            (r#" { "id" : "x" , "result"#, "", Some(RequestId::String("x".into()))),
            (r#"{"result":{"id":3,"#, r#"aa"},"jsonrpc":"2.0","id":12}"#, number(12)),
            (r#"{"result":{"#, r#"aa"},"id": 12, "jsonrpc": "2.0" }"#, number(12)),
            // The id of an inner object, a cut number, and text without any.
            (r#"{"result":{"#, r#""id":3},"more":1}"#, None),
            (r#"{"id":1"#, "", None),
            ("aaaa", "aaaa", None),
        ] {
            assert_eq!(response_id(head.as_bytes(), tail.as_bytes()), expected, "{head} … {tail}");
        }
    }
}
