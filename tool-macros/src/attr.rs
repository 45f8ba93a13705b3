//! The grammar of `#[tool(…)]`.

use proc_macro2::TokenStream;
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::{Expr, ExprLit, ExprPath, Lit, LitStr, Meta, Token};

use crate::errors::Errors;
use crate::path::Runtime;

/// Every word, in the order in which they are listed to the user.
const WORDS: [&str; 6] = ["name", "description", "effect", "idempotent", "timeout", "crate"];

const EFFECTS: [&str; 4] = ["none", "read", "write", "external"];

/// What stands in `#[tool(…)]`.
#[derive(Default)]
pub(crate) struct ToolAttr {
    pub(crate) name: Option<LitStr>,
    pub(crate) description: Option<LitStr>,
    pub(crate) effect: Option<LitStr>,
    pub(crate) idempotent: bool,
    /// In milliseconds.
    pub(crate) timeout: Option<u64>,
    pub(crate) runtime: Runtime,
}

impl ToolAttr {
    pub(crate) fn parse(tokens: TokenStream, errors: &Errors) -> Self {
        let mut attr = Self::default();
        let words = match Punctuated::<Meta, Token![,]>::parse_terminated.parse2(tokens) {
            Ok(words) => words,
            Err(error) => {
                errors.push(error);
                return attr;
            }
        };
        let mut seen: Vec<String> = Vec::new();
        for word in &words {
            let name = word.path().get_ident().map(ToString::to_string).unwrap_or_default();
            if !WORDS.contains(&name.as_str()) {
                errors.at(word.path(), unknown(&name));
            } else if seen.contains(&name) {
                errors.at(word.path(), format!("`{name}` is given twice: keep one of them"));
            } else {
                attr.set(&name, word, errors);
                seen.push(name);
            }
        }
        attr
    }

    fn set(&mut self, name: &str, word: &Meta, errors: &Errors) {
        match name {
            "name" => self.name = text(word, "name = \"get_weather\"", errors),
            "description" => {
                self.description = text(word, "description = \"What it does.\"", errors);
            }
            "effect" => {
                self.effect = text(word, "effect = \"read\"", errors).filter(|effect| {
                    let known = EFFECTS.contains(&effect.value().as_str());
                    if !known {
                        errors.at(effect, one_of("effect", &effect.value(), &EFFECTS));
                    }
                    known
                });
            }
            "idempotent" => {
                self.idempotent = true;
                if let Err(error) = word.require_path_only() {
                    errors.at(word, "`idempotent` takes no value: write it alone");
                    drop(error);
                }
            }
            "timeout" => {
                let written = text(word, "timeout = \"5s\"", errors);
                self.timeout = written.and_then(|written| {
                    let millis = millis(&written.value());
                    if millis.is_none() {
                        errors.at(
                            &written,
                            "`timeout` is a whole number above 0 and a unit: \"500ms\", \"5s\", \"2m\" or \"1h\"",
                        );
                    }
                    millis
                });
            }
            _ => match word {
                Meta::NameValue(pair) => match &pair.value {
                    Expr::Path(ExprPath { qself: None, path, .. }) => {
                        self.runtime = Runtime::at(path.clone());
                    }
                    other => errors.at(other, "`crate` is a path: `crate = my::tool_runtime`"),
                },
                other => errors.at(other, "`crate` is a path: `crate = my::tool_runtime`"),
            },
        }
    }
}

/// The text after `word =`.
fn text(word: &Meta, example: &str, errors: &Errors) -> Option<LitStr> {
    if let Meta::NameValue(pair) = word
        && let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = &pair.value
    {
        return Some(text.clone());
    }
    errors.at(word, format!("this takes a text: `{example}`"));
    None
}

fn unknown(name: &str) -> String {
    match nearest(name, &WORDS) {
        Some(word) => format!("`#[tool]` has no word `{name}`: did you mean `{word}`?"),
        None => {
            let words = WORDS.map(|word| format!("`{word}`")).join(", ");
            format!("`#[tool]` has no word `{name}`: it knows {words}")
        }
    }
}

fn one_of(word: &str, value: &str, choices: &[&str]) -> String {
    let hint = nearest(value, choices)
        .map(|choice| format!(" (did you mean \"{choice}\"?)"))
        .unwrap_or_default();
    let choices: Vec<_> = choices.iter().map(|choice| format!("\"{choice}\"")).collect();
    format!("`{word}` is one of {}{hint}", choices.join(", "))
}

fn nearest<'a>(written: &str, known: &[&'a str]) -> Option<&'a str> {
    let likeness = |word: &str| strsim::normalized_damerau_levenshtein(written, word);
    let best = known.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)))?;
    (likeness(best) >= 0.5).then_some(best)
}

/// `"5s"` in milliseconds.
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

#[cfg(test)]
mod tests {
    use super::millis;

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
            ("-1s", None),
            ("1.5s", None),
            ("5 s", None),
            ("99999999999999999999h", None),
        ] {
            assert_eq!(millis(written), expected, "{written}");
        }
    }
}
