//! The attributes of `tool-runtime`, which re-exports and documents them for use.
//!
//! `#[tool]` reads a function in four steps, a file each: `attr` and `model` say what is written,
//! `check` what may not be, `expand` what is generated. On any error `fallback` keeps the user's
//! function in place, so that nothing else lights up.

mod args;
mod attr;
mod check;
mod errors;
mod expand;
mod fallback;
mod model;
mod path;

use proc_macro::TokenStream;
use proc_macro2::{Span, TokenStream as Tokens};

use attr::ToolAttr;
use errors::Errors;
use model::ToolFn;

/// Makes a tool of an async function.
///
/// The function stays as it was: call it, test it, hand it on. Beside it, under the same name,
/// there is a tool for `tools![…]`.
///
/// ```
/// use tool_runtime::{args, tool, tools};
///
/// /// Where to look, and how far ahead.
/// #[args]
/// struct Forecast {
///     /// City name, such as "Oslo".
///     city: String,
///     /// Days ahead.
///     #[schemars(range(min = 1, max = 7))]
///     days: Option<u8>,
/// }
///
/// /// Weather forecast for a city.
/// #[tool(effect = "read", idempotent, timeout = "5s")]
/// async fn forecast(args: Forecast) -> String {
///     format!("{}: rain for {} days", args.city, args.days.unwrap_or(1))
/// }
///
/// let tools = tools![forecast];
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let said = forecast(Forecast { city: "Oslo".into(), days: Some(2) }).await;
/// assert_eq!(said, "Oslo: rain for 2 days");
/// # }
/// ```
///
/// # Arguments
///
/// A lone parameter whose type is a struct with named fields is the *args struct*: its fields are
/// the arguments. Otherwise each parameter is an argument of its own, `///` above it describes it,
/// and one of type `Option` may be left out:
///
/// ```
/// # use tool_runtime::tool;
/// /// Weather forecast for a city.
/// #[tool(effect = "read")]
/// async fn forecast(
///     /// City name, such as "Oslo".
///     city: &str,
///     /// Days ahead.
///     days: Option<u8>,
/// ) -> String {
///     format!("{city}: rain for {} days", days.unwrap_or(1))
/// }
/// ```
///
/// More exactly, a lone parameter is the args struct when the JSON Schema of its type is an object
/// that names its members, or has none; a map, a list, text or an enum is one named argument.
///
/// A parameter is taken by value, or lent as `&str` or `&[T]`; one of type `&ToolContext`, at any
/// position, gets the context of the call and is no argument.
///
/// # Words
///
/// | word | what it says | unless given |
/// |---|---|---|
/// | `name = "…"` | what the model calls it: 1 to 64 of `a-z A-Z 0-9 _ -` | the function's name |
/// | `description = "…"` | what the model is told that it does | the doc comment |
/// | `effect = "…"` | what it does to the world: `none`, `read`, `write` or `external` | `external` |
/// | `idempotent` | running it twice is as good as once | it isn't |
/// | `timeout = "5s"` | how long one run of the body may take: a number and `ms`, `s`, `m` or `h` | no limit |
/// | `crate = path` | where `tool_runtime` is, when it was renamed | `::tool_runtime` |
///
/// # Output
///
/// Text, anything that is `Serialize` (sent as JSON), `()`, or a `ToolOutput`; bare or in a
/// `Result` whose error is an `Error`, text, or a `ToolError`.
///
/// # Limits
///
/// The tool lives in the type namespace under the function's name, so a module, struct or trait of
/// that name can't stand beside it.
#[proc_macro_attribute]
pub fn tool(attr: TokenStream, item: TokenStream) -> TokenStream {
    read_tool(attr.into(), item.into()).into()
}

fn read_tool(attr: Tokens, item: Tokens) -> Tokens {
    let errors = Errors::new();
    let attr = ToolAttr::parse(attr, &errors);
    let Ok(function) = syn::parse2::<ToolFn>(item.clone()) else {
        errors.push(syn::Error::new(Span::call_site(), "`#[tool]` goes on an async function"));
        return errors.into_tokens().into_iter().chain([item]).collect();
    };
    check::check(&function, &attr, &errors);
    match errors.into_tokens() {
        Some(errors) => fallback::tool(&errors, &function, &attr),
        None => expand::expand(&function, &attr),
    }
}

/// Makes a struct or enum fit to be the arguments of a tool, or a part of them.
///
/// It derives `serde::Deserialize` and `schemars::JsonSchema` through `tool_runtime`, so that a
/// crate needs neither of its own; attributes of both, such as `#[serde(rename_all = "…")]` and
/// `#[schemars(range(min = 1))]`, work as ever. A struct refuses members that it doesn't know, for
/// a model that sends one means something by it; derive both by hand for one that doesn't.
///
/// ```
/// use tool_runtime::args;
///
/// /// A place on Earth.
/// #[args]
/// #[derive(Debug)]
/// struct Place {
///     /// Degrees north.
///     #[schemars(range(min = -90.0, max = 90.0))]
///     lat: f64,
///     /// Degrees east.
///     #[schemars(range(min = -180.0, max = 180.0))]
///     lon: f64,
/// }
/// ```
///
/// `#[args(crate = path)]` says where `tool_runtime` is, when it was renamed.
#[proc_macro_attribute]
pub fn args(attr: TokenStream, item: TokenStream) -> TokenStream {
    args::args(attr.into(), item.into()).into()
}
