//! Rules that compare the complete body of a request with the traits of its model.

use serde_json::{Map, Value};

use super::{ChatTools, ModelTraits, Reasoning, Support, traits};
use tool_core::ModelError;

/// An option, the value that equals its absence, and the trait that decides about it.
type OptionRule = (&'static str, Option<f64>, fn(&ModelTraits) -> Support);

/// Options with the traits that decide about them.
const OPTIONS: [OptionRule; 11] = [
    ("temperature", Some(1.0), |traits| traits.sampling),
    ("top_p", Some(1.0), |traits| traits.sampling),
    ("top_k", None, |traits| traits.sampling),
    ("presence_penalty", Some(0.0), |traits| traits.sampling),
    ("frequency_penalty", Some(0.0), |traits| traits.sampling),
    ("logit_bias", None, |traits| traits.sampling),
    ("logprobs", None, |traits| traits.sampling),
    ("top_logprobs", Some(0.0), |traits| traits.sampling),
    ("stop", None, |traits| traits.stop),
    ("presencePenalty", Some(0.0), |traits| traits.penalties),
    ("frequencyPenalty", Some(0.0), |traits| traits.penalties),
];

/// Checks the options of a body: those of the request, and extra ones. An option that the model
/// refuses is removed if its value is the default.
///
/// # Errors
/// [`ModelError::Setup`] names the model and the option.
pub(crate) fn check_options(model: &str, body: &mut Value) -> Result<(), ModelError> {
    let Some(members) = settings(body) else { return Ok(()) };
    let traits = traits(model);
    let has_reasoning = reasons(&traits, members);
    for (name, default, support) in OPTIONS {
        let Some(value) = members.get(name).filter(|value| !value.is_null()) else { continue };
        let is_default = value == false || (default.is_some() && value.as_f64() == default);
        match check(model, support(&traits), has_reasoning, &format!("`{name}`")) {
            Ok(()) => {}
            Err(_) if is_default => _ = members.remove(name),
            Err(error) => return Err(error),
        }
    }
    if members.get("tool_choice").is_some_and(forces_call) {
        let option = "a tool choice that requires a call";
        check(model, traits.forced_call, has_reasoning, option)?;
    }
    Ok(())
}

/// Returns the members that have the options: Gemini's are nested.
fn settings(body: &mut Value) -> Option<&mut Map<String, Value>> {
    let body = body.as_object_mut()?;
    if body.get("generationConfig").is_some_and(Value::is_object) {
        return body.get_mut("generationConfig")?.as_object_mut();
    }
    Some(body)
}

fn check(
    model: &str,
    support: Support,
    has_reasoning: bool,
    option: &str,
) -> Result<(), ModelError> {
    let advice = match support {
        Support::Accepted => return Ok(()),
        Support::WithoutReasoning if !has_reasoning => return Ok(()),
        Support::WithoutReasoning => "disable its reasoning or leave the option out",
        Support::Refused => "leave the option out",
    };
    Err(ModelError::Setup(format!("unsupported by model `{model}`: {option}; {advice}")))
}

/// Returns whether the model reasons in this request.
fn reasons(traits: &ModelTraits, body: &Map<String, Value>) -> bool {
    let effort = body.get("reasoning_effort").or_else(|| body.get("reasoning")?.get("effort"));
    let thinking = body.get("thinking").and_then(|thinking| thinking.get("type"));
    let mut settings = [effort, thinking].into_iter().flatten().filter_map(Value::as_str);
    match settings.next() {
        Some("none" | "disabled") => traits.reasoning == Reasoning::Always,
        Some(_) => true,
        None => traits.reasoning != Reasoning::OnRequest,
    }
}

/// Returns whether a tool choice forces a call, in the words of any API.
fn forces_call(choice: &Value) -> bool {
    let kind = choice.as_str().or_else(|| choice.get("type")?.as_str());
    let mode = choice.get("mode").or_else(|| choice.get("allowed_tools")?.get("mode"));
    match kind {
        Some("allowed_tools") => mode.is_some_and(|mode| mode == "required"),
        Some(kind) => !["auto", "none"].contains(&kind),
        None => false,
    }
}

/// Fits the body of a chat completion to the condition under which its model accepts tools: an
/// effort that has to be sent is added.
///
/// # Errors
/// [`ModelError::Setup`] if the request has tools and an effort that exclude each other.
pub(crate) fn fit_chat_tools(model: &str, body: &mut Value) -> Result<(), ModelError> {
    let Some(members) = body.as_object_mut() else { return Ok(()) };
    let has_tools = members.get("tools").and_then(Value::as_array).is_some_and(|it| !it.is_empty());
    let condition = traits(model).chat_tools;
    if !has_tools || condition == ChatTools::Unconditional {
        return Ok(());
    }
    match members.get("reasoning_effort") {
        Some(Value::String(effort)) if effort == "none" => Ok(()),
        None | Some(Value::Null) => {
            if condition == ChatTools::WithEffortNone {
                members.insert("reasoning_effort".into(), "none".into());
            }
            Ok(())
        }
        Some(effort) => Err(ModelError::Setup(format!(
            "unsupported by model `{model}`: tools with `reasoning_effort` {effort} in chat \
             completions; leave the effort out, or use `OpenAiResponses`"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{check_options, fit_chat_tools};
    use tool_core::ModelError;

    fn checked(model: &str, mut body: Value) -> Result<Value, String> {
        let checked =
            check_options(model, &mut body).and_then(|()| fit_chat_tools(model, &mut body));
        match checked {
            Ok(()) => Ok(body),
            Err(ModelError::Setup(text)) => Err(text),
            Err(error) => panic!("{error:?}"),
        }
    }

    #[test]
    fn options_that_the_model_refuses_are_errors() {
        for (model, body, part) in [
            ("claude-opus-4-7", json!({ "temperature": 0.5 }), "`temperature`"),
            ("claude-opus-5-5", json!({ "top_k": 5 }), "`top_k`"),
            ("claude-sonnet-9", json!({ "top_p": 0.9 }), "`top_p`"),
            ("gpt-5-mini", json!({ "temperature": 0 }), "`temperature`"),
            ("gpt-6-astra", json!({ "presence_penalty": 1 }), "`presence_penalty`"),
            ("gpt-6-luna", json!({ "frequency_penalty": 1 }), "disable its reasoning"),
            ("gpt-5.1", json!({ "top_p": 0.5, "reasoning_effort": "low" }), "`top_p`"),
            ("gpt-5.6", json!({ "temperature": 0.5 }), "disable its reasoning"),
            ("gpt-5", json!({ "logprobs": true }), "`logprobs`"),
            ("gpt-5.6", json!({ "top_logprobs": 2 }), "`top_logprobs`"),
            ("gpt-5-mini", json!({ "stop": ["END"] }), "`stop`"),
            ("gpt-5.1", json!({ "stop": ["END"] }), "`stop`"),
            ("gpt-5.6", json!({ "stop": ["END"], "reasoning_effort": "none" }), "`stop`"),
            ("o4-mini", json!({ "stop": ["END"] }), "`stop`"),
            (
                "gemini-2.5-flash",
                json!({ "generationConfig": { "presencePenalty": 0.5 } }),
                "`presencePenalty`",
            ),
            (
                "models/gemini-2.5-pro",
                json!({ "generationConfig": { "frequencyPenalty": -1 } }),
                "`frequencyPenalty`",
            ),
            ("gpt-5.6", json!({ "temperature": 0.5, "reasoning": { "effort": "high" } }), "`temp"),
            ("claude-opus-5-5", json!({ "tool_choice": { "type": "any" } }), "requires a call"),
            ("claude-sonnet-5-5", json!({ "tool_choice": { "type": "tool" } }), "requires a call"),
            ("claude-opus-5", json!({ "tool_choice": { "type": "any" } }), "disable its reasoning"),
            (
                "claude-opus-4-7",
                json!({ "tool_choice": { "type": "any" }, "thinking": { "type": "adaptive" } }),
                "disable its reasoning",
            ),
            ("claude-opus-5-5", json!({ "tool_choice": "required" }), "requires a call"),
            ("gpt-5.6", json!({ "tools": [1], "reasoning_effort": "high" }), "`OpenAiResponses`"),
            ("gpt-5.5", json!({ "tools": [1], "reasoning_effort": "low" }), "`OpenAiResponses`"),
        ] {
            let error = checked(model, body.clone()).unwrap_err();
            let start = format!("unsupported by model `{model}`: ");
            assert!(error.starts_with(&start) && error.contains(part), "{body}: {error}");
        }
    }

    #[test]
    fn options_that_the_model_accepts_stay() {
        for (model, body) in [
            ("m", json!({ "temperature": 0.5, "tool_choice": "required", "tools": [1] })),
            ("claude-sonnet-4-5", json!({ "temperature": 0.5, "tool_choice": { "type": "any" } })),
            ("claude-opus-5-5", json!({ "tool_choice": { "type": "auto" } })),
            ("claude-opus-5-5", json!({ "tool_choice": { "type": "none" } })),
            (
                "claude-opus-5",
                json!({ "tool_choice": { "type": "any" }, "thinking": { "type": "disabled" } }),
            ),
            ("gpt-5.1", json!({ "temperature": 0.5 })),
            ("gpt-5.6", json!({ "temperature": 0.5, "reasoning_effort": "none" })),
            ("gpt-5.6", json!({ "reasoning_effort": "high" })),
            ("gpt-5.6", json!({ "tools": [1], "reasoning_effort": "none" })),
            ("gpt-5.5", json!({ "tools": [1] })),
            ("gpt-6-luna", json!({ "tools": [1], "reasoning_effort": "high" })),
            ("gpt-4o", json!({ "stop": ["END"], "logprobs": true })),
            ("o3-mini", json!({ "stop": ["END"] })),
            ("gpt-5.1", json!({ "logprobs": true, "top_logprobs": 2 })),
            ("claude-opus-5-5", json!({ "stop_sequences": ["END"] })),
            ("gemini-3.5-flash", json!({ "generationConfig": { "presencePenalty": 0.5 } })),
            ("gemini-2.5-pro", json!({ "generationConfig": { "temperature": 0.5 } })),
            ("gpt-5", json!({ "temperature": null, "tools": [], "tool_choice": "required" })),
        ] {
            assert_eq!(checked(model, body.clone()).unwrap(), body, "{model}");
        }
    }

    #[test]
    fn refused_options_with_default_values_are_left_out() {
        let body = json!({ "temperature": 1.0, "top_p": 1, "presence_penalty": 0, "seed": 1 });
        assert_eq!(checked("gpt-5", body).unwrap(), json!({ "seed": 1 }));
        let body = json!({ "logprobs": false, "top_logprobs": 0, "n": 1 });
        assert_eq!(checked("gpt-5", body).unwrap(), json!({ "n": 1 }));
        let body = json!({ "generationConfig": { "presencePenalty": 0.0, "topK": 1 } });
        let expected = json!({ "generationConfig": { "topK": 1 } });
        assert_eq!(checked("gemini-2.5-pro", body).unwrap(), expected);
    }

    #[test]
    fn effort_is_sent_with_tools_if_the_model_needs_it() {
        for (effort, model) in [(None, "gpt-5.6"), (Some(Value::Null), "gpt-5.6-terra")] {
            let mut body = json!({ "tools": [1] });
            if let Some(effort) = effort {
                body["reasoning_effort"] = effort;
            }
            let expected = json!({ "tools": [1], "reasoning_effort": "none" });
            assert_eq!(checked(model, body).unwrap(), expected);
        }
    }
}
