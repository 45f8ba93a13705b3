//! Validation of requests before they are sent, so that no provider has to guess what was meant.

use super::codec::Codec;
use crate::models::{ChatRequest, ModelError, ToolChoice};
use crate::schema::Schema;

/// The highest number of tool names in an error.
const MAX_NAMES: usize = 20;

/// Checks whether a request makes sense for any provider.
///
/// # Errors
/// [`ModelError::Setup`] names the contradiction.
pub(super) fn check_request<C: Codec>(request: &ChatRequest<'_>) -> Result<(), ModelError> {
    if request.options.temperature.is_some_and(|temperature| !temperature.is_finite()) {
        return Err(ModelError::Setup("invalid temperature: not a finite number".into()));
    }
    check_tool_choice(request)?;
    let schemas = request.tools.iter().map(|tool| tool.wire_parameters());
    schemas.chain(&request.options.output).try_for_each(check_dialect::<C>)
}

/// Checks that a required tool is offered. Otherwise some providers refuse the request, and others
/// let the model choose.
fn check_tool_choice(request: &ChatRequest<'_>) -> Result<(), ModelError> {
    let tools = request.tools;
    let required = match &request.options.tool_choice {
        ToolChoice::Auto | ToolChoice::None => return Ok(()),
        ToolChoice::Required if !tools.is_empty() => return Ok(()),
        ToolChoice::Required => "a tool call is required (`ToolChoice::Required`)".to_owned(),
        ToolChoice::Tool(name) if tools.iter().any(|tool| tool.name == *name) => return Ok(()),
        ToolChoice::Tool(name) => format!("a call of `{name}` is required (`ToolChoice::Tool`)"),
    };
    let names: Vec<_> =
        tools.iter().take(MAX_NAMES).map(|tool| format!("`{}`", tool.name)).collect();
    let offered = match (names.as_slice(), tools.len().saturating_sub(MAX_NAMES)) {
        ([], _) => "no tool is offered".to_owned(),
        (names, 0) => format!("the offered tools are {}", names.join(", ")),
        (names, more) => format!("the offered tools are {} and {more} more", names.join(", ")),
    };
    Err(ModelError::Setup(format!("{required}, but {offered}")))
}

/// Checks the dialect of a schema. A provider would refuse, or misinterpret, a schema for the
/// strict mode of another one.
fn check_dialect<C: Codec>(schema: &Schema) -> Result<(), ModelError> {
    let dialect = schema.dialect();
    if !dialect.is_strict() || C::STRICT_DIALECT == Some(dialect) {
        return Ok(());
    }
    let other = match C::STRICT_DIALECT {
        Some(own) => format!("this provider expects {own}"),
        None => "this provider has no strict mode".to_owned(),
    };
    Err(ModelError::Setup(format!("a schema uses the dialect {dialect}, but {other}")))
}
