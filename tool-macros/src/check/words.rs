//! Rejects words that contradict each other.

use crate::errors::Errors;
use crate::model::ToolFn;

pub(super) fn check(function: &ToolFn, errors: &Errors) {
    check_pure(function, errors);
    check_retries(function, errors);
    check_requires(function, errors);
    check_denied(function, errors);
}

/// The output of a `pure` tool is cached, so a cached call would not have its effect.
fn check_pure(function: &ToolFn, errors: &Errors) {
    if let (Some(pure), Some(effect)) = (&function.attr.pure, &function.attr.effect)
        && matches!(effect.value, "write" | "external")
    {
        let text = format!(
            "`pure` and `effect = \"{}\"` contradict each other: \
             the output of a pure tool is cached, so a repeated call would have no effect",
            effect.value
        );
        errors.at(&pure.at, text);
    }
}

/// A failed attempt may have had its effect, so only an idempotent tool can be retried.
fn check_retries(function: &ToolFn, errors: &Errors) {
    let is_idempotent = function.attr.idempotent.is_some() || function.attr.pure.is_some();
    if let (Some(retries), false) = (&function.attr.retries, is_idempotent) {
        errors.at(
            &retries.at,
            "`retries` needs `idempotent`, because a failed attempt may have had its effect: \
             add `idempotent` if running the tool twice is safe, or remove `retries`",
        );
    }
}

/// A tool that needs a capability at least reads state outside of the program.
fn check_requires(function: &ToolFn, errors: &Errors) {
    if let (Some(requires), Some(effect)) = (&function.attr.requires, &function.attr.effect)
        && effect.value == "none"
    {
        errors.at(
            &requires.at,
            "`requires` and `effect = \"none\"` contradict each other: \
             a tool that needs a capability at least reads: write `effect = \"read\"`, or remove one",
        );
    }
}

/// A denied tool never runs, so words about its execution have no meaning.
fn check_denied(function: &ToolFn, errors: &Errors) {
    let attr = &function.attr;
    let Some(permission) = &attr.permission else { return };
    let unused =
        [attr.retries.as_ref().map(|word| &word.at), attr.rate_limit.as_ref().map(|word| &word.at)];
    if let ("deny", Some(at)) = (permission.value, unused.into_iter().flatten().next()) {
        errors.at(
            at,
            "`permission = \"deny\"` prevents every call: remove this word, or the permission",
        );
    }
}
