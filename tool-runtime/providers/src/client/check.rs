//! Validation of requests before they are sent, so that no provider has to guess what was meant.

use std::fmt::Debug;

use tool_core::schema::Schema;
use tool_core::{AssistantPart, ChatRequest, Message, ModelError, ToolChoice};

use crate::codec::Codec;

/// Checks whether a request makes sense for any provider.
///
/// # Errors
/// [`ModelError::Setup`] names the contradiction.
pub(crate) fn check_request<C: Codec>(request: &ChatRequest<'_>) -> Result<(), ModelError> {
    if let Some(temperature) = request.options.temperature.filter(|value| !value.is_finite()) {
        let text = format!("invalid temperature: {temperature}, expected a finite number");
        return Err(ModelError::Setup(text));
    }
    check_variants(request)?;
    request.check_tool_choice()?;
    for tool in request.tools {
        let owner = || format!("parameters of tool `{}`", tool.name);
        check_dialect::<C>(tool.wire_parameters(), owner)?;
    }
    let output = request.options.output.as_ref();
    output.map_or(Ok(()), |schema| check_dialect::<C>(schema, || "output schema".to_owned()))
}

/// Checks that the codecs know every variant of a request. The enums of the core can grow, and a
/// codec would leave out what it does not know.
fn check_variants(request: &ChatRequest<'_>) -> Result<(), ModelError> {
    match &request.options.tool_choice {
        ToolChoice::Auto | ToolChoice::Required | ToolChoice::None | ToolChoice::Tool(_) => {}
        other => return Err(unsupported("tool choice", other)),
    }
    for message in request.messages {
        match message {
            Message::System { .. } | Message::User { .. } | Message::Tool { .. } => {}
            Message::Assistant { parts, .. } => parts.iter().try_for_each(check_part)?,
            other => return Err(unsupported("message", other)),
        }
    }
    Ok(())
}

fn check_part(part: &AssistantPart) -> Result<(), ModelError> {
    match part {
        AssistantPart::Text { .. }
        | AssistantPart::Call(_)
        | AssistantPart::Reasoning(_)
        | AssistantPart::Source(_)
        | AssistantPart::File(_) => Ok(()),
        other => Err(unsupported("part of a reply", other)),
    }
}

pub(crate) fn unsupported(subject: &str, value: &dyn Debug) -> ModelError {
    ModelError::Setup(format!("unsupported {subject}: {value:?}"))
}

/// Checks the dialect of a schema. A provider would refuse, or misinterpret, a schema for the
/// strict mode of another one.
fn check_dialect<C: Codec>(
    schema: &Schema,
    owner: impl FnOnce() -> String,
) -> Result<(), ModelError> {
    let dialect = schema.dialect();
    if !dialect.is_strict() || C::STRICT_DIALECT == Some(dialect) {
        return Ok(());
    }
    let other = match C::STRICT_DIALECT {
        Some(expected) => format!("this provider expects {expected}"),
        None => "this provider has no strict mode".to_owned(),
    };
    let owner = owner();
    Err(ModelError::Setup(format!("unsupported dialect of the {owner}: {dialect}, but {other}")))
}
