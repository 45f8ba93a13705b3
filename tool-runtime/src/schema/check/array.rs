//! The keywords of arrays.

use serde_json::{Map, Value};

use super::equal::first_repeat;
use super::fault::{Rule, Step};
use super::limits::{MAX_DEPTH, weight};
use super::rules::{count, fits_count, list};
use super::walk::Walk;

/// The schemas of an array by position: those of the first items, and that of all others.
///
/// Before 2020-12 a tuple was a list in `items`, followed by `additionalItems`; many tool servers
/// still write it so.
pub(super) fn by_position(rules: &Map<String, Value>) -> (&[Value], Option<&Value>) {
    match rules.get("items") {
        Some(Value::Array(first)) => (first, rules.get("additionalItems")),
        rest => (list(rules, "prefixItems"), rest),
    }
}

impl<'s, 'v> Walk<'s, 'v> {
    pub(super) fn array(&mut self, rules: &'s Map<String, Value>, items: &'v [Value]) {
        let (first, rest) = by_position(rules);
        if !fits_count(rules, "minItems", "maxItems", items.len()) {
            self.fault(Rule::Items(rules, items.len()));
        } else if rest == Some(&Value::Bool(false)) && items.len() > first.len() {
            // One fault about the length, not one for each item too many.
            return self.fault(Rule::NoMoreItems(first.len(), items.len()));
        }
        for (at, item) in items.iter().enumerate() {
            match first.get(at).or(rest) {
                Some(schema) => self.walk_into(Step::Index(at), schema, item),
                None => break,
            }
        }
        if rules.get("uniqueItems") == Some(&Value::Bool(true))
            && self.pay(weight(self.value(), MAX_DEPTH).unwrap_or(usize::MAX))
            && let Some((first, again)) = first_repeat(items)
        {
            self.fault(Rule::Repeated(first, again));
        }
        self.contains(rules, items);
    }

    fn contains(&mut self, rules: &'s Map<String, Value>, items: &'v [Value]) {
        let Some(schema) = rules.get("contains") else {
            return;
        };
        let found = items.iter().filter(|item| self.holds(schema, item)).count();
        let least = count(rules, "minContains").unwrap_or(1);
        let most = count(rules, "maxContains").unwrap_or(usize::MAX);
        if found < least || found > most {
            self.fault(Rule::Contains(rules, schema, found));
        }
    }

    pub(super) fn unevaluated_items(&mut self, rules: &'s Map<String, Value>, items: &'v [Value]) {
        let Some(schema) = rules.get("unevaluatedItems") else {
            return;
        };
        let evaluated = self.evaluated(rules);
        for (at, item) in items.iter().enumerate() {
            if !evaluated.has_item(at) {
                self.walk_into(Step::Index(at), schema, item);
            }
        }
    }
}
