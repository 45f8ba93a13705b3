//! The table of what each dialect supports.

use serde_json::Value;

use super::Dialect;

/// The part of JSON Schema that a dialect supports.
#[derive(Debug)]
pub(super) struct Capabilities {
    /// Keywords for rules and annotations.
    keywords: &'static [&'static str],
    /// The largest supported `minItems`.
    min_items: u64,
    /// The supported values of `format`.
    formats: &'static [&'static str],
    /// The handling of `$ref`.
    pub(super) references: References,
    /// The supported form of objects.
    pub(super) objects: Objects,
    /// The support of members with any name: `additionalProperties` with a schema.
    pub(super) maps: MapSupport,
    /// True if a schema without a type is allowed.
    pub(super) allows_untyped: bool,
    /// True if items may differ by position: `prefixItems`.
    pub(super) allows_tuples: bool,
    /// The form of null beside another type.
    pub(super) null: NullForm,
    /// The values that may be listed.
    listed_values: ListedValues,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum References {
    /// References are kept, also in recursive types.
    Unchanged,
    /// References are kept if each cycle leads through an optional member.
    KeptIfTerminating,
    /// References are replaced by their targets.
    Inlined,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Objects {
    /// Only named members are allowed, and all of them are required.
    Complete,
    /// Only named members are allowed.
    Closed,
    /// Additional members are expressed as in the schema.
    Open,
    /// Additional members can't be expressed.
    Implicit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MapSupport {
    Keyword,
    Description,
    Unsupported,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NullForm {
    Type,
    /// `nullable: true`.
    Keyword,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ListedValues {
    All,
    TextsAndNumbers,
    Texts,
}

const OPENAI: Capabilities = Capabilities {
    keywords: &[
        "exclusiveMaximum",
        "exclusiveMinimum",
        "maxItems",
        "maximum",
        "minimum",
        "multipleOf",
        "pattern",
        "title",
    ],
    min_items: u64::MAX,
    formats: &[
        "date",
        "date-time",
        "duration",
        "email",
        "hostname",
        "ipv4",
        "ipv6",
        "time",
        "uuid",
    ],
    references: References::Unchanged,
    objects: Objects::Complete,
    maps: MapSupport::Unsupported,
    allows_untyped: false,
    allows_tuples: false,
    null: NullForm::Type,
    listed_values: ListedValues::All,
};

const ANTHROPIC: Capabilities = Capabilities {
    keywords: &["default", "title"],
    // "Not empty", and no other count.
    min_items: 1,
    formats: &[
        "date",
        "date-time",
        "duration",
        "email",
        "hostname",
        "ipv4",
        "ipv6",
        "time",
        "uri",
        "uuid",
    ],
    references: References::Inlined,
    objects: Objects::Closed,
    ..OPENAI
};

const GEMINI: Capabilities = Capabilities {
    keywords: &["maxItems", "maximum", "minimum", "title"],
    min_items: u64::MAX,
    formats: &["date", "date-time", "time"],
    references: References::KeptIfTerminating,
    objects: Objects::Open,
    maps: MapSupport::Keyword,
    allows_untyped: true,
    allows_tuples: true,
    null: NullForm::Type,
    listed_values: ListedValues::TextsAndNumbers,
};

const GEMINI_OPEN_API: Capabilities = Capabilities {
    keywords: &[
        "maxItems",
        "maxLength",
        "maxProperties",
        "maximum",
        "minLength",
        "minProperties",
        "minimum",
        "pattern",
        "title",
    ],
    min_items: u64::MAX,
    formats: &["date-time"],
    references: References::Inlined,
    objects: Objects::Implicit,
    maps: MapSupport::Unsupported,
    allows_untyped: false,
    allows_tuples: false,
    null: NullForm::Keyword,
    listed_values: ListedValues::Texts,
};

const OLLAMA: Capabilities = Capabilities {
    keywords: &[],
    min_items: 0,
    formats: &[],
    references: References::Inlined,
    objects: Objects::Implicit,
    maps: MapSupport::Description,
    allows_untyped: true,
    allows_tuples: false,
    null: NullForm::Type,
    listed_values: ListedValues::All,
};

impl Capabilities {
    /// Returns the capabilities of a dialect; `None` if it supports everything.
    pub(super) const fn of(dialect: Dialect) -> Option<&'static Self> {
        Some(match dialect {
            Dialect::Plain => return None,
            Dialect::OpenAiStrict => &OPENAI,
            Dialect::AnthropicStrict => &ANTHROPIC,
            Dialect::Gemini => &GEMINI,
            Dialect::GeminiOpenApi => &GEMINI_OPEN_API,
            Dialect::Ollama => &OLLAMA,
        })
    }

    /// Returns true if the keyword with this value is supported.
    pub(super) fn supports(&self, keyword: &str, value: &Value) -> bool {
        match (keyword, value) {
            ("format", Value::String(format)) => self.formats.contains(&format.as_str()),
            // Look-around, and other syntax that begins with `(?`, is beyond the engines of
            // providers.
            ("pattern", Value::String(pattern)) => {
                self.keywords.contains(&"pattern") && !pattern.contains("(?")
            }
            ("minItems", min) => min.as_u64().is_some_and(|min| min <= self.min_items),
            _ => self.keywords.contains(&keyword),
        }
    }

    /// Returns true if these values may be listed.
    pub(super) fn can_list(&self, values: &[Value]) -> bool {
        values.iter().all(|value| match self.listed_values {
            ListedValues::All => true,
            ListedValues::TextsAndNumbers => value.is_string() || value.is_number(),
            ListedValues::Texts => value.is_string(),
        })
    }
}
