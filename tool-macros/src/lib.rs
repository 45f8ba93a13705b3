//! The attributes of `tool-runtime`, which re-exports them for use and documents them.
//!
//! `#[tool]` reads a function, or an `impl` with several, in four steps: `attr` and `model` say what
//! is written, `check` what may not be, `expand` what is generated. On any error `fallback` keeps
//! the user's code in place, so that nothing else lights up.

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
use model::{ToolFn, Toolbox};

/// Makes a tool of a function, or several of an `impl`; documented where `tool-runtime` re-exports
/// it.
#[proc_macro_attribute]
pub fn tool(attr: TokenStream, item: TokenStream) -> TokenStream {
    shown(tool_or_toolbox(attr.into(), item.into())).into()
}

/// Makes a type fit to be arguments; documented where `tool-runtime` re-exports it.
#[proc_macro_attribute]
pub fn args(attr: TokenStream, item: TokenStream) -> TokenStream {
    shown(args::args(attr.into(), item.into())).into()
}

fn tool_or_toolbox(attr: Tokens, item: Tokens) -> Tokens {
    let errors = Errors::new();
    if let Some(toolbox) = Toolbox::read(attr.clone(), item.clone(), &errors) {
        check::toolbox(&toolbox, &errors);
        return match errors.into_tokens() {
            Some(errors) => fallback::toolbox(&errors, &toolbox),
            None => expand::toolbox(&toolbox),
        };
    }
    if let Some(unread) = fallback::unread_toolbox(&item) {
        // The compiler reads it itself, and says what is wrong with it.
        return errors.into_tokens().into_iter().chain([unread]).collect();
    }
    let attr = ToolAttr::parse(attr, &errors);
    if let Some(function) = ToolFn::read(attr, item.clone(), &errors) {
        check::function(&function, &errors);
        return match errors.into_tokens() {
            Some(errors) => fallback::function(&errors, &function),
            None => expand::function(&function),
        };
    }
    let misplaced = "`#[tool]` goes on a function, or on an `impl` whose methods carry it";
    errors.push(syn::Error::new(Span::call_site(), misplaced));
    errors.into_tokens().into_iter().chain([item]).collect()
}

/// `TOOL_MACROS_DEBUG=1` prints what is generated.
#[expect(clippy::print_stderr, reason = "a build's output is where it is looked for")]
fn shown(tokens: Tokens) -> Tokens {
    if std::env::var_os("TOOL_MACROS_DEBUG").is_some_and(|value| value == "1") {
        eprintln!("{tokens}\n");
    }
    tokens
}
