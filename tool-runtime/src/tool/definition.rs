use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use super::bounds::{DEEPEST, LARGEST, LONGEST_NAME, LONGEST_TEXT, Unfit, fit, is_plain};
use super::{Effect, Permission, RateLimit, Repair, RequiredExtension, ToolKind, ToolPreference};
use crate::schema::{Dialect, DialectError, Schema};

/// Everything the framework knows of a tool, as one plain value.
///
/// ```
/// use tool_runtime::{Effect, ToolDefinition};
///
/// let schema = serde_json::json!({ "type": "object", "properties": {} });
/// let definition = ToolDefinition::new("now", "Tells the time.", schema).effect(Effect::Read);
/// assert!(definition.validate().is_ok());
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ToolDefinition {
    /// What the model calls it: 1 to 128 of `a-z A-Z 0-9 _ - . /`. Where a provider takes less, it is
    /// told a name that fits, and what it says is mapped back.
    pub name: String,
    /// What people are shown instead of the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What the model is told that it does.
    pub description: String,
    /// The schema of its arguments: an object.
    pub parameters: Schema,
    /// The schema of its output, where that is JSON of a known shape.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Schema>,
    /// What it is made of.
    pub kind: ToolKind,
    /// What running it does to the world.
    pub effect: Effect,
    /// Whether running it twice with the same arguments is as good as running it once.
    pub idempotent: bool,
    /// Whether the same arguments always give the same output, so that it may be remembered.
    pub pure: bool,
    /// Whether it runs alone: after the calls before it, and before those after it.
    pub sequential: bool,
    /// Whether it holds up the thread that it runs on, and so can't be stopped.
    pub blocking: bool,
    /// Whether a call may run.
    pub permission: Permission,
    /// What it needs to be granted to, such as `filesystem`.
    pub requires: Vec<String>,
    /// The extensions that its context must hold. They are Rust types of this program, so they are
    /// not serialized.
    #[serde(skip)]
    pub extensions: Vec<RequiredExtension>,
    /// What may be repaired in its arguments.
    pub repair: Repair,
    /// How often it is tried again after a failure that may pass.
    pub retries: u32,
    /// How often it may be called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_limit: Option<RateLimit>,
    /// How long one attempt of its body may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Duration>,
    /// Whether it finds other tools for a model that isn't offered all of them. Then it is offered
    /// always, and a model that calls what there isn't is sent to it.
    pub finds_tools: bool,
    /// What those should know who decide which tools a model is offered.
    pub preference: ToolPreference,
    /// What was found wrong with it where it was made.
    #[serde(skip)]
    pub(super) flaw: Option<DefinitionError>,
    /// The same name behind its provider's, where it is registered under one.
    #[serde(skip)]
    pub(super) full_name: Option<Arc<str>>,
    /// The parameters in the dialect of a provider, where that isn't the plain one.
    #[serde(skip)]
    bent: Option<Schema>,
}

