//! Parses the value of a word. Each function reports an error at the word or its value.

use syn::punctuated::Punctuated;
use syn::{Expr, ExprLit, ExprPath, Ident, Lit, LitStr, Meta, MetaNameValue, Path, Token, Type};

use super::literal::{self, number_of};
use super::words::nearest;
use crate::errors::Errors;

/// Checks that a word has no value.
pub(super) fn flag(word: &Meta, errors: &Errors) {
    if let Meta::List(_) | Meta::NameValue(_) = word {
        let name = name_of(word);
        errors.at(word, format!("`{name}` takes no value: write `{name}`"));
    }
}

/// Parses `word = "text"`.
pub(super) fn text(word: &Meta, example: &str, errors: &Errors) -> Option<LitStr> {
    if let Some(Expr::Lit(ExprLit { lit: Lit::Str(text), .. })) = value_of(word) {
        return Some(text.clone());
    }
    errors.at(word, format!("`{}` takes a string: write `{example}`", name_of(word)));
    None
}

/// Parses `word = "choice"`.
pub(super) fn choice(
    word: &Meta,
    example: &str,
    choices: &[&'static str],
    errors: &Errors,
) -> Option<&'static str> {
    let literal = text(word, example, errors)?;
    let chosen = choices.iter().find(|choice| literal.value() == **choice).copied();
    if chosen.is_none() {
        let hint = nearest(&literal.value(), choices)
            .map(|choice| format!(" (did you mean \"{choice}\"?)"))
            .unwrap_or_default();
        let choices: Vec<_> = choices.iter().map(|choice| format!("\"{choice}\"")).collect();
        let (name, value, choices) = (name_of(word), literal.value(), choices.join(", "));
        let text = format!("invalid `{name}` {value:?}: expected one of {choices}{hint}");
        errors.at(&literal, text);
    }
    chosen
}

/// Parses `word = 3`.
pub(super) fn count(word: &Meta, example: &str, errors: &Errors) -> Option<u32> {
    if let Some(Expr::Lit(ExprLit { lit: Lit::Int(number), .. })) = value_of(word)
        && let Ok(number @ 1..) = number.base10_parse()
    {
        return Some(number);
    }
    let name = name_of(word);
    errors.at(word, format!("`{name}` takes a whole number above 0: write `{example}`"));
    None
}

/// Parses `word = -2.5`.
pub(super) fn number(word: &Meta, example: &str, errors: &Errors) -> Option<f64> {
    let number = value_of(word).and_then(number_of).filter(|number| number.is_finite());
    if number.is_none() {
        errors.at(word, format!("`{}` takes a number: write `{example}`", name_of(word)));
    }
    number
}

/// Parses `word(name = "text", other = 3)`. The values are texts, numbers and `true` or `false`.
pub(super) fn literals(word: &Meta, example: &str, errors: &Errors) -> Vec<(Ident, Expr)> {
    let is_literal = |expr: &Expr| {
        let is_text = matches!(expr, Expr::Lit(ExprLit { lit: Lit::Str(_) | Lit::Bool(_), .. }));
        is_text || number_of(expr).is_some_and(f64::is_finite)
    };
    let literal = |pair: MetaNameValue| {
        let name = pair.path.get_ident()?.clone();
        is_literal(&pair.value).then(|| (name, literal::widened(pair.value)))
    };
    let pairs = pairs(word).into_iter().map(literal).collect::<Option<Vec<_>>>();
    let pairs = pairs.unwrap_or_default();
    if pairs.is_empty() {
        let name = name_of(word);
        errors.at(word, format!("`{name}` takes names with literal values: write `{example}`"));
    }
    for (index, (name, _)) in pairs.iter().enumerate() {
        if pairs.iter().take(index).any(|(earlier, _)| earlier == name) {
            errors.at(name, format!("duplicate name `{name}`: keep one of them"));
        }
    }
    pairs
}

/// Returns the members of `word(name = value, …)`; none if the word is written differently.
pub(super) fn pairs(word: &Meta) -> Vec<MetaNameValue> {
    let Meta::List(list) = word else { return Vec::new() };
    list.parse_args_with(Punctuated::<MetaNameValue, Token![,]>::parse_terminated)
        .map(|pairs| pairs.into_iter().collect())
        .unwrap_or_default()
}

/// Parses `word = path::to::item`.
pub(super) fn path(word: &Meta, example: &str, errors: &Errors) -> Option<Path> {
    if let Some(Expr::Path(ExprPath { qself: None, path, .. })) = value_of(word) {
        return Some(path.clone());
    }
    errors.at(word, format!("`{}` takes a path: write `{example}`", name_of(word)));
    None
}

