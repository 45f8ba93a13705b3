//! A tool made of a function: what `#[tool]` generates calls into this.

use std::fmt;
use std::future::ready;
use std::pin::Pin;
use std::time::Duration;

use serde_json::{Value, json};

use super::args::{Layout, decode};
use super::param::{Names, Optional, Params};
use super::{
    Availability, Effect, Permission, RateLimit, Repair, Tool, ToolContext, ToolDefinition,
    ToolError, ToolKind, ToolOutput, cli,
};
use crate::message::Arguments;
use crate::schema::{Generator, Schema, finish, takes_whole_object};

/// What comes of one call.
pub type Call<'a> = Pin<Box<dyn Future<Output = Result<ToolOutput, ToolError>> + Send + 'a>>;

/// A function, what is known of it, and how its arguments are decoded.
pub struct Function {
    definition: ToolDefinition,
    available: Option<fn() -> Availability>,
    #[expect(clippy::type_complexity, reason = "named by what it does")]
    run: Box<dyn for<'a> Fn(&ToolDefinition, Arguments, &'a ToolContext) -> Call<'a> + Send + Sync>,
}

/// Whether a lone parameter is the args struct.
#[derive(Clone, Copy, Debug)]
pub enum Lone {
    /// Its type says.
    ByType,
    /// It is.
    Whole,
    /// It is one named argument.
    Named,
}

/// A name that stands for a [`Function`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tool",
    label = "not a tool",
    note = "`tools![…]` takes the names of functions under `#[tool]`; add others by `.with(…)`"
)]
pub trait NamesFunction: Send + Sync + Sized {
    /// The name as a value.
    const TOOL: Self;

    /// The function.
    fn function(&self) -> &Function;
}

impl Function {
    /// A tool of the function that `call` calls with the parameters `P` of the names `N`; a
    /// description for each of them.
    pub fn new<N, P, F>(
        name: &str,
        description: &str,
        _: N,
        descriptions: &[&str],
        lone: Lone,
        _: P,
        call: F,
    ) -> Self
    where
        N: Names + 'static,
        P: Params + 'static,
        F: for<'a> Fn(P::Values, &'a ToolContext) -> Call<'a> + Send + Sync + 'static,
    {
        let mut generator = Generator::new();
        let schemas = P::schemas(&mut generator);
        let alone = schemas.iter().flatten().count() == 1;
        let is_whole = |root: &Value| match lone {
            Lone::ByType => alone && takes_whole_object(root),
            Lone::Whole => true,
            Lone::Named => false,
        };
        let (layout, schema) = match P::first_root_schema() {
            Some(root) if is_whole(&root) => (Layout::Whole, root),
            _ => {
                let named = N::NAMES.iter().zip(descriptions).zip(schemas);
                (Layout::Named, object(named, generator))
            }
        };
        Self {
            definition: ToolDefinition::new(name, description, finish(schema)),
            available: None,
            run: Box::new(move |definition, arguments, ctx| {
                match decode::<N, P>(definition, layout, &arguments, ctx) {
                    Ok(values) => call(values, ctx),
                    Err(error) => Box::pin(ready(Err(error))),
                }
            }),
        }
    }

    /// What an argument is when it is left out, where that can be shown.
    #[must_use]
    pub fn default(mut self, argument: &str, value: Option<Value>) -> Self {
        if let Some(value) = value {
            self.definition.parameters = self.definition.parameters.with_default(argument, value);
        }
        self
    }

    /// The schema of the output, where there is one.
    #[must_use]
    pub fn output(mut self, schema: Option<Schema>) -> Self {
        self.definition.output = schema;
        self
    }

    /// The word `title`.
    #[must_use]
    pub fn title(mut self, title: &str) -> Self {
        self.definition.title = Some(title.into());
        self
    }

    /// The word `effect`.
    #[must_use]
    pub fn effect(mut self, effect: Effect) -> Self {
        self.definition = self.definition.effect(effect);
        self
    }

    /// The word `idempotent`.
    #[must_use]
    pub fn idempotent(mut self) -> Self {
        self.definition.idempotent = true;
        self
    }

    /// The word `pure`: without another effect it has none, and twice is as good as once.
    #[must_use]
    pub fn pure(mut self) -> Self {
        self.definition = self.definition.effect(Effect::None).idempotent();
        self.definition.pure = true;
        self
    }

    /// The word `sequential`.
    #[must_use]
    pub fn sequential(mut self) -> Self {
        self.definition.sequential = true;
        self
    }

    /// The word `timeout`.
    #[must_use]
    pub fn timeout_millis(mut self, millis: u64) -> Self {
        self.definition.timeout = Some(Duration::from_millis(millis));
        self
    }

    /// The word `retries`.
    #[must_use]
    pub fn retries(mut self, times: u32) -> Self {
        self.definition.retries = times;
        self
    }

    /// The word `rate_limit`.
    #[must_use]
    pub fn rate_limit(mut self, times: u32, millis: u64) -> Self {
        self.definition.rate_limit = Some(RateLimit { times, per: Duration::from_millis(millis) });
        self
    }

    /// The word `permission`.
    #[must_use]
    pub fn permission(mut self, permission: Permission) -> Self {
        self.definition.permission = permission;
        self
    }

    /// The word `requires`.
    #[must_use]
    pub fn requires(mut self, capabilities: &[&str]) -> Self {
        self.definition.requires = capabilities.iter().map(|name| (*name).into()).collect();
        self
    }

    /// The word `repair`.
    #[must_use]
    pub fn repair(mut self, repair: Repair) -> Self {
        self.definition.repair = repair;
        self
    }

    /// The word `cli`.
    #[must_use]
    pub fn cli(mut self, binary: &str) -> Self {
        self.definition.kind = ToolKind::Cli(binary.into());
        self
    }

    /// The word `available`.
    #[must_use]
    pub fn available(mut self, available: fn() -> Availability) -> Self {
        self.available = Some(available);
        self
    }

    fn availability(&self) -> Availability {
        if let ToolKind::Cli(binary) = &self.definition.kind
            && let missing @ Availability::Unavailable(_) = cli::availability(binary)
        {
            return missing;
        }
        self.available.map_or(Availability::Available, |available| available())
    }

    #[inline]
    fn call<'c>(&self, arguments: Arguments, ctx: &'c ToolContext) -> Call<'c> {
        (self.run)(&self.definition, arguments, ctx)
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Function").field("definition", &self.definition).finish_non_exhaustive()
    }
}

