use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tool_core::{Effect, Fingerprint, Permission, ToolDefinition, ToolKind};

use super::checked_type::{CheckedField, CheckedType, Presence};
use super::error::SpecError;
use super::limits::DEFAULT_TIMEOUT_SECONDS;
use super::schema;
use super::{BodyLanguage, ExampleCall, ToolSpec};

/// A spec that [`ToolSpec::check`] accepted, and the definition of its tool. Clones share it.
///
/// ```
/// use tool_runtime::Effect;
/// use tool_runtime::dynamic::{BodyLanguage, ToolSpec};
///
/// let spec = ToolSpec::new(BodyLanguage::JavaScript, "one", "Returns one.", "return 1;");
/// let checked = spec.clone().effect(Effect::None).check()?;
/// assert_eq!(checked.definition().name, "one");
/// // Each change of the spec is a change of what an approval is bound to.
/// let mut edited = spec.effect(Effect::None);
/// edited.body = "return 2;".into();
/// let other = edited.check()?;
/// assert_ne!(checked.definition().fingerprint(), other.definition().fingerprint());
/// # Ok::<(), tool_runtime::dynamic::SpecErrors>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedSpec(Arc<Checked>);

#[derive(Debug, PartialEq)]
struct Checked {
    spec: ToolSpec,
    fields: Vec<CheckedField>,
    definition: ToolDefinition,
    fingerprint: Fingerprint,
}

impl CheckedSpec {
    /// Assembles a spec that is valid.
    pub(super) fn new(spec: ToolSpec, fields: Vec<CheckedField>) -> Self {
        let fingerprint = fingerprint(&spec);
        let definition = definition(&spec, &fields, fingerprint);
        Self(Arc::new(Checked { spec, fields, definition, fingerprint }))
    }

    /// Returns the spec as it was written, such as to store it.
    pub fn spec(&self) -> &ToolSpec {
        &self.0.spec
    }

    /// Returns the name of the tool.
    pub fn name(&self) -> &str {
        &self.0.spec.name
    }

    /// Returns the language of the body.
    pub fn language(&self) -> BodyLanguage {
        self.0.spec.language
    }

    /// Returns the source of the body.
    pub fn body(&self) -> &str {
        &self.0.spec.body
    }

    /// Returns the checked arguments in their order.
    pub fn fields(&self) -> &[CheckedField] {
        &self.0.fields
    }

    /// Returns the example calls of the tool.
    pub fn examples(&self) -> &[ExampleCall] {
        &self.0.spec.examples
    }

    /// Returns whether the body needs a capability.
    pub fn has_capability(&self, capability: &str) -> bool {
        self.0.spec.capabilities.iter().any(|name| name == capability)
    }

    /// Returns the time limit of a call.
    pub fn timeout(&self) -> Duration {
        let seconds = self.0.spec.timeout_seconds.unwrap_or(DEFAULT_TIMEOUT_SECONDS);
        Duration::from_secs(seconds.into())
    }

    /// Returns the definition of the tool.
    ///
    /// If the effect is `none` or `read`, calls are allowed; otherwise, each call needs an
    /// approval. The title contains the fingerprint of the spec, so an approval of a call is void
    /// for a tool with another body.
    pub fn definition(&self) -> &ToolDefinition {
        &self.0.definition
    }

    /// Returns the fingerprint of the spec, with the body.
    pub fn fingerprint(&self) -> Fingerprint {
        self.0.fingerprint
    }

    /// Adds the default of each omitted argument, at all levels. `arguments` has to match the
    /// schema of the parameters.
    ///
    /// ```
    /// use serde_json::json;
    /// use tool_runtime::dynamic::{ArgumentField, ArgumentType, BodyLanguage, ToolSpec};
    ///
    /// let depth = ArgumentField::new("depth", ArgumentType::Integer).default_value(2);
    /// let spec = ToolSpec::new(BodyLanguage::Rust, "list", "Lists files.", "Ok(())").field(depth);
    /// let mut arguments = json!({});
    /// spec.check()?.add_defaults(&mut arguments);
    /// assert_eq!(arguments, json!({ "depth": 2 }));
    /// # Ok::<(), tool_runtime::dynamic::SpecErrors>(())
    /// ```
    pub fn add_defaults(&self, arguments: &mut Value) {
        add_defaults(self.fields(), arguments);
    }

    /// Returns an error for each capability that is not among the supported ones.
    pub fn unsupported_capabilities(&self, supported: &[impl AsRef<str>]) -> Vec<SpecError> {
        let language = self.language();
        let supported: Vec<_> = supported.iter().map(AsRef::as_ref).collect();
        let expected = match supported.as_slice() {
            [] => format!("remove it: a body in {language} can't be given capabilities here"),
            names => format!("expected one of `{}`", names.join("`, `")),
        };
        let names = self.0.spec.capabilities.iter().enumerate();
        names
            .filter(|(_, name)| !supported.contains(&name.as_str()))
            .map(|(index, _)| SpecError::new(format!("capabilities[{index}]"), &expected))
            .collect()
    }
}

fn add_defaults(fields: &[CheckedField], object: &mut Value) {
    let Some(members) = object.as_object_mut() else { return };
    for field in fields {
        if let (Presence::Default(value), None) = (&field.presence, members.get(&field.name)) {
            members.insert(field.name.clone(), value.clone());
        }
        if let Some(value) = members.get_mut(&field.name) {
            add_inner_defaults(&field.field_type, value);
        }
    }
}

fn add_inner_defaults(checked_type: &CheckedType, value: &mut Value) {
    match (checked_type, value) {
        (CheckedType::Object(fields), object) => add_defaults(fields, object),
        (CheckedType::List { items, .. }, Value::Array(values)) => {
            values.iter_mut().for_each(|value| add_inner_defaults(items, value));
        }
        (CheckedType::Map { values: element, .. }, Value::Object(members)) => {
            members.values_mut().for_each(|value| add_inner_defaults(element, value));
        }
        _ => {}
    }
}

fn definition(
    spec: &ToolSpec,
    fields: &[CheckedField],
    fingerprint: Fingerprint,
) -> ToolDefinition {
    let permission = match spec.effect {
        Effect::None | Effect::Read => Permission::Allow,
        Effect::Write | Effect::External => Permission::Ask,
    };
    let seconds = spec.timeout_seconds.unwrap_or(DEFAULT_TIMEOUT_SECONDS);
    let mut definition = ToolDefinition::new(&spec.name, &spec.description, schema::object(fields))
        // The title is covered by the fingerprint of the definition.
        .title(format!("{} ({}, source {fingerprint})", spec.name, spec.language))
        .effect(spec.effect)
        .permission(permission)
        .timeout(Duration::from_secs(seconds.into()));
    definition.kind = ToolKind::Dynamic(spec.language.to_string());
    spec.capabilities.iter().fold(definition, ToolDefinition::requires)
}

/// Hashes the spec. The fingerprint of a definition covers a document whatever the order of its
/// members, so the spec is the document of one.
fn fingerprint(spec: &ToolSpec) -> Fingerprint {
    let document = serde_json::to_value(spec).unwrap_or(Value::Null);
    // Stored approvals are bound to these texts, so they stay.
    ToolDefinition::new("pieces", "tool-dynamic pieces 1", document).fingerprint()
}
