//! The envelope of a message that can't be read: its kind and its id.

use rmcp::model::RequestId;

/// The number of bytes at the beginning and the end of a message that are read.
pub(crate) const KEPT_BYTES: usize = 256;

/// The kind of a message of which only the beginning and the end are known.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Envelope {
    /// A response, and the request that it answers if that can be seen.
    Response(Option<RequestId>),
    /// A request of the server.
    Request(RequestId),
    /// A notification.
    Notification,
}

/// The members at the beginning of a message.
#[derive(Default)]
struct Start {
    id: Option<RequestId>,
    /// Whether there is a method or its parameters, which a response has not.
    is_call: bool,
}

impl Envelope {
    /// Reads the beginning and the end of a message.
    ///
    /// Peers write the id before the result or the parameters, or after them. Other orders are not
    /// recognized.
    pub(crate) fn read(head: &[u8], tail: &[u8]) -> Self {
        let start = Start::read(&String::from_utf8_lossy(head));
        let id = start.id.or_else(|| id_at_end(&String::from_utf8_lossy(tail)));
        match (start.is_call, id) {
            (false, id) => Self::Response(id),
            (true, Some(id)) => Self::Request(id),
            (true, None) => Self::Notification,
        }
    }

    /// Reads the beginning and the end of a complete line.
    pub(crate) fn of_line(line: &[u8]) -> Self {
        let tail = line.get(line.len().saturating_sub(KEPT_BYTES)..);
        Self::read(line.get(..KEPT_BYTES).unwrap_or(line), tail.unwrap_or(line))
    }

    /// Reads the beginning of a message, unless its end has to be known.
    pub(crate) fn at_start(head: &[u8]) -> Option<Self> {
        let start = Start::read(&String::from_utf8_lossy(head));
        let id = start.id?;
        Some(if start.is_call { Self::Request(id) } else { Self::Response(Some(id)) })
    }
}

impl Start {
    fn read(head: &str) -> Self {
        let mut start = Self::default();
        let mut rest = head.trim_start().strip_prefix('{');
        while let Some(members) = rest {
            rest = start.member(members.trim_start());
        }
        start
    }

    /// Reads one member, and returns what follows the comma behind it.
    fn member<'t>(&mut self, text: &'t str) -> Option<&'t str> {
        let (name, value) = text.strip_prefix('"')?.split_once('"')?;
        let value = value.trim_start().strip_prefix(':')?.trim_start();
        let rest = match name {
            "id" => {
                let (id, rest) = parse(value)?;
                self.id = Some(id);
                rest
            }
            "jsonrpc" | "method" => {
                self.is_call |= name == "method";
                value.strip_prefix('"')?.split_once('"')?.1
            }
            "params" => {
                self.is_call = true;
                return None;
            }
            _ => return None,
        };
        rest.trim_start().strip_prefix(',')
    }
}

fn id_at_end(tail: &str) -> Option<RequestId> {
    let (_, after) = tail.rsplit_once("\"id\"")?;
    let (id, rest) = parse(after.trim_start().strip_prefix(':')?.trim_start())?;
    // Behind the id only the version and the end of the object may follow.
    let rest: String = rest.split_whitespace().collect();
    matches!(rest.as_str(), "}" | ",\"jsonrpc\":\"2.0\"}").then_some(id)
}

/// Reads an id and returns what follows it.
fn parse(value: &str) -> Option<(RequestId, &str)> {
    if let Some(text) = value.strip_prefix('"') {
        let (id, rest) = text.split_once('"')?;
        return Some((RequestId::String(id.into()), rest));
    }
    let rest = value.trim_start_matches(|c: char| c.is_ascii_digit());
    let number = value.strip_suffix(rest)?;
    // Otherwise, the number continues, perhaps behind the part that is known.
    rest.starts_with([',', '}', ' ', '\t', '\r', '\n']).then_some(())?;
    Some((RequestId::Number(number.parse().ok()?), rest))
}

#[cfg(test)]
mod tests {
    use super::Envelope::{Notification, Request, Response};
    use super::*;

    #[test]
    fn kind_and_id_are_found_before_or_after_the_content() {
        let number = RequestId::Number;
        for (head, tail, expected) in [
            (r#"{"jsonrpc":"2.0","id":7,"result":{"a"#, r#"aaa"}}"#, Response(Some(number(7)))),
            (r#" { "id" : "x" , "result"#, "", Response(Some(RequestId::String("x".into())))),
            (
                r#"{"result":{"id":3,"#,
                r#"aa"},"jsonrpc":"2.0","id":12}"#,
                Response(Some(number(12))),
            ),
            (r#"{"result":{"#, r#"aa"},"id": 12, "jsonrpc": "2.0" }"#, Response(Some(number(12)))),
            // The id of an inner object, a cut number, and text without any.
            (r#"{"result":{"#, r#""id":3},"more":1}"#, Response(None)),
            (r#"{"id":1"#, "", Response(None)),
            (r#"{"id":1.5,"result":{"#, "", Response(None)),
            (r#"{"id":1e3,"result":{"#, "", Response(None)),
            (r#"{"id":-1,"result":{"#, "", Response(None)),
            ("aaaa", "aaaa", Response(None)),
            // Requests of the server have ids of their own.
            (r#"{"jsonrpc":"2.0","id":3,"method":"ping","params":{"#, "", Request(number(3))),
            (r#"{"jsonrpc":"2.0","method":"ping","id":3,"params":{"#, "", Request(number(3))),
            (r#"{"method":"ping","params":{"a"#, r#"a"},"id":3}"#, Request(number(3))),
            (r#"{"params":{"a"#, r#"a"},"id":3,"jsonrpc":"2.0"}"#, Request(number(3))),
            (r#"{"jsonrpc":"2.0","method":"notifications/message","pa"#, "a}}", Notification),
            (r#"{"method":"x","params":{"id":3,"a"#, r#""id":4}}"#, Notification),
        ] {
            let read = Envelope::read(head.as_bytes(), tail.as_bytes());
            assert_eq!(read, expected, "{head} … {tail}");
        }
    }

    #[test]
    fn beginning_is_enough_if_the_id_is_there() {
        let request = br#"{"jsonrpc":"2.0","id":3,"method":"#;
        assert_eq!(Envelope::at_start(request), Some(Request(RequestId::Number(3))));
        let response = br#"{"jsonrpc":"2.0","id":3,"result":"#;
        assert_eq!(Envelope::at_start(response), Some(Response(Some(RequestId::Number(3)))));
        for head in [&br#"{"method":"x","params":{"#[..], br#"{"result":{"#, b"aaa"] {
            assert_eq!(Envelope::at_start(head), None);
        }
    }
}
