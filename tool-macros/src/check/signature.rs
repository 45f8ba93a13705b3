//! Rejects signatures that a tool can't have.

use std::collections::HashSet;

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::{FnArg, GenericParam, Pat, Receiver, ReceiverKind, Safety, Type};

use super::DeclarationSite;
use crate::attr::LoneParameter;
use crate::errors::Errors;
use crate::model::{Passing, ToolFn};

pub(super) fn check(function: &ToolFn, container: DeclarationSite, errors: &Errors) {
    check_async(function, errors);
    check_qualifiers(function, errors);
    for input in &function.sig.inputs {
        if let FnArg::Receiver(receiver) = input {
            check_receiver(receiver, container, errors);
        }
    }
    check_generics(function, errors);
    check_references(function, errors);
    check_attributes(function, errors);
    check_named_parameters(function, errors);
    check_distinct_arguments(function, errors);
    check_lone_parameter(function, errors);
    check_description(function, errors);
    check_name(function, errors);
}

/// A function that is not async would block the runtime, so it must declare that it runs on another
/// thread.
fn check_async(function: &ToolFn, errors: &Errors) {
    match (&function.sig.asyncness, &function.attr.blocking) {
        (None, None) => errors.at(
            function.sig.fn_token,
            "a tool is an `async fn`; \
             for a function that blocks its thread, write `#[tool(blocking)]`",
        ),
        (Some(_), Some(word)) => errors.at(
            &word.at,
            "`blocking` is for a plain `fn`, which runs on a separate thread: \
             remove `blocking`, or `async`",
        ),
        _ => {}
    }
}

/// No caller could uphold the contract of an `unsafe` or foreign function.
fn check_qualifiers(function: &ToolFn, errors: &Errors) {
    let sig = &function.sig;
    if let Safety::Unsafe(word) = &sig.safety {
        errors.at(word, "a tool can't be `unsafe`: a model can't uphold its safety contract");
    }
    if let Some(word) = &sig.constness {
        errors.at(word, "a tool is a plain function: remove `const`");
    }
    if let Some(abi) = &sig.abi {
        errors.at(abi, "a tool is a plain function: remove `extern`");
    }
    if let Some(dots) = &sig.variadic {
        errors.at(dots, "a tool can't be variadic: write a fixed number of parameters");
    }
}

/// `tools![…]` gets the name of a function, so there is no value to call a method on. The tools of
/// a toolbox run concurrently, so none of them can have exclusive access to the value.
fn check_receiver(receiver: &Receiver, container: DeclarationSite, errors: &Errors) {
    let text = match container {
        DeclarationSite::Module => {
            "a method is a tool only within a toolbox: put `#[tool]` on the `impl` block as well"
        }
        DeclarationSite::Toolbox if is_shared(receiver) => return,
        DeclarationSite::Toolbox => {
            "a tool takes `&self`, because calls run concurrently: \
             keep mutable state in a `Mutex` or an atomic"
        }
    };
    errors.at(receiver, text);
}

/// Whether the receiver is `&self`.
fn is_shared(receiver: &Receiver) -> bool {
    matches!(receiver.kind, ReceiverKind::Reference(_, None, None))
}

/// The schema is created once, for one set of types.
fn check_generics(function: &ToolFn, errors: &Errors) {
    for param in &function.sig.generics.params {
        match param {
            GenericParam::Lifetime(lifetime) => errors.at(
                lifetime,
                format!(
                    "a tool can't have the lifetime parameter `{}`: write references without it, \
                     such as `city: &str`",
                    lifetime.lifetime
                ),
            ),
            other => errors.at(other, "a tool can't be generic: write a concrete type"),
        }
    }
    for param in &function.params {
        let (Passing::Owned(ty) | Passing::Borrowed(ty)) = &param.passing;
        if let Type::ImplTrait(_) = ty.as_ref() {
            errors.at(ty, "a tool can't take `impl Trait`: write a concrete type");
        }
    }
}

/// The arguments exist for one call only: they can't be borrowed for longer, changed for the
/// caller, or borrowed within another value.
fn check_references(function: &ToolFn, errors: &Errors) {
    for input in &function.sig.inputs {
        if let FnArg::Typed(typed) = input
            && let Type::Reference(reference) = typed.ty.as_ref()
            && let Some(lifetime) = &reference.lifetime
            && lifetime.ident == "static"
        {
            errors.at(
                lifetime,
                "a tool can't borrow arguments for `'static`: write `&` without a lifetime",
            );
        }
    }
    for param in &function.params {
        let Passing::Owned(ty) = &param.passing else { continue };
        match ty.as_ref() {
            Type::Reference(_) => {
                errors.at(ty, "a tool can't take `&mut`: the arguments exist for this call only, so take them by value");
            }
            other if contains_reference(other) => errors.at(
                ty,
                "a tool can't borrow within another type: write `String` for `&str`, as in \
                 `Option<String>`",
            ),
            _ => {}
        }
    }
}

