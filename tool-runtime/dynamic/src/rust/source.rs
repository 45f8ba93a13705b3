//! The source of a dynamic tool, from its checked spec.

use tool_core::Effect;

use super::literal;
use super::types::Types;
use crate::CheckedSpec;

/// The line of `body.rs` before the body. Lines of the compiler are one more than those of the
/// body.
const BODY_HEAD: &str = "use super::*; use ::tool_support::prelude::*; pub(super) async fn \
    run(args: Args) -> ::std::result::Result<impl ::tool_support::serde::Serialize, ToolError> {";

/// The files of a dynamic tool that differ from tool to tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Source {
    /// The file `main.rs`: the types of the arguments and one function under `#[tool]`.
    pub(super) main: String,
    /// The file `body.rs`: what the model wrote.
    pub(super) body: String,
}

impl Source {
    /// Generates the source of a tool.
    pub(super) fn of(spec: &CheckedSpec) -> Self {
        let definition = spec.definition();
        let types = Types::of(spec.fields());
        let effect = effect(definition.effect);
        Self::with_types(&definition.name, &definition.description, effect, &types, spec.body())
    }

    /// Generates the source of a tool with these types of its arguments.
    fn with_types(name: &str, description: &str, effect: &str, types: &str, body: &str) -> Self {
        let (name, description) = (literal::text(name), literal::text(description));
        let main = format!(
            "//! Generated from the spec of a tool. `body.rs` has the body.\n\
             #![forbid(unsafe_code)]\n#![allow(warnings)]\n\n\
             mod body;\n\
             {types}\n\
             #[::tool_core::tool(name = {name}, description = {description}, \
             effect = \"{effect}\")]\n\
             async fn made_tool(args: Args) -> \
             ::std::result::Result<::tool_core::ToolOutput, ::tool_core::ToolError> {{\n    \
             ::tool_support::output(body::run(args).await?)\n}}\n\n\
             fn main() -> ::std::process::ExitCode {{\n    \
             ::tool_support::serve(::tool_core::tools![made_tool])\n}}\n"
        );
        Self { main, body: format!("{BODY_HEAD}\n{body}\n}}\n") }
    }

    /// Returns the source of a tool that does nothing.
    pub(super) fn empty() -> Self {
        let types = Types::of(&[]);
        Self::with_types("made_first", "Does nothing.", "none", &types, "Ok(())")
    }
}

/// Returns the word of `#[tool]` for an effect.
fn effect(effect: Effect) -> &'static str {
    match effect {
        Effect::None => "none",
        Effect::Read => "read",
        Effect::Write => "write",
        _ => "external",
    }
}

#[cfg(test)]
mod tests {
    use tool_core::Effect;

    use super::Source;
    use crate::{ArgumentField, ArgumentType, BodyLanguage, ElementType, ToolSpec};

    const MAIN: &str = r#"//! Generated from the spec of a tool. `body.rs` has the body.
#![forbid(unsafe_code)]
#![allow(warnings)]

mod body;

#[::tool_core::args]
#[derive(Clone, Debug, PartialEq, ::tool_support::serde::Serialize)]
#[derive(Copy, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    #[serde(rename = "light rain")]
    LightRain,
    #[serde(rename = "\"")]
    Value,
}

impl Kind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::LightRain => "light rain",
            Self::Value => "\"",
        }
    }
}

impl ::std::fmt::Display for Kind {
    fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
        f.write_str(self.as_str())
    }
}

fn default_value_1() -> i64 {
    ::tool_support::default_value("-2")
}

#[::tool_core::args]
#[derive(Clone, Debug, PartialEq, ::tool_support::serde::Serialize)]
pub struct Args {
    #[schemars(description = "A \"city\",\n\\ \u{e9}.")]
    #[schemars(extend("minLength" = 1u64))]
    #[schemars(extend("maxLength" = 9u64))]
    pub r#type: ::std::string::String,
    pub kind: ::std::option::Option<Kind>,
    #[serde(rename = "self")]
    #[serde(default = "default_value_1")]
    #[schemars(extend("default" = -2i64))]
    pub self_: i64,
    #[schemars(transform = ::tool_support::limits(&[("/items", "minimum", "0"), ("/items", "maximum", "1")]))]
    pub ratios: ::std::vec::Vec<f64>,
}

#[::tool_core::tool(name = "weather", description = "It is \"warm\".", effect = "read")]
async fn made_tool(args: Args) -> ::std::result::Result<::tool_core::ToolOutput, ::tool_core::ToolError> {
    ::tool_support::output(body::run(args).await?)
}

fn main() -> ::std::process::ExitCode {
    ::tool_support::serve(::tool_core::tools![made_tool])
}
"#;

    #[test]
    fn source_has_the_types_and_the_body() {
        let spec = ToolSpec::new(BodyLanguage::Rust, "weather", "It is \"warm\".", "Ok(\n1)")
            .effect(Effect::Read)
            .field(
                ArgumentField::new("type", ArgumentType::String)
                    .description("A \"city\",\n\\ é.")
                    .range(1, 9),
            )
            .field(
                ArgumentField::new("kind", ArgumentType::Enum)
                    .values(["light rain", "\""])
                    .optional(),
            )
            .field(ArgumentField::new("self", ArgumentType::Integer).default_value(-2))
            .field(
                ArgumentField::new("ratios", ArgumentType::List)
                    .items(ElementType::new(ArgumentType::Number).range(0, 1)),
            );
        let source = Source::of(&spec.check().unwrap());
        assert_eq!(source.main, MAIN);
        let (head, body) = source.body.split_once('\n').unwrap();
        assert!(head.ends_with(", ToolError> {"));
        assert_eq!(body, "Ok(\n1)\n}\n");
    }
}
