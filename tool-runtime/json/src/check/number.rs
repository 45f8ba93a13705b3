//! Validation of the keywords of numbers.

use std::cmp::Ordering;

use serde_json::{Map, Number, Value};

use super::exact_number::ExactNumber;
use super::fault::ViolatedRule;
use super::validator::Validator;

impl<'s, 'v> Validator<'s, 'v> {
    pub(super) fn number(&mut self, rules: &'s Map<String, Value>, number: &Number) {
        let number = ExactNumber::of(number);
        let bound = |key| rules.get(key).and_then(ExactNumber::from_value);
        let against = |key| bound(key).and_then(|bound| number.compare(bound));
        if against("minimum") == Some(Ordering::Less)
            || against("maximum") == Some(Ordering::Greater)
            || matches!(against("exclusiveMinimum"), Some(Ordering::Less | Ordering::Equal))
            || matches!(against("exclusiveMaximum"), Some(Ordering::Greater | Ordering::Equal))
        {
            self.fault(ViolatedRule::Range(rules));
        } else if bound("multipleOf").is_some_and(|step| !number.is_multiple_of(step)) {
            self.fault(ViolatedRule::Multiple(rules));
        }
    }
}
