//! Validation of the keywords of strings.

use serde_json::{Map, Value};

use super::fault::ViolatedRule;
use super::keywords::fits_count;
use super::validator::Validator;

impl<'s> Validator<'s, '_> {
    pub(super) fn text(&mut self, rules: &'s Map<String, Value>, text: &str) {
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
