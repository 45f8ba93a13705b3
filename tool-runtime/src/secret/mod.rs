//! What nobody is to read who watches, and the one place where it is taken out.
//!
//! Two things are secret: the values that the program named, and what stands at a marked place of a
//! tool's arguments. The latter are hidden where they stand, whatever they are; and both are hidden
//! wherever they turn up again, in any text that passes.

mod spelled;
mod text;

use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, Weak};

use serde_json::Value;

use crate::json;
use crate::message::{Arguments, ToolCall};
use crate::schema::Schema;
use text::Needle;

/// What is read in the place of a secret.
pub(crate) const HIDDEN: &str = "[redacted]";

/// The most values, and the most pieces, that are remembered beside what the program named; then the
/// oldest goes.
const MOST: usize = 1_000;

/// The shortest value that is looked for in texts: a shorter one is in every other word.
const SHORTEST: usize = 4;

/// The shortest piece that is looked for of arguments that can't be read.
const SHORTEST_PIECE: usize = 6;

/// Hides what is secret in a run. Clones share what it has seen.
#[derive(Clone, Default)]
pub(crate) struct Redactor {
    known: Arc<Known>,
    /// Whether calls are of others' tools.
    is_of_others: bool,
}

#[derive(Default)]
struct Known {
    /// What the program named.
    named: Arc<[Needle]>,
    /// Whether there is anything to hide.
    is_needed: AtomicBool,
    tools: RwLock<Tools>,
    seen: Mutex<Seen>,
}

/// The tools of a run.
#[derive(Default)]
struct Tools {
    /// By their names, with the schemas of those that take secrets.
    schemas: HashMap<String, Option<Schema>>,
    /// Whether any does.
    have_secrets: bool,
    /// What they were told of as the last time.
    of: Option<Weak<dyn Any + Send + Sync>>,
}

/// What was seen in a run.
#[derive(Default)]
struct Seen {
    /// What stood at marked places.
    secrets: VecDeque<Arc<Needle>>,
    /// Pieces of what couldn't be read: some may be secret. They are kept apart, for there may be so
    /// many that they would push out what surely is.
    pieces: VecDeque<Arc<Needle>>,
}

impl Redactor {
    /// One that knows these secrets as well.
    pub(crate) fn with(&self, secrets: impl IntoIterator<Item = String>) -> Self {
        let more =
            secrets.into_iter().filter(|text| !text.is_empty()).map(|text| Needle::new(&text));
        self.knowing(self.known.named.iter().cloned().chain(more).collect())
    }

    /// One for another run: it knows what the program named, and has seen nothing.
    pub(crate) fn for_run(&self) -> Self {
        self.knowing(Arc::clone(&self.known.named))
    }

    fn knowing(&self, named: Arc<[Needle]>) -> Self {
        let is_needed = AtomicBool::new(!named.is_empty());
        Self {
            known: Arc::new(Known { named, is_needed, ..Known::default() }),
            is_of_others: false,
        }
    }

    /// The same for what another agent tells, which has taken out what is marked in its tools: what is known of these
    /// tools says nothing of those.
    pub(crate) fn of_others(&self) -> Self {
        Self { is_of_others: true, ..self.clone() }
    }

    /// Whether there is anything to hide.
    pub(crate) fn is_needed(&self) -> bool {
        self.known.is_needed.load(Ordering::Relaxed)
    }

