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
    if let Some(temperature) = request.options.temperature.filter(|value| !value.is_finite()) {
        let text = format!("invalid temperature: {temperature}, expected a finite number");
        return Err(ModelError::Setup(text));
    }
    check_tool_choice(request)?;
    for tool in request.tools {
        let owner = || format!("parameters of tool `{}`", tool.name);
        check_dialect::<C>(tool.wire_parameters(), owner)?;
    }
    let output = request.options.output.as_ref();
    output.map_or(Ok(()), |schema| check_dialect::<C>(schema, || "output schema".to_owned()))
}

/// Checks that a required tool is offered. Otherwise some providers refuse the request, and others
/// let the model choose.
fn check_tool_choice(request: &ChatRequest<'_>) -> Result<(), ModelError> {
    let tools = request.tools;
    let required = match &request.options.tool_choice {
        ToolChoice::Auto | ToolChoice::None => return Ok(()),
        ToolChoice::Required if !tools.is_empty() => return Ok(()),
        ToolChoice::Required => "`ToolChoice::Required`".to_owned(),
        ToolChoice::Tool(name) if tools.iter().any(|tool| tool.name == *name) => return Ok(()),
        ToolChoice::Tool(name) => format!("`ToolChoice::Tool({name:?})`"),
    };
    let names: Vec<_> =
        tools.iter().take(MAX_NAMES).map(|tool| format!("`{}`", tool.name)).collect();
    let offered = match (names.as_slice(), tools.len().saturating_sub(MAX_NAMES)) {
        ([], _) => "no tool is offered".to_owned(),
        (names, 0) => format!("the offered tools are {}", names.join(", ")),
        (names, more) => format!("the offered tools are {} and {more} more", names.join(", ")),
    };
    Err(ModelError::Setup(format!("unsatisfiable tool choice: {required}, but {offered}")))
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
