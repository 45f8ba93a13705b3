//! A list of words, each of which stands there once.

use proc_macro2::TokenStream;
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Lit, Meta, Token};

use crate::errors::Errors;

/// What `effect` may be; often written as words of their own.
pub(super) const EFFECTS: [&str; 4] = ["none", "read", "write", "external"];

/// Below this likeness (0 to 1) a word is not what was meant.
const LIKE: f64 = 0.5;

/// Reads the words in `#[attribute(…)]`: those that are known, and the first of each.
pub(super) fn words(
    attribute: &str,
    tokens: TokenStream,
    known: &[&str],
    errors: &Errors,
) -> Vec<(String, Meta)> {
    let entries = match Punctuated::<Entry, Token![,]>::parse_terminated.parse2(tokens) {
        Ok(entries) => entries,
        Err(error) => {
            errors.push(error);
            return Vec::new();
        }
    };
    let mut read: Vec<(String, Meta)> = Vec::new();
    for entry in entries {
        let word = match entry {
            Entry::Word(word) => word,
            Entry::Value(value) => {
                errors.at(&value, without_word(attribute, &value));
                continue;
            }
        };
        let name = word.path().get_ident().map(ToString::to_string).unwrap_or_default();
        if !known.contains(&name.as_str()) {
            errors.at(word.path(), unknown(attribute, &name, known));
        } else if read.iter().any(|(earlier, _)| *earlier == name) {
            errors.at(word.path(), format!("`{name}` is given twice: keep one of them"));
        } else {
            read.push((name, word));
        }
    }
    read
}

/// What stands between two commas.
enum Entry {
    Word(Meta),
    /// A value, whose word is missing.
    Value(Lit),
}

impl Parse for Entry {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        if input.peek(Lit) { input.parse().map(Self::Value) } else { input.parse().map(Self::Word) }
    }
}

/// What to write where a value stands alone.
fn without_word(attribute: &str, value: &Lit) -> String {
    match (attribute, value) {
        ("tool", Lit::Str(text)) if EFFECTS.contains(&text.value().as_str()) => {
            format!("`#[tool]` takes words: write `effect = \"{}\"`", text.value())
        }
        ("tool", _) => "`#[tool]` takes words, such as `effect = \"read\"`: \
                        say what the tool does by `/// …` above it"
            .to_owned(),
        _ => format!("`#[{attribute}]` takes words: write `default = …` or `description = \"…\"`"),
    }
}

fn unknown(attribute: &str, name: &str, known: &[&str]) -> String {
    if attribute == "tool" && EFFECTS.contains(&name) {
        return format!("`#[tool]` has no word `{name}`: write `effect = \"{name}\"`");
    }
    match nearest(name, known) {
        Some(word) => format!("`#[{attribute}]` has no word `{name}`: did you mean `{word}`?"),
        None => {
            let known: Vec<_> = known.iter().map(|word| format!("`{word}`")).collect();
            format!("`#[{attribute}]` has no word `{name}`: it knows {}", known.join(", "))
        }
    }
}

/// The known word that was probably meant.
pub(super) fn nearest<'a>(written: &str, known: &[&'a str]) -> Option<&'a str> {
    let likeness = |word: &str| strsim::normalized_damerau_levenshtein(written, word);
    let best = known.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)))?;
    (likeness(best) >= LIKE).then_some(best)
}
