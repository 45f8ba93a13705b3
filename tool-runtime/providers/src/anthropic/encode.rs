//! `ChatRequest` → body of a Messages request.
//!
//! The shapes follow Anthropic's API reference, "Create a message", and its SDKs. The order follows
//! "How to implement tool use":
//!
//! - The results of a turn come first in the next user message.
//! - The conversation ends with a user message.
//! - No model message ends with a thinking block.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::decode::{CONTAINER, REASONING_OF};
use crate::codec::{IdRules, WireIds, arguments_object, encode_parts, encode_result};
use crate::model_table::traits;
use crate::shared::{COMMON_IMAGES, CONTINUATION, OPENING, set};
use tool_core::message::Media;
use tool_core::models::WireNames;
use tool_core::{
    AssistantPart, ChatOptions, ChatRequest, Message, ToolChoice, ToolDefinition, ToolResult,
};

pub(super) fn request(
    model: &str,
    request: ChatRequest<'_>,
    names: &WireNames,
    is_streamed: bool,
) -> Value {
    let ChatRequest { messages, tools, options, .. } = request;
    let mut body = json!({
        "model": model,
        "max_tokens": options.max_tokens.unwrap_or_else(|| traits(model).max_tokens),
        "messages": conversation(messages, names),
    });
    let system: Vec<_> = messages.iter().filter_map(system).collect();
    if !system.is_empty() {
        set(&mut body, "system", system.join("\n\n"));
    }
    if !tools.is_empty() {
        let tools: Vec<_> = tools.iter().map(|tool| definition(tool, names)).collect();
        set(&mut body, "tools", tools);
        if let Some(choice) = tool_choice(options, names) {
            set(&mut body, "tool_choice", choice);
        }
    }
    if let Some(schema) = &options.output {
        set(
            &mut body,
            "output_config",
            json!({ "format": { "type": "json_schema", "schema": schema } }),
        );
    }
    if let Some(temperature) = options.temperature {
        set(&mut body, "temperature", temperature);
    }
    if !options.stop.is_empty() {
        set(&mut body, "stop_sequences", options.stop.as_slice());
    }
    if let Some(container) = open_container(messages) {
        set(&mut body, "container", container);
    }
    if is_streamed {
        set(&mut body, "stream", true);
    }
    body
}

/// Changes the body of a request so that it continues a reply that the provider has paused: the
/// conversation ends with what the model wrote, and nothing follows it.
pub(super) fn resume(body: &mut Value, parts: &[AssistantPart], names: &WireNames) -> bool {
    let blocks = assistant(parts, names, &WireIds::new(&[], IdRules::Token));
    if let Some(container) = container(parts)
        && body.get("container").is_none()
    {
        set(body, "container", container);
    }
    let messages = body.get_mut("messages").and_then(Value::as_array_mut);
    let Some(messages) = messages.filter(|_| !blocks.is_empty()) else { return false };
    match messages.last_mut() {
        Some(last) if last.get("role").is_some_and(|role| role == "assistant") => {
            if let Some(Value::Array(known)) = last.get_mut("content") {
                known.extend(blocks);
            }
        }
        _ => messages.push(json!({ "role": "assistant", "content": blocks })),
    }
    true
}

/// Returns the id of the container of the turn whose calls have just been answered: its code waits
/// for the results.
fn open_container(messages: &[Message]) -> Option<&str> {
    let is_reply = |message: &Message| matches!(message, Message::Assistant { .. });
    let last = messages.iter().rposition(is_reply)?;
    messages.get(last)?.calls().next()?;
    let turn = messages.get(..=last)?.iter().rev();
    let mut turn = turn.take_while(|message| !matches!(message, Message::User { .. }));
    turn.find_map(|message| match message {
        Message::Assistant { parts, .. } => container(parts),
        _ => None,
    })
}

/// Returns the id of the container in which the provider ran code for this reply.
fn container(parts: &[AssistantPart]) -> Option<&str> {
    parts.iter().rev().find_map(|part| {
        let sealed = sealed(part).filter(|sealed| kind(sealed) == CONTAINER)?;
        sealed.get("id")?.as_str()
    })
}

fn sealed(part: &AssistantPart) -> Option<&Value> {
    match part {
        AssistantPart::Reasoning(reasoning) if reasoning.provider == REASONING_OF => {
            Some(&reasoning.sealed)
        }
        _ => None,
    }
}

fn tool_choice(options: &ChatOptions, names: &WireNames) -> Option<Value> {
    let mut choice = match &options.tool_choice {
        ToolChoice::Auto if options.parallel_calls.is_none() => return None,
        ToolChoice::Auto => json!({ "type": "auto" }),
        ToolChoice::Required => json!({ "type": "any" }),
        ToolChoice::None => return Some(json!({ "type": "none" })),
        ToolChoice::Tool(name) => json!({ "type": "tool", "name": names.wire_name(name) }),
        _ => return None, // `check` has refused the request.
    };
    if let Some(is_parallel) = options.parallel_calls {
        set(&mut choice, "disable_parallel_tool_use", !is_parallel);
    }
    Some(choice)
}

fn definition(tool: &ToolDefinition, names: &WireNames) -> Value {
    let parameters = tool.wire_parameters();
    let mut definition = json!({
        "name": names.wire_name(&tool.name),
        "description": tool.description,
        "input_schema": parameters,
    });
    if parameters.dialect().is_strict() {
        set(&mut definition, "strict", true);
    }
    definition
}

fn system(message: &Message) -> Option<&str> {
    match message {
        Message::System { text } if !text.trim().is_empty() => Some(text),
        _ => None,
    }
}