    /// Tells it of the tools of a run, some of which take secrets; which are asked for only where
    /// `of` is not what it was the last time.
    pub(crate) fn know<'a, I: Iterator<Item = (&'a str, &'a Schema)>>(
        &self,
        of: Weak<dyn Any + Send + Sync>,
        tools: impl FnOnce() -> I,
    ) {
        if self.tools().of.as_ref().is_some_and(|known| known.ptr_eq(&of)) {
            return;
        }
        self.known.is_needed.store(true, Ordering::Relaxed);
        let mut known = self.known.tools.write().unwrap_or_else(PoisonError::into_inner);
        for (name, schema) in tools() {
            let marked = schema.has_secrets().then(|| schema.clone());
            known.have_secrets |= marked.is_some();
            match known.schemas.get_mut(name) {
                // One of an earlier tool of the name may still be on its way.
                Some(known) if marked.is_none() || *known == marked => {}
                Some(known) => *known = marked,
                None => _ = known.schemas.insert(name.to_owned(), marked),
            }
        }
        known.of = Some(of);
    }

    /// Takes the secrets out of a text.
    pub(crate) fn hide(&self, text: &mut String) {
        let seen = self.all_seen();
        let needles = self.known.named.iter().chain(seen.iter().map(AsRef::as_ref));
        if let Some(hidden) = text::hidden(text, needles) {
            *text = hidden;
        }
    }

    /// Where in a text secrets stand, in no order.
    #[cfg(feature = "process")]
    pub(crate) fn places_in(&self, text: &str) -> Vec<std::ops::Range<usize>> {
        let seen = self.all_seen();
        text::places(text, self.known.named.iter().chain(seen.iter().map(AsRef::as_ref)))
    }

    fn all_seen(&self) -> Vec<Arc<Needle>> {
        let Seen { secrets, pieces } = &*self.seen();
        secrets.iter().chain(pieces).cloned().collect()
    }

    /// The same in all texts of a value, its keys included.
    pub(crate) fn hide_in(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.hide(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.hide_in(item)),
            Value::Object(members) => {
                *members = std::mem::take(members)
                    .into_iter()
                    .map(|(mut name, mut member)| {
                        self.hide(&mut name);
                        self.hide_in(&mut member);
                        (name, member)
                    })
                    .collect();
            }
            Value::Number(number) => {
                let mut text = number.to_string();
                self.hide(&mut text);
                if text == HIDDEN {
                    *value = text.into();
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
    }

    /// Whether there is a secret in a text.
    pub(crate) fn finds_in(&self, text: &str) -> bool {
        let mut hidden = text.to_owned();
        self.hide(&mut hidden);
        hidden != text
    }

    /// Remembers the secrets among the arguments of a call.
    pub(crate) fn see(&self, call: &ToolCall) {
        self.hide_in_call(&mut call.clone());
    }

    /// Takes the secrets out of a call, and remembers them.
    pub(crate) fn hide_in_call(&self, call: &mut ToolCall) {
        if let Some(arguments) = self.without_marked(&call.name, &call.arguments) {
            call.arguments = arguments;
        }
        match &mut call.arguments {
            Arguments::Text(text) => {
                let mut hidden = text.as_ref().to_owned();
                self.hide(&mut hidden);
                if hidden != **text {
                    *text = hidden.into();
                }
            }
            Arguments::Value(value) => {
                let mut hidden = Value::clone(value);
                self.hide_in(&mut hidden);
                *value = Arc::new(hidden);
            }
        }
        // The name of a tool that there is tells nothing, whatever a model sends as a secret.
        if self.tool(&call.name).is_none() {
            self.hide(&mut call.name);
        }
    }

    /// Takes the secrets out of the decoded arguments of a tool.
    pub(crate) fn hide_in_arguments(&self, tool: &str, arguments: &mut Value) {
        if let Some(Some(schema)) = self.tool(tool).filter(|_| !self.is_of_others) {
            self.take_marked(&schema, arguments);
        }
        self.hide_in(arguments);
    }

    /// The arguments with nothing at the marked places; none where nothing is marked in them.
    fn without_marked(&self, tool: &str, arguments: &Arguments) -> Option<Arguments> {
        let schema = match self.tool(tool) {
            _ if self.is_of_others => return None,
            Some(Some(schema)) => schema,
            Some(None) => return None,
            // Whatever was meant by the name, it may have been one that takes secrets. But nobody takes them, so that
            // they turn up nowhere; and to look for each word of them would take harmless ones out of other texts.
            None if self.tools().have_secrets => return Some(HIDDEN.into()),
            None => return None,
        };
        match arguments {
            Arguments::Value(value) if !value.is_string() => {
                let mut value = Value::clone(value);
                self.take_marked(&schema, &mut value);
                Some(Arguments::from(value))
            }
            _ => {
                let text = arguments.to_text();
                let Ok(parsed) = json::parse_as(&text, schema.as_value()) else {
                    return Some(self.unreadable(arguments));
                };
                let mut value = parsed.value;
                let had_secrets = self.take_marked(&schema, &mut value);
                let is_sound = parsed.fixes.is_empty() && !had_secrets;
                (!is_sound).then(|| Arguments::from(value.to_string()))
            }
        }
    }

    /// What may hold secrets anywhere is hidden whole, and remembered piece by piece.
    fn unreadable(&self, arguments: &Arguments) -> Arguments {
        for piece in spelled::pieces(&arguments.to_text()) {
            remember(&mut self.seen().pieces, piece, SHORTEST_PIECE);
        }
        HIDDEN.into()
    }

    /// Hides what is marked, and remembers it; whether there was anything.
    fn take_marked(&self, schema: &Schema, value: &mut Value) -> bool {
        let mut taken = Vec::new();
        schema.for_each_secret(value, &mut |place| {
            if *place != HIDDEN {
                taken.push(std::mem::replace(place, HIDDEN.into()));
            }
        });
        for text in taken.iter().flat_map(spelled::texts) {
            remember(&mut self.seen().secrets, &text, SHORTEST);
        }
        !taken.is_empty()
    }

    fn tool(&self, name: &str) -> Option<Option<Schema>> {
        self.tools().schemas.get(name).cloned()
    }

    fn tools(&self) -> RwLockReadGuard<'_, Tools> {
        self.known.tools.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.known.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn remember(seen: &mut VecDeque<Arc<Needle>>, text: &str, shortest: usize) {
    if text.len() < shortest || text == HIDDEN || seen.iter().any(|needle| needle.is(text)) {
        return;
    }
    if seen.len() >= MOST {
        seen.pop_front();
    }
    seen.push_back(Arc::new(Needle::new(text)));
}

/// Says nothing of what it hides.
impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Redactor")
    }
}
