//! Validation of requests before they are sent, so that no provider has to guess what was meant.

use super::codec::Codec;
use crate::models::{ChatRequest, ModelError};
use crate::schema::Schema;

/// Checks whether a request makes sense for any provider.
///
/// # Errors
/// [`ModelError::Setup`] names the contradiction.
pub(super) fn check_request<C: Codec>(request: &ChatRequest<'_>) -> Result<(), ModelError> {
    if let Some(temperature) = request.options.temperature.filter(|value| !value.is_finite()) {
        let text = format!("invalid temperature: {temperature}, expected a finite number");
        return Err(ModelError::Setup(text));
    }
    request.check_tool_choice()?;
    for tool in request.tools {
        let owner = || format!("parameters of tool `{}`", tool.name);
        check_dialect::<C>(tool.wire_parameters(), owner)?;
    }
    let output = request.options.output.as_ref();
    output.map_or(Ok(()), |schema| check_dialect::<C>(schema, || "output schema".to_owned()))
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