/// Joins neighbouring messages of one role, so that results come first and roles alternate. The
/// first message is always the user's.
fn conversation(messages: &[Message], names: &WireNames) -> Value {
    let ids = WireIds::new(messages, IdRules::Token);
    let mut encoded: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in messages {
        let (role, blocks) = match message {
            Message::System { .. } => continue,
            Message::User { parts, .. } => ("user", encode_parts(parts, visible_text, media)),
            Message::Assistant { parts, .. } => {
                let mut blocks = assistant(parts, names, &ids);
                while blocks.pop_if(|last| is_thinking(last)).is_some() {}
                ("assistant", blocks)
            }
            Message::Tool { results } => {
                ("user", results.iter().map(|result| tool_result(result, &ids)).collect())
            }
            _ => continue, // `check` has refused the request.
        };
        match encoded.last_mut() {
            _ if blocks.is_empty() => {}
            Some((last, known)) if *last == role => known.extend(blocks),
            _ => encoded.push((role, blocks)),
        }
    }
    if encoded.first().is_none_or(|(role, _)| *role == "assistant") {
        encoded.insert(0, ("user", vec![text(OPENING)]));
    }
    // A turn that paused in the provider's own tools ends with another block and is continued as it
    // is.
    if let Some(("assistant", blocks)) = encoded.last()
        && blocks.last().is_some_and(|last| kind(last) == "text")
    {
        encoded.push(("user", vec![text(CONTINUATION)]));
    }
    remove_lost_callers(&mut encoded);
    encoded.into_iter().map(|(role, blocks)| json!({ "role": role, "content": blocks })).collect()
}

/// Removes the callers of earlier calls whose code is no longer a part of the conversation. The
/// last calls keep theirs, because their code still runs.
fn remove_lost_callers(encoded: &mut [(&str, Vec<Value>)]) {
    let last = encoded.iter().rposition(|(role, _)| *role == "assistant").unwrap_or_default();
    let blocks = encoded.iter().flat_map(|(_, blocks)| blocks);
    let code = blocks.filter(|block| kind(block) == "server_tool_use");
    let code: HashSet<_> = code.filter_map(|block| Some(block.get("id")?.clone())).collect();
    for (_, blocks) in encoded.iter_mut().take(last) {
        for block in blocks {
            let caller = block.get("caller").and_then(|caller| caller.get("tool_id"));
            if caller.is_some_and(|caller| !code.contains(caller))
                && let Some(members) = block.as_object_mut()
            {
                members.remove("caller");
            }
        }
    }
}

fn kind(block: &Value) -> &str {
    block.get("type").and_then(Value::as_str).unwrap_or_default()
}

fn is_thinking(block: &Value) -> bool {
    ["thinking", "redacted_thinking"].contains(&kind(block))
}

/// Returns whether a thinking block has no signature: it was truncated, and the API refuses it.
fn is_unsigned(block: &Value) -> bool {
    let signature = block.get("signature").and_then(Value::as_str);
    kind(block) == "thinking" && signature.is_none_or(str::is_empty)
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

/// Encodes a text. The API refuses texts that contain only white space.
fn visible_text(content: &str) -> Option<Value> {
    (!content.trim().is_empty()).then(|| text(content))
}

/// Encodes an image or a PDF document; the API refuses other data.
fn media(media: Media<'_>) -> Option<Value> {
    let kind = match media.media_type {
        image if COMMON_IMAGES.contains(&image) => "image",
        "application/pdf" => "document",
        _ => return None,
    };
    let source = json!({ "type": "base64", "media_type": media.media_type, "data": media.base64 });
    let mut block = json!({ "type": kind, "source": source });
    if let Some(name) = media.name.filter(|_| kind == "document") {
        set(&mut block, "title", name);
    }
    Some(block)
}

/// Encodes the parts of a model message. Members that a part does not have precede it.
fn assistant(parts: &[AssistantPart], names: &WireNames, ids: &WireIds<'_>) -> Vec<Value> {
    let mut blocks = Vec::new();
    let mut remainder = None;
    for part in parts {
        // The block that it is from is sent back as it came.
        match part {
            AssistantPart::Source(_) => continue,
            AssistantPart::File(file)
                if file.provider == REASONING_OF && file.media().is_none() =>
            {
                continue;
            }
            _ => {}
        }
        match sealed(part).map(kind) {
            Some("text" | "tool_use") => {
                remainder = sealed(part).and_then(Value::as_object);
                continue;
            }
            Some(CONTAINER) => continue,
            _ => {}
        }
        let remainder = remainder.take();
        let Some(mut block) = block(part, names, ids) else { continue };
        if let Some(members) = block.as_object_mut()
            && let Some(rest) = remainder.filter(|rest| rest.get("type") == members.get("type"))
        {
            members.extend(rest.clone());
        }
        blocks.push(block);
    }
    blocks
}

fn block(part: &AssistantPart, names: &WireNames, ids: &WireIds<'_>) -> Option<Value> {
    match part {
        AssistantPart::Text { text } => visible_text(text),
        AssistantPart::File(file) => visible_text(&file.note()),
        AssistantPart::Call(call) => Some(json!({
            "type": "tool_use",
            "id": ids.wire(&call.id),
            "name": names.wire_name(&call.name),
            "input": arguments_object(&call.arguments),
        })),
        AssistantPart::Reasoning(reasoning) => {
            let is_sent = reasoning.provider == REASONING_OF && !is_unsigned(&reasoning.sealed);
            is_sent.then(|| reasoning.sealed.clone())
        }
        _ => None, // `check` has refused the request.
    }
}

fn tool_result(result: &ToolResult, ids: &WireIds<'_>) -> Value {
    let mut block = json!({
        "type": "tool_result",
        "tool_use_id": ids.wire(&result.call),
        "content": encode_result(result, visible_text, media),
    });
    if !result.is_success() {
        set(&mut block, "is_error", true);
    }
    block
}
