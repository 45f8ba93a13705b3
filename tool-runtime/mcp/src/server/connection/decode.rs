//! Decodes the messages of a client.

use rmcp::model::{
    CallToolRequest, CallToolRequestMethod, CallToolRequestParams, ClientJsonRpcMessage,
    ClientRequest, GetMeta as _, JsonRpcVersion2_0, RequestId, RequestMetaObject,
};
use serde::Deserialize;

/// Decodes a message.
///
/// A call is decoded directly. The SDK would try every kind of request in turn, and copy the
/// message each time.
///
/// # Errors
/// The line is not JSON, or not a message of the protocol.
pub(in crate::server) fn decode(line: &[u8]) -> serde_json::Result<ClientJsonRpcMessage> {
    match serde_json::from_slice::<Call>(line) {
        Ok(call) => Ok(call.into()),
        Err(_) => serde_json::from_slice(line),
    }
}

/// A message that is a call and nothing else.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    #[serde(rename = "jsonrpc")]
    _version: JsonRpcVersion2_0,
    id: RequestId,
    #[serde(rename = "method")]
    _method: CallToolRequestMethod,
    params: Params,
}

#[derive(Deserialize)]
struct Params {
    #[serde(rename = "_meta")]
    meta: Option<RequestMetaObject>,
    #[serde(flatten)]
    call: CallToolRequestParams,
}

impl From<Call> for ClientJsonRpcMessage {
    fn from(call: Call) -> Self {
        let Params { meta, call: params } = call.params;
        let mut request: ClientRequest = CallToolRequest::new(params).into();
        if let Some(meta) = meta {
            *request.get_meta_mut() = meta;
        }
        Self::request(request, call.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_is_the_same_as_that_of_the_sdk() {
        for line in [
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":1}}}"#,
            r#"{"method":"tools/call","params":{"name":"add"},"id":"x","jsonrpc":"2.0"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":7,"x":[1]}}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","requestState":"s","more":1}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"},"result":null}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"},"more":null}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#,
            r#"{"jsonrpc":"1.0","id":1,"method":"tools/call","params":{"name":"a"}}"#,
            r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"a"}}"#,
            r#"{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"a"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"#,
            "[]",
        ] {
            let expected = serde_json::from_slice::<ClientJsonRpcMessage>(line.as_bytes());
            let found = decode(line.as_bytes());
            assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{line}");
            // With the metadata, which `Debug` does not show.
            let json = |message| serde_json::to_value::<ClientJsonRpcMessage>(message).unwrap();
            assert_eq!(found.ok().map(json), expected.ok().map(json), "{line}");
        }
    }
}