impl ToolDefinition {
    /// A definition with everything that may be left out at its most careful:
    /// effect [`External`](Effect::External), not idempotent; and no timeout.
    pub fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        parameters: impl Into<Schema>,
    ) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: description.into(),
            parameters: parameters.into(),
            output: None,
            kind: ToolKind::default(),
            effect: Effect::default(),
            idempotent: false,
            pure: false,
            sequential: false,
            blocking: false,
            permission: Permission::default(),
            requires: Vec::new(),
            extensions: Vec::new(),
            repair: Repair::of_effect(Effect::default()),
            retries: 0,
            rate_limit: None,
            timeout: None,
            finds_tools: false,
            preference: ToolPreference::default(),
            flaw: None,
            full_name: None,
            bent: None,
        }
    }

    /// The schema of its arguments as a model is told it: in the dialect in which it is
    /// [registered](crate::Registry::dialect). Arguments are held to
    /// [`parameters`](Self::parameters), whatever the model was told.
    pub fn wire_parameters(&self) -> &Schema {
        self.bent.as_ref().unwrap_or(&self.parameters)
    }

    /// Has models told of its parameters in this dialect.
    pub(crate) fn bent(mut self, dialect: Dialect) -> Result<Self, DefinitionError> {
        let failed = |error| {
            let (name, error) = (self.name.clone(), Box::new(error));
            DefinitionError::Dialect { name, error }
        };
        self.bent = match dialect {
            Dialect::Plain => None,
            dialect => Some(self.parameters.for_dialect(dialect).map_err(failed)?),
        };
        Ok(self)
    }

    /// Sets what running the tool does to the world, and with it what may be repaired in its
    /// arguments.
    #[must_use]
    pub fn effect(mut self, effect: Effect) -> Self {
        self.effect = effect;
        self.repair = Repair::of_effect(effect);
        self
    }

    /// Declares that running it twice is as good as once.
    #[must_use]
    pub fn idempotent(mut self) -> Self {
        self.idempotent = true;
        self
    }

    /// Whether a call of it that may have run may be made again: it says so, or changes nothing.
    pub fn may_repeat(&self) -> bool {
        self.idempotent || matches!(self.effect, Effect::None | Effect::Read)
    }

    /// Declares that a value of the type `T` must be among the extensions of a call.
    ///
    /// `Agent::check` reports what is missing; a tool gets the value from
    /// [`ToolContext::require`](crate::ToolContext::require).
    ///
    /// ```
    /// use tool_runtime::ToolDefinition;
    ///
    /// struct Database;
    ///
    /// let schema = serde_json::json!({ "type": "object" });
    /// let definition = ToolDefinition::new("count_orders", "Counts the orders.", schema)
    ///     .requires_extension::<Database>();
    /// assert!(definition.extensions[0].type_name().ends_with("Database"));
    /// ```
    #[must_use]
    pub fn requires_extension<T: Send + Sync + 'static>(mut self) -> Self {
        self.extensions.push(RequiredExtension::of::<T>());
        self
    }

    /// Declares that it finds other tools for a model that isn't offered all of them.
    #[must_use]
    pub fn finds_tools(mut self) -> Self {
        self.finds_tools = true;
        self
    }

    /// Sets what those should know who decide which tools a model is offered.
    #[must_use]
    pub fn preference(mut self, preference: ToolPreference) -> Self {
        self.preference = preference;
        self
    }

    /// Limits how long one attempt of its body may take.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Whether providers would take this definition.
    ///
    /// # Errors
    /// The first rule that it breaks.
    pub fn validate(&self) -> Result<(), DefinitionError> {
        if let Some(flaw) = &self.flaw {
            return Err(flaw.clone());
        }
        let name = || self.name.chars().take(80).collect::<String>();
        // The rule of the Model Context Protocol, the widest; providers' own are kept to on the way.
        let fits = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
        if self.name.is_empty() || self.name.len() > 128 || !self.name.chars().all(fits) {
            return Err(DefinitionError::Name { name: name() });
        }
        if self.description.trim().is_empty() {
            return Err(DefinitionError::Description { name: name() });
        }
        let program = match &self.kind {
            ToolKind::Cli(program) => Some(program),
            ToolKind::Function => None,
        };
        let texts = [Some(&self.description), self.title.as_ref(), program];
        for text in texts.into_iter().flatten() {
            if text.len() > LONGEST_TEXT {
                return Err(DefinitionError::TooLong { name: name() });
            }
            if !is_plain(text) {
                return Err(DefinitionError::Control { name: name() });
            }
        }
        let short =
            |needed: &String| (1..=LONGEST_NAME).contains(&needed.len()) && is_plain(needed);
        if self.requires.len() > LONGEST_NAME || !self.requires.iter().all(short) {
            return Err(DefinitionError::Requires { name: name() });
        }
        let schemas = [Some(&self.parameters), self.output.as_ref()];
        let schemas = schemas.into_iter().flatten().map(Schema::as_value);
        let overrides = &self.preference.overrides;
        let keys: usize = overrides.keys().map(String::len).sum();
        match fit(schemas.chain(overrides.values())) {
            Ok(()) if keys > LARGEST => return Err(DefinitionError::TooLarge { name: name() }),
            Ok(()) if overrides.keys().all(|key| is_plain(key)) => {}
            Err(Unfit::TooLarge) => return Err(DefinitionError::TooLarge { name: name() }),
            Ok(()) | Err(Unfit::Hidden) => return Err(DefinitionError::Control { name: name() }),
        }
        let parameters = self.parameters.as_value();
        if parameters.get("type").and_then(|kind| kind.as_str()) != Some("object") {
            return Err(DefinitionError::Parameters { name: name() });
        }
        if parameters.pointer("/properties/").is_some() {
            return Err(DefinitionError::Unnamed { name: name() });
        }
        if !self.preference.weight.is_finite() {
            return Err(DefinitionError::Weight { name: name() });
        }
        if self.retries > 0 && !self.idempotent {
            return Err(DefinitionError::Retries { name: name() });
        }
        if self.rate_limit.is_some_and(|limit| limit.times == 0) {
            return Err(DefinitionError::RateLimit { name: name() });
        }
        Ok(())
    }
}

