//! Extra options of a request: members in the spelling of the provider.

use serde_json::{Map, Value};

use tool_core::ModelError;

/// Members that the client sets from the request: its conversation, tools, tool choice and output
/// schema. To replace one of them would silently remove what the program has set.
const REQUEST_MEMBERS: [&str; 17] = [
    "contents",
    "format",
    "functionCallingConfig",
    "input",
    "messages",
    "model",
    "response_format",
    "responseJsonSchema",
    "responseMimeType",
    "responseSchema",
    "stream",
    "system",
    "systemInstruction",
    "text",
    "tool_choice",
    "tools",
    "toolConfig",
];

/// Adds extra options to a body. An option replaces the setting of its name; one that a codec names
/// as nested is merged into it.
///
/// # Errors
/// [`ModelError::Setup`] if an option would replace a member of the request.
pub(crate) fn add_extra(
    members: &mut Map<String, Value>,
    extra: &Map<String, Value>,
    nested: &[&str],
) -> Result<(), ModelError> {
    for (name, value) in extra {
        let known = known_name(members, name);
        match (members.get_mut(&known), value) {
            (Some(Value::Object(settings)), Value::Object(more))
                if nested.contains(&known.as_str()) =>
            {
                for (inner, value) in more {
                    let known = known_name(settings, inner);
                    insert(settings, &known, value, || format!("{name}.{inner}"))?;
                }
            }
            _ => insert(members, &known, value, || name.clone())?,
        }
    }
    Ok(())
}

/// Returns the name of the member that an option means. Google reads `system_instruction` and
/// `systemInstruction` as one name, so the body must not have both.
fn known_name(members: &Map<String, Value>, name: &str) -> String {
    let letters = |name: &str| name.replace('_', "").to_ascii_lowercase();
    let is_same = |known: &&String| letters(known) == letters(name);
    members.keys().find(is_same).map_or(name, String::as_str).to_owned()
}

/// Sets a member, unless it replaces another value that the request needs. `path` is its name in
/// the error.
fn insert(
    members: &mut Map<String, Value>,
    name: &str,
    value: &Value,
    path: impl Fn() -> String,
) -> Result<(), ModelError> {
    let known = members.get(name).filter(|known| *known != value);
    if let Some(known) = known
        && REQUEST_MEMBERS.contains(&name)
    {
        let path = path();
        let problem = match known {
            Value::Array(items) if name == "tools" => format!(
                "it would remove the {} of the request; this version has no `Hosted` tools, so a \
                 request has either hosted tools or tools of its own",
                match items.len() {
                    1 => "tool".to_owned(),
                    count => format!("{count} tools"),
                }
            ),
            _ => "it would replace what the request sets; use the typed option".to_owned(),
        };
        return Err(ModelError::Setup(format!("conflicting extra option `{path}`: {problem}")));
    }
    members.insert(name.to_owned(), value.clone());
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::add_extra;

    fn added(body: &Value, extra: &Value) -> Result<Value, String> {
        let mut members = body.as_object().unwrap().clone();
        let added = add_extra(&mut members, extra.as_object().unwrap(), &["settings", "text"]);
        added.map(|()| members.into()).map_err(|error| error.to_string())
    }

    #[test]
    fn settings_are_replaced_or_merged() {
        for (body, extra, expected) in [
            (json!({ "a": 1 }), json!({ "seed": 7 }), json!({ "a": 1, "seed": 7 })),
            (json!({ "temperature": 1 }), json!({ "temperature": 0 }), json!({ "temperature": 0 })),
            (
                json!({ "settings": { "a": 1, "b": 1 } }),
                json!({ "settings": { "b": 2, "c": 3 } }),
                json!({ "settings": { "a": 1, "b": 2, "c": 3 } }),
            ),
            (
                json!({ "text": { "format": {} } }),
                json!({ "text": { "verbosity": "low" } }),
                json!({ "text": { "format": {}, "verbosity": "low" } }),
            ),
            (
                json!({ "maxTokens": 1, "settings": { "topP": 1 } }),
                json!({ "Settings": { "top_p": 2 }, "max_tokens": 2 }),
                json!({ "maxTokens": 2, "settings": { "topP": 2 } }),
            ),
            (json!({}), json!({ "tools": [1] }), json!({ "tools": [1] })),
            (json!({ "stream": true }), json!({ "stream": true }), json!({ "stream": true })),
        ] {
            assert_eq!(added(&body, &extra).unwrap(), expected, "{extra}");
        }
    }

    #[test]
    fn members_of_the_request_are_not_replaced() {
        let body = json!({
            "model": "m", "messages": [1], "input": [1], "contents": [1], "system": "s",
            "systemInstruction": {}, "tools": [1, 2], "tool_choice": "required", "stream": true,
            "response_format": {}, "text": { "format": 1 },
            "settings": { "functionCallingConfig": {}, "responseJsonSchema": {} },
        });
        for extra in [
            json!({ "model": "n" }),
            json!({ "messages": [] }),
            json!({ "input": "Hi" }),
            json!({ "contents": null }),
            json!({ "system": [] }),
            json!({ "systemInstruction": null }),
            json!({ "system_instruction": { "parts": [] } }),
            json!({ "toolChoice": "none" }),
            json!({ "settings": { "function_calling_config": { "mode": "AUTO" } } }),
            json!({ "tools": [{ "type": "web_search" }] }),
            json!({ "tools": null }),
            json!({ "tool_choice": "none" }),
            json!({ "stream": false }),
            json!({ "response_format": { "type": "text" } }),
            json!({ "text": { "format": 2 } }),
            json!({ "text": null }),
            json!({ "settings": { "functionCallingConfig": { "mode": "AUTO" } } }),
            json!({ "settings": { "responseJsonSchema": null } }),
        ] {
            let error = added(&body, &extra).unwrap_err();
            assert!(error.starts_with("conflicting extra option `"), "{extra}: {error}");
        }
        let error = added(&body, &json!({ "tools": [] })).unwrap_err();
        assert!(error.contains("the 2 tools") && error.contains("`Hosted`"), "{error}");
    }
}
