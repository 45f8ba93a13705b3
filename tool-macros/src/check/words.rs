//! Rejects words that contradict each other.

use crate::errors::Errors;
use crate::model::ToolFn;

pub(super) fn check(function: &ToolFn, errors: &Errors) {
    check_pure(function, errors);
    check_retries(function, errors);
    check_requires(function, errors);
    check_denied(function, errors);
    check_offered(function, errors);
}

/// The output of a `pure` tool is cached, so a cached call would not have its effect.
fn check_pure(function: &ToolFn, errors: &Errors) {
    if let (Some(pure), Some(effect)) = (&function.attr.pure, &function.attr.effect)
        && matches!(effect.value, "write" | "external")
    {
        let text = format!(
            "`pure` and `effect = \"{}\"` contradict each other: \
             the output of a pure tool is cached, so a repeated call would have no effect; \
             remove one of them",
            effect.value
        );
        errors.at(&pure.at, text);
    }
}

/// A failed attempt may have had its effect, so only an idempotent tool can be retried.
fn check_retries(function: &ToolFn, errors: &Errors) {
    let is_idempotent = function.attr.idempotent.is_some() || function.attr.pure.is_some();
    if let (Some(retries), false) = (&function.attr.max_retries, is_idempotent) {
        errors.at(
            &retries.at,
            "`max_retries` needs `idempotent`, because a failed attempt may have had its effect: \
             add `idempotent` if running the tool twice is safe, or remove `max_retries`",
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
             a tool that requires a capability has at least the effect \"read\"; \
             write `effect = \"read\"`, or remove one of them",
        );
    }
}

/// A denied tool never runs, so words about its execution have no meaning.
fn check_denied(function: &ToolFn, errors: &Errors) {
    let attr = &function.attr;
    let Some(permission) = &attr.permission else { return };
    if permission.value != "deny" {
        return;
    }
    let retries = attr.max_retries.as_ref().map(|word| ("max_retries", &word.at));
    let rate_limit = attr.rate_limit.as_ref().map(|word| ("rate_limit", &word.at));
    let always = attr.always.as_ref().map(|word| ("always", &word.at));
    if let Some((name, at)) = retries.or(rate_limit).or(always) {
        let text = format!(
            "`{name}` and `permission = \"deny\"` contradict each other: \
             a denied tool never runs, so remove one of them"
        );
        errors.at(at, text);
    }
}

/// A hidden or disabled tool is never offered, so words about how readily it is offered have no
/// meaning.
fn check_offered(function: &ToolFn, errors: &Errors) {
    let attr = &function.attr;
    let flags = [("hidden", &attr.hidden), ("disabled", &attr.disabled)];
    let Some((flag, _)) = flags.iter().rev().find(|(_, word)| word.is_some()) else { return };
    let hidden = attr.hidden.as_ref().filter(|_| *flag != "hidden").map(|it| ("hidden", &it.at));
    let always = attr.always.as_ref().map(|word| ("always", &word.at));
    let weight = attr.weight.as_ref().map(|word| ("weight", &word.at));
    if let Some((name, at)) = hidden.or(always).or(weight) {
        let text = format!(
            "`{name}` and `{flag}` contradict each other: \
             a {flag} tool is never offered, so remove one of them"
        );
        errors.at(at, text);
    }
}
