//! The attributes of `tool-runtime`, which re-exports them for use and documents them.
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

/// Makes a tool of an async function; documented where `tool-runtime` re-exports it.
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

/// Makes a type fit to be arguments; documented where `tool-runtime` re-exports it.
#[proc_macro_attribute]
pub fn args(attr: TokenStream, item: TokenStream) -> TokenStream {
    args::args(attr.into(), item.into()).into()
}
