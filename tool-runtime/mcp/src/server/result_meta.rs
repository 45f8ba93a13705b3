//! The metadata that a tool adds to the result of its call, as an effect.

use rmcp::model::MetaObject;
use serde_json::{Map, Value};
use tool_core::EffectRecord;

use crate::Meta;

/// The name of the effect that carries the metadata of a result.
const EFFECT: &str = "mcp_result_meta";

/// Collects the metadata among the effects of a call. A later value of a key replaces an earlier
/// one.
pub(crate) fn result_meta(effects: &[EffectRecord]) -> Option<MetaObject> {
    let all = effects.iter().filter_map(|effect| effect.other_data(EFFECT));
    let members: Map<String, Value> = all.flat_map(|meta: Map<String, Value>| meta).collect();
    (!members.is_empty()).then_some(MetaObject(members))
}

impl From<Meta> for EffectRecord {
    fn from(meta: Meta) -> Self {
        Self::Other { name: EFFECT.to_owned(), data: Value::Object(meta.0) }
    }
}
