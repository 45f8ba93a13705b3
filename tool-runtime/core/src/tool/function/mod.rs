//! The tool that `#[tool]` creates for a function. Generated code calls this module.

pub(crate) mod layout;
pub(crate) mod toolbox;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::ToolFuture;
use super::args::{DecodeAndCall, DecodeAndCheck, Decoder};
use super::param::Parameter;
use super::{
    Availability, DefinitionError, Effect, Permission, RateLimit, Repair, RequiredExtension, Tool,
    ToolContext, ToolDefinition, ToolError, ToolKind, cli,
};
use crate::message::Arguments;
use crate::schema::{ArgumentRule, LENGTH, RANGE, Schema, finish};
use crate::tool::function::layout::{LoneParameter, lay_out};

/// A tool that decodes its arguments and calls a function.
pub struct Function {
    definition: ToolDefinition,
    available: Option<Box<dyn Fn() -> Availability + Send + Sync>>,
    decoder: Decoder,
}

/// The type that `#[tool]` generates under the name of a function, which stands for its
/// [`Function`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tool",
    label = "not a tool",
    note = "`tools![…]` takes the names of functions under `#[tool]`; add other tools with `.with(…)`",
    note = "if the `impl` of `{Self}` is under `#[tool]`, write `tools![..value]` with a value of it"
)]
pub trait ToolFunction: Send + Sync + Sized {
    /// Returns the tool of the function.
    fn function() -> &'static Function;
}

impl Function {
    /// Creates the tool of a function with these parameters, which `decode_and_call` calls.
    ///
    /// This type is not generic, because generic code would be compiled again for each tool.
    #[must_use]
    pub fn new(
        name: &str,
        description: &str,
        parameters: &[Parameter],
        lone: LoneParameter,
        decode_and_call: Box<DecodeAndCall>,
    ) -> Self {
        let (layout, schema) = lay_out(parameters, lone);
        let schema = finish(schema);
        let decoder = Decoder::new(parameters, layout, &schema, decode_and_call);
        let mut definition = ToolDefinition::new(name, description, schema);
        definition.error = definition.parameters.unsupported_pattern().map(|pattern| {
            DefinitionError::InvalidPattern { name: name.into(), pattern: pattern.into() }
        });
        Self { definition, available: None, decoder }
    }

    /// Shows the default of an argument in the schema, if it can be serialized.
    #[must_use]
    pub fn default(mut self, argument: &str, value: Option<Value>) -> Self {
        if let Some(value) = value {
            let parameters = &self.definition.parameters;
            self.definition.parameters = parameters.with_keyword(argument, "default", value);
        }
        self
    }

    /// Applies `#[arg(range)]` to an argument: the minimum and the maximum.
    #[must_use]
    pub fn range(self, argument: &str, bounds: &[Option<Value>; 2]) -> Self {
        self.rule(&RANGE, argument, bounds)
    }

    /// Applies `#[arg(length)]` to an argument: the minimum and the maximum.
    #[must_use]
    pub fn length(self, argument: &str, bounds: &[Option<usize>; 2]) -> Self {
        self.rule(&LENGTH, argument, &bounds.map(|bound| bound.map(Value::from)))
    }

    fn rule(mut self, rule: &ArgumentRule, argument: &str, bounds: &[Option<Value>; 2]) -> Self {
        let definition = &mut self.definition;
        match rule.apply(&definition.parameters, argument, bounds) {
            Some(parameters) => definition.parameters = parameters,
            None if definition.error.is_some() => {}
            None => {
                definition.error = Some(DefinitionError::RuleWithoutEffect {
                    name: definition.name.clone(),
                    argument: argument.into(),
                    rule: rule.name,
                });
            }
        }
        self
    }

    /// Applies `#[arg(secret)]` to an argument.
    #[must_use]
    pub fn secret(mut self, argument: &str) -> Self {
        let parameters = &self.definition.parameters;
        self.definition.parameters = parameters.with_keyword(argument, "writeOnly", true.into());
        self
    }

