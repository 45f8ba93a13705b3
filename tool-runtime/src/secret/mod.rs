//! Redaction: replaces secrets in everything that is emitted or persisted.
//!
//! Two kinds of values are secret:
//!
//! - The values of [`Policy::secrets`](crate::Policy::secrets), wherever they occur in a text.
//! - The arguments that a tool marks as secret. They are replaced at their place whatever they are,
//!   and their values are collected, so that they are replaced wherever they occur again in the
//!   run.
//!
//! # Flow
//! 1. `mod.rs`: [`Redactor`] knows the tools of a run and collects the secrets of its calls.
//! 2. `tool_schemas.rs`: the schemas of the tools whose calls may still run.
//! 3. `values.rs`: the texts in which a collected value may occur.
//! 4. `text.rs`: the search for a secret in every spelling: verbatim, escaped, percent-encoded.
//!
//! The redaction of events and executions is in `event/redact.rs`.
//!
//! # Limits
//! Collected values shorter than [`MIN_SECRET_LEN`] bytes are not searched for: they occur in every
//! other word. At most [`MAX_COLLECTED`] values are kept; beyond that the oldest is evicted.

mod text;
mod tool_schemas;
mod values;

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use serde_json::Value;

use crate::json;
use crate::message::{Arguments, ToolCall};
use crate::schema::{NamedSchemas, Schema};
use text::Needle;
use tool_schemas::LiveSchemas;

/// The text that replaces a secret.
pub(crate) const REDACTED: &str = "[redacted]";

/// The maximum number of collected values, and of fragments; beyond it the oldest is evicted.
const MAX_COLLECTED: usize = 1_000;

/// The minimum length of a collected value in bytes.
const MIN_SECRET_LEN: usize = 4;

/// The minimum length of a collected fragment of unparsable arguments in bytes.
const MIN_FRAGMENT_LEN: usize = 6;

/// Redacts the secrets of a run. Clones share the collected secrets.
#[derive(Clone, Default)]
pub(crate) struct Redactor {
    shared: Arc<SharedSecrets>,
    /// Whether the calls belong to the tools of another agent.
    is_for_nested_agent: bool,
}

#[derive(Default)]
struct SharedSecrets {
    /// The secrets of the policy.
    configured: Arc<[Needle]>,
    /// Whether there is anything to redact.
    is_active: AtomicBool,
    tools: LiveSchemas,
    collected: Mutex<Collected>,
}

/// The secrets that were collected during a run.
#[derive(Default)]
struct Collected {
    /// The values of secret arguments.
    secrets: VecDeque<Arc<Needle>>,
    /// Fragments of unparsable arguments, any of which may be secret. They are kept apart, since
    /// there may be enough of them to evict the values that surely are secret.
    fragments: VecDeque<Arc<Needle>>,
}

impl Redactor {
    /// Returns a redactor with these secrets in addition, and nothing collected.
    pub(crate) fn with(&self, secrets: impl IntoIterator<Item = String>) -> Self {
        let added =
            secrets.into_iter().filter(|text| !text.is_empty()).map(|text| Needle::new(&text));
        Self::with_configured(self.shared.configured.iter().cloned().chain(added).collect())
    }

    /// Returns a redactor for another run: the same configured secrets, and nothing collected.
    pub(crate) fn for_run(&self) -> Self {
        Self::with_configured(Arc::clone(&self.shared.configured))
    }

    fn with_configured(configured: Arc<[Needle]>) -> Self {
        let is_active = AtomicBool::new(!configured.is_empty());
        let shared = Arc::new(SharedSecrets { configured, is_active, ..SharedSecrets::default() });
        Self { shared, is_for_nested_agent: false }
    }

    /// Returns a redactor for the events of a nested agent. That agent has redacted the secret
    /// arguments of its own tools, and the schemas of these tools do not apply to them.
    pub(crate) fn for_nested_agent(&self) -> Self {
        Self { is_for_nested_agent: true, ..self.clone() }
    }

    /// Whether there is anything to redact.
    pub(crate) fn is_active(&self) -> bool {
        self.shared.is_active.load(Ordering::Relaxed)
    }

    /// Whether a tool with secret arguments was registered.
    pub(crate) fn has_secret_tools(&self) -> bool {
        self.shared.tools.have_secrets()
    }

    /// Registers the tools of a snapshot, some of which have or had secret arguments. They are
    /// known as long as the snapshot exists, so in particular while its calls are in flight.
    pub(crate) fn register_tools(&self, tools: Weak<dyn NamedSchemas>) {
        self.shared.is_active.store(true, Ordering::Relaxed);
        self.shared.tools.add(tools);
    }

    /// Redacts a text.
    pub(crate) fn redact(&self, text: &mut String) {
        let collected = self.all_collected();
        let needles = self.shared.configured.iter().chain(collected.iter().map(AsRef::as_ref));
        if let Some(redacted) = text::redacted(text, needles) {
            *text = redacted;
        }
    }

    /// Returns the byte ranges of secrets in a text, in no order.
    #[cfg(feature = "process")]
    pub(crate) fn secret_ranges(&self, text: &str) -> Vec<std::ops::Range<usize>> {
        let collected = self.all_collected();
        let needles = self.shared.configured.iter().chain(collected.iter().map(AsRef::as_ref));
        text::secret_ranges(text, needles)
    }

    fn all_collected(&self) -> Vec<Arc<Needle>> {
        let Collected { secrets, fragments } = &*self.collected();
        secrets.iter().chain(fragments).cloned().collect()
    }

