//! The valid part of a spec, which a backend can check beside the errors in the rest.

use super::ToolSpec;
use super::checked::CheckedSpec;
use super::error::SpecErrors;

/// Returns the spec with another value for each member that has an error; `None` if there are more
/// errors than are reported.
pub(crate) fn valid_members(spec: &ToolSpec, errors: &SpecErrors) -> Option<CheckedSpec> {
    let other = ToolSpec::new(spec.language, "tool", "A tool.", "// The body is invalid.");
    let mut valid = spec.clone();
    if errors.has_error_in("name") {
        valid.name = other.name;
    }
    if errors.has_error_in("description") {
        valid.description = other.description;
    }
    if errors.has_error_in("body") {
        valid.body = other.body;
    }
    if errors.has_error_in("fields") {
        valid.fields = other.fields;
        // They are checked against the fields.
        valid.examples.clear();
    }
    if errors.has_error_in("examples") {
        valid.examples = other.examples;
    }
    if errors.has_error_in("capabilities") {
        valid.capabilities = other.capabilities;
    }
    if errors.has_error_in("tools") {
        valid.tools = other.tools;
    }
    if errors.has_error_in("effect") {
        valid.effect = other.effect;
    }
    if errors.has_error_in("timeout_seconds") {
        valid.timeout_seconds = other.timeout_seconds;
    }
    valid.check().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tool_core::Effect;

    use super::valid_members;
    use crate::{ArgumentField, ArgumentType, BodyLanguage, ExampleCall, ToolSpec};

    #[test]
    fn each_member_with_an_error_has_another_value() {
        let text = || ArgumentField::new("text", ArgumentType::String);
        let example = || ExampleCall::new([("text", json!("a"))]);
        let base = ToolSpec::new(BodyLanguage::JavaScript, "a", "A.", "return 1;")
            .field(text())
            .example(example())
            .effect(Effect::Read)
            .capability("network")
            .tool("grep");
        let named = |name: &str| ToolSpec { name: name.into(), ..base.clone() };
        let variants = [
            named("A"),
            ToolSpec { description: String::new(), ..base.clone() },
            ToolSpec { body: String::new(), ..base.clone() },
            base.clone().field(text()),
            base.clone().example(ExampleCall::new([("text", json!(1))])),
            base.clone().capability("network"),
            base.clone().tool("a"),
            base.clone().effect(Effect::None),
            base.clone().timeout_seconds(0),
        ];
        for variant in variants {
            let errors = variant.check().unwrap_err();
            assert!(valid_members(&variant, &errors).is_some(), "{errors}");
        }
        let wrong = named("A").timeout_seconds(0);
        let valid = valid_members(&wrong, &wrong.check().unwrap_err()).unwrap();
        assert_eq!(valid.spec(), &named("tool"));
    }
}
