use syn::{Attribute, Expr, LitStr, Meta, Path};

use super::value;
use super::words::words;
use crate::errors::Errors;

const WORDS: [&str; 6] = ["rename", "description", "default", "secret", "flatten", "named"];

/// What stands in the `#[arg(…)]` of a parameter.
#[derive(Default)]
pub(crate) struct ArgAttr {
    pub(crate) rename: Option<LitStr>,
    pub(crate) description: Option<LitStr>,
    /// What the argument is when it is left out: the type's own default where no value stands.
    pub(crate) default: Option<Option<Expr>>,
    pub(crate) secret: bool,
    pub(crate) lone: Option<(Path, Lone)>,
}

/// What a lone parameter is, whatever its type.
#[derive(Clone, Copy)]
pub(crate) enum Lone {
    /// The args struct.
    Whole,
    /// One named argument.
    Named,
}

impl ArgAttr {
    /// Reads all `#[arg(…)]` of a parameter and takes them off it.
    pub(crate) fn take(attrs: &mut Vec<Attribute>, errors: &Errors) -> Self {
        let mut arg = Self::default();
        attrs.retain(|attr| {
            if !attr.path().is_ident("arg") {
                return true;
            }
            match &attr.meta {
                Meta::List(list) => {
                    for (name, word) in words("arg", list.tokens.clone(), &WORDS, errors) {
                        arg.set(&name, &word, errors);
                    }
                }
                other => errors.at(other, "say what about it: `#[arg(default = 3)]`"),
            }
            false
        });
        arg
    }

    /// Reads all `#[arg(…)]` of a field of an args struct, where one word has a meaning, and takes them
    /// off it; whether that word is there.
    pub(crate) fn take_secret(attrs: &mut Vec<Attribute>, errors: &Errors) -> bool {
        let theirs: Vec<_> =
            attrs.iter().filter(|attr| attr.path().is_ident("arg")).cloned().collect();
        let arg = Self::take(attrs, errors);
        let is_secret = arg.secret;
        let says_more = arg.lone.is_some() || Self { secret: false, ..arg }.says_something();
        if let (true, Some(attr)) = (says_more, theirs.first()) {
            errors.at(
                attr,
                "on a field it is `#[arg(secret)]` alone: names and defaults are told to `#[serde(…)]`, \
                 descriptions are doc comments",
            );
        }
        is_secret
    }

    /// Whether it has a word that is of one argument alone.
    pub(crate) fn says_something(&self) -> bool {
        let Self { rename, description, default, secret, lone: _ } = self;
        rename.is_some() || description.is_some() || default.is_some() || *secret
    }

    fn set(&mut self, name: &str, word: &Meta, errors: &Errors) {
        match name {
            "rename" => self.rename = value::text(word, "rename = \"type\"", errors),
            "description" => {
                self.description = value::text(word, "description = \"What it is.\"", errors);
            }
            "default" => match word {
                Meta::Path(_) => self.default = Some(None),
                Meta::NameValue(pair) => self.default = Some(Some(pair.value.clone())),
                Meta::List(_) => errors.at(word, "write `default`, or `default = 3`"),
            },
            "secret" => {
                value::flag(word, errors);
                self.secret = true;
            }
            _ => {
                value::flag(word, errors);
                let lone = if name == "flatten" { Lone::Whole } else { Lone::Named };
                if self.lone.is_some() {
                    errors.at(word, "`flatten` and `named` contradict each other: keep one");
                }
                self.lone = Some((word.path().clone(), lone));
            }
        }
    }
}
