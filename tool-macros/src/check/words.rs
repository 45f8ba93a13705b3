//! Words that contradict each other.

use crate::errors::Errors;
use crate::model::ToolFn;

pub(super) fn check(function: &ToolFn, errors: &Errors) {
    pure_changes_nothing(function, errors);
    retries_need_idempotence(function, errors);
    without_effect_nothing_is_required(function, errors);
    denied_never_runs(function, errors);
}

/// What comes of a `pure` tool may be remembered and not computed again: a change would be lost.
fn pure_changes_nothing(function: &ToolFn, errors: &Errors) {
    if let (Some(pure), Some(effect)) = (&function.attr.pure, &function.attr.effect)
        && matches!(effect.value, "write" | "external")
    {
        let text = format!(
            "`pure` and `effect = \"{}\"` contradict each other: \
             a pure tool's result is remembered, and what it does would not be done again",
            effect.value
        );
        errors.at(&pure.at, text);
    }
}

/// A failed attempt may have done its work: again is safe only where twice is as good as once.
fn retries_need_idempotence(function: &ToolFn, errors: &Errors) {
    let again = function.attr.idempotent.is_some() || function.attr.pure.is_some();
    if let (Some(retries), false) = (&function.attr.retries, again) {
        errors.at(
            &retries.at,
            "`retries` runs the tool again after a failure that may have done its work: \
             add `idempotent` if that is safe, or remove `retries`",
        );
    }
}

/// What touches files or the network reads the world at least.
fn without_effect_nothing_is_required(function: &ToolFn, errors: &Errors) {
    if let (Some(requires), Some(effect)) = (&function.attr.requires, &function.attr.effect)
        && effect.value == "none"
    {
        errors.at(
            &requires.at,
            "`requires` and `effect = \"none\"` contradict each other: \
             a tool that needs something of the world at least reads it",
        );
    }
}

/// How a tool runs means nothing for one that never does.
fn denied_never_runs(function: &ToolFn, errors: &Errors) {
    let attr = &function.attr;
    let Some(permission) = &attr.permission else { return };
    let idle =
        [attr.retries.as_ref().map(|word| &word.at), attr.rate_limit.as_ref().map(|word| &word.at)];
    if let ("deny", Some(at)) = (permission.value, idle.into_iter().flatten().next()) {
        errors.at(at, "`permission = \"deny\"` never runs the tool: remove this word, or that one");
    }
}
