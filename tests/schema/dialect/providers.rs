//! The rules of each provider's documentation, checked independently of the conversion.

use serde_json::{Map, Value};
use tool_runtime::schema::Dialect;

/// Returns all violations of the dialect's rules.
pub(crate) fn violations(dialect: Dialect, document: &Value) -> Vec<String> {
    let mut judge = Judge { dialect, document, found: Vec::new() };
    judge.schema(document, "#");
    judge.root();
    match dialect {
        Dialect::OpenAiStrict => judge.openai_limits(),
        Dialect::AnthropicStrict => judge.anthropic_limits(),
        _ => {}
    }
    judge.found
}

struct Judge<'d> {
    dialect: Dialect,
    document: &'d Value,
    found: Vec<String>,
}

const EVERYWHERE: [&str; 7] =
    ["type", "properties", "required", "items", "anyOf", "enum", "description"];
const OPENAI: [&str; 14] = [
    "$defs",
    "$ref",
    "additionalProperties",
    "const",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "maxItems",
    "maximum",
    "minItems",
    "minimum",
    "multipleOf",
    "pattern",
    "title",
];
const ANTHROPIC: [&str; 9] = [
    "$defs",
    "$ref",
    "additionalProperties",
    "allOf",
    "const",
    "default",
    "format",
    "minItems",
    "title",
];
const GEMINI: [&str; 13] = [
    "$anchor",
    "$defs",
    "$id",
    "$ref",
    "additionalProperties",
    "format",
    "maxItems",
    "maximum",
    "minItems",
    "minimum",
    "oneOf",
    "prefixItems",
    "title",
];
const GEMINI_OPEN_API: [&str; 13] = [
    "example",
    "format",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "nullable",
    "pattern",
    "title",
];

impl<'d> Judge<'d> {
    fn must(&mut self, holds: bool, at: &str, rule: &str) {
        if !holds {
            self.found.push(format!("{at}: {rule}"));
        }
    }

    fn root(&mut self) {
        let is_object = self.document["type"] == "object";
        self.must(is_object, "#", "the root is an object");
        self.must(self.document.get("anyOf").is_none(), "#", "the root is no choice");
    }

    fn schema(&mut self, schema: &'d Value, at: &str) {
        let Some(rules) = schema.as_object() else {
            return self.must(false, at, "a schema is an object");
        };
        let further_keywords: &[&str] = match self.dialect {
            Dialect::OpenAiStrict => &OPENAI,
            Dialect::AnthropicStrict => &ANTHROPIC,
            Dialect::Gemini => &GEMINI,
            Dialect::GeminiOpenApi => &GEMINI_OPEN_API,
            _ => &[],
        };
        for keyword in rules.keys().map(String::as_str) {
            let is_known = EVERYWHERE.contains(&keyword) || further_keywords.contains(&keyword);
            self.must(is_known, at, &format!("no keyword `{keyword}`"));
        }
        if let Some(reference) = rules.get("$ref") {
            self.must(rules.len() == 1, at, "$ref has no siblings");
            let target =
                reference.as_str().and_then(|it| self.document.pointer(it.strip_prefix('#')?));
            self.must(target.is_some(), at, "$ref has a target");
            let (mut open, mut ends) = (Vec::new(), true);
            self.follow(schema, &mut open, &mut ends);
            self.must(ends, at, "every type has a finite value");
            return;
        }
        self.types(rules, at);
        self.values(rules, at);
        if rules.get("type").is_some_and(|kind| kind == "object") {
            self.object(rules, at);
        }
        let named =
            ["properties", "$defs"].into_iter().filter_map(|key| rules.get(key)?.as_object());
        for (name, part) in named.flatten() {
            self.schema(part, &format!("{at}/{name}"));
        }
        let listed =
            ["anyOf", "prefixItems"].into_iter().filter_map(|key| rules.get(key)?.as_array());
        for part in listed.flatten() {
            self.schema(part, &format!("{at}/*"));
        }
        for key in ["items", "additionalProperties"] {
            if let Some(part) = rules.get(key).filter(|part| !part.is_boolean()) {
                self.schema(part, &format!("{at}/{key}"));
            }
        }
    }

    fn types(&mut self, rules: &Map<String, Value>, at: &str) {
        let is_typed = ["type", "anyOf"].iter().any(|key| rules.contains_key(*key));
        let may_be_open = matches!(self.dialect, Dialect::Gemini | Dialect::Ollama);
        self.must(is_typed || may_be_open, at, "every place has a type");
        if self.dialect == Dialect::GeminiOpenApi {
            let is_single_type = rules.get("type").is_none_or(Value::is_string);
            self.must(is_single_type, at, "a place has one type");
        }
        if rules.get("type").is_some_and(|kind| kind == "array") && !may_be_open {
            self.must(rules.contains_key("items"), at, "items have a type");
        }
        let formats: &[&str] = match self.dialect {
            Dialect::OpenAiStrict | Dialect::AnthropicStrict => &[
                "date-time",
                "time",
                "date",
                "duration",
                "email",
                "hostname",
                "ipv4",
                "ipv6",
                "uuid",
            ],
            Dialect::Gemini => &["date-time", "date", "time"],
            _ => &["date-time", "enum"],
        };
        let format = rules.get("format").and_then(Value::as_str);
        let is_uri = format == Some("uri") && self.dialect == Dialect::AnthropicStrict;
        let is_known = is_uri || format.is_none_or(|format| formats.contains(&format));
        self.must(is_known, at, &format!("no format {format:?}"));
        if self.dialect == Dialect::AnthropicStrict {
            let least = rules.get("minItems").and_then(Value::as_u64).unwrap_or(0);
            self.must(least <= 1, at, "minItems is 0 or 1");
        }
        let looks_around = rules.get("pattern").is_some_and(|it| it.to_string().contains("(?"));
        self.must(!looks_around, at, "patterns don't look around");
    }