/// Parses `word("a", "b")`.
pub(super) fn list(word: &Meta, example: &str, errors: &Errors) -> Vec<LitStr> {
    if let Meta::List(list) = word
        && let Ok(texts) = list.parse_args_with(Punctuated::<LitStr, Token![,]>::parse_terminated)
        && !texts.is_empty()
    {
        return texts.into_iter().collect();
    }
    errors.at(word, format!("`{}` takes a list of strings: write `{example}`", name_of(word)));
    Vec::new()
}

/// Parses `word(Type, path::Type)`.
pub(super) fn types(word: &Meta, example: &str, errors: &Errors) -> Vec<Type> {
    if let Meta::List(list) = word
        && let Ok(types) = list.parse_args_with(Punctuated::<Type, Token![,]>::parse_terminated)
        && !types.is_empty()
    {
        return types.into_iter().collect();
    }
    errors.at(word, format!("`{}` takes a list of types: write `{example}`", name_of(word)));
    Vec::new()
}

/// Parses `word = "5s"`; returns milliseconds.
pub(super) fn duration(word: &Meta, example: &str, errors: &Errors) -> Option<u64> {
    let literal = text(word, example, errors)?;
    let millis = millis(&literal.value());
    if millis.is_none() {
        let text = format!(
            "invalid `{}` {:?}: expected a whole number above 0 and a unit, such as \"500ms\", \"5s\", \
             \"2m\" or \"1h\"",
            name_of(word),
            literal.value()
        );
        errors.at(&literal, text);
    }
    millis
}

/// Parses `word = "10/min"`; returns the number and the length of the period in milliseconds.
pub(super) fn rate(word: &Meta, example: &str, errors: &Errors) -> Option<(u32, u64)> {
    let literal = text(word, example, errors)?;
    let rate = times_per(&literal.value());
    if rate.is_none() {
        let text = format!(
            "invalid `{}` {:?}: expected a whole number above 0 and a period, such as \"2/s\", \
             \"10/min\", \"100/h\" or \"1000/day\"",
            name_of(word),
            literal.value()
        );
        errors.at(&literal, text);
    }
    rate
}

fn name_of(word: &Meta) -> String {
    word.path().get_ident().map(ToString::to_string).unwrap_or_default()
}

fn value_of(word: &Meta) -> Option<&Expr> {
    match word {
        Meta::NameValue(pair) => {
            // A fragment of a `macro_rules!` macro is wrapped in an invisible group.
            let mut value = &pair.value;
            while let Expr::Group(group) = value {
                value = &group.expr;
            }
            Some(value)
        }
        _ => None,
    }
}

fn millis(text: &str) -> Option<u64> {
    let split = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at_checked(split)?;
    let factor = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor).filter(|millis| *millis > 0)
}

fn times_per(text: &str) -> Option<(u32, u64)> {
    let (number, period) = text.split_once('/')?;
    let millis = match period {
        "s" => 1_000,
        "min" => 60_000,
        "h" => 3_600_000,
        "day" => 86_400_000,
        _ => return None,
    };
    let digits = number.bytes().all(|byte| byte.is_ascii_digit());
    let number = number.parse().ok().filter(|number| digits && *number > 0)?;
    Some((number, millis))
}

#[cfg(test)]
mod tests {
    use super::{millis, times_per};

    #[test]
    fn durations_are_parsed_into_milliseconds() {
        for (text, expected) in [
            ("5s", Some(5_000)),
            ("500ms", Some(500)),
            ("2m", Some(120_000)),
            ("1h", Some(3_600_000)),
            ("0s", None),
            ("5", None),
            ("s", None),
            ("", None),
            ("-1s", None),
            ("1.5s", None),
            ("5 s", None),
            ("99999999999999999999h", None),
        ] {
            assert_eq!(millis(text), expected, "{text}");
        }
    }

    #[test]
    fn rates_are_parsed_into_count_and_period() {
        for (text, expected) in [
            ("2/s", Some((2, 1_000))),
            ("10/min", Some((10, 60_000))),
            ("100/h", Some((100, 3_600_000))),
            ("1000/day", Some((1_000, 86_400_000))),
            ("0/s", None),
            ("+1/s", None),
            ("10", None),
            ("10/", None),
            ("10/minute", None),
            ("/min", None),
        ] {
            assert_eq!(times_per(text), expected, "{text}");
        }
    }
}
