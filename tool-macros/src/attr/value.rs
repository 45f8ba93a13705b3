//! What stands behind a word.

use syn::punctuated::Punctuated;
use syn::{Expr, ExprLit, ExprPath, Lit, LitStr, Meta, Path, Token, Type};

use super::words::nearest;
use crate::errors::Errors;

/// Nothing.
pub(super) fn flag(word: &Meta, errors: &Errors) {
    if let Meta::List(_) | Meta::NameValue(_) = word {
        let name = word.path().get_ident().map(ToString::to_string).unwrap_or_default();
        errors.at(word, format!("`{name}` takes no value: write it alone"));
    }
}

/// `word = "text"`
pub(super) fn text(word: &Meta, example: &str, errors: &Errors) -> Option<LitStr> {
    if let Some(Expr::Lit(ExprLit { lit: Lit::Str(text), .. })) = right_of(word) {
        return Some(text.clone());
    }
    errors.at(word, format!("this takes a text: `{example}`"));
    None
}

/// `word = "choice"`
pub(super) fn choice(
    word: &Meta,
    example: &str,
    choices: &[&'static str],
    errors: &Errors,
) -> Option<&'static str> {
    let written = text(word, example, errors)?;
    let chosen = choices.iter().find(|choice| written.value() == **choice).copied();
    if chosen.is_none() {
        let hint = nearest(&written.value(), choices)
            .map(|choice| format!(" (did you mean \"{choice}\"?)"))
            .unwrap_or_default();
        let choices: Vec<_> = choices.iter().map(|choice| format!("\"{choice}\"")).collect();
        let name = word.path().get_ident().map(ToString::to_string).unwrap_or_default();
        errors.at(&written, format!("`{name}` is one of {}{hint}", choices.join(", ")));
    }
    chosen
}

/// `word = 3`
pub(super) fn count(word: &Meta, example: &str, errors: &Errors) -> Option<u32> {
    if let Some(Expr::Lit(ExprLit { lit: Lit::Int(number), .. })) = right_of(word)
        && let Ok(number @ 1..) = number.base10_parse()
    {
        return Some(number);
    }
    errors.at(word, format!("this takes a whole number above 0: `{example}`"));
    None
}

/// `word = path::to::it`
pub(super) fn path(word: &Meta, example: &str, errors: &Errors) -> Option<Path> {
    if let Some(Expr::Path(ExprPath { qself: None, path, .. })) = right_of(word) {
        return Some(path.clone());
    }
    errors.at(word, format!("this takes a path: `{example}`"));
    None
}

/// `word("a", "b")`
pub(super) fn list(word: &Meta, example: &str, errors: &Errors) -> Vec<LitStr> {
    if let Meta::List(list) = word
        && let Ok(texts) = list.parse_args_with(Punctuated::<LitStr, Token![,]>::parse_terminated)
        && !texts.is_empty()
    {
        return texts.into_iter().collect();
    }
    errors.at(word, format!("this takes a list of texts: `{example}`"));
    Vec::new()
}

/// `word(Type, path::Type)`
pub(super) fn types(word: &Meta, example: &str, errors: &Errors) -> Vec<Type> {
    if let Meta::List(list) = word
        && let Ok(types) = list.parse_args_with(Punctuated::<Type, Token![,]>::parse_terminated)
        && !types.is_empty()
    {
        return types.into_iter().collect();
    }
    errors.at(word, format!("this takes a list of types: `{example}`"));
    Vec::new()
}

/// `word = "5s"`, in milliseconds.
pub(super) fn duration(word: &Meta, example: &str, errors: &Errors) -> Option<u64> {
    let written = text(word, example, errors)?;
    let read = millis(&written.value());
    if read.is_none() {
        errors.at(
            &written,
            "this is a whole number above 0 and a unit: \"500ms\", \"5s\", \"2m\" or \"1h\"",
        );
    }
    read
}

/// `word = "10/min"`: how often, and in how many milliseconds.
pub(super) fn rate(word: &Meta, example: &str, errors: &Errors) -> Option<(u32, u64)> {
    let written = text(word, example, errors)?;
    let read = times_per(&written.value());
    if read.is_none() {
        errors.at(
            &written,
            "this is a whole number above 0 and a span: \"2/s\", \"10/min\", \"100/h\" or \"1000/day\"",
        );
    }
    read
}

fn right_of(word: &Meta) -> Option<&Expr> {
    match word {
        Meta::NameValue(pair) => {
            // What a `macro_rules!` hands on comes in an invisible group.
            let mut value = &pair.value;
            while let Expr::Group(group) = value {
                value = &group.expr;
            }
            Some(value)
        }
        _ => None,
    }
}

fn millis(written: &str) -> Option<u64> {
    let split = written.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = written.split_at_checked(split)?;
    let factor = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor).filter(|millis| *millis > 0)
}

fn times_per(written: &str) -> Option<(u32, u64)> {
    let (number, span) = written.split_once('/')?;
    let millis = match span {
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
    fn durations() {
        for (written, expected) in [
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
            assert_eq!(millis(written), expected, "{written}");
        }
    }

    #[test]
    fn rates() {
        for (written, expected) in [
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
            assert_eq!(times_per(written), expected, "{written}");
        }
    }
}
