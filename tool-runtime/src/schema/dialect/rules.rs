//! What each provider takes: the table.

use serde_json::Value;

use super::Dialect;

/// What a provider takes of a schema.
#[derive(Debug)]
pub(super) struct Rules {
    /// Keywords that narrow or describe.
    keywords: &'static [&'static str],
    /// The largest `minItems`.
    min_items: u64,
    /// Values of `format` that it knows.
    formats: &'static [&'static str],
    /// What is done with `$ref`.
    pub(super) references: References,
    /// What objects are like.
    pub(super) objects: Objects,
    /// Whether members may have any name: `additionalProperties` with a schema.
    pub(super) maps: Wording,
    /// Whether a place may be without a type.
    pub(super) takes_any: bool,
    /// Whether items may differ by their places: `prefixItems`.
    pub(super) takes_tuples: bool,
    /// How null is said beside something else.
    pub(super) null: NullBeside,
    /// Which values may be listed.
    listed: Listed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum References {
    /// They stay, also where a type holds itself.
    Kept,
    /// The same, where each round leads through a member that may be left out.
    KeptIfEnding,
    /// What they lead to stands in their place.
    Replaced,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Objects {
    /// No members but those named, and of these all.
    Complete,
    /// No members but those named.
    Closed,
    /// As the schema has it.
    Free,
    /// The same, but nothing can be said of other members.
    Silent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wording {
    Keyword,
    Description,
    No,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NullBeside {
    Type,
    /// `nullable: true`.
    Keyword,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Listed {
    All,
    TextsAndNumbers,
    Texts,
}

const OPENAI: Rules = Rules {
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
    references: References::Kept,
    objects: Objects::Complete,
    maps: Wording::No,
    takes_any: false,
    takes_tuples: false,
    null: NullBeside::Type,
    listed: Listed::All,
};

const ANTHROPIC: Rules = Rules {
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
    references: References::Replaced,
    objects: Objects::Closed,
    ..OPENAI
};

const GEMINI: Rules = Rules {
    keywords: &["maxItems", "maximum", "minimum", "title"],
    min_items: u64::MAX,
    formats: &["date", "date-time", "time"],
    references: References::KeptIfEnding,
    objects: Objects::Free,
    maps: Wording::Keyword,
    takes_any: true,
    takes_tuples: true,
    null: NullBeside::Type,
    listed: Listed::TextsAndNumbers,
};

const GEMINI_OPEN_API: Rules = Rules {
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
    references: References::Replaced,
    objects: Objects::Silent,
    maps: Wording::No,
    takes_any: false,
    takes_tuples: false,
    null: NullBeside::Keyword,
    listed: Listed::Texts,
};

const OLLAMA: Rules = Rules {
    keywords: &[],
    min_items: 0,
    formats: &[],
    references: References::Replaced,
    objects: Objects::Silent,
    maps: Wording::Description,
    takes_any: true,
    takes_tuples: false,
    null: NullBeside::Type,
    listed: Listed::All,
};

impl Rules {
    /// None of a dialect that takes everything.
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

    /// Whether this keyword, with this value, is taken as it is.
    pub(super) fn takes(&self, keyword: &str, value: &Value) -> bool {
        match (keyword, value) {
            ("format", Value::String(format)) => self.formats.contains(&format.as_str()),
            // Look-around, and what else stands behind `(?`, is more than providers' engines read.
            ("pattern", Value::String(pattern)) => {
                self.keywords.contains(&"pattern") && !pattern.contains("(?")
            }
            ("minItems", least) => least.as_u64().is_some_and(|least| least <= self.min_items),
            _ => self.keywords.contains(&keyword),
        }
    }

    /// Whether these may be listed as the only values.
    pub(super) fn lists(&self, values: &[Value]) -> bool {
        values.iter().all(|value| match self.listed {
            Listed::All => true,
            Listed::TextsAndNumbers => value.is_string() || value.is_number(),
            Listed::Texts => value.is_string(),
        })
    }
}
