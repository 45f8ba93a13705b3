use syn::{Attribute, Expr, LitStr, Meta, Path};

use super::value;
use super::words::words;
use crate::errors::Errors;

const WORDS: [&str; 5] = ["rename", "description", "default", "flatten", "named"];

/// What stands in the `#[arg(…)]` of a parameter.
#[derive(Default)]
pub(crate) struct ArgAttr {
    pub(crate) rename: Option<LitStr>,
    pub(crate) description: Option<LitStr>,
    /// What the argument is when it is left out: the type's own default where no value stands.
    pub(crate) default: Option<Option<Expr>>,
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

    /// Whether it has a word that is of one argument alone.
    pub(crate) fn says_something(&self) -> bool {
        self.rename.is_some() || self.description.is_some() || self.default.is_some()
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
