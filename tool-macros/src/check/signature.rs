//! What a signature may not say.

use std::collections::HashSet;

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::{FnArg, GenericParam, Pat, Receiver, ReceiverKind, Safety, Type};

use super::Place;
use crate::attr::Lone;
use crate::errors::Errors;
use crate::model::{Passing, ToolFn};

pub(super) fn check(function: &ToolFn, place: Place, errors: &Errors) {
    waits(function, errors);
    is_plain(function, errors);
    for input in &function.sig.inputs {
        if let FnArg::Receiver(receiver) = input {
            borrows_itself(receiver, place, errors);
        }
    }
    has_no_generics(function, errors);
    owns_what_it_takes(function, errors);
    has_no_foreign_attributes(function, errors);
    has_named_params(function, errors);
    has_distinct_params(function, errors);
    overrides_one(function, errors);
    has_description(function, errors);
    has_good_name(function, errors);
}

/// The runtime awaits tools and stops them where they wait. A function that doesn't wait would hold
/// up all others, so its author has to say that it may run elsewhere.
fn waits(function: &ToolFn, errors: &Errors) {
    match (&function.sig.asyncness, &function.attr.blocking) {
        (None, None) => errors.at(
            function.sig.fn_token,
            "a tool is an `async fn`; \
             for one that blocks its thread, write `#[tool(blocking)]`",
        ),
        (Some(_), Some(word)) => errors.at(
            &word.at,
            "`blocking` is for a plain `fn`, which is moved to a thread of its own: \
             remove this word, or `async`",
        ),
        _ => {}
    }
}

/// There is no caller who could keep the promises of an `unsafe` or foreign function.
fn is_plain(function: &ToolFn, errors: &Errors) {
    let sig = &function.sig;
    if let Safety::Unsafe(word) = &sig.safety {
        errors.at(word, "a tool can't be `unsafe`: a model can't keep its promises");
    }
    if let Some(word) = &sig.constness {
        errors.at(word, "a tool is a plain function: remove `const`");
    }
    if let Some(abi) = &sig.abi {
        errors.at(abi, "a tool is a plain function: remove `extern`");
    }
    if let Some(dots) = &sig.variadic {
        errors.at(dots, "a tool takes a fixed number of arguments");
    }
}

/// A function's name is all that `tools![…]` gets: there is no value to call a method on. The tools
/// of a toolbox run at the same time, so none of them can have it for itself.
fn borrows_itself(receiver: &Receiver, place: Place, errors: &Errors) {
    let text = match place {
        Place::Free => "a method is a tool only within `#[tool] impl`: put `#[tool]` on the `impl`",
        Place::InToolbox if is_shared(receiver) => return,
        Place::InToolbox => {
            "a tool takes `&self`, for several run at once: \
             keep what changes behind a lock, or in an atomic"
        }
    };
    errors.at(receiver, text);
}

/// `&self`
fn is_shared(receiver: &Receiver) -> bool {
    matches!(receiver.kind, ReceiverKind::Reference(_, None, None))
}