    fn values(&mut self, rules: &Map<String, Value>, at: &str) {
        let values = rules.get("enum").and_then(Value::as_array);
        self.must(values.is_none_or(|values| !values.is_empty()), at, "a list of values has one");
        for value in values.into_iter().flatten() {
            let may_be = match self.dialect {
                Dialect::Gemini => value.is_string() || value.is_number(),
                Dialect::GeminiOpenApi => value.is_string(),
                _ => !value.is_object() && !value.is_array(),
            };
            self.must(may_be, at, &format!("{value} is not listed"));
        }
        let branches = rules.get("anyOf").and_then(Value::as_array);
        self.must(
            branches.is_none_or(|branches| !branches.is_empty()),
            at,
            "a choice has a branch",
        );
    }

    fn object(&mut self, rules: &Map<String, Value>, at: &str) {
        let names =
            || rules.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::keys);
        let required = rules.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
        let is_known = required.iter().all(|name| names().any(|known| name == known));
        self.must(is_known, at, "what is required has a schema");
        let is_closed = rules.get("additionalProperties") == Some(&Value::Bool(false));
        match self.dialect {
            Dialect::OpenAiStrict => {
                self.must(is_closed, at, "additionalProperties is false");
                let has_all = names().all(|name| required.iter().any(|known| known == name));
                self.must(has_all && rules.contains_key("required"), at, "all is required");
            }
            Dialect::AnthropicStrict => self.must(is_closed, at, "additionalProperties is false"),
            Dialect::GeminiOpenApi => {
                self.must(at == "#" || names().next().is_some(), at, "an object has members");
            }
            _ => {}
        }
    }

    /// Checks that references terminate. Gemini allows cycles through optional members, OpenAI any
    /// cycles.
    fn follow(&self, schema: &'d Value, open: &mut Vec<&'d str>, ends: &mut bool) {
        let Some(rules) = schema.as_object() else { return };
        if self.dialect == Dialect::OpenAiStrict || !*ends {
            return;
        }
        if let Some(name) = rules.get("$ref").and_then(Value::as_str) {
            if open.contains(&name) {
                *ends &= open[0] != name;
                return;
            }
            open.push(name);
            if let Some(target) = self.document.pointer(name.trim_start_matches('#')) {
                self.follow(target, open, ends);
            }
            open.pop();
        }
        let required = rules.get("required").and_then(Value::as_array);
        let must =
            |name: &str| required.is_some_and(|names| names.iter().any(|known| known == name));
        let is_gemini = self.dialect == Dialect::Gemini;
        for (name, part) in rules.get("properties").and_then(Value::as_object).into_iter().flatten()
        {
            if must(name) || !is_gemini {
                self.follow(part, open, ends);
            }
        }
        let listed =
            ["anyOf", "prefixItems"].into_iter().filter_map(|key| rules.get(key)?.as_array());
        let single = ["items", "additionalProperties"].into_iter().filter_map(|key| rules.get(key));
        for part in listed.flatten().chain(single) {
            self.follow(part, open, ends);
        }
    }

    fn all(&self) -> Vec<&'d Map<String, Value>> {
        let (mut waiting, mut found) = (vec![self.document], Vec::new());
        while let Some(next) = waiting.pop() {
            if let Some(rules) = next.as_object() {
                let named = ["properties", "$defs"]
                    .into_iter()
                    .filter_map(|key| rules.get(key)?.as_object());
                waiting.extend(named.flat_map(Map::values));
                let listed = ["anyOf", "prefixItems"]
                    .into_iter()
                    .filter_map(|key| rules.get(key)?.as_array());
                waiting.extend(listed.flatten());
                waiting.extend(["items"].into_iter().filter_map(|key| rules.get(key)));
                found.push(rules);
            }
        }
        found
    }

    fn openai_limits(&mut self) {
        let (mut names, mut letters, mut values) = (0, 0, 0);
        for rules in self.all() {
            for (key, is_member) in [("properties", true), ("$defs", false)] {
                for name in
                    rules.get(key).and_then(Value::as_object).into_iter().flat_map(Map::keys)
                {
                    names += usize::from(is_member);
                    letters += name.chars().count();
                }
            }
            let listed = rules.get("enum").and_then(Value::as_array).into_iter().flatten();
            let texts: Vec<_> =
                listed.map(|value| value.as_str().map_or(0, |it| it.chars().count())).collect();
            values += texts.len();
            let sum = texts.iter().sum::<usize>();
            letters += sum;
            self.must(
                texts.len() <= 250 || sum <= 15_000,
                "#",
                "a long list has 15,000 characters",
            );
        }
        self.must(names <= 5_000, "#", "5,000 members");
        self.must(letters <= 120_000, "#", "120,000 characters");
        self.must(values <= 1_000, "#", "1,000 values");
    }

    fn anthropic_limits(&mut self) {
        let (mut optional, mut unions) = (0, 0);
        for rules in self.all() {
            let count = |key: &str| match rules.get(key) {
                Some(Value::Object(members)) => members.len(),
                Some(Value::Array(items)) => items.len(),
                _ => 0,
            };
            optional += count("properties") - count("required");
            unions += usize::from(rules.contains_key("anyOf") || count("type") > 0);
        }
        self.must(optional <= 24, "#", "24 optional members");
        self.must(unions <= 16, "#", "16 members of several types");
    }
}
