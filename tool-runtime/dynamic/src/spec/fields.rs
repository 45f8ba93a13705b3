//! The check of argument fields, which converts them to checked fields.

use std::collections::HashSet;

use serde_json::{Number, Value};
use tool_core::message::visible;
use tool_core::schema::Schema;

use super::checked_type::{CheckedField, CheckedType, Presence};
use super::error::SpecErrors;
use super::field::{ArgumentField, ArgumentType, ElementType};
use super::limits::{
    MAX_DEPTH, MAX_FIELD_DESCRIPTION_BYTES, MAX_FIELDS, MAX_NAME_BYTES, MAX_VALUE_BYTES, MAX_VALUES,
};
use super::schema;

/// The members that describe a type, in an argument or an element.
struct TypeMembers<'a> {
    field_type: ArgumentType,
    min: Option<&'a Number>,
    max: Option<&'a Number>,
    values: &'a [String],
    items: Option<&'a ElementType>,
    fields: &'a [ArgumentField],
}

impl<'a> From<&'a ArgumentField> for TypeMembers<'a> {
    fn from(field: &'a ArgumentField) -> Self {
        Self {
            field_type: field.field_type,
            min: field.min.as_ref(),
            max: field.max.as_ref(),
            values: &field.values,
            items: field.items.as_deref(),
            fields: &field.fields,
        }
    }
}

impl<'a> From<&'a ElementType> for TypeMembers<'a> {
    fn from(element: &'a ElementType) -> Self {
        Self {
            field_type: element.field_type,
            min: element.min.as_ref(),
            max: element.max.as_ref(),
            values: &element.values,
            items: element.items.as_deref(),
            fields: &element.fields,
        }
    }
}

/// Checks fields and collects what is wrong with them.
pub(super) struct FieldChecker<'e> {
    errors: &'e mut SpecErrors,
    field_count: usize,
}

impl<'e> FieldChecker<'e> {
    pub(super) fn new(errors: &'e mut SpecErrors) -> Self {
        Self { errors, field_count: 0 }
    }

    /// Returns the checked fields. What they are if there is an error is of no use.
    pub(super) fn fields(
        &mut self,
        fields: &[ArgumentField],
        path: &str,
        depth: usize,
    ) -> Vec<CheckedField> {
        let mut names = HashSet::new();
        let mut checked = Vec::new();
        for (index, field) in fields.iter().enumerate() {
            self.field_count += 1;
            if self.field_count > MAX_FIELDS {
                self.errors.push(path, format!("expected at most {MAX_FIELDS} fields in all"));
                break;
            }
            let path = format!("{path}[{index}]");
            if !names.insert(field.name.as_str()) {
                self.errors.push(format!("{path}.name"), "expected a name that no other has");
            }
            checked.push(self.field(field, &path, depth));
        }
        checked
    }

    fn field(&mut self, field: &ArgumentField, path: &str, depth: usize) -> CheckedField {
        if !is_identifier(&field.name) {
            let message = format!(
                "expected 1 to {MAX_NAME_BYTES} letters, digits and `_`, and a letter first"
            );
            self.errors.push(format!("{path}.name"), message);
        }
        let limit = MAX_FIELD_DESCRIPTION_BYTES;
        if let Some(message) = text_error(&field.description, limit) {
            self.errors.push(format!("{path}.description"), message);
        }
        let error_count = self.errors.len();
        let checked_type = self.checked_type(&field.into(), path, depth);
        let is_valid = self.errors.len() == error_count;
        let presence = match (&field.default, field.optional) {
            (None, false) => Presence::Required,
            (None, true) => Presence::Optional,
            (Some(value), is_optional) => {
                let path = format!("{path}.default");
                if is_optional {
                    self.errors.push(&path, "expected either a default or `optional`, not both");
                }
                if is_valid && let Some(message) = default_error(value, &checked_type) {
                    self.errors.push(&path, message);
                }
                Presence::Default(value.clone())
            }
        };
        let (name, description) = (field.name.clone(), field.description.clone());
        CheckedField { name, description, field_type: checked_type, presence }
    }

    fn checked_type(&mut self, members: &TypeMembers<'_>, path: &str, depth: usize) -> CheckedType {
        if depth > MAX_DEPTH {
            self.errors.push(path, format!("expected at most {MAX_DEPTH} levels of types"));
            return CheckedType::Boolean;
        }
        self.unused_members(members, path);
        match members.field_type {
            ArgumentType::String => {
                let (min, max) = self.count(members, path);
                CheckedType::String { min, max }
            }
            ArgumentType::Integer => {
                let (min, max) =
                    self.limits(members, path, "an integer of 64 bits", Number::as_i64);
                CheckedType::Integer { min, max }
            }
            ArgumentType::Number => {
                self.limits(members, path, "a number", Number::as_f64);
                CheckedType::Number { min: members.min.cloned(), max: members.max.cloned() }
            }
            ArgumentType::Boolean => CheckedType::Boolean,
            ArgumentType::Enum => CheckedType::Enum(self.choices(members.values, path)),
            ArgumentType::List => {
                let (min, max) = self.count(members, path);
                let items = Box::new(self.element(members, path, depth));
                CheckedType::List { items, min, max }
            }
            ArgumentType::Map => {
                let (min, max) = self.count(members, path);
                let values = Box::new(self.element(members, path, depth));
                CheckedType::Map { values, min, max }
            }
            ArgumentType::Object => {
                let path = format!("{path}.fields");
                if members.fields.is_empty() {
                    self.errors.push(&path, "expected the members of the object, got none");
                }
                CheckedType::Object(self.fields(members.fields, &path, depth + 1))
            }
        }
    }