/// The schema is made once, of one set of types; nobody would choose the type parameters.
fn has_no_generics(function: &ToolFn, errors: &Errors) {
    for param in &function.sig.generics.params {
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

/// The arguments are decoded for one call and gone after it: there is nothing that could be borrowed
/// for longer, changed for the caller, or borrowed from inside another value.
fn owns_what_it_takes(function: &ToolFn, errors: &Errors) {
    for input in &function.sig.inputs {
        if let FnArg::Typed(typed) = input
            && let Type::Reference(reference) = typed.ty.as_ref()
            && let Some(lifetime) = &reference.lifetime
            && lifetime.ident == "static"
        {
            errors.at(lifetime, "nothing that a model sends is `'static`: write `&` alone");
        }
    }
    for param in &function.params {
        let Passing::Owned(ty) = &param.passing else { continue };
        match ty.as_ref() {
            Type::Reference(_) => {
                errors.at(ty, "a tool can't take `&mut`: nothing outlives the call to be changed");
            }
            other if borrows_inside(other) => errors.at(
                ty,
                "a tool can't borrow inside another type: take `String` for `&str`, as in \
                 `Option<String>`",
            ),
            _ => {}
        }
    }
}

fn borrows_inside(ty: &Type) -> bool {
    fn has_reference(tokens: TokenStream) -> bool {
        tokens.into_iter().any(|token| match token {
            TokenTree::Punct(punct) => punct.as_char() == '&',
            TokenTree::Group(group) => has_reference(group.stream()),
            _ => false,
        })
    }
    has_reference(ty.to_token_stream())
}

/// Some attributes mean something on a type or its field and nothing on a parameter.
fn has_no_foreign_attributes(function: &ToolFn, errors: &Errors) {
    for attr in function.params.iter().flat_map(|param| &param.foreign) {
        let place = if attr.path().is_ident("args") {
            "a type"
        } else {
            "the field of a struct under `#[args]`"
        };
        errors.at(
            attr,
            format!(
                "this goes on {place}; a parameter takes `#[arg(default = …, rename = \"…\")]`"
            ),
        );
    }
    for input in &function.sig.inputs {
        let FnArg::Typed(typed) = input else { continue };
        for attr in typed.attrs.iter().filter(|attr| attr.path().is_ident("cfg")) {
            errors.at(attr, "a parameter can't be left out by `cfg`: put it on the whole function");
        }
    }
}

/// A model fills arguments by name; only the args struct, which is alone, needs none, and neither
/// does the context, which is lent. Whether a lone one is that struct its type says, but no tuple or
/// array is, nor what is said to be an argument.
fn has_named_params(function: &ToolFn, errors: &Errors) {
    let patterns = function.sig.inputs.iter().filter_map(|input| match input {
        FnArg::Typed(typed) => Some(typed.pat.as_ref()),
        FnArg::Receiver(_) => None,
    });
    let owned: Vec<_> = patterns
        .zip(&function.params)
        .filter(|(_, param)| matches!(param.passing, Passing::Owned(_)))
        .collect();
    let is_lone = owned.len() == 1;
    for (pattern, param) in owned {
        let may_be_whole = is_lone
            && !matches!(pattern, Pat::Tuple(_) | Pat::Slice(_))
            && !matches!(param.attr.lone, Some((_, Lone::Named)))
            && !param.attr.says_something();
        if param.argument_name().is_empty() && !may_be_whole {
            errors.at(pattern, "give this parameter a name: it is what the model fills in");
        }
    }
}

/// One of two arguments of a name could never be filled in.
fn has_distinct_params(function: &ToolFn, errors: &Errors) {
    let mut seen = HashSet::new();
    for param in &function.params {
        if let Some(name) = &param.attr.rename
            && name.value().is_empty()
        {
            errors.at(name, "a model can't fill in an argument without a name");
        }
        let name = param.argument_name();
        if !name.is_empty() && !seen.insert(name.clone()) {
            let text = format!("two arguments are named `{name}`: rename one");
            match (&param.attr.rename, &param.name) {
                (Some(word), _) => errors.at(word, text),
                (None, ident) => errors.at(ident, text),
            }
        }
    }
}

/// Whether a parameter is the args struct is asked of a lone one; among several each is an argument.
fn overrides_one(function: &ToolFn, errors: &Errors) {
    for param in &function.params {
        if let Some((at, Lone::Whole)) = &param.attr.lone
            && param.attr.says_something()
        {
            errors.at(
                at,
                "the args struct is the arguments, not one of them: \
                 say this of its fields, or leave `flatten` out",
            );
        }
    }
    let overridden = function.params.iter().filter_map(|param| param.attr.lone.as_ref());
    if let Some((at, _)) = overridden.clone().nth(1) {
        errors.at(at, "only one parameter can be `flatten` or `named`");
    }
}

/// A model would call a tool that it knows nothing of.
fn has_description(function: &ToolFn, errors: &Errors) {
    match &function.attr.description {
        Some(word) if word.value.value().trim().is_empty() => {
            errors.at(&word.value, "the description is empty: say what the tool does");
        }
        None if function.doc.is_empty() => errors.at(
            &function.sig.ident,
            "say what the tool does, for the model chooses by it: \
             write `/// …` above the function, or `description = \"…\"`",
        ),
        _ => {}
    }
}

/// The rule of OpenAI and Anthropic, the strictest in wide use.
fn has_good_name(function: &ToolFn, errors: &Errors) {
    let name = function.tool_name();
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if (1..=64).contains(&name.len()) && name.chars().all(fits) {
        return;
    }
    let rule = "a tool's name is 1 to 64 characters of a-z, A-Z, 0-9, `_` and `-`";
    match &function.attr.name {
        Some(word) => errors.at(&word.value, rule),
        None => errors
            .at(&function.sig.ident, format!("{rule}: give it another by `#[tool(name = \"…\")]`")),
    }
}

/// A type of a primitive's name would hide the primitive.
pub(super) fn leaves_primitives(function: &ToolFn, errors: &Errors) {
    if function.hides_primitive() {
        let name = function.sig.ident.unraw();
        let text = format!(
            "a tool's function can't be named like the type `{name}`: \
             rename it, and write `#[tool(name = \"{name}\")]`"
        );
        errors.at(&function.sig.ident, text);
    }
}
