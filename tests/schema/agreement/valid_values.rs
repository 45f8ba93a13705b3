//! Generates values that a schema takes, or nearly: what isn't known during generation is left to
//! validation.

use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::string::string_regex;
use proptest::test_runner::TestRunner;
use serde_json::{Map, Value, json};

use crate::draw::{Draws, TEXTS};

type Rules = Map<String, Value>;

pub(crate) struct ValueGenerator<'a> {
    pub(crate) draws: Draws<'a>,
    /// Draws the strings of patterns.
    pub(crate) texts: TestRunner,
    pub(crate) root: &'a Value,
}

impl ValueGenerator<'_> {
    pub(crate) fn value(&mut self) -> Value {
        let root = self.root;
        self.fit(root, 5)
    }

    fn fit(&mut self, schema: &Value, depth: usize) -> Value {
        let Value::Object(rules) = schema else { return self.any() };
        let mut all = Rules::new();
        self.gather(rules, &mut all, depth);
        if let Some(only) = all.get("const") {
            return only.clone();
        }
        if let Some(Value::Array(choices)) = all.get("enum") {
            return self.draws.from(choices);
        }
        let kind = match all.get("type") {
            Some(Value::Array(kinds)) if depth == 0 => kinds.last().cloned(),
            Some(Value::Array(kinds)) => Some(self.draws.from(kinds)),
            Some(kind) => Some(kind.clone()),
            None if all.contains_key("properties") => Some(json!("object")),
            None => None,
        };
        match kind.as_ref().and_then(Value::as_str) {
            Some("object") => self.object(&all, depth),
            Some("array") => self.array(&all, depth),
            Some("integer") => self.integer(&all),
            Some("number") => self.number(&all),
            Some("string") => self.text(&all),
            Some("boolean") => json!(self.draws.one_in(2)),
            Some("null") => Value::Null,
            _ => self.any(),
        }
    }

    /// Collects all rules of one location, with one branch of each choice.
    fn gather(&mut self, rules: &Rules, all: &mut Rules, depth: usize) {
        for (key, rule) in rules {
            match (key.as_str(), all.get_mut(key), rule) {
                ("properties", Some(Value::Object(known)), Value::Object(more)) => {
                    known.extend(more.clone());
                }
                ("required", Some(Value::Array(known)), Value::Array(more)) => {
                    known.extend(more.clone());
                }
                _ => {
                    all.insert(key.clone(), rule.clone());
                }
            }
        }
        let root = self.root;
        let mut inner = Vec::new();
        if let Some(reference) = rules.get("$ref").and_then(Value::as_str) {
            inner.extend(root.pointer(&reference[1..]));
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(Value::Array(branches)) = rules.get(key) {
                let ends = branches.iter().find(|_| depth == 0);
                let null = branches.iter().find(|branch| branch["type"] == "null");
                let branch = &branches[self.draws.below(branches.len())];
                inner.push(ends.and(null).or(ends).unwrap_or(branch));
            }
        }
        inner.extend(rules.get("allOf").and_then(Value::as_array).into_iter().flatten());
        let inner: Vec<_> = inner.into_iter().filter_map(Value::as_object).cloned().collect();
        for rules in inner {
            self.gather(&rules, all, depth);
        }
    }

    fn object(&mut self, rules: &Rules, depth: usize) -> Value {
        let below = depth.saturating_sub(1);
        let mut members = Rules::new();
        for (key, schema) in members_of(rules, "properties") {
            let required = rules.get("required").and_then(Value::as_array);
            let is_required = required.is_some_and(|names| names.contains(&json!(key)));
            if is_required || (depth > 0 && self.draws.one_in(2)) {
                members.insert(key.clone(), self.fit(schema, below));
            }
        }
        for (pattern, schema) in members_of(rules, "patternProperties") {
            for _ in 0..self.draws.below(3).min(depth) {
                members.insert(self.matching(pattern), self.fit(schema, below));
            }
        }
        // Additional members may be present if the schema doesn't mention them.
        let others = match rules.get("additionalProperties") {
            Some(Value::Bool(false)) => None,
            None if rules.contains_key("unevaluatedProperties") => None,
            None => Some(json!(true)).filter(|_| self.draws.one_in(4)),
            Some(schema) => Some(schema.clone()),
        };
        if let Some(schema) = others {
            for _ in 0..self.draws.below(3).min(depth) {
                let key = self.draws.from(&TEXTS).to_owned();
                let value = self.fit(&schema, below);
                members.entry(key).or_insert(value);
            }
        }
        members.into()
    }

    fn array(&mut self, rules: &Rules, depth: usize) -> Value {
        let below = depth.saturating_sub(1);
        let count = |key, default| {
            rules.get(key).and_then(Value::as_u64).map_or(default, |count| count as usize)
        };
        let first =
            rules.get("prefixItems").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let least = count("minItems", 0);
        let most = count("maxItems", usize::MAX).min(least + 3.min(depth));
        let length = least + self.draws.below(most - least + 1);
        let mut items = Vec::new();
        for at in 0..length {
            let schema = first.get(at).or_else(|| rules.get("items")).unwrap_or(&Value::Bool(true));
            let item = self.fit(schema, below);
            if rules.get("uniqueItems") != Some(&json!(true)) || !items.contains(&item) {
                items.push(item);
            }
        }
        items.into()
    }

    fn integer(&mut self, rules: &Rules) -> Value {
        let bound = |key| rules.get(key).and_then(|bound: &Value| bound.as_number()?.as_i128());
        // Bounds of 64 bits are no part of a schema; the type reports what it can't hold.
        let least = bound("minimum").unwrap_or(i64::MIN.into());
        let largest = if least < 0 { i64::MAX.into() } else { u64::MAX.into() };
        let most = bound("maximum").unwrap_or(largest);
        let step = bound("multipleOf").unwrap_or(1);
        let small = self.draws.below(100) as i128;
        let near = [least, most, 0, 1, -1, small, least + small, most - small];
        let number = self.draws.from(&near).clamp(least, most) / step * step;
        let is_exact = number.abs() <= 1 << f64::MANTISSA_DIGITS;
        match i64::try_from(number) {
            // 3.0 is an integer.
            Ok(number) if is_exact && self.draws.one_in(6) => json!(number as f64),
            Ok(number) => json!(number),
            Err(_) => json!(number as u64),
        }
    }

    fn number(&mut self, rules: &Rules) -> Value {
        let bound = |key, default| rules.get(key).and_then(Value::as_f64).unwrap_or(default);
        let (least, most) = (bound("minimum", f64::MIN), bound("maximum", f64::MAX));
        let share = self.draws.below(1_000) as f64 / 1_000.0;
        let near = [least, most, 0.0, -0.0, 1.0, -2.5, 0.1, 1e-300, share, share * 1e12];
        let number = self.draws.from(&near).clamp(least, most);
        if number.fract() == 0.0 && number.abs() < 1e15 && self.draws.one_in(2) {
            return json!(number as i64);
        }
        json!(number)
    }

    fn text(&mut self, rules: &Rules) -> Value {
        if let Some(Value::String(pattern)) = rules.get("pattern") {
            return json!(self.matching(pattern));
        }
        let format = rules.get("format").and_then(Value::as_str);
        if let Some(text) = format.and_then(|format| self.formatted(format)) {
            return json!(text);
        }
        let count = |key, default| {
            rules.get(key).and_then(Value::as_u64).map_or(default, |count| count as usize)
        };
        let least = count("minLength", 0);
        let most = count("maxLength", least + 6);
        let length = least + self.draws.below(most - least + 1);
        let letters =
            ['a', 'b', 'Z', '5', ' ', '"', '\\', '\n', '\0', '\u{7f}', 'é', '€', '😀', '\u{ffff}'];
        json!((0..length).map(|_| self.draws.from(&letters)).collect::<String>())
    }

    /// Returns a value as the type of this format prints it.
    fn formatted(&mut self, format: &str) -> Option<String> {
        let date = |draws: &mut Draws<'_>| {
            format!(
                "{:04}-{:02}-{:02}",
                draws.below(3_000),
                draws.below(12) + 1,
                draws.below(28) + 1
            )
        };
        let time = |draws: &mut Draws<'_>| {
            let fraction = draws.from(&["", ".5", ".123456789"]);
            format!(
                "{:02}:{:02}:{:02}{fraction}",
                draws.below(24),
                draws.below(60),
                draws.below(60)
            )
        };
        let draws = &mut self.draws;
        Some(match format {
            "date" => date(draws),
            "partial-time" | "time" => time(draws),
            "partial-date-time" => format!("{}T{}", date(draws), time(draws)),
            "date-time" => {
                let zone = draws.from(&["Z", "+00:00", "-03:30", "+14:00"]);
                format!("{}T{}{zone}", date(draws), time(draws))
            }
            "uuid" => {
                let digits: String = (0..32).map(|_| draws.from(&['0', '7', 'a', 'F'])).collect();
                [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]]
                    .join("-")
            }
            "ip" => draws.from(&["127.0.0.1", "::1", "fe80::1:2"]).to_owned(),
            _ => return None,
        })
    }

    /// Returns a string that the pattern matches.
    fn matching(&mut self, pattern: &str) -> String {
        if pattern.starts_with("^\\d+") || pattern.starts_with("^-?\\d+") {
            // Keys of a map, with the bounds of their type.
            return self.draws.below(128).to_string();
        }
        let whole = pattern.trim_start_matches('^').trim_end_matches('$').replace("\\d", "[0-9]");
        let texts = string_regex(&whole).expect("a pattern").new_tree(&mut self.texts);
        texts.expect("a text").current()
    }

    fn any(&mut self) -> Value {
        let values = [
            json!(null),
            json!(true),
            json!(5),
            json!(-0.5),
            json!(u64::MAX),
            json!("text"),
            json!([1, "a", null]),
            json!({"a": {"b": []}, "kind": 1}),
        ];
        self.draws.from(&values)
    }
}

fn members_of<'r>(rules: &'r Rules, key: &str) -> impl Iterator<Item = (&'r String, &'r Value)> {
    rules.get(key).and_then(Value::as_object).into_iter().flatten()
}
