//! Checked types of arguments as Rust types under `#[args]`.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::literal;
use crate::{CheckedField, CheckedType, Presence};

/// Attributes of each generated type.
const DERIVES: &str =
    "#[::tool_core::args]\n#[derive(Clone, Debug, PartialEq, ::tool_support::serde::Serialize)]\n";

/// The types of the arguments, as items of a module.
#[derive(Debug, Default)]
pub(super) struct Types {
    items: String,
    names: BTreeSet<String>,
    defaults: usize,
}

impl Types {
    /// Returns the items that define `Args` with these fields.
    pub(super) fn of(fields: &[CheckedField]) -> String {
        let mut types = Self::default();
        types.define_struct("Args", fields);
        types.items
    }

    /// Returns the Rust name of a type, and defines the types that it consists of.
    fn name_of(&mut self, field: &str, checked_type: &CheckedType) -> String {
        match checked_type {
            CheckedType::String { .. } => "::std::string::String".to_owned(),
            CheckedType::Integer { .. } => "i64".to_owned(),
            CheckedType::Number { .. } => "f64".to_owned(),
            CheckedType::Boolean => "bool".to_owned(),
            CheckedType::List { items, .. } => {
                format!("::std::vec::Vec<{}>", self.name_of(field, items))
            }
            CheckedType::Map { values, .. } => {
                let values = self.name_of(field, values);
                format!("::std::collections::BTreeMap<::std::string::String, {values}>")
            }
            CheckedType::Enum(values) => {
                let name = self.new_name(field);
                self.define_enum(&name, values);
                name
            }
            CheckedType::Object(fields) => {
                let name = self.new_name(field);
                self.define_struct(&name, fields);
                name
            }
        }
    }

    fn new_name(&mut self, field: &str) -> String {
        let name = literal::type_name(field, |name| self.names.contains(name));
        self.names.insert(name.clone());
        name
    }

    fn define_struct(&mut self, name: &str, fields: &[CheckedField]) {
        let mut members = String::new();
        for field in fields {
            self.member(&mut members, field, fields);
        }
        let _ = write!(self.items, "\n{DERIVES}pub struct {name} {{\n{members}}}\n");
    }

    fn member(&mut self, members: &mut String, field: &CheckedField, fields: &[CheckedField]) {
        let is_taken = |name: &str| fields.iter().any(|field| field.name == name);
        let name = literal::field(&field.name, is_taken);
        let mut of_type = self.name_of(&field.name, &field.field_type);
        if name.strip_prefix("r#").unwrap_or(&name) != field.name {
            let _ = writeln!(members, "    #[serde(rename = {})]", literal::text(&field.name));
        }
        let mut keywords = Vec::new();
        if !field.description.is_empty() {
            let text = literal::text(&field.description);
            let _ = writeln!(members, "    #[schemars(description = {text})]");
        }
        match &field.presence {
            Presence::Required => {}
            Presence::Optional => of_type = format!("::std::option::Option<{of_type}>"),
            Presence::Default(value) => {
                let function = self.define_default(&of_type, value);
                let _ = writeln!(members, "    #[serde(default = \"{function}\")]");
                // As it was written: a float would get a decimal point.
                keywords.push(("default", value.clone()));
            }
        }
        keywords.extend(limits(&field.field_type));
        for (keyword, value) in keywords {
            let value = literal::json(&value);
            let _ = writeln!(members, "    #[schemars(extend(\"{keyword}\" = {value}))]");
        }
        let mut inner = Vec::new();
        inner_limits(&field.field_type, "", &mut inner);
        if !inner.is_empty() {
            let limits = inner.join(", ");
            let _ = writeln!(
                members,
                "    #[schemars(transform = ::tool_support::limits(&[{limits}]))]"
            );
        }
        let _ = writeln!(members, "    pub {name}: {of_type},");
    }

    /// Defines a function that returns a default, and returns its name.
    fn define_default(&mut self, of_type: &str, value: &Value) -> String {
        self.defaults += 1;
        let name = format!("default_value_{}", self.defaults);
        let value = literal::text(&value.to_string());
        let _ = write!(
            self.items,
            "\nfn {name}() -> {of_type} {{\n    ::tool_support::default_value({value})\n}}\n"
        );
        name
    }

    fn define_enum(&mut self, name: &str, values: &[String]) {
        let (mut variants, mut arms) = (String::new(), String::new());
        let mut names = BTreeSet::new();
        for value in values {
            let variant = literal::variant(value, |name| names.contains(name));
            let text = literal::text(value);
            let _ = write!(variants, "    #[serde(rename = {text})]\n    {variant},\n");
            let _ = writeln!(arms, "            Self::{variant} => {text},");
            names.insert(variant);
        }
        let _ = write!(
            self.items,
            "\n{DERIVES}#[derive(Copy, Eq, PartialOrd, Ord, Hash)]\npub \
             enum {name} {{\n{variants}}}\n\n\
             impl {name} {{\n    pub fn as_str(self) -> &'static str {{\n        match self {{\n\
             {arms}        }}\n    }}\n}}\n\n\
             impl ::std::fmt::Display for {name} {{\n    \
             fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {{\n        \
             f.write_str(self.as_str())\n    }}\n}}\n"
        );
    }
}

/// Returns the keywords that limit the values of a type.
fn limits(checked_type: &CheckedType) -> Vec<(&'static str, Value)> {
    let (names, min, max) = match checked_type {
        CheckedType::String { min, max } => (["minLength", "maxLength"], json!(min), json!(max)),
        CheckedType::Integer { min, max } => (["minimum", "maximum"], json!(min), json!(max)),
        CheckedType::Number { min, max } => (["minimum", "maximum"], json!(min), json!(max)),
        CheckedType::List { min, max, .. } => (["minItems", "maxItems"], json!(min), json!(max)),
        CheckedType::Map { min, max, .. } => {
            (["minProperties", "maxProperties"], json!(min), json!(max))
        }
        CheckedType::Boolean | CheckedType::Enum(_) | CheckedType::Object(_) => return Vec::new(),
    };
    names.into_iter().zip([min, max]).filter(|(_, limit)| !limit.is_null()).collect()
}

/// Collects the limits of the elements of a type, with the paths of their schemas. Those of the
/// members of objects are in the types of the objects.
fn inner_limits(checked_type: &CheckedType, path: &str, found: &mut Vec<String>) {
    let (element, name) = match checked_type {
        CheckedType::List { items, .. } => (items, "items"),
        CheckedType::Map { values, .. } => (values, "additionalProperties"),
        _ => return,
    };
    let path = format!("{path}/{name}");
    for (keyword, limit) in limits(element) {
        let limit = literal::text(&limit.to_string());
        found.push(format!("(\"{path}\", \"{keyword}\", {limit})"));
    }
    inner_limits(element, &path, found);
}
