//! Validation of the keywords of arrays.

use serde_json::{Map, Value};

use super::equal::first_repeat;
use super::fault::{PathSegment, ViolatedRule};
use super::keywords::{count, fits_count, list};
use super::limits::{MAX_DEPTH, weight};
use super::validator::Validator;

/// Returns the schemas of the first items by position, and the schema of all other items.
///
/// Before 2020-12 a tuple was a list in `items`, followed by `additionalItems`. Many tool servers
/// still use that form.
pub(in crate::check) fn by_position(rules: &Map<String, Value>) -> (&[Value], Option<&Value>) {
    match rules.get("items") {
        Some(Value::Array(first)) => (first, rules.get("additionalItems")),
        rest => (list(rules, "prefixItems"), rest),
    }
}

impl<'s, 'v> Validator<'s, 'v> {
    pub(in crate::check) fn array(&mut self, rules: &'s Map<String, Value>, items: &'v [Value]) {
        let (first, rest) = by_position(rules);
        if !fits_count(rules, "minItems", "maxItems", items.len()) {
            self.fault(ViolatedRule::Items(rules, items.len()));
        } else if rest == Some(&Value::Bool(false)) && items.len() > first.len() {
            // One fault about the length, not one for each surplus item.
            return self.fault(ViolatedRule::NoMoreItems(first.len(), items.len()));
        }
        for (at, item) in items.iter().enumerate() {
            match first.get(at).or(rest) {
                Some(schema) => self.validate_child(PathSegment::Index(at), schema, item),
                None => break,
            }
        }
        if rules.get("uniqueItems") == Some(&Value::Bool(true))
            && self.spend(weight(self.value(), MAX_DEPTH).unwrap_or(usize::MAX))
            && let Some((first, repeat)) = first_repeat(items)
        {
            self.fault(ViolatedRule::Repeated(first, repeat));
        }
        self.contains(rules, items);
    }

    fn contains(&mut self, rules: &'s Map<String, Value>, items: &'v [Value]) {
        let Some(schema) = rules.get("contains") else {
            return;
        };
        let found = items.iter().filter(|item| self.is_valid(schema, item)).count();
        let min = count(rules, "minContains").unwrap_or(1);
        let max = count(rules, "maxContains").unwrap_or(usize::MAX);
        if found < min || found > max {
            self.fault(ViolatedRule::Contains(rules, schema, found));
        }
    }

    pub(in crate::check) fn unevaluated_items(
        &mut self,
        rules: &'s Map<String, Value>,
        items: &'v [Value],
    ) {
        let Some(schema) = rules.get("unevaluatedItems") else {
            return;
        };
        let evaluated = self.evaluated(rules);
        for (at, item) in items.iter().enumerate() {
            if !evaluated.has_item(at) {
                self.validate_child(PathSegment::Index(at), schema, item);
            }
        }
    }
}
