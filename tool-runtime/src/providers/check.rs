//! What no provider is asked. It is decided here, before a request goes out, so that none has to guess what
//! was meant.

use super::codec::Codec;
use crate::models::{ChatRequest, ModelError, ToolChoice};
use crate::schema::Schema;

/// As many tools are named to the reader.
const MOST_NAMES: usize = 20;

/// Whether this request makes sense to a provider.
///
/// # Errors
/// [`ModelError::Setup`] says what can't be meant.
pub(super) fn check<C: Codec>(request: &ChatRequest<'_>) -> Result<(), ModelError> {
    if request.options.temperature.is_some_and(|temperature| !temperature.is_finite()) {
        return Err(ModelError::Setup("the temperature is no number".into()));
    }
    can_be_chosen(request)?;
    let schemas = request.tools.iter().map(|tool| tool.wire_parameters());
    schemas.chain(&request.options.output).try_for_each(is_taken::<C>)
}

/// A tool that has to be called has to be offered: some providers refuse the request, others let the model
/// do as it likes.
fn can_be_chosen(request: &ChatRequest<'_>) -> Result<(), ModelError> {
    let tools = request.tools;
    let wanted = match &request.options.tool_choice {
        ToolChoice::Auto | ToolChoice::None => return Ok(()),
        ToolChoice::Required if !tools.is_empty() => return Ok(()),
        ToolChoice::Required => "a tool has to be called (`ToolChoice::Required`)".to_owned(),
        ToolChoice::Tool(name) if tools.iter().any(|tool| tool.name == *name) => return Ok(()),
        ToolChoice::Tool(name) => format!("`{name}` has to be called (`ToolChoice::Tool`)"),
    };
    let names: Vec<_> =
        tools.iter().take(MOST_NAMES).map(|tool| format!("`{}`", tool.name)).collect();
    let offered = match (names.as_slice(), tools.len().saturating_sub(MOST_NAMES)) {
        ([], _) => "no tool is offered".to_owned(),
        (names, 0) => format!("what is offered is {}", names.join(", ")),
        (names, more) => format!("what is offered is {} and {more} more", names.join(", ")),
    };
    Err(ModelError::Setup(format!("{wanted}, but {offered}")))
}

/// A provider would refuse, or misread, what is bent for another's strict mode.
fn is_taken<C: Codec>(schema: &Schema) -> Result<(), ModelError> {
    let dialect = schema.dialect();
    if !dialect.is_strict() || C::STRICT == Some(dialect) {
        return Ok(());
    }
    let other = match C::STRICT {
        Some(own) => format!("this provider's is {own}"),
        None => "this provider has no strict mode".to_owned(),
    };
    Err(ModelError::Setup(format!("a schema is in the dialect of {dialect}: {other}")))
}
