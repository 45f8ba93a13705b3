//! What `#[tool]` generates: data, and one call.

use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};

use super::args::{self, Layout};
use super::param::{Optional, Params};
use super::{Effect, Tool, ToolContext, ToolDefinition, ToolError, ToolOutput};
use crate::message::Arguments;
use crate::schema::{Generator, Schema, takes_whole_object};

/// A tool made from a function.
pub trait ToolFn: Send + Sync {
    /// Its function's parameters.
    type Params: Params;

    /// What is known of it.
    fn spec(&self) -> &Spec;

    /// Decodes the arguments and calls the function.
    fn run(&self, arguments: Arguments, ctx: &ToolContext) -> impl Future<Output = Outcome> + Send;
}

/// What becomes of one call.
pub type Outcome = Result<ToolOutput, ToolError>;

/// A tool that needs no state: the function's name stands for it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tool",
    label = "not a tool",
    note = "`tools![…]` takes the names of functions under `#[tool]`; add others by `.with(…)`"
)]
pub trait FunctionTool: ToolFn + Sized {
    /// The tool.
    const TOOL: Self;
}

#[diagnostic::do_not_recommend]
#[async_trait]
impl<F: ToolFn> Tool for F {
    #[inline]
    fn definition(&self) -> &ToolDefinition {
        &self.spec().definition
    }

    #[inline]
    async fn call(&self, arguments: Arguments, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
        self.run(arguments, ctx).await
    }
}

/// A definition, and how its function's parameters lie in the arguments.
#[derive(Debug)]
pub struct Spec {
    pub(super) definition: ToolDefinition,
    pub(super) layout: Layout,
}

impl Spec {
    /// Describes a function with the parameters `P`; a name and a description for each.
    pub fn new<P: Params>(
        name: &str,
        description: &str,
        names: &'static [&'static str],
        descriptions: &[&str],
    ) -> Self {
        let mut generator = Generator::new();
        let schemas = P::schemas(&mut generator);
        let alone = schemas.iter().flatten().count() == 1;
        let (layout, schema) = match P::first_root_schema() {
            Some(root) if alone && takes_whole_object(&root) => (Layout::Whole, root),
            _ => {
                let named = names.iter().zip(descriptions).zip(schemas);
                (Layout::Named(names), object(named, generator))
            }
        };
        Self { definition: ToolDefinition::new(name, description, Schema::from(schema)), layout }
    }

    /// The word `effect`.
    #[must_use]
    pub fn effect(mut self, effect: Effect) -> Self {
        self.definition.effect = effect;
        self
    }

    /// The word `idempotent`.
    #[must_use]
    pub fn idempotent(mut self) -> Self {
        self.definition.idempotent = true;
        self
    }

    /// The word `timeout`.
    #[must_use]
    pub fn timeout(mut self, millis: u64) -> Self {
        self.definition.timeout = Some(Duration::from_millis(millis));
        self
    }
}

/// The values of the parameters for one call.
///
/// # Errors
/// The arguments don't fit: all that is wrong with them, for the model.
#[inline]
pub fn decode<F: ToolFn>(
    tool: &F,
    arguments: &Arguments,
    ctx: &ToolContext,
) -> Result<<F::Params as Params>::Values, ToolError> {
    args::decode::<F::Params>(tool.spec(), arguments, ctx)
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
