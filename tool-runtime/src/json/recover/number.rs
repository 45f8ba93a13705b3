//! Spellings of numbers: those that can mean one thing only, and those that are refused.

use std::borrow::Cow;

/// What a word that begins like a number is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Form<'t> {
    /// As JSON writes it.
    Json,
    /// Another spelling, and JSON's.
    Other(Cow<'t, str>),
    /// Zeros before it.
    Zeros(Cow<'t, str>),
    /// A date, a time or an id.
    Text,
    /// It may mean several things, or nothing; what to send instead.
    Unclear(&'static str),
}

const LETTERS: &str = "there are letters in this number: put text into quotes";
pub(super) const LOCAL: &str = "this number can be read in two ways: write it without separators of thousands, and with a point";
const SUM: &str = "this is a calculation: write its result, or put text into quotes";
const BROKEN: &str = "this number is not complete";
const INFINITE: &str = "JSON has no such number: leave it out, or put text into quotes";

/// What `word`, which begins with a digit, a sign or a point, is.
pub(super) fn form(word: &str) -> Form<'_> {
    let signless = word.strip_prefix(['+', '-']).unwrap_or(word);
    if matches!(signless, "Infinity" | "infinity" | "inf" | "Inf" | "NaN" | "nan") {
        return Form::Unclear(INFINITE);
    }
    let Some(parts) = Parts::of(signless) else {
        return odd(signless);
    };
    if parts.exponent.is_some_and(str::is_empty)
        || parts.whole.is_empty() && parts.fraction == Some("")
    {
        return Form::Unclear(BROKEN);
    }
    let has_underscore = signless.contains('_');
    let has_zeros = parts.whole.len() > 1 && parts.whole.starts_with('0');
    let is_json = !word.starts_with('+')
        && !has_underscore
        && !parts.whole.is_empty()
        && parts.fraction != Some("");
    if is_json && !has_zeros {
        return Form::Json;
    }
    let whole = parts.whole.trim_start_matches(['0', '_']);
    let mut json = String::from(if word.starts_with('-') { "-" } else { "" });
    json.push_str(if whole.is_empty() { "0" } else { whole });
    if let Some(fraction) = parts.fraction {
        json.push('.');
        json.push_str(if fraction.is_empty() { "0" } else { fraction });
    }
    if let Some(exponent) = parts.exponent {
        json.push('e');
        json.push_str(exponent);
    }
    json.retain(|c| c != '_');
    if has_zeros { Form::Zeros(json.into()) } else { Form::Other(json.into()) }
}

/// `12.5e-3` in parts; each may be missing, and underscores stand between digits only.
struct Parts<'t> {
    whole: &'t str,
    fraction: Option<&'t str>,
    exponent: Option<&'t str>,
}

impl<'t> Parts<'t> {
    fn of(word: &'t str) -> Option<Self> {
        let (mantissa, exponent) = match word.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, Some(exponent)),
            None => (word, None),
        };
        let (whole, fraction) = match mantissa.split_once('.') {
            Some((whole, fraction)) => (whole, Some(fraction)),
            None => (mantissa, None),
        };
        let exponent_digits = exponent.map(|text| text.strip_prefix(['+', '-']).unwrap_or(text));
        let all = [Some(whole), fraction, exponent_digits];
        // A sign alone is no exponent.
        let exponent = if exponent_digits == Some("") { Some("") } else { exponent };
        let is_any = !whole.is_empty() || fraction.is_some();
        (is_any && all.into_iter().flatten().all(are_digits)).then_some(Self {
            whole,
            fraction,
            exponent,
        })
    }
}

fn are_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_')
        && !text.starts_with('_')
        && !text.ends_with('_')
        && !text.contains("__")
}

