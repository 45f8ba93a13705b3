//! Validates the arguments of a tool that does not decode them itself.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::duplicate_keys::duplicate_key;
use super::flat_object::flat_object;
use super::repair::repair;
use super::{
    came_twice, holds_secrets, invalid_arguments, mismatch_error, problems_of, refusal, text_of,
};
use crate::message::Arguments;
use crate::schema::has_lossy_numbers;
use crate::tool::{ToolContext, ToolDefinition, ToolError};

/// The arguments of a call after repair and validation.
///
/// [`ToolDefinition::validate_arguments`] creates it.
///
/// ```
/// use serde_json::json;
/// use tool_runtime::{ToolContext, ToolDefinition};
///
/// let schema = json!({ "type": "object", "properties": { "days": { "type": "integer" } } });
/// let forecast = ToolDefinition::new("forecast", "Returns the forecast.", schema);
/// let arguments = forecast.validate_arguments(&"{days: 3}".into(), &ToolContext::default())?;
/// assert_eq!(arguments.value(), &json!({ "days": 3 }));
/// assert_eq!(arguments.json().to_text(), r#"{"days":3}"#);
/// # Ok::<(), tool_runtime::ToolError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ValidatedArguments {
    pub(crate) value: Value,
    pub(crate) json: Arguments,
}

impl ValidatedArguments {
    /// Returns the arguments as a value. Numbers that don't fit into 64 bits are rounded;
    /// [`json`](Self::json) has all digits.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Returns the same text for equal arguments, whatever the order of their members.
    pub(crate) fn canonical(&self) -> String {
        let json = self.json.to_text();
        if has_lossy_numbers(&json) {
            // Equal values may stand for different numbers.
            json.into_owned()
        } else {
            self.value.to_string()
        }
    }

    /// Returns the arguments as the exact JSON text that the tool receives.
    pub fn json(&self) -> &Arguments {
        &self.json
    }
}

impl ToolDefinition {
    /// Repairs the arguments of a call as far as the tool [allows](Self::repair), and validates
    /// them against its schema.
    ///
    /// The dispatcher does this for every tool before it calls it, unless the tool
    /// [decodes its arguments itself](crate::Tool::decodes_arguments). Call it if you run tools
    /// without a dispatcher, such as in a remote worker. The fixes are recorded in `ctx`.
    ///
    /// # Errors
    /// Returns [`TOOL_INVALID_ARGUMENTS`](crate::ToolErrorKind::InvalidArguments) with a text for
    /// the model that lists all wrong arguments.
    ///
    /// ```
    /// use serde_json::json;
    /// use tool_runtime::{ToolContext, ToolDefinition};
    ///
    /// let schema = json!({
    ///     "type": "object",
    ///     "properties": { "path": { "type": "string" }, "lines": { "type": "integer" } },
    ///     "required": ["path"],
    /// });
    /// let definition = ToolDefinition::new("read", "Reads a file.", schema);
    /// let ctx = ToolContext::default();
    /// let valid = definition.validate_arguments(&"{path: 'a.txt',}".into(), &ctx).unwrap();
    /// assert_eq!(valid.value(), &json!({ "path": "a.txt" }));
    ///
    /// let error = definition.validate_arguments(&r#"{"lines": "all"}"#.into(), &ctx).unwrap_err();
    /// assert_eq!(error.text().lines().filter(|line| line.starts_with('-')).count(), 2);
    /// ```
    pub fn validate_arguments(
        &self,
        arguments: &Arguments,
        ctx: &ToolContext,
    ) -> Result<ValidatedArguments, ToolError> {
        let text = text_of(arguments);
        if let Some(valid) = self.valid_flat(&text) {
            return Ok(valid);
        }
        let (value, json) = self.repair_arguments(&text, ctx)?;
        match self.parameters.check(&value).as_slice() {
            [] => Ok(ValidatedArguments { value, json: json.into() }),
            mismatches => {
                let is_secret = holds_secrets(self, &json, ctx);
                Err(mismatch_error(self, mismatches, is_secret))
            }
        }
    }

