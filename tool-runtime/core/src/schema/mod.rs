//! JSON Schemas of tool parameters: generation, validation, and conversion to provider dialects.
//!
//! [`Schema`] is a JSON Schema 2020-12 document. A tool's definition carries the schema of its
//! parameters.
//!
//! 1. [`Schema::of`] generates the schema of a Rust type with schemars and simplifies it for
//!    language models (`generate.rs`, `inline.rs`).
//! 2. [`Schema::check`] validates a value and reports every [`Mismatch`], as [`json`] does.
//!    `constraints.rs` decides whether decoding into the type makes this check superfluous.
//! 3. [`Schema::for_dialect`] converts the schema to the subset that a model provider enforces
//!    (`dialect/`). `ordered_json.rs` writes members in the order of `required`.
//! 4. `secret.rs` finds values that the schema marks as secret. `argument_rule.rs` adds the bounds
//!    of `#[arg(range)]` and `#[arg(length)]`.
//!
//! `malformed.rs` finds keywords with a value of the wrong kind. They are refused when a tool is
//! registered, because validation ignores them; `pattern.rs` decides which patterns belong to them.
//!
//! References are resolved within one document, and follow a schema that moves into another one
//! (`rebase.rs`); nothing is ever fetched.

mod argument_rule;
mod constraints;
mod conversion;
mod dialect;
mod exact_json;
mod generate;
mod inline;
mod malformed;
mod member_order;
mod named_schemas;
pub(crate) mod ordered_json;
mod pattern;
mod rebase;
mod secret;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::json;

pub(crate) use crate::json::__private::{Correction, Edit, Expectation, PathSegment, path};
pub use crate::json::{Mismatch, MismatchKind};
pub(crate) use argument_rule::{ArgumentRule, LENGTH, RANGE, expected_type};
#[doc(hidden)]
pub use argument_rule::{length_mark, range_mark};
pub(crate) use conversion::SchemaConversion;
pub use dialect::{Dialect, DialectError};
pub(crate) use exact_json::{edit_json, has_lossy_numbers};
#[doc(hidden)]
pub use generate::Generator;
pub(crate) use generate::{finish, part_as_root, takes_whole_object};
pub(crate) use malformed::MalformedKeyword;
pub(crate) use named_schemas::NamedSchemas;
pub(crate) use ordered_json::OrderedJson;
pub(crate) use rebase::rebase;

/// A JSON Schema document. Clones share the document.
///
/// # Examples
///
/// ```
/// use tool_runtime::schema::Schema;
///
/// let schema = Schema::of::<Vec<u8>>();
/// assert!(schema.check(&serde_json::json!([1, 2])).is_empty());
///
/// let wrong = schema.check(&serde_json::json!([1, "two"]));
/// assert_eq!(wrong[0].path, "[1]");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Value", into = "Value")]
pub struct Schema {
    document: Arc<Value>,
    is_constrained: bool,
    has_secrets: bool,
    dialect: Dialect,
}

impl Schema {
    /// Returns the schema of the values that decode to `T`.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::schema::Schema;
    ///
    /// let schema = Schema::of::<Vec<String>>();
    /// assert_eq!(schema.as_value()["items"]["type"], "string");
    /// ```
    pub fn of<T: JsonSchema + ?Sized>() -> Self {
        finish(Generator::new().root::<T>())
    }

    fn new(document: Value, is_constrained: bool) -> Self {
        let has_secrets = secret::has_secrets(&document);
        Self { document: Arc::new(document), is_constrained, has_secrets, dialect: Dialect::Plain }
    }

    /// Returns the schema of the values that `T` serializes to.
    pub fn of_output<T: JsonSchema + ?Sized>() -> Self {
        finish(Generator::for_output().root::<T>())
    }

    /// Returns this schema with one more keyword in the schema of a member.
    pub(crate) fn with_keyword(&self, member: &str, keyword: &str, value: Value) -> Self {
        let mut document = Value::clone(&self.document);
        let described = document.get_mut("properties").and_then(|members| members.get_mut(member));
        if let Some(described) = described {
            // The schema `true` of a type that takes anything.
            if !described.is_object() {
                *described = Map::new().into();
            }
            if let Value::Object(keywords) = described {
                keywords.insert(keyword.into(), value);
            }
        }
        Self::new(document, self.is_constrained)
    }

    /// Returns this schema with one more rule for a member, which decoding into its type does not
    /// enforce.
    pub(crate) fn with_rule(&self, member: &str, keyword: &str, value: Value) -> Self {
        let mut next = self.with_keyword(member, keyword, value);
        next.is_constrained = true;
        next
    }

    /// Returns the schema as a JSON document.
    pub fn as_value(&self) -> &Value {
        &self.document
    }

    /// Validates `value` and returns every mismatch; an empty list means that the value is valid.
    ///
    /// The list has at most 20 mismatches. `format`, references to other documents and patterns
    /// with look-around add no rule. The time is bounded for every schema: a value that can't be
    /// checked within the limits yields one mismatch of kind [`MismatchKind::Unchecked`].
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::schema::Schema;
    ///
    /// let schema = Schema::from(serde_json::json!({
    ///     "type": "object",
    ///     "properties": { "days": { "type": "integer", "minimum": 1, "maximum": 7 } },
    /// }));
    /// let mismatches = schema.check(&serde_json::json!({ "days": 9 }));
    /// assert_eq!(mismatches[0].to_string(), "`days`: expected an integer from 1 to 7, got 9");
    /// ```
    pub fn check(&self, value: &Value) -> Vec<Mismatch> {
        json::check(value, &self.document)
    }