    /// Redacts all texts of a value, including its keys.
    pub(crate) fn redact_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.redact(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.redact_value(item)),
            Value::Object(members) => {
                for (mut name, mut member) in std::mem::take(members) {
                    self.redact(&mut name);
                    self.redact_value(&mut member);
                    members.insert(name, member);
                }
            }
            Value::Number(number) => {
                let mut text = number.to_string();
                self.redact(&mut text);
                if text == REDACTED {
                    *value = text.into();
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
    }

    /// Whether a text contains a secret.
    pub(crate) fn contains_secret(&self, text: &str) -> bool {
        let mut redacted = text.to_owned();
        self.redact(&mut redacted);
        redacted != text
    }

    /// Collects the secrets among the arguments of a call.
    pub(crate) fn collect_secrets(&self, call: &ToolCall) {
        self.redact_call(&mut call.clone());
    }

    /// Redacts a call, and collects the secrets among its arguments.
    pub(crate) fn redact_call(&self, call: &mut ToolCall) {
        if let Some(arguments) = self.redact_marked(&call.name, &call.arguments) {
            call.arguments = arguments;
        }
        match &mut call.arguments {
            Arguments::Text(text) => {
                let mut redacted = text.as_ref().to_owned();
                self.redact(&mut redacted);
                if redacted != **text {
                    *text = redacted.into();
                }
            }
            Arguments::Value(value) => {
                let mut redacted = Value::clone(value);
                self.redact_value(&mut redacted);
                *value = Arc::new(redacted);
            }
        }
        // The name of a registered tool reveals nothing, even if a model sends it as a secret.
        if self.schema(&call.name).is_none() {
            self.redact(&mut call.name);
        }
    }

    /// Redacts the decoded arguments of a tool.
    pub(crate) fn redact_arguments(&self, tool: &str, arguments: &mut Value) {
        if let Some(Some(schema)) = self.schema(tool).filter(|_| !self.is_for_nested_agent) {
            self.replace_marked(&schema, arguments);
        }
        self.redact_value(arguments);
    }

    /// Redacts the JSON text of decoded arguments. What is not secret keeps all its digits.
    pub(crate) fn redact_json(&self, tool: &str, json: &str) -> String {
        let edited = crate::schema::edit_json(json, |value| self.redact_arguments(tool, value));
        let mut text = edited.unwrap_or_else(|| Value::from(REDACTED).to_string());
        // A number that is secret by its value.
        self.redact(&mut text);
        text
    }

    /// Returns the arguments with the marked places replaced; `None` if nothing is marked in them.
    fn redact_marked(&self, tool: &str, arguments: &Arguments) -> Option<Arguments> {
        let schema = match self.schema(tool) {
            _ if self.is_for_nested_agent => return None,
            Some(Some(schema)) => schema,
            Some(None) => return None,
            // The unknown name may stand for a tool with secret arguments, so all arguments are
            // replaced. They are not collected: no tool receives them, so they occur nowhere else,
            // and their words would match harmless ones in other texts.
            None if self.has_secret_tools() => return Some(REDACTED.into()),
            None => return None,
        };
        match arguments {
            Arguments::Value(value) if !value.is_string() => {
                let mut value = Value::clone(value);
                self.replace_marked(&schema, &mut value);
                Some(Arguments::from(value))
            }
            _ => {
                let text = arguments.to_text();
                let Ok(parsed) = json::parse_as(&text, schema.as_value()) else {
                    return Some(self.redact_unparsable(arguments));
                };
                let mut value = parsed.value;
                let had_secrets = self.replace_marked(&schema, &mut value);
                let is_unchanged = parsed.fixes.is_empty() && !had_secrets;
                (!is_unchanged).then(|| Arguments::from(value.to_string()))
            }
        }
    }

    /// Replaces unparsable arguments as a whole, and collects their fragments.
    fn redact_unparsable(&self, arguments: &Arguments) -> Arguments {
        for fragment in values::fragments(&arguments.to_text()) {
            collect(&mut self.collected().fragments, fragment, MIN_FRAGMENT_LEN);
        }
        REDACTED.into()
    }

    /// Replaces the marked places of a value and collects their values. Returns whether there were
    /// any.
    fn replace_marked(&self, schema: &Schema, value: &mut Value) -> bool {
        let mut secrets = Vec::new();
        schema.for_each_secret(value, &mut |marked| {
            if *marked != REDACTED {
                secrets.push(std::mem::replace(marked, REDACTED.into()));
            }
        });
        for text in secrets.iter().flat_map(values::texts) {
            collect(&mut self.collected().secrets, &text, MIN_SECRET_LEN);
        }
        !secrets.is_empty()
    }

    fn schema(&self, tool: &str) -> Option<Option<Schema>> {
        self.shared.tools.schema(tool)
    }

    fn collected(&self) -> MutexGuard<'_, Collected> {
        self.shared.collected.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Adds a needle for a text that is long enough and new.
fn collect(needles: &mut VecDeque<Arc<Needle>>, text: &str, min_len: usize) {
    if text.len() < min_len
        || text == REDACTED
        || needles.iter().any(|needle| needle.is_needle_of(text))
    {
        return;
    }
    if needles.len() >= MAX_COLLECTED {
        needles.pop_front();
    }
    needles.push_back(Arc::new(Needle::new(text)));
}

/// Prints no secret.
impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Redactor")
    }
}