    /// Repairs and validates the arguments of a call, and decodes them into `T`.
    ///
    /// Use it in [`Tool::call`](crate::Tool::call) of a tool that you implement by hand.
    ///
    /// # Errors
    /// Returns the errors of [`validate_arguments`](Self::validate_arguments), and the same error
    /// if the type rejects a value that matches the schema.
    ///
    /// ```
    /// use tool_runtime::schema::Schema;
    /// use tool_runtime::{Arguments, Tool, ToolContext, ToolDefinition, ToolError, ToolOutput};
    /// use tool_runtime::{args, async_trait};
    ///
    /// /// The arguments of the tool.
    /// #[args]
    /// struct Add {
    ///     a: i64,
    ///     b: i64,
    /// }
    ///
    /// struct Adder(ToolDefinition);
    ///
    /// #[async_trait]
    /// impl Tool for Adder {
    ///     fn definition(&self) -> &ToolDefinition {
    ///         &self.0
    ///     }
    ///
    ///     async fn call(
    ///         &self,
    ///         args: Arguments,
    ///         ctx: &ToolContext,
    ///     ) -> Result<ToolOutput, ToolError> {
    ///         let Add { a, b } = self.0.decode_arguments(&args, ctx)?;
    ///         Ok(ToolOutput::text((a + b).to_string()))
    ///     }
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let adder = Adder(ToolDefinition::new("add", "Adds two numbers.", Schema::of::<Add>()));
    /// let output = adder.call("{a: 2, b: 3}".into(), &ToolContext::default()).await.unwrap();
    /// assert_eq!(output.as_text(), "5");
    /// # }
    /// ```
    pub fn decode_arguments<T: DeserializeOwned>(
        &self,
        arguments: &Arguments,
        ctx: &ToolContext,
    ) -> Result<T, ToolError> {
        let text = text_of(arguments);
        if self.valid_flat(&text).is_some()
            && let Ok(decoded) = serde_json::from_str(&text)
        {
            return Ok(decoded);
        }
        let (value, json) = self.repair_arguments(&text, ctx)?;
        if self.parameters.check(&value).is_empty()
            // From the text, not the value, which has lost the digits beyond 64 bits.
            && let Ok(decoded) = serde_json::from_str(&json)
        {
            return Ok(decoded);
        }
        let is_secret = holds_secrets(self, &json, ctx);
        Err(refusal(self, problems_of::<T>(&self.parameters, &value, &json, is_secret)))
    }

    /// Returns the arguments if they are a flat object that is valid without repair.
    fn valid_flat(&self, text: &str) -> Option<ValidatedArguments> {
        let value = flat_object(text, self.parameters.as_value())?;
        let is_valid =
            self.parameters.check(&value).is_empty() && duplicate_key(text, &value).is_none();
        is_valid.then(|| ValidatedArguments { value, json: text.trim().into() })
    }

    /// Repairs arguments in which each key is unique.
    fn repair_arguments(
        &self,
        text: &str,
        ctx: &ToolContext,
    ) -> Result<(Value, String), ToolError> {
        let (value, json) = repair(self, text, ctx)?;
        match duplicate_key(&json, &value) {
            Some(key) => Err(invalid_arguments(self, &[came_twice(&key)])),
            None => Ok((value, json)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::proptest;
    use serde_json::json;

    use super::*;

    /// Schemas whose valid arguments a repair may change: members in another case or in an
    /// envelope, null, integers with a fraction, types in branches.
    fn definitions() -> Vec<ToolDefinition> {
        let members = json!({
            "a": { "type": "integer" },
            "name": { "type": ["string", "null"] },
            "arguments": {},
            "b": { "anyOf": [{ "type": "number" }, { "enum": ["x", "1"] }] },
        });
        [
            json!({ "type": "object", "properties": members }),
            json!({ "type": "object", "properties": members, "required": ["a"] }),
            json!({ "type": "object", "properties": members, "additionalProperties": false }),
            json!({ "properties": { "name": {}, "arguments": { "type": "object" } } }),
            json!({ "anyOf": [{ "type": "object", "properties": members }, { "type": "string" }] }),
            json!({ "type": "object", "additionalProperties": { "type": "string" } }),
        ]
        .into_iter()
        .map(|schema| ToolDefinition::new("test", "Does something.", schema))
        .collect()
    }

    proptest! {
        #[test]
        fn flat_arguments_are_those_of_the_repair(
            members in r#"("(a|A|name|arguments|b|c)": ?(1|-0|30\.0|1\.5|1e2|99999999999999999999|"x"|"1"|""|"<\\u0041\\n>"|null|true|test|\{\}|"\{"), ?){0,3}"#,
            is_closed: bool,
        ) {
            let members = members.trim_end().trim_end_matches(',');
            let text = format!(" {{{members}{}\n", if is_closed { "}" } else { "" });
            let ctx = ToolContext::default();
            for definition in definitions() {
                if let Some(flat) = definition.valid_flat(&text) {
                    let (value, json) = definition.repair_arguments(&text, &ctx).unwrap();
                    assert_eq!(flat, ValidatedArguments { value, json: json.into() }, "{text}");
                }
            }
        }
    }

    #[test]
    fn plain_arguments_are_valid_without_repair() {
        let definition = definitions().remove(0);
        assert!(definition.valid_flat(r#"{"a": 1, "name": "x"}"#).is_some());
        for text in
            [r#"{"a": "1"}"#, r#"{"a": 1, "a": 2}"#, r#"{"a": 1.0}"#, r#"{"c": 1}"#, "{a: 1}"]
        {
            assert_eq!(definition.valid_flat(text), None, "{text}");
        }
    }
}