    /// Returns what this schema expects at a path, for a value that its type refused.
    pub(crate) fn expectation(&self, value: &Value, path: &[PathSegment<'_>]) -> Expectation {
        json::__private::expectation(&self.document, value, path)
    }

    /// Returns a correction for each mismatch of the value.
    pub(crate) fn corrections<'v>(&'v self, value: &'v Value) -> Vec<Correction<'v>> {
        json::__private::corrections(&self.document, value)
    }

    /// Returns true if the same schema applies to all items of the list at this path.
    pub(crate) fn has_uniform_items(&self, value: &Value, path: &[PathSegment<'_>]) -> bool {
        json::__private::has_uniform_items(&self.document, value, path)
    }

    /// Converts the schema to the dialect of a provider.
    ///
    /// Only the copy that is sent to the provider is converted. Arguments are validated against the
    /// original schema.
    ///
    /// # Errors
    ///
    /// Returns a [`DialectError`] if the dialect can't express the schema, for example a map in a
    /// dialect in which all members need a name.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::schema::{Dialect, Schema};
    ///
    /// let schema = Schema::from(serde_json::json!({
    ///     "type": "object",
    ///     "properties": { "days": { "type": "integer" } },
    /// }));
    /// let strict = schema.for_dialect(Dialect::OpenAiStrict)?;
    /// assert_eq!(strict.as_value()["required"], serde_json::json!(["days"]));
    /// assert_eq!(strict.dialect(), Dialect::OpenAiStrict);
    /// # Ok::<(), tool_runtime::schema::DialectError>(())
    /// ```
    pub fn for_dialect(&self, dialect: Dialect) -> Result<Self, DialectError> {
        let mut converted = Self::from(dialect::convert(&self.document, dialect)?);
        converted.dialect = dialect;
        Ok(converted)
    }

    /// Returns the dialect of the document. Default: [`Dialect::Plain`].
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Marks a document that is in a dialect already, such as one that was serialized.
    pub(crate) fn marked_as(mut self, dialect: Dialect) -> Self {
        self.dialect = dialect;
        self
    }

    /// Returns true if the schema has rules, such as ranges, lengths and patterns, that decoding
    /// into the type doesn't enforce. Values then have to be validated before they are used.
    pub fn is_constrained(&self) -> bool {
        self.is_constrained
    }

    /// Returns true if a part of the schema is marked as secret by `writeOnly: true`, which
    /// [`#[arg(secret)]`](macro@crate::tool) sets.
    pub fn has_secrets(&self) -> bool {
        self.has_secrets
    }

    /// Calls `take` with every secret value, the outermost only.
    pub(crate) fn for_each_secret(&self, value: &mut Value, take: &mut dyn FnMut(&mut Value)) {
        secret::for_each_secret(&self.document, value, take);
    }

    /// Returns the first pattern that can't be compiled.
    pub(crate) fn unsupported_pattern(&self) -> Option<&str> {
        constraints::unsupported_pattern(&self.document)
    }

    /// Returns the first reference to a part of the schema that doesn't exist.
    pub(crate) fn dangling_reference(&self) -> Option<&str> {
        constraints::dangling_reference(&self.document)
    }

    /// Returns the name of a field whose `#[arg(…)]` rule applies to no value, and the rule.
    pub(crate) fn unmatched_rule(&self) -> Option<(&str, &'static str)> {
        argument_rule::unmatched_mark(&self.document)
    }

    /// Returns the first keyword whose value is not of its kind, which validation would ignore. The
    /// caller has checked the depth of the schema.
    pub(crate) fn malformed_keyword(&self) -> Option<MalformedKeyword> {
        malformed::malformed_keyword(&self.document)
    }

    /// Returns true if a value below the root is an object with named members.
    pub(crate) fn has_nested_objects(&self) -> bool {
        constraints::has_nested_objects(&self.document)
    }
}

/// Drops the document without recursion: a schema from another machine may be nested so deep that a
/// recursive drop overflows the stack.
impl Drop for Schema {
    fn drop(&mut self) {
        if let Some(document) = Arc::get_mut(&mut self.document) {
            let mut waiting = vec![document.take()];
            while let Some(value) = waiting.pop() {
                match value {
                    Value::Array(items) => waiting.extend(items),
                    Value::Object(members) => waiting.extend(members.into_iter().map(|(_, it)| it)),
                    _ => {}
                }
            }
        }
    }
}

impl From<Value> for Schema {
    fn from(document: Value) -> Self {
        let is_constrained = constraints::is_constrained(&document);
        Self::new(document, is_constrained)
    }
}

impl From<Schema> for Value {
    fn from(mut schema: Schema) -> Self {
        match Arc::get_mut(&mut schema.document) {
            Some(document) => document.take(),
            None => Self::clone(&schema.document),
        }
    }
}
