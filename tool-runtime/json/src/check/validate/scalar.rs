//! Validation of the keywords of numbers and strings.

use std::cmp::Ordering;

use serde_json::{Map, Number, Value};

use super::exact_number::ExactNumber;
use super::fault::ViolatedRule;
use super::keywords::{bounds, fits_count};
use super::validator::Validator;

impl<'s, 'v> Validator<'s, 'v> {
    pub(in crate::check) fn number(&mut self, rules: &'s Map<String, Value>, number: &Number) {
        let number = ExactNumber::of(number);
        let against = |bound: Option<&Value>| number.compare(ExactNumber::from_value(bound?)?);
        let [min, above] = bounds(rules, "minimum", "exclusiveMinimum");
        let [max, below] = bounds(rules, "maximum", "exclusiveMaximum");
        let step = rules.get("multipleOf").and_then(ExactNumber::from_value);
        if against(min) == Some(Ordering::Less)
            || against(max) == Some(Ordering::Greater)
            || matches!(against(above), Some(Ordering::Less | Ordering::Equal))
            || matches!(against(below), Some(Ordering::Greater | Ordering::Equal))
        {
            self.fault(ViolatedRule::Range(rules));
        } else if step.is_some_and(|step| !number.is_multiple_of(step)) {
            self.fault(ViolatedRule::Multiple(rules));
        }
    }

    pub(in crate::check) fn text(&mut self, rules: &'s Map<String, Value>, text: &str) {
        let is_counted = rules.contains_key("minLength") || rules.contains_key("maxLength");
        if is_counted && self.spend(text.len() / 64) {
            let length = text.chars().count();
            if !fits_count(rules, "minLength", "maxLength", length) {
                self.fault(ViolatedRule::Length(rules, length));
            }
        }
        if let Some(Value::String(pattern)) = rules.get("pattern")
            && self.matches(pattern, text) == Some(false)
        {
            self.fault(ViolatedRule::Pattern(pattern));
        }
    }
}
