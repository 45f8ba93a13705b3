//! Requests whose method is known and whose parameters are not valid.
//!
//! The SDK decodes them as requests of its users, and would answer that the method does not exist.

use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, CancelTaskParams, CompleteRequestParams, CustomRequest,
    GetPromptRequestParams, GetTaskParams, InitializeRequestParams, PaginatedRequestParams,
    ProtocolVersion, ReadResourceRequestParams, RequestMetaObject, SubscribeRequestParams,
    SubscriptionsListenRequestParams, UnsubscribeRequestParams, UpdateTaskParams,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The methods that the revision 2026-07-28 removed. In a request of that revision, they are
/// unknown, whatever its parameters are (SEP-2575).
const REMOVED: [&str; 5] =
    ["initialize", "logging/setLevel", "ping", "resources/subscribe", "resources/unsubscribe"];

/// The member of `_meta` with the revision of a request.
const REVISION: &str = "io.modelcontextprotocol/protocolVersion";

/// The number of characters of a reason that are sent.
const MAX_REASON_CHARS: usize = 300;

/// Returns the error of a request whose method is known and whose parameters are not valid. The SDK
/// separates `meta` from the parameters.
#[expect(deprecated, reason = "clients of 2025-11-25 use `logging/setLevel`")]
pub(crate) fn invalid_params(
    request: &CustomRequest,
    meta: Option<&RequestMetaObject>,
) -> Option<ErrorData> {
    let params = request.params.as_ref();
    let revision = meta.and_then(RequestMetaObject::protocol_version);
    let lacks_method = lacks_removed_methods(params)
        || revision.is_some_and(|revision| revision >= ProtocolVersion::V_2026_07_28);
    if lacks_method && REMOVED.contains(&request.method.as_str()) {
        return None;
    }
    let reason = match request.method.as_str() {
        "initialize" => reason::<InitializeRequestParams>(params),
        "tools/call" => reason::<CallToolRequestParams>(params),
        "tools/list" | "prompts/list" | "resources/list" | "resources/templates/list" => {
            reason::<PaginatedRequestParams>(params)
        }
        "prompts/get" => reason::<GetPromptRequestParams>(params),
        "resources/read" => reason::<ReadResourceRequestParams>(params),
        "resources/subscribe" => reason::<SubscribeRequestParams>(params),
        "resources/unsubscribe" => reason::<UnsubscribeRequestParams>(params),
        "subscriptions/listen" => reason::<SubscriptionsListenRequestParams>(params),
        "completion/complete" => reason::<CompleteRequestParams>(params),
        "logging/setLevel" => reason::<rmcp::model::SetLevelRequestParams>(params),
        "tasks/get" => reason::<GetTaskParams>(params),
        "tasks/update" => reason::<UpdateTaskParams>(params),
        "tasks/cancel" => reason::<CancelTaskParams>(params),
        "ping" | "server/discover" => None,
        _ => return None,
    };
    let reason = reason.unwrap_or_else(|| "they are malformed".to_owned());
    let message = format!("invalid parameters of {}: {reason}", request.method);
    Some(ErrorData::invalid_params(message, None))
}

/// Returns why the parameters of `initialize` are not valid, if they are not, and if the revision
/// that they name has the method.
#[cfg(any(feature = "server", test))]
pub(crate) fn invalid_initialize(params: Option<&Value>) -> Option<ErrorData> {
    if lacks_removed_methods(params) {
        return None;
    }
    let reason = reason::<InitializeRequestParams>(params)?;
    let message = format!("invalid parameters of initialize: {reason}");
    Some(ErrorData::invalid_params(message, None))
}

/// Returns whether parameters name a revision that lacks the [`REMOVED`] methods.
fn lacks_removed_methods(params: Option<&Value>) -> bool {
    let revision = params.and_then(|params| params.get("_meta")?.get(REVISION)?.as_str());
    revision.is_some_and(|revision| revision >= ProtocolVersion::V_2026_07_28.as_str())
}

/// Returns why parameters are not of a type.
fn reason<P: DeserializeOwned>(params: Option<&Value>) -> Option<String> {
    let params = params.cloned().unwrap_or_else(|| json!({}));
    // The name of the member is not part of the error of the decoder.
    let members = params.as_object().map(|members| members.keys().cloned().collect::<Vec<_>>());
    let error = serde_json::from_value::<P>(params.clone()).err()?;
    let culprit = members.into_iter().flatten().find(|member| {
        let mut rest = params.clone();
        rest.as_object_mut().map(|rest| rest.remove(member));
        let without = serde_json::from_value::<P>(rest).err();
        without.is_none_or(|without| without.to_string() != error.to_string())
    });
    let text = match culprit {
        Some(member) => format!("{member}: {error}"),
        None => error.to_string(),
    };
    Some(text.chars().filter(|c| !c.is_control()).take(MAX_REASON_CHARS).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removed_method_is_unknown_in_revisions_without_it() {
        for method in REMOVED {
            for (revision, is_unknown) in [("2025-11-25", false), ("2026-07-28", true)] {
                let params = json!({ "_meta": { REVISION: revision }, "level": 7, "uri": 7 });
                let request = CustomRequest::new(method, Some(params.clone()));
                assert_eq!(
                    invalid_params(&request, None).is_none(),
                    is_unknown,
                    "{method} {revision}"
                );
                assert_eq!(invalid_initialize(Some(&params)).is_none(), is_unknown, "{revision}");
            }
        }
        let request =
            CustomRequest::new("tools/call", Some(json!({ "_meta": { REVISION: "2026-07-28" } })));
        assert!(invalid_params(&request, None).is_some());
    }
}
