//! What may not be, each rule with its reason.

use syn::ext::IdentExt;
use syn::{FnArg, GenericParam, Type};

use crate::attr::ToolAttr;
use crate::errors::Errors;
use crate::model::{Passing, ToolFn};

pub(crate) fn check(function: &ToolFn, attr: &ToolAttr, errors: &Errors) {
    is_async(function, errors);
    is_plain(function, errors);
    has_no_receiver(function, errors);
    has_no_generics(function, errors);
    has_named_params(function, errors);
    has_description(function, attr, errors);
    has_good_name(function, attr, errors);
}

/// The runtime awaits tools, and stops them where they wait.
fn is_async(function: &ToolFn, errors: &Errors) {
    if function.sig.asyncness.is_none() {
        errors.at(function.sig.fn_token, "a tool is an async function: write `async fn`");
    }
}

/// There is no caller who could keep the promises of an `unsafe` or foreign function.
fn is_plain(function: &ToolFn, errors: &Errors) {
    if let Some(abi) = &function.sig.abi {
        errors.at(abi, "a tool is a plain function: remove `extern`");
    }
    if let Some(dots) = &function.sig.variadic {
        errors.at(dots, "a tool takes a fixed number of arguments");
    }
}

/// A function's name is all that `tools![…]` gets; there is no value to call a method on.
fn has_no_receiver(function: &ToolFn, errors: &Errors) {
    for input in &function.sig.inputs {
        if let FnArg::Receiver(receiver) = input {
            errors.at(receiver, "a tool is a free function: it can't take `self`");
        }
    }
}

/// The schema is made once, of one set of types; nobody would choose the type parameters.
fn has_no_generics(function: &ToolFn, errors: &Errors) {
    let generics = &function.sig.generics;
    for param in &generics.params {
        match param {
            GenericParam::Lifetime(lifetime) => errors
                .at(lifetime, "a tool can't name a lifetime: leave it out, as in `city: &str`"),
            other => errors.at(other, "a tool can't be generic: name the type that it takes"),
        }
    }
    for param in &function.params {
        let (Passing::Owned(ty) | Passing::Lent(ty)) = &param.passing;
        if let Type::ImplTrait(_) = ty.as_ref() {
            errors.at(ty, "a tool can't take `impl Trait`: name the type that it takes");
        }
    }
}

/// A model fills arguments by name; only the args struct, which is alone, needs none.
fn has_named_params(function: &ToolFn, errors: &Errors) {
    let unnamed = function.sig.inputs.iter().filter_map(|input| match input {
        FnArg::Typed(typed) => Some(typed.pat.as_ref()),
        FnArg::Receiver(_) => None,
    });
    if function.params.len() > 1 {
        for (pat, param) in unnamed.zip(&function.params) {
            if param.name.is_none() {
                errors.at(pat, "give this parameter a name: it is what the model fills in");
            }
        }
    }
}

/// A model would call a tool that it knows nothing of.
fn has_description(function: &ToolFn, attr: &ToolAttr, errors: &Errors) {
    match &attr.description {
        Some(text) if text.value().trim().is_empty() => {
            errors.at(text, "the description is empty: say what the tool does");
        }
        None if function.doc.is_empty() => errors.at(
            &function.sig.ident,
            "say what the tool does, for the model chooses by it: \
             write `/// …` above the function, or `description = \"…\"`",
        ),
        _ => {}
    }
}

/// The rule of OpenAI and Anthropic. A type of a primitive's name would hide the primitive.
fn has_good_name(function: &ToolFn, attr: &ToolAttr, errors: &Errors) {
    let ident = &function.sig.ident;
    let function_name = ident.unraw().to_string();
    if function.hides_primitive() {
        let advice = format!(
            "a tool's function can't be named like the type `{function_name}`: \
             rename it, and write `#[tool(name = \"{function_name}\")]`"
        );
        errors.at(ident, advice);
    }
    let rule = "1 to 64 characters of a-z, A-Z, 0-9, `_` and `-`";
    match &attr.name {
        Some(name) if !is_good(&name.value()) => {
            errors.at(name, format!("a tool's name is {rule}"));
        }
        None if !is_good(&function_name) => errors.at(
            ident,
            format!("a tool's name is {rule}: give it another by `#[tool(name = \"…\")]`"),
        ),
        _ => {}
    }
}

fn is_good(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    (1..=64).contains(&name.len()) && name.chars().all(fits)
}