fn contains_reference(ty: &Type) -> bool {
    fn has_reference(tokens: TokenStream) -> bool {
        tokens.into_iter().any(|token| match token {
            TokenTree::Punct(punct) => punct.as_char() == '&',
            TokenTree::Group(group) => has_reference(group.stream()),
            _ => false,
        })
    }
    has_reference(ty.to_token_stream())
}

/// Attributes of types and fields have no meaning on a parameter.
fn check_attributes(function: &ToolFn, errors: &Errors) {
    for attr in function.params.iter().flat_map(|param| &param.misplaced) {
        let target = if attr.path().is_ident("args") {
            "a type"
        } else {
            "a field of a struct under `#[args]`"
        };
        let name = attr.path().get_ident().map(ToString::to_string).unwrap_or_default();
        errors.at(
            attr,
            format!(
                "a parameter can't have `#[{name}]`: put it on {target}, or write \
                 `#[arg(default = …, range(min = 1), length(max = 80))]`"
            ),
        );
    }
    for input in &function.sig.inputs {
        let FnArg::Typed(typed) = input else { continue };
        for attr in typed.attrs.iter().filter(|attr| attr.path().is_ident("cfg")) {
            errors.at(attr, "a parameter can't have `cfg`: put it on the function");
        }
    }
}

/// Arguments have names. Only the args struct, which is the only owned parameter, and the borrowed
/// context need none. The type of the only parameter decides whether it is the args struct; but a
/// tuple or an array never is, nor a parameter with words that describe an argument.
fn check_named_parameters(function: &ToolFn, errors: &Errors) {
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
        let may_be_args_struct = is_lone
            && !matches!(pattern, Pat::Tuple(_) | Pat::Slice(_))
            && !matches!(param.attr.lone, Some((_, LoneParameter::Named)))
            && !param.attr.describes_argument();
        if param.argument_name().is_empty() && !may_be_args_struct {
            errors.at(
                pattern,
                "parameter without a name: a model passes arguments by name, so write `name: Type`",
            );
        }
    }
}

/// Of two arguments with the same name, only one could be passed.
fn check_distinct_arguments(function: &ToolFn, errors: &Errors) {
    let mut names = HashSet::new();
    for param in &function.params {
        if let Some(name) = &param.attr.rename
            && name.value().is_empty()
        {
            errors.at(
                name,
                "empty argument name: write the name that a model passes, such as \
                 `rename = \"type\"`",
            );
        }
        let name = param.argument_name();
        if !name.is_empty() && !names.insert(name.clone()) {
            let text = format!("duplicate argument name `{name}`: rename one of the arguments");
            match (&param.attr.rename, &param.name) {
                (Some(word), _) => errors.at(word, text),
                (None, ident) => errors.at(ident, text),
            }
        }
    }
}

/// `flatten` and `named` apply to the only parameter; among several, each is an argument.
fn check_lone_parameter(function: &ToolFn, errors: &Errors) {
    for param in &function.params {
        if let Some((at, LoneParameter::ArgsStruct)) = &param.attr.lone
            && param.attr.describes_argument()
        {
            errors.at(
                at,
                "`flatten` makes this parameter the args struct, which is not a single argument: \
                 put the other words on its fields, or remove `flatten`",
            );
        }
    }
    let overridden = function.params.iter().filter_map(|param| param.attr.lone.as_ref());
    if let Some((at, _)) = overridden.clone().nth(1) {
        errors.at(at, "only one parameter can be `flatten` or `named`");
    }
}

/// Without a description, a model can't know when to call the tool.
fn check_description(function: &ToolFn, errors: &Errors) {
    let name = function.tool_name();
    match &function.attr.description {
        Some(word) if word.value.value().trim().is_empty() => {
            let text = format!("empty description of tool `{name}`: describe what the tool does");
            errors.at(&word.value, text);
        }
        None if function.doc.is_empty() => errors.at(
            &function.sig.ident,
            format!(
                "missing description of tool `{name}`, by which a model chooses it: \
                 write `/// …` above the function, or `description = \"…\"`"
            ),
        ),
        _ => {}
    }
}

/// The rule of OpenAI and Anthropic, which is the strictest one in wide use.
fn check_name(function: &ToolFn, errors: &Errors) {
    let name = function.tool_name();
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if (1..=64).contains(&name.len()) && name.chars().all(is_allowed) {
        return;
    }
    let text = format!(
        "invalid tool name `{name}`: expected 1 to 64 characters of a-z, A-Z, 0-9, `_` and `-`"
    );
    match &function.attr.name {
        Some(word) => errors.at(&word.value, text),
        None => errors
            .at(&function.sig.ident, format!("{text}; set another with `#[tool(name = \"…\")]`")),
    }
}

/// The generated type would shadow a primitive type of the same name.
pub(super) fn check_primitive_name(function: &ToolFn, errors: &Errors) {
    if function.shadows_primitive() {
        let name = function.sig.ident.unraw();
        let text = format!(
            "the function of a tool can't have the name of the primitive type `{name}`: \
             rename it, and write `#[tool(name = \"{name}\")]`"
        );
        errors.at(&function.sig.ident, text);
    }
}
