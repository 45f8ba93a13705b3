use rmcp::model::MetaObject;
use serde_json::{Map, Value};
use tool_core::EffectRecord;

/// The name of the effect that carries the metadata of a result.
const EFFECT: &str = "mcp_result_meta";

/// Metadata for the client (`_meta`) that a tool adds to the result of its call.
///
/// Record it as an effect: with [`ToolContext::record`](tool_core::ToolContext::record), which
/// also applies to a call that fails later, or with
/// [`ToolOutput::with_effect`](tool_core::ToolOutput::with_effect). Like in any effect, secrets
/// are redacted, and observers receive it. The client of this crate returns it by `result_meta` and
/// does not pass it to a model; other clients may. A later value of a key replaces an earlier one.
///
/// A tool with an output schema returns its value and uses `record`: a tool that returns a
/// [`ToolOutput`](tool_core::ToolOutput) has no output schema.
///
/// Do not use keys that the protocol reserves, such as `mcp.dev/page`: the client of this crate
/// leaves them out.
///
/// ```
/// use tool_runtime::mcp::server::ResultMeta;
/// use tool_runtime::{ToolOutput, tool};
///
/// /// Returns the orders of a day.
/// #[tool(effect = "read")]
/// async fn orders(day: String) -> ToolOutput {
///     let source = ResultMeta::new().with("example.com/source", "replica-2");
///     ToolOutput::text(format!("{day}: 42 orders")).with_effect(source)
/// }
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResultMeta(Map<String, Value>);

impl ResultMeta {
    /// Creates metadata without members.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a member, or replaces the one with the same key.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.0.insert(key.into(), value.into());
        self
    }

    /// Collects the metadata among the effects of a call.
    pub(crate) fn of(effects: &[EffectRecord]) -> Option<MetaObject> {
        let all = effects.iter().filter_map(|effect| effect.other_data(EFFECT));
        let members: Map<String, Value> = all.flat_map(|meta: Map<String, Value>| meta).collect();
        (!members.is_empty()).then_some(MetaObject(members))
    }
}

impl From<ResultMeta> for EffectRecord {
    fn from(meta: ResultMeta) -> Self {
        Self::Other { name: EFFECT.to_owned(), data: Value::Object(meta.0) }
    }
}
