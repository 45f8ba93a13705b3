use serde_json::{Number, Value};

/// The checked type of an argument, of an item of a list, or of a value of a map.
///
/// ```
/// use tool_runtime::dynamic::{ArgumentField, ArgumentType, BodyLanguage, CheckedType, ToolSpec};
///
/// let field = ArgumentField::new("deep", ArgumentType::Boolean);
/// let spec = ToolSpec::new(BodyLanguage::Rust, "list", "Lists files.", "Ok(())").field(field);
/// assert_eq!(spec.check()?.fields()[0].field_type, CheckedType::Boolean);
/// # Ok::<(), tool_runtime::dynamic::SpecErrors>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum CheckedType {
    /// Text whose number of characters has these limits.
    String {
        /// The fewest characters, if they are limited.
        min: Option<u64>,
        /// The most characters, if they are limited.
        max: Option<u64>,
    },
    /// An integer of 64 bits within these limits.
    Integer {
        /// The smallest integer, if it is limited.
        min: Option<i64>,
        /// The largest integer, if it is limited.
        max: Option<i64>,
    },
    /// A number within these limits.
    Number {
        /// The smallest number, if it is limited.
        min: Option<Number>,
        /// The largest number, if it is limited.
        max: Option<Number>,
    },
    /// Either `true` or `false`.
    Boolean,
    /// One of these texts.
    Enum(Vec<String>),
    /// A list of items of one type.
    List {
        /// The type of each item.
        items: Box<Self>,
        /// The fewest items, if they are limited.
        min: Option<u64>,
        /// The most items, if they are limited.
        max: Option<u64>,
    },
    /// An object with any keys and values of one type.
    Map {
        /// The type of each value.
        values: Box<Self>,
        /// The fewest members, if they are limited.
        min: Option<u64>,
        /// The most members, if they are limited.
        max: Option<u64>,
    },
    /// An object with these members and no others.
    Object(Vec<CheckedField>),
}

/// Whether an argument can be omitted.
///
/// ```
/// use tool_runtime::dynamic::{ArgumentField, ArgumentType, BodyLanguage, Presence, ToolSpec};
///
/// let field = ArgumentField::new("depth", ArgumentType::Integer).default_value(2);
/// let spec = ToolSpec::new(BodyLanguage::Rust, "list", "Lists files.", "Ok(())").field(field);
/// assert_eq!(spec.check()?.fields()[0].presence, Presence::Default(2.into()));
/// # Ok::<(), tool_runtime::dynamic::SpecErrors>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Presence {
    /// The argument can't be omitted.
    Required,
    /// The argument can be omitted or `null`.
    Optional,
    /// The argument can be omitted, and then has this value.
    Default(Value),
}

/// A checked argument, or a checked member of an object.
///
/// ```
/// use tool_runtime::dynamic::{ArgumentField, ArgumentType, BodyLanguage, ToolSpec};
///
/// let field = ArgumentField::new("path", ArgumentType::String);
/// let spec = ToolSpec::new(BodyLanguage::Rust, "list", "Lists files.", "Ok(())").field(field);
/// assert_eq!(spec.check()?.fields()[0].name, "path");
/// # Ok::<(), tool_runtime::dynamic::SpecErrors>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CheckedField {
    /// The name, which is an identifier of ASCII letters, digits and `_`.
    pub name: String,
    /// The description for the model, which can be empty.
    pub description: String,
    /// The type of the value.
    pub field_type: CheckedType,
    /// Whether the argument can be omitted.
    pub presence: Presence,
}