    /// Reports members that have no meaning for the type.
    fn unused_members(&mut self, members: &TypeMembers<'_>, path: &str) {
        use ArgumentType::{Boolean, Enum, List, Map, Object};

        let field_type = members.field_type;
        let has_no_range = matches!(field_type, Boolean | Enum | Object);
        let unused = [
            ("min", has_no_range && members.min.is_some()),
            ("max", has_no_range && members.max.is_some()),
            ("values", field_type != Enum && !members.values.is_empty()),
            ("items", !matches!(field_type, List | Map) && members.items.is_some()),
            ("fields", field_type != Object && !members.fields.is_empty()),
        ];
        for (name, is_unused) in unused {
            if is_unused {
                let message = format!("remove it: a value of type `{field_type}` has none");
                self.errors.push(format!("{path}.{name}"), message);
            }
        }
    }

    fn element(&mut self, members: &TypeMembers<'_>, path: &str, depth: usize) -> CheckedType {
        let path = format!("{path}.items");
        match members.items {
            Some(element) => self.checked_type(&element.into(), &path, depth + 1),
            None => {
                let message = r#"expected the type of the elements, such as {"type": "string"}"#;
                self.errors.push(path, message);
                CheckedType::Boolean
            }
        }
    }

    fn choices(&mut self, values: &[String], path: &str) -> Vec<String> {
        let path = format!("{path}.values");
        if values.is_empty() || values.len() > MAX_VALUES {
            let message = format!("expected 1 to {MAX_VALUES} texts, got {}", values.len());
            self.errors.push(&path, message);
            return Vec::new();
        }
        let mut distinct = HashSet::new();
        for (index, value) in values.iter().enumerate() {
            let path = format!("{path}[{index}]");
            if value.is_empty() {
                self.errors.push(&path, "expected a text, got an empty one");
            } else if let Some(message) = text_error(value, MAX_NAME_BYTES) {
                self.errors.push(&path, message);
            }
            if !distinct.insert(value) {
                self.errors.push(&path, "expected a text that no other has");
            }
        }
        values.to_vec()
    }

    fn count(&mut self, members: &TypeMembers<'_>, path: &str) -> (Option<u64>, Option<u64>) {
        self.limits(members, path, "an integer from 0", Number::as_u64)
    }

    fn limits<T: PartialOrd + Copy>(
        &mut self,
        members: &TypeMembers<'_>,
        path: &str,
        expected: &str,
        convert: impl Fn(&Number) -> Option<T>,
    ) -> (Option<T>, Option<T>) {
        let mut limit = |name: &str, number: Option<&Number>| {
            let converted = number.map(&convert);
            if let (Some(number), Some(None)) = (number, &converted) {
                let message = format!("expected {expected}, got {number}");
                self.errors.push(format!("{path}.{name}"), message);
            }
            converted.flatten()
        };
        let limits = (limit("min", members.min), limit("max", members.max));
        if let (Some(min), Some(max)) = limits
            && min > max
        {
            self.errors.push(format!("{path}.max"), "expected a number that is not below `min`");
        }
        limits
    }
}

/// Returns whether a name can be an argument's in every language of a body.
fn is_identifier(name: &str) -> bool {
    let mut chars = name.chars();
    name.len() <= MAX_NAME_BYTES
        && chars.next().is_some_and(|first| first.is_ascii_alphabetic())
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Returns what is wrong with a text of at most so many bytes.
pub(super) fn text_error(text: &str, limit: usize) -> Option<String> {
    if text.len() > limit {
        return Some(format!("expected at most {limit} bytes, got {}", text.len()));
    }
    (visible(text) != text).then(|| "remove the invisible characters".to_owned())
}

/// Returns why a value can't be the default of a field.
fn default_error(value: &Value, checked_type: &CheckedType) -> Option<String> {
    let text = value.to_string();
    if let Some(message) = text_error(&text, MAX_VALUE_BYTES) {
        return Some(message);
    }
    let mismatches = Schema::from(schema::of(checked_type)).check(value);
    mismatches.first().map(|_| {
        let details: Vec<_> = mismatches.iter().map(ToString::to_string).collect();
        format!("the field does not accept it: {}", details.join("; "))
    })
}
