//! Fingerprints of definitions, to which approvals are bound.

use std::fmt;

use hmac_sha256::Hash;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;

use super::ToolDefinition;
use crate::tool::{Effect, Permission};

/// SHA-256 hash of the parts of a tool's definition on which approvers and callers of workers rely.
///
/// The hash covers the title, the description, the parameters, the output, the effect, the required
/// capabilities, the permission, the idempotence, whether calls reattach, the retries, the timeout
/// and the [version](ToolDefinition::version) of a tool. It does not depend on the order of members
/// in a schema, and is the same in every process. It is displayed and serialized as 64 hexadecimal
/// digits.
///
/// ```
/// use tool_runtime::{Effect, Fingerprint, ToolDefinition};
///
/// let schema = serde_json::json!({ "type": "object" });
/// let reads = ToolDefinition::new("note", "Handles a note.", schema).effect(Effect::Read);
/// let writes = reads.clone().effect(Effect::Write);
/// assert_ne!(reads.fingerprint(), writes.fingerprint());
///
/// let printed = reads.fingerprint().to_string();
/// assert_eq!(Fingerprint::from_hex(&printed), Some(reads.fingerprint()));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint([u8; 32]);

impl ToolDefinition {
    /// Returns the fingerprint of this definition.
    ///
    /// Pending calls and approvals, including approvals for the rest of a run, are bound to it. If
    /// a tool is replaced by one with another fingerprint, approvals are void and the approver is
    /// asked again. The fingerprint does not cover the name: an approval contains the tool's name
    /// as well.
    pub fn fingerprint(&self) -> Fingerprint {
        let mut hash = Hash::new();
        let mut add = |bytes: &[u8]| {
            // With its length, so that no two sequences of parts have the same bytes.
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        };
        add(b"tool-runtime definition 1");
        add(self.description.as_bytes());
        add(canonical(self.parameters.as_value()).as_bytes());
        let (effect, permission) = (effect_name(self.effect), permission_name(self.permission));
        let idempotence = if self.idempotent { "idempotent" } else { "not idempotent" };
        let reattaches = if self.reattaches { "reattaches" } else { "does not reattach" };
        let retries = self.max_retries;
        add(format!("{effect} {permission} {idempotence} {reattaches} {retries}").as_bytes());
        let mut requires: Vec<_> = self.requires.iter().collect();
        requires.sort();
        requires.dedup();
        for capability in requires {
            add(capability.as_bytes());
        }
        // No capability contains a control character, so no capability is taken for such a label.
        let output = self.output.as_ref().map(|schema| canonical(schema.as_value()));
        let timeout = self.timeout.map(|limit| limit.as_nanos().to_string());
        let optional = [
            ("\0title", self.title.as_deref()),
            ("\0output", output.as_deref()),
            ("\0timeout", timeout.as_deref()),
            ("\0version", self.version.as_deref()),
        ];
        for (label, value) in optional {
            if let Some(value) = value {
                add(label.as_bytes());
                add(value.as_bytes());
            }
        }
        Fingerprint(hash.finalize())
    }
}

// Stored fingerprints contain these names, so a renamed variant keeps its name here.

const fn effect_name(effect: Effect) -> &'static str {
    match effect {
        Effect::None => "None",
        Effect::Read => "Read",
        Effect::Write => "Write",
        Effect::External => "External",
    }
}

const fn permission_name(permission: Permission) -> &'static str {
    match permission {
        Permission::Allow => "Allow",
        Permission::Ask => "Ask",
        Permission::Deny => "Deny",
    }
}

/// Returns a value as JSON with the members of each object sorted by name.
fn canonical(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(canonical).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by_key(|(name, _)| *name);
            let member = |(name, value): (&String, &Value)| {
                format!("{}:{}", Value::from(name.as_str()), canonical(value))
            };
            let members: Vec<_> = members.into_iter().map(member).collect();
            format!("{{{}}}", members.join(","))
        }
        scalar => scalar.to_string(),
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Fingerprint {
    /// Reads 64 hexadecimal digits; `None` if the text is something else.
    ///
    /// ```
    /// use tool_runtime::Fingerprint;
    ///
    /// let digits = "de".repeat(32);
    /// assert_eq!(Fingerprint::from_hex(&digits).unwrap().to_string(), digits);
    /// assert_eq!(Fingerprint::from_hex("de"), None);
    /// ```
    pub fn from_hex(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        for (byte, at) in bytes.iter_mut().zip((0..).step_by(2)) {
            *byte = u8::from_str_radix(text.get(at..at + 2)?, 16).ok()?;
        }
        Some(Self(bytes))
    }
}

impl Serialize for Fingerprint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Fingerprint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let invalid = || de::Error::custom("invalid fingerprint: expected 64 hexadecimal digits");
        Self::from_hex(&text).ok_or_else(invalid)
    }
}
