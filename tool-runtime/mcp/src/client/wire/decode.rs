//! Decodes the messages of a server.

use rmcp::model::{
    CallToolResult, JsonRpcMessage, JsonRpcVersion2_0, RequestId, ServerJsonRpcMessage,
    ServerResult,
};
use serde::Deserialize;

/// Decodes a message.
///
/// The result of a call is decoded directly. The SDK would try every kind of result in turn, and
/// copy the message each time.
///
/// # Errors
/// The line is not JSON, or not a message of the protocol.
pub(crate) fn decode(
    line: &[u8],
    is_call: impl FnOnce(&RequestId) -> bool,
) -> serde_json::Result<ServerJsonRpcMessage> {
    match serde_json::from_slice::<CallResponse>(line) {
        Ok(response) if is_call(&response.id) => {
            let result = ServerResult::CallToolResult(response.result);
            Ok(JsonRpcMessage::response(result, response.id))
        }
        _ => serde_json::from_slice(line),
    }
}

/// A message that is the response to a call and nothing else.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallResponse {
    #[serde(rename = "jsonrpc")]
    _version: JsonRpcVersion2_0,
    id: RequestId,
    result: CallToolResult,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_is_the_same_as_that_of_the_sdk() {
        for line in [
            r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"5"}]}}"#,
            r#"{"result":{"content":[],"isError":true,"_meta":{"a":1},"more":1},"id":"x","jsonrpc":"2.0"}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"structuredContent":null,"resultType":"complete"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"future"}]}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]},"error":null}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]},"more":null}"#,
            r#"{"jsonrpc":"2.0","id":null,"result":{"content":[]}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{}}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"content":["#,
            "[]",
        ] {
            let expected = serde_json::from_slice::<ServerJsonRpcMessage>(line.as_bytes());
            for is_call in [true, false] {
                let found = decode(line.as_bytes(), |_| is_call);
                assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{line}");
            }
        }
    }

    #[test]
    fn result_of_another_request_is_not_taken_for_that_of_a_call() {
        let line = r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[],"content":[]}}"#;
        let listed = decode(line.as_bytes(), |_| false).unwrap();
        let JsonRpcMessage::Response(response) = listed else { panic!("{listed:?}") };
        assert!(matches!(response.result, ServerResult::ListToolsResult(_)), "{response:?}");
    }
}
