//! The attributes `#[tool]` and `#[args]`. Use them through `tool-runtime`, which documents them.
//!
//! The path of `#[tool]`:
//!
//! 1. `attr/`: parses the words of `#[tool(…)]` and `#[arg(…)]`.
//! 2. `model.rs`: parses the function, or the `impl` block with several, into a `model::ToolFn`
//!    or a `model::Toolbox`.
//! 3. `check/`: rejects what can't be a tool. All errors are collected (`errors.rs`) and reported
//!    at once, each at the tokens that cause it.
//! 4. `expand.rs` and `expand/`: generates the code. It makes no decisions.
//! 5. On any error, `recovery.rs` generates the user's code and a tool that only type-checks, so
//!    that no further errors are reported.
//!
//! `args.rs` implements `#[args]`. `path.rs` is the only place that spells the paths of
//! `tool_runtime` and `tool_core`.

mod args;
mod attr;
mod check;
mod errors;
mod expand;
mod fields;
mod model;
mod path;
mod recovery;

use proc_macro::TokenStream;
use proc_macro2::{Span, TokenStream as Tokens};

use attr::ToolAttr;
use errors::Errors;
use model::{ToolFn, Toolbox};

/// Creates a tool from a function, or several from an `impl` block. `tool-runtime` documents it.
#[proc_macro_attribute]
pub fn tool(attr: TokenStream, item: TokenStream) -> TokenStream {
    debug_print(tool_or_toolbox(attr.into(), item.into())).into()
}

/// Derives what the arguments of a tool need. `tool-runtime` documents it.
#[proc_macro_attribute]
pub fn args(attr: TokenStream, item: TokenStream) -> TokenStream {
    debug_print(args::args(attr.into(), item.into())).into()
}

/// Expands [`macro@tool`] for `tool-core`, which re-exports it by that name.
#[proc_macro_attribute]
pub fn core_tool(attr: TokenStream, item: TokenStream) -> TokenStream {
    debug_print(tool_or_toolbox(path::in_core(attr.into()), item.into())).into()
}

/// Expands [`macro@args`] for `tool-core`, which re-exports it by that name.
#[proc_macro_attribute]
pub fn core_args(attr: TokenStream, item: TokenStream) -> TokenStream {
    debug_print(args::args(path::in_core(attr.into()), item.into())).into()
}

fn tool_or_toolbox(attr: Tokens, item: Tokens) -> Tokens {
    let errors = Errors::new();
    if let Some(toolbox) = Toolbox::parse(attr.clone(), item.clone(), &errors) {
        check::toolbox(&toolbox, &errors);
        return match errors.into_tokens() {
            Some(errors) => recovery::toolbox(&errors, &toolbox),
            None => expand::toolbox(&toolbox),
        };
    }
    if let Some(block) = recovery::invalid_toolbox(&item) {
        // The compiler reports the syntax error.
        return errors.into_tokens().into_iter().chain([block]).collect();
    }
    let attr = ToolAttr::parse(attr, &errors);
    if let Some(function) = ToolFn::parse(attr, item.clone(), &errors) {
        check::function(&function, &errors);
        return match errors.into_tokens() {
            Some(errors) => recovery::function(&errors, &function),
            None => expand::function(&function),
        };
    }
    let misplaced = "`#[tool]` goes on a function, or on an `impl` whose methods carry it";
    errors.push(syn::Error::new(Span::call_site(), misplaced));
    errors.into_tokens().into_iter().chain([item]).collect()
}

/// Prints the generated code if `TOOL_MACROS_DEBUG=1` is set.
#[expect(clippy::print_stderr, reason = "the output of a build is the place for it")]
fn debug_print(tokens: Tokens) -> Tokens {
    if std::env::var_os("TOOL_MACROS_DEBUG").is_some_and(|value| value == "1") {
        eprintln!("{tokens}\n");
    }
    tokens
}