/// Written out where `async_trait` would box the box again.
macro_rules! tool_of_function {
    ($self:ident => $function:expr) => {
        #[inline]
        fn definition(&$self) -> &ToolDefinition {
            &$function.definition
        }

        fn availability(&$self) -> Availability {
            $function.availability()
        }

        #[inline]
        fn call<'a, 'c, 'async_trait>(
            &'a $self,
            arguments: Arguments,
            ctx: &'c ToolContext,
        ) -> Call<'async_trait>
        where
            'a: 'async_trait,
            'c: 'async_trait,
            Self: 'async_trait,
        {
            $function.call(arguments, ctx)
        }
    };
}

#[diagnostic::do_not_recommend]
impl<N: NamesFunction> Tool for N {
    tool_of_function!(self => self.function());
}

impl Tool for Function {
    tool_of_function!(self => self);
}

/// The schema of an object with one member for each argument; a context is none.
fn object<'a>(
    params: impl Iterator<Item = ((&'a &'static str, &'a &'a str), Option<(Value, Optional)>)>,
    generator: Generator,
) -> Value {
    let mut required = Vec::new();
    let mut properties = serde_json::Map::new();
    for ((name, description), schema) in params {
        let Some((schema, optional)) = schema else { continue };
        if !optional {
            required.push(*name);
        }
        properties.insert((*name).into(), described(schema, description));
    }
    let mut schema = json!({
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    });
    if let Some(members) = schema.as_object_mut() {
        if !required.is_empty() {
            members.insert("required".into(), json!(required));
        }
        let definitions = generator.into_definitions();
        if !definitions.is_empty() {
            members.insert("$defs".into(), Value::Object(definitions));
        }
    }
    schema
}

/// What the parameter's own documentation says goes before what its type's says.
fn described(schema: Value, description: &str) -> Value {
    if description.is_empty() {
        return schema;
    }
    let mut members = match schema {
        Value::Object(members) => members,
        Value::Bool(false) => serde_json::Map::from_iter([("not".into(), json!({}))]),
        _ => serde_json::Map::new(),
    };
    members.insert("description".into(), description.into());
    Value::Object(members)
}
