//! The conversion of schemas to the dialect that a registry has chosen.

use std::fmt;

use super::{Dialect, DialectError, Schema};

/// A dialect, and the function that converts schemas to it.
///
/// The function is named only where a program chooses a dialect. A program that chooses none does
/// not contain the code of the conversions.
#[derive(Clone, Copy)]
pub(crate) struct SchemaConversion {
    dialect: Dialect,
    convert: fn(&Schema, Dialect) -> Result<Schema, DialectError>,
}

impl SchemaConversion {
    pub(crate) fn dialect(self) -> Dialect {
        self.dialect
    }

    /// Returns the conversion of the schema of an answer. Ollama restricts the schemas of tools
    /// alone: as a `format` it takes any.
    pub(crate) fn of_output(self) -> Self {
        match self.dialect {
            Dialect::Ollama => Self::default(),
            _ => self,
        }
    }

    pub(crate) fn convert(self, schema: &Schema) -> Result<Schema, DialectError> {
        (self.convert)(schema, self.dialect)
    }
}

impl Default for SchemaConversion {
    fn default() -> Self {
        Self { dialect: Dialect::Plain, convert: |schema, _| Ok(schema.clone()) }
    }
}

impl From<Dialect> for SchemaConversion {
    fn from(dialect: Dialect) -> Self {
        Self { dialect, convert: Schema::for_dialect }
    }
}

impl fmt::Debug for SchemaConversion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.dialect.fmt(f)
    }
}