    /// Sets the schema of the output, if there is one.
    #[must_use]
    pub fn output(mut self, schema: Option<Schema>) -> Self {
        self.definition.output = schema;
        self
    }

    /// Applies `#[tool(reattaches)]`.
    #[must_use]
    pub fn reattaches(mut self) -> Self {
        self.definition.reattaches = true;
        self
    }

    /// Applies `#[tool(version)]`.
    #[must_use]
    pub fn version(mut self, version: &str) -> Self {
        self.definition.version = Some(version.into());
        self
    }

    /// Applies `#[tool(title)]`.
    #[must_use]
    pub fn title(mut self, title: &str) -> Self {
        self.definition.title = Some(title.into());
        self
    }

    /// Applies `#[tool(effect)]`.
    #[must_use]
    pub fn effect(mut self, effect: Effect) -> Self {
        self.definition = self.definition.effect(effect);
        self
    }

    /// Applies `#[tool(idempotent)]`.
    #[must_use]
    pub fn idempotent(mut self) -> Self {
        self.definition.idempotent = true;
        self
    }

    /// Applies `#[tool(pure)]`: idempotent, and without an effect unless one is set afterwards.
    #[must_use]
    pub fn pure(mut self) -> Self {
        self.definition = self.definition.effect(Effect::None).idempotent();
        self.definition.pure = true;
        self
    }

    /// Applies `#[tool(sequential)]`.
    #[must_use]
    pub fn sequential(mut self) -> Self {
        self.definition.sequential = true;
        self
    }

    /// Applies `#[tool(blocking)]`.
    #[must_use]
    pub fn blocking(mut self) -> Self {
        self.definition.blocking = true;
        self
    }

    /// Applies `#[tool(timeout)]`.
    #[must_use]
    pub fn timeout_millis(mut self, millis: u64) -> Self {
        self.definition.timeout = Some(Duration::from_millis(millis));
        self
    }

    /// Applies `#[tool(retries)]`.
    #[must_use]
    pub fn max_retries(mut self, times: u32) -> Self {
        self.definition.max_retries = times;
        self
    }

    /// Applies `#[tool(rate_limit)]`.
    #[must_use]
    pub fn rate_limit(mut self, times: u32, millis: u64) -> Self {
        self.definition.rate_limit = Some(RateLimit { times, per: Duration::from_millis(millis) });
        self
    }

    /// Applies `#[tool(permission)]`.
    #[must_use]
    pub fn permission(mut self, permission: Permission) -> Self {
        self.definition.permission = permission;
        self
    }

    /// Applies `#[tool(check)]`.
    #[must_use]
    pub fn check(mut self, check: Box<DecodeAndCheck>) -> Self {
        self.decoder.check = Some(check);
        self
    }

    /// Applies `#[tool(requires)]`.
    #[must_use]
    pub fn requires(mut self, capabilities: &[&str]) -> Self {
        self.definition.requires = capabilities.iter().map(|name| (*name).into()).collect();
        self
    }

    /// Applies `#[tool(extensions)]`.
    #[must_use]
    pub fn extensions(mut self, extensions: &[RequiredExtension]) -> Self {
        self.definition.extensions = extensions.to_vec();
        self
    }

    /// Applies `#[tool(repair)]`.
    #[must_use]
    pub fn repair(mut self, repair: Repair) -> Self {
        self.definition.repair = repair;
        self
    }

    /// Applies `#[tool(cli)]`.
    #[must_use]
    pub fn cli(mut self, binary: &str) -> Self {
        self.definition.kind = ToolKind::Program(binary.into());
        self
    }

    /// Applies `#[tool(available)]`.
    #[must_use]
    pub fn available(mut self, available: fn() -> Availability) -> Self {
        self.available = Some(Box::new(available));
        self
    }

