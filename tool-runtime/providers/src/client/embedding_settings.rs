//! Settings that only an embedder has.

use tool_core::ModelError;
use tool_core::models::EmbedLimits;

/// Settings of an embedder. `None` is the default of the codec.
#[derive(Clone, Default)]
pub(crate) struct EmbeddingSettings {
    pub(crate) dimensions: Option<usize>,
    pub(crate) limits: Option<EmbedLimits>,
    /// The prefixes of documents and of queries.
    pub(crate) prefixes: Option<[String; 2]>,
}

impl EmbeddingSettings {
    /// Checks the chosen dimensions.
    pub(crate) fn check_dimensions(&self) -> Result<(), ModelError> {
        match self.dimensions {
            Some(0) => Err(ModelError::Setup("invalid dimensions: 0, expected at least 1".into())),
            _ => Ok(()),
        }
    }
}
