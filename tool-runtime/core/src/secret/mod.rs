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
//! 3. `values.rs`: the texts in which a collected value may occur; `fragments.rs`: the fragments of
//!    arguments that can't be parsed.
//! 4. `patterns.rs`: the spellings of all secrets, which `automaton.rs` finds in one pass.
//! 5. `text.rs`: the search in a text and in what it contains in other encodings: `escapes.rs`,
//!    `encodings.rs`, `view.rs`.
//! 6. `stream.rs`: the redaction of text that arrives in pieces.
//!
//! The redaction of events and executions is in `event/redact.rs`.
//!
//! # Limits
//! Collected values shorter than [`MIN_SECRET_LEN`] bytes are not searched for: they occur in every
//! other word. No value of a run is ever evicted: otherwise a model could displace a secret by
//! calls with many others. The memory is linear in the arguments of the conversation, and the time
//! of a search does not depend on the number of values. Only the calls outside of a run, which has
//! no end, have generations: the values of the generation before the last are evicted.

mod automaton;
mod deltas;
mod encodings;
mod escapes;
mod fragments;
mod patterns;
mod stream;
mod text;
mod tool_schemas;
mod values;
mod view;

use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use serde_json::{Map, Value};

use crate::json;
use crate::message::{Arguments, ToolCall};
use crate::schema::{NamedSchemas, Schema, edit_json};
pub(crate) use deltas::DeltaRedaction;
use fragments::Fragments;
use patterns::Secrets;
pub(crate) use stream::PieceRedactor;
pub(crate) use text::floor;
use text::{Found, Targets, replace};
use tool_schemas::LiveSchemas;

/// The text that replaces a secret.
pub(crate) const REDACTED: &str = "[redacted]";

/// The minimum length in bytes of a collected value, and of a secret that is searched for in other
/// encodings than escapes.
const MIN_SECRET_LEN: usize = 4;

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
    configured: Arc<Secrets>,
    /// Whether there is anything to redact.
    is_active: AtomicBool,
    tools: LiveSchemas,
    collected: Mutex<Collected>,
    /// The values that were collected since the last generation started, if there are generations.
    recent: Mutex<Option<Collected>>,
}

/// The secrets that were collected during a run. Clones share them.
#[derive(Clone, Default)]
struct Collected {
    /// The values of secret arguments.
    secrets: Arc<Secrets>,
    /// The number of these values.
    value_count: usize,
    /// Fragments of unparsable arguments, any of which may be secret.
    fragments: Arc<Fragments>,
}

impl Redactor {
    /// Returns a redactor with these secrets in addition, and nothing collected.
    pub(crate) fn with(&self, secrets: impl IntoIterator<Item = String>) -> Self {
        let mut configured = Secrets::clone(&self.shared.configured);
        let secrets: Vec<String> = secrets.into_iter().collect();
        configured.insert_all(secrets.iter().map(String::as_str));
        Self::with_configured(Arc::new(configured))
    }

    /// Returns a redactor for another run: the same configured secrets, and nothing collected.
    pub(crate) fn for_run(&self) -> Self {
        Self::with_configured(Arc::clone(&self.shared.configured))
    }

    /// Starts a generation: what was collected before the last generation is evicted. Returns
    /// whether there was anything.
    pub(crate) fn start_generation(&self) -> bool {
        let Some(last) = self.recent().replace(Collected::default()) else { return false };
        let remaining = last.len();
        std::mem::replace(&mut *self.collected(), last).len() > remaining
    }

    /// Whether secrets were collected.
    pub(crate) fn has_collected(&self) -> bool {
        self.collected().len() > 0
    }

    /// Whether there are other clones of this redactor.
    pub(crate) fn is_shared(&self) -> bool {
        Arc::strong_count(&self.shared) > 1
    }

    fn with_configured(configured: Arc<Secrets>) -> Self {
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
        if let Some(redacted) = self.search(|targets| targets.redacted(text)) {
            *text = redacted;
        }
    }

