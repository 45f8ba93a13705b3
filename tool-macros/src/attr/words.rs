//! Parses the list of words of an attribute. Each word can occur once.

use proc_macro2::TokenStream;
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Lit, Meta, Token};

use crate::errors::Errors;

/// The values of `effect`, which users often write as separate words.
pub(super) const EFFECTS: [&str; 4] = ["none", "read", "write", "external"];

/// The minimum similarity (0 to 1) of a suggestion.
const MIN_SIMILARITY: f64 = 0.5;

/// Parses the words of `#[attribute(…)]`. Unknown and repeated words are reported and left out.
pub(super) fn parse_words(
    attribute: &str,
    tokens: TokenStream,
    known: &[&str],
    errors: &Errors,
) -> Vec<(String, Meta)> {
    let entries = match Punctuated::<AttributeEntry, Token![,]>::parse_terminated.parse2(tokens) {
        Ok(entries) => entries,
        Err(error) => {
            errors.push(error);
            return Vec::new();
        }
    };
    let mut words: Vec<(String, Meta)> = Vec::new();
    for entry in entries {
        let word = match entry {
            AttributeEntry::Word(word) => word,
            AttributeEntry::Value(value) => {
                errors.at(&value, value_without_word(attribute, &value));
                continue;
            }
        };
        let name = word.path().get_ident().map(ToString::to_string).unwrap_or_default();
        if !known.contains(&name.as_str()) {
            errors.at(word.path(), unknown_word(attribute, &name, known));
        } else if words.iter().any(|(earlier, _)| *earlier == name) {
            errors.at(word.path(), format!("duplicate argument `{name}`: keep one of them"));
        } else {
            words.push((name, word));
        }
    }
    words
}

/// An entry of the list.
enum AttributeEntry {
    Word(Meta),
    /// A value without its word.
    Value(Lit),
}

impl Parse for AttributeEntry {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        if input.peek(Lit) { input.parse().map(Self::Value) } else { input.parse().map(Self::Word) }
    }
}

/// Returns the error for a value without its word.
fn value_without_word(attribute: &str, value: &Lit) -> String {
    match (attribute, value) {
        ("tool", Lit::Str(text)) if EFFECTS.contains(&text.value().as_str()) => {
            format!("`#[tool]` takes named arguments: write `effect = \"{}\"`", text.value())
        }
        ("tool", _) => "`#[tool]` takes named arguments, such as `effect = \"read\"`: \
                        write the description as a doc comment, `/// …`"
            .to_owned(),
        _ => format!(
            "`#[{attribute}]` takes named arguments: write `default = …` or `description = \"…\"`"
        ),
    }
}

/// Returns the error for an unknown word.
fn unknown_word(attribute: &str, name: &str, known: &[&str]) -> String {
    if attribute == "tool" && EFFECTS.contains(&name) {
        return format!("`#[tool]` has no argument `{name}`: write `effect = \"{name}\"`");
    }
    match nearest(name, known) {
        Some(word) => format!("`#[{attribute}]` has no argument `{name}`: did you mean `{word}`?"),
        None => {
            let known: Vec<_> = known.iter().map(|word| format!("`{word}`")).collect();
            format!(
                "`#[{attribute}]` has no argument `{name}`: the arguments are {}",
                known.join(", ")
            )
        }
    }
}

/// Returns the known word that is most similar, if any is similar enough.
pub(super) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let similarity = |known: &str| strsim::normalized_damerau_levenshtein(word, known);
    let best = known.iter().max_by(|a, b| similarity(a).total_cmp(&similarity(b)))?;
    (similarity(best) >= MIN_SIMILARITY).then_some(best)
}