fn odd(word: &str) -> Form<'_> {
    if word.is_empty() {
        return Form::Unclear(BROKEN);
    }
    if is_date(word) || is_time(word) || is_uuid(word) || is_address(word) || is_version(word) {
        return Form::Text;
    }
    Form::Unclear(if word.contains(char::is_alphabetic) {
        LETTERS
    } else if word.contains(['+', '-', '*', '/', '%', '^', '(']) {
        SUM
    } else {
        LOCAL
    })
}

/// Whether `text` is made as `pattern`, in which 9 stands for a digit and x for one of base 16;
/// what follows it in `text` comes out.
fn behind<'t>(text: &'t str, pattern: &str) -> Option<&'t str> {
    let is_as = |(byte, sample): (u8, u8)| match sample {
        b'9' => byte.is_ascii_digit(),
        b'x' => byte.is_ascii_hexdigit(),
        sample => byte == sample,
    };
    let fits = text.len() >= pattern.len() && text.bytes().zip(pattern.bytes()).all(is_as);
    fits.then(|| text.get(pattern.len()..)).flatten()
}

fn is_date(word: &str) -> bool {
    behind(word, "9999-99-99").is_some_and(|rest| {
        let Some(time) = rest.strip_prefix(['T', 't', ' ']) else { return rest.is_empty() };
        is_time(time)
    })
}

/// `18:35`, `18:35:22.229Z`, `18:35+02:00`.
fn is_time(word: &str) -> bool {
    let rest = behind(word, "99:99").or_else(|| behind(word, "9:99"));
    rest.is_some_and(|rest| {
        rest.bytes().all(|byte| byte.is_ascii_digit() || b":.+-Z".contains(&byte))
    })
}

fn is_uuid(word: &str) -> bool {
    behind(word, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx") == Some("")
}

/// Numbers and two points or more, as nobody writes thousands: `1.10.2`, `24.12.2025`.
fn is_version(word: &str) -> bool {
    let mut parts = word.split('.');
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let is_any = word.matches('.').count() > 1 && word.split('.').all(is_number);
    is_any && parts.next().is_some() && parts.any(|part| part.len() != 3)
}

/// Four numbers and three points.
fn is_address(word: &str) -> bool {
    let is_part = |part: &str| part.parse::<u8>().is_ok() && part.len() <= 3;
    word.split('.').count() == 4 && word.split('.').all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_numbers() {
        for (word, json) in [
            ("+1", "1"),
            (".5", "0.5"),
            ("-.5", "-0.5"),
            ("+.5", "0.5"),
            ("5.", "5.0"),
            ("-5.", "-5.0"),
            ("1_000", "1000"),
            ("1_000.5", "1000.5"),
            (".5e2", "0.5e2"),
        ] {
            assert_eq!(form(word), Form::Other(json.into()), "{word}");
        }
        for word in ["0", "-1", "1.50", "1e5", "2300e+3", "-0"] {
            assert_eq!(form(word), Form::Json, "{word}");
        }
        for (word, json) in [("007", "7"), ("-05", "-5"), ("001.2", "1.2"), ("00", "0")] {
            assert_eq!(form(word), Form::Zeros(json.into()), "{word}");
        }
    }

    #[test]
    fn what_is_no_number() {
        for word in [
            "2024-10-18",
            "2024-10-18T18:35:22.229Z",
            "12:30",
            "57eeeeb1-450b-482c-81b9-4be77e95dee2",
            "192.168.1.1",
            "1.10.2",
            "24.12.2025",
        ] {
            assert_eq!(form(word), Form::Text, "{word}");
        }
        for (word, why) in [
            ("12a4", LETTERS),
            ("0x1F", LETTERS),
            ("1.234,56", LOCAL),
            ("1.234.567", LOCAL),
            ("1__0", LOCAL),
            ("1/3", SUM),
            ("10-20", SUM),
            ("2e", BROKEN),
            ("2e+", BROKEN),
            ("-", BROKEN),
            (".", BROKEN),
            ("-Infinity", INFINITE),
            ("+NaN", INFINITE),
        ] {
            assert_eq!(form(word), Form::Unclear(why), "{word}");
        }
    }
}