    /// Applies `#[tool(available)]` to a method of a shared value.
    #[must_use]
    pub fn available_for<S: Send + Sync + 'static, M>(
        mut self,
        value: &Arc<S>,
        available: impl AvailabilityOf<S, M>,
    ) -> Self {
        let value = Arc::clone(value);
        self.available = Some(Box::new(move || available.availability(&value)));
        self
    }

    /// Applies `#[tool(weight)]`.
    #[must_use]
    pub fn weight(mut self, weight: f64) -> Self {
        self.definition.preference.weight = weight;
        self
    }

    /// Applies `#[tool(hidden)]`.
    #[must_use]
    pub fn hidden(mut self) -> Self {
        self.definition.preference.hidden = true;
        self
    }

    /// Applies `#[tool(disabled)]`.
    #[must_use]
    pub fn disabled(mut self) -> Self {
        self.definition.preference.enabled = false;
        self
    }

    /// Applies `#[tool(always)]`.
    #[must_use]
    pub fn always(mut self) -> Self {
        self.definition.preference.always = true;
        self
    }

    /// Applies one value of `#[tool(overrides)]`.
    #[must_use]
    pub fn with_override(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.definition.preference.overrides.insert(name.into(), value.into());
        self
    }

    fn availability(&self) -> Availability {
        if let ToolKind::Program(binary) = &self.definition.kind
            && let missing @ Availability::Unavailable(_) = cli::availability(binary)
        {
            return missing;
        }
        self.available.as_ref().map_or(Availability::Available, |available| available())
    }
}

/// A function that decides whether the tools of a value can run now: one of the value, or one
/// without parameters. `M` tells the two implementations apart.
#[diagnostic::on_unimplemented(
    message = "`available` takes a `fn(&self) -> Availability` or a `fn() -> Availability`",
    label = "not such a function"
)]
pub trait AvailabilityOf<S, M>: Send + Sync + 'static {
    /// Returns whether the tools of the value can run now.
    fn availability(&self, value: &S) -> Availability;
}

impl<S, F: Fn() -> Availability + Send + Sync + 'static> AvailabilityOf<S, ()> for F {
    fn availability(&self, _: &S) -> Availability {
        self()
    }
}

impl<S, F: Fn(&S) -> Availability + Send + Sync + 'static> AvailabilityOf<S, (S,)> for F {
    fn availability(&self, value: &S) -> Availability {
        self(value)
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Function").field("definition", &self.definition).finish_non_exhaustive()
    }
}

/// Implements [`Tool`] without `async_trait`, which would box the future again.
macro_rules! tool_of_function {
    ($self:ident => $function:expr) => {
        #[inline]
        fn definition(&$self) -> &ToolDefinition {
            let function: &Function = $function;
            &function.definition
        }

        fn availability(&$self) -> Availability {
            let function: &Function = $function;
            function.availability()
        }

        fn decodes_arguments(&$self) -> bool {
            true
        }

        fn check_arguments(
            &$self,
            arguments: &Arguments,
            ctx: &ToolContext,
        ) -> Result<(), ToolError> {
            let function: &Function = $function;
            function.decoder.check_arguments(&function.definition, arguments, ctx)
        }

        #[inline]
        fn call<'a, 'c, 'async_trait>(
            &'a $self,
            arguments: Arguments,
            ctx: &'c ToolContext,
        ) -> ToolFuture<'async_trait>
        where
            'a: 'async_trait,
            'c: 'async_trait,
            Self: 'async_trait,
        {
            self::Tool::call_with($self, &arguments, ctx)
        }

        #[inline]
        fn call_with<'a>(&'a $self, arguments: &Arguments, ctx: &'a ToolContext) -> ToolFuture<'a> {
            let function: &Function = $function;
            function.decoder.call(&function.definition, arguments, ctx)
        }
    };
}

#[diagnostic::do_not_recommend]
impl<N: ToolFunction> Tool for N {
    tool_of_function!(self => N::function());
}

impl Tool for Function {
    tool_of_function!(self => self);
}

/// The type of all tools in `tools![…]`, so that not every tool has its own vtable.
impl Tool for &'static Function {
    tool_of_function!(self => self);
}
