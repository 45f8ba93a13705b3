//! The rules for tools, each with its reason.

mod signature;
mod words;

use std::collections::HashSet;

use crate::errors::Errors;
use crate::model::{ToolFn, Toolbox};

/// The place where a function is declared.
#[derive(Clone, Copy, PartialEq)]
enum DeclarationSite {
    Module,
    Toolbox,
}

pub(crate) fn function(function: &ToolFn, errors: &Errors) {
    check_tool(function, DeclarationSite::Module, errors);
    signature::check_primitive_name(function, errors);
}

pub(crate) fn toolbox(toolbox: &Toolbox, errors: &Errors) {
    check_inherent(toolbox, errors);
    check_not_empty(toolbox, errors);
    check_distinct_names(toolbox, errors);
    for tool in &toolbox.tools {
        check_tool(tool, DeclarationSite::Toolbox, errors);
    }
}

fn check_tool(function: &ToolFn, container: DeclarationSite, errors: &Errors) {
    check_single_attribute(function, errors);
    signature::check(function, container, errors);
    words::check(function, errors);
}

/// A second attribute would create the same tool again.
fn check_single_attribute(function: &ToolFn, errors: &Errors) {
    for attr in &function.duplicates {
        errors.at(attr, "duplicate `#[tool]`: write all words in the first one");
    }
}

/// The methods of a trait are documented at the trait, which may belong to another crate.
fn check_inherent(toolbox: &Toolbox, errors: &Errors) {
    if let Some((path, _)) = &toolbox.block.trait_ {
        errors.at(path, "a toolbox is an inherent `impl`: write `impl Type`, without a trait");
    }
}

/// Without attributes on its methods, a toolbox would silently have no tools.
fn check_not_empty(toolbox: &Toolbox, errors: &Errors) {
    if toolbox.tools.is_empty() && toolbox.block.trait_.is_none() {
        errors.at(
            &toolbox.block.self_ty,
            "this toolbox has no tools: put `#[tool]` on the methods that a model may call",
        );
    }
}

/// Of two tools with the same name, only one could be called.
fn check_distinct_names(toolbox: &Toolbox, errors: &Errors) {
    let mut names = HashSet::new();
    for tool in &toolbox.tools {
        // `cfg` may remove one of two tools with the same name.
        let is_unconditional = !tool.attrs.iter().any(|attr| attr.path().is_ident("cfg"));
        let name = tool.tool_name();
        if is_unconditional && !names.insert(name.clone()) {
            let text =
                format!("duplicate tool name `{name}` in this toolbox: rename one of the tools");
            match &tool.attr.name {
                Some(word) => errors.at(&word.value, text),
                None => errors.at(&tool.sig.ident, text),
            }
        }
    }
}
