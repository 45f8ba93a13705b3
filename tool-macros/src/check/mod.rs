//! What may not be, each rule with its reason.

mod signature;
mod words;

use std::collections::HashSet;

use crate::errors::Errors;
use crate::model::{ToolFn, Toolbox};

/// Whether a function takes `self`.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Free,
    InToolbox,
}

pub(crate) fn function(function: &ToolFn, errors: &Errors) {
    every(function, Place::Free, errors);
    signature::leaves_primitives(function, errors);
}

pub(crate) fn toolbox(toolbox: &Toolbox, errors: &Errors) {
    is_inherent(toolbox, errors);
    has_tools(toolbox, errors);
    has_distinct_names(toolbox, errors);
    for tool in &toolbox.tools {
        every(tool, Place::InToolbox, errors);
    }
}

fn every(function: &ToolFn, place: Place, errors: &Errors) {
    is_marked_once(function, errors);
    signature::check(function, place, errors);
    words::check(function, errors);
}

/// A second one would make the same tool again.
fn is_marked_once(function: &ToolFn, errors: &Errors) {
    for attr in &function.again {
        errors.at(attr, "one `#[tool]` is enough: write all its words in the first");
    }
}

/// A trait's methods are the trait's to describe, and may be another crate's.
fn is_inherent(toolbox: &Toolbox, errors: &Errors) {
    if let Some((path, _)) = &toolbox.block.trait_ {
        errors.at(path, "a toolbox is an `impl` of its own: write `impl Type`, without a trait");
    }
}

/// Whoever forgets the marks gets no tools and wonders why.
fn has_tools(toolbox: &Toolbox, errors: &Errors) {
    if toolbox.tools.is_empty() && toolbox.block.trait_.is_none() {
        errors.at(
            &toolbox.block.self_ty,
            "this toolbox is empty: put `#[tool]` on the methods that a model may call",
        );
    }
}

/// One of two tools of a name could never be called.
fn has_distinct_names(toolbox: &Toolbox, errors: &Errors) {
    let mut seen = HashSet::new();
    for tool in &toolbox.tools {
        // `cfg` decides later which of them there is.
        let certain = !tool.attrs.iter().any(|attr| attr.path().is_ident("cfg"));
        let name = tool.tool_name();
        if certain && !seen.insert(name.clone()) {
            let text = format!("two tools of this toolbox are named `{name}`: rename one");
            match &tool.attr.name {
                Some(word) => errors.at(&word.value, text),
                None => errors.at(&tool.sig.ident, text),
            }
        }
    }
}