    /// Returns a part of a text without the secrets that it contains or that reach into it.
    pub(crate) fn redact_range(&self, text: &str, part: Range<usize>) -> String {
        let clipped = |range: Range<usize>| range.start.max(part.start)..range.end.min(part.end);
        let ranges = self.find(text, false).ranges.into_iter().map(clipped);
        let ranges = ranges.filter(|range| !range.is_empty());
        let ranges: Vec<_> =
            ranges.map(|range| range.start - part.start..range.end - part.start).collect();
        replace(text.get(part).unwrap_or_default(), &ranges)
    }

    /// Returns the offset from which on the end of a text may be the start of a secret.
    pub(crate) fn unfinished_secret(&self, text: &str) -> Option<usize> {
        Some(self.find(text, true).open).filter(|open| *open < text.len())
    }

    /// Returns the byte ranges of secrets in a text, in order.
    #[cfg(feature = "process")]
    pub(crate) fn secret_ranges(&self, text: &str) -> Vec<Range<usize>> {
        self.find(text, false).ranges
    }

    /// Finds the secrets in a text. If it is partial, more of the text follows.
    fn find(&self, text: &str, is_partial: bool) -> Found {
        self.search(|targets| targets.find(text, is_partial))
    }

    fn search<T>(&self, search: impl FnOnce(Targets<'_>) -> T) -> T {
        let Collected { secrets, fragments, .. } = self.collected().clone();
        search(Targets { secrets: [&self.shared.configured, &secrets], fragments: &fragments })
    }

    /// Redacts all texts of a value, including its keys.
    pub(crate) fn redact_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.redact(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.redact_value(item)),
            Value::Object(members) => self.redact_map(members),
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

    /// Redacts the keys and values of a map.
    pub(crate) fn redact_map(&self, map: &mut Map<String, Value>) {
        for (key, mut value) in std::mem::take(map) {
            self.redact_value(&mut value);
            let key = self.redacted_key(&key, |key| map.contains_key(key));
            map.insert(key, value);
        }
    }

    /// Returns a key without secrets, with a number if the map has it already.
    fn redacted_key(&self, key: &str, is_taken: impl Fn(&str) -> bool) -> String {
        let mut redacted = key.to_owned();
        self.redact(&mut redacted);
        if redacted == key || !is_taken(&redacted) {
            return redacted;
        }
        let numbered = (2_u64..).map(|number| format!("{redacted} {number}"));
        numbered.into_iter().find(|key| !is_taken(key)).unwrap_or(redacted)
    }

    /// Whether a text contains a secret.
    pub(crate) fn contains_secret(&self, text: &str) -> bool {
        !self.find(text, false).ranges.is_empty()
    }

    /// Whether the arguments of calls of this tool are redacted as a whole, rather than in pieces:
    /// some of them are secret, or may be.
    pub(crate) fn has_secret_arguments(&self, tool: &str) -> bool {
        match self.schema(tool) {
            _ if self.is_for_nested_agent => false,
            Some(schema) => schema.is_some(),
            None => self.shared.tools.have_secrets(),
        }
    }

    /// Redacts the name in a call, unless it is that of a registered tool, which reveals nothing.
    pub(crate) fn redact_name(&self, name: &mut String) {
        if self.schema(name).is_none() {
            self.redact(name);
        }
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
        self.redact_leftover(call);
        self.redact_name(&mut call.name);
    }

    /// Redacts the leftover of a call. If the tool has secret arguments, one of them may be in it.
    fn redact_leftover(&self, call: &mut ToolCall) {
        if call.leftover.is_empty() {
            return;
        }
        if self.has_secret_arguments(&call.name) {
            Arc::make_mut(&mut self.collected().fragments).insert_all(&call.leftover);
            call.leftover = REDACTED.into();
        } else {
            self.redact(&mut call.leftover);
        }
    }

    /// Redacts the decoded arguments of a tool.
    pub(crate) fn redact_arguments(&self, tool: &str, arguments: &mut Value) {
        if let Some(schema) = self.marking_schema(tool) {
            self.replace_marked(&schema, arguments, |text| vec![text]);
        }
        self.redact_value(arguments);
    }

    /// Returns the schema of a tool, if it marks arguments of this agent as secret.
    fn marking_schema(&self, tool: &str) -> Option<Schema> {
        self.schema(tool).flatten().filter(|_| !self.is_for_nested_agent)
    }

    /// Redacts the JSON text of decoded arguments. What is not secret keeps all its digits, and
    /// members keep their order.
    pub(crate) fn redact_json(&self, tool: &str, json: &str) -> String {
        let schema = self.marking_schema(tool);
        let edited = edit_json(json, |value, numbers| {
            if let Some(schema) = &schema {
                self.replace_marked(schema, value, |text| numbers.spellings(text));
            }
            numbers.replace(value, &|number| {
                let mut redacted = number.to_owned();
                self.redact(&mut redacted);
                (redacted != number).then_some(redacted)
            });
            self.redact_value(value);
        });
        let mut text = edited.unwrap_or_else(|| Value::from(REDACTED).to_string());
        // A secret that is a part of a number.
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
                self.replace_marked(&schema, &mut value, |text| vec![text]);
                Some(Arguments::from(value))
            }
            _ => {
                let text = arguments.to_text();
                let Ok(parsed) = json::parse_as(&text, schema.as_value()) else {
                    return Some(self.redact_unparsable(arguments));
                };
                let mut had_secrets = false;
                let edited = edit_json(parsed.json(), |value, numbers| {
                    had_secrets =
                        self.replace_marked(&schema, value, |text| numbers.spellings(text));
                });
                let Some(edited) = edited else {
                    return Some(self.redact_unparsable(arguments));
                };
                let is_unchanged = parsed.fixes.is_empty() && !had_secrets;
                (!is_unchanged).then(|| Arguments::from(edited))
            }
        }
    }

    /// Replaces unparsable arguments as a whole, and collects their fragments.
    fn redact_unparsable(&self, arguments: &Arguments) -> Arguments {
        let text = arguments.to_text();
        Arc::make_mut(&mut self.collected().fragments).insert_all(&text);
        if let Some(recent) = self.recent().as_mut() {
            Arc::make_mut(&mut recent.fragments).insert_all(&text);
        }
        REDACTED.into()
    }

    /// Replaces the marked places of a value and collects the spellings of the texts in their
    /// values. Returns whether there were any.
    fn replace_marked(
        &self,
        schema: &Schema,
        value: &mut Value,
        spellings: impl Fn(String) -> Vec<String>,
    ) -> bool {
        let mut secrets = Vec::new();
        schema.for_each_secret(value, &mut |marked| {
            if *marked != REDACTED {
                secrets.push(std::mem::replace(marked, REDACTED.into()));
            }
        });
        let texts = secrets.iter().flat_map(values::texts).flat_map(spellings);
        let texts = texts.filter(|text| text.len() >= MIN_SECRET_LEN && text != REDACTED);
        let texts: Vec<String> = texts.collect();
        self.collected().add(&texts);
        if let Some(recent) = self.recent().as_mut() {
            recent.add(&texts);
        }
        !secrets.is_empty()
    }

    fn schema(&self, tool: &str) -> Option<Option<Schema>> {
        self.shared.tools.schema(tool)
    }

    fn collected(&self) -> MutexGuard<'_, Collected> {
        self.shared.collected.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn recent(&self) -> MutexGuard<'_, Option<Collected>> {
        self.shared.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Collected {
    fn add(&mut self, texts: &[String]) {
        let new: Vec<_> = texts.iter().filter(|text| !self.secrets.contains(text)).collect();
        if !new.is_empty() {
            self.value_count += new.len();
            let secrets = Arc::make_mut(&mut self.secrets);
            secrets.insert_all(new.into_iter().map(String::as_str));
        }
    }

    /// Returns the number of values and fragments.
    fn len(&self) -> usize {
        self.value_count + self.fragments.len()
    }
}

/// Prints no secret.
impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Redactor")
    }
}

#[cfg(test)]
mod tests;