/// Why a definition can't be offered to a model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DefinitionError {
    /// The name isn't one that providers take.
    #[error(
        "the tool name `{name}` must be 1 to 128 characters of a-z, A-Z, 0-9, `_`, `-`, `.` and `/`"
    )]
    Name {
        /// The name, cut where it is long.
        name: String,
    },
    /// There is no description, so that a model would call a tool that it knows nothing of.
    #[error("the tool `{name}` has no description")]
    Description {
        /// The tool's name.
        name: String,
    },
    /// Its description or title is longer than any provider takes, or the program's name that it wraps.
    #[error("the description of the tool `{name}` is longer than {LONGEST_TEXT} bytes")]
    TooLong {
        /// The tool's name.
        name: String,
    },
    /// A text, also one in a schema, holds control characters, or others that nobody sees.
    #[error("a text of the tool `{name}` holds control characters, or others that nobody sees")]
    Control {
        /// The tool's name.
        name: String,
    },
    /// What it needs is no list of names.
    #[error(
        "what the tool `{name}` requires must be at most {LONGEST_NAME} names of as many bytes"
    )]
    Requires {
        /// The tool's name.
        name: String,
    },
    /// Its schemas, or the overrides of its preference, are too large or too deep to work with.
    #[error(
        "the schemas of the tool `{name}`, or what it prefers, hold more than {LARGEST} bytes or \
         {DEEPEST} levels"
    )]
    TooLarge {
        /// The tool's name.
        name: String,
    },
    /// A pattern that no value could be held to, so that it would be a rule in name only.
    #[error(
        "the tool `{name}` has the pattern `{pattern}`, which can't be read: \
         patterns know no look-around, no back-references and no classes of Unicode"
    )]
    Pattern {
        /// The tool's name.
        name: String,
        /// The pattern.
        pattern: String,
    },
    /// Its parameters can't be said in the dialect that it is registered in.
    #[error("the parameters of the tool `{name}`: {error}")]
    Dialect {
        /// The tool's name.
        name: String,
        /// What can't be said, and where.
        error: Box<DialectError>,
    },
    /// The arguments aren't an object.
    #[error("the parameters of the tool `{name}` must be a schema of type `object`")]
    Parameters {
        /// The tool's name.
        name: String,
    },
    /// An argument has no name, as a parameter that is a pattern: a model couldn't fill it in.
    #[error(
        "an argument of the tool `{name}` has no name: give the parameter one, or a type that is an args struct"
    )]
    Unnamed {
        /// The tool's name.
        name: String,
    },
    /// Its weight is no number to compare with others.
    #[error("the weight of the tool `{name}` must be a finite number")]
    Weight {
        /// The tool's name.
        name: String,
    },
    /// It would be run again though twice isn't as good as once.
    #[error("the tool `{name}` has retries and isn't idempotent")]
    Retries {
        /// The tool's name.
        name: String,
    },
    /// It could never be called.
    #[error("the rate limit of the tool `{name}` allows no call at all")]
    RateLimit {
        /// The tool's name.
        name: String,
    },
}
