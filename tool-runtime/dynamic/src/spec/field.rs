use serde::Serialize;
use serde_json::{Number, Value};
use tool_core::args;

/// The type of an argument, of an item of a list, or of a value of a map.
///
/// ```
/// use tool_runtime::dynamic::ArgumentType;
///
/// assert_eq!(ArgumentType::Enum.to_string(), "enum");
/// ```
#[args]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ArgumentType {
    /// Text, whose length can be limited.
    String,
    /// An integer of 64 bits, whose range can be limited.
    Integer,
    /// A number, whose range can be limited.
    Number,
    /// Either `true` or `false`.
    Boolean,
    /// One of the texts in `values`.
    Enum,
    /// A list of `items`, whose number can be limited.
    List,
    /// An object with any keys whose values are `items`.
    Map,
    /// An object with the members in `fields`.
    Object,
}

impl std::fmt::Display for ArgumentType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Enum => "enum",
            Self::List => "list",
            Self::Map => "map",
            Self::Object => "object",
        })
    }
}

/// One argument of a tool, or one member of an object.
///
/// ```
/// use tool_runtime::dynamic::{ArgumentField, ArgumentType};
///
/// let days = ArgumentField::new("days", ArgumentType::Integer)
///     .description("The number of days.")
///     .range(1, 7)
///     .default_value(3);
/// let json = serde_json::json!({
///     "name": "days",
///     "type": "integer",
///     "description": "The number of days.",
///     "default": 3,
///     "min": 1,
///     "max": 7,
/// });
/// assert_eq!(serde_json::to_value(days).unwrap(), json);
/// ```
#[args]
#[derive(Clone, Debug, PartialEq, Serialize)]
#[expect(clippy::use_self, reason = "`#[args]` repeats the types of fields in constants")]
#[non_exhaustive]
pub struct ArgumentField {
    /// The name of the argument: letters, digits and `_`.
    pub name: String,
    /// The type of the argument.
    #[serde(rename = "type")]
    pub field_type: ArgumentType,
    /// The meaning of the argument, for the model that calls the tool.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Whether the argument can be omitted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
    /// The value that is used if the argument is omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// The smallest number, the shortest text, or the fewest items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<Number>,
    /// The largest number, the longest text, or the most items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<Number>,
    /// The choices of an `enum`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
    /// The type of the items of a `list`, or of the values of a `map`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<Box<ElementType>>,
    /// The members of an `object`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<ArgumentField>,
}

/// The type of the items of a list, or of the values of a map.
///
/// ```
/// use tool_runtime::dynamic::{ArgumentField, ArgumentType, ElementType};
///
/// let tags = ArgumentField::new("tags", ArgumentType::List)
///     .items(ElementType::new(ArgumentType::String).range(1, 20));
/// assert_eq!(tags.items.unwrap().field_type, ArgumentType::String);
/// ```
#[args]
#[derive(Clone, Debug, PartialEq, Serialize)]
#[expect(clippy::use_self, reason = "`#[args]` repeats the types of fields in constants")]
#[non_exhaustive]
pub struct ElementType {
    /// The type of each element.
    #[serde(rename = "type")]
    pub field_type: ArgumentType,
    /// The smallest number, the shortest text, or the fewest items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<Number>,
    /// The largest number, the longest text, or the most items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<Number>,
    /// The choices of an `enum`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
    /// The type of the items of a `list`, or of the values of a `map`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<Box<ElementType>>,
    /// The members of an `object`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<ArgumentField>,
}

impl ArgumentField {
    /// Creates a required argument without limits.
    pub fn new(name: impl Into<String>, field_type: ArgumentType) -> Self {
        Self {
            name: name.into(),
            field_type,
            description: String::new(),
            optional: false,
            default: None,
            min: None,
            max: None,
            values: Vec::new(),
            items: None,
            fields: Vec::new(),
        }
    }

    /// Sets the description for the model that calls the tool.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    /// Makes the argument optional.
    #[must_use]
    pub fn optional(mut self) -> Self {
        self.optional = true;
        self
    }

    /// Sets the value that is used if the argument is omitted.
    #[must_use]
    pub fn default_value(mut self, value: impl Into<Value>) -> Self {
        self.default = Some(value.into());
        self
    }

    /// Sets the smallest and the largest number, length or count.
    #[must_use]
    pub fn range(mut self, min: impl Into<Number>, max: impl Into<Number>) -> Self {
        (self.min, self.max) = (Some(min.into()), Some(max.into()));
        self
    }

    /// Sets the choices of an `enum`.
    #[must_use]
    pub fn values<V: Into<String>>(mut self, values: impl IntoIterator<Item = V>) -> Self {
        self.values = values.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the type of the items of a `list`, or of the values of a `map`.
    #[must_use]
    pub fn items(mut self, items: ElementType) -> Self {
        self.items = Some(Box::new(items));
        self
    }

    /// Adds a member to an `object`.
    #[must_use]
    pub fn member(mut self, field: Self) -> Self {
        self.fields.push(field);
        self
    }
}

impl ElementType {
    /// Creates the type of an element without limits.
    pub fn new(field_type: ArgumentType) -> Self {
        Self {
            field_type,
            min: None,
            max: None,
            values: Vec::new(),
            items: None,
            fields: Vec::new(),
        }
    }

    /// Sets the smallest and the largest number, length or count.
    #[must_use]
    pub fn range(mut self, min: impl Into<Number>, max: impl Into<Number>) -> Self {
        (self.min, self.max) = (Some(min.into()), Some(max.into()));
        self
    }

    /// Sets the choices of an `enum`.
    #[must_use]
    pub fn values<V: Into<String>>(mut self, values: impl IntoIterator<Item = V>) -> Self {
        self.values = values.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the type of the items of a `list`, or of the values of a `map`.
    #[must_use]
    pub fn items(mut self, items: Self) -> Self {
        self.items = Some(Box::new(items));
        self
    }

    /// Adds a member to an `object`.
    #[must_use]
    pub fn member(mut self, field: ArgumentField) -> Self {
        self.fields.push(field);
        self
    }
}
