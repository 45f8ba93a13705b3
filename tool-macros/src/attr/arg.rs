use syn::{Attribute, Expr, LitStr, Meta, Path};

use super::bounds::{BoundKind, Bounds};
use super::value;
use super::words::parse_words;
use crate::errors::Errors;

const WORDS: [&str; 8] =
    ["rename", "description", "default", "range", "length", "secret", "flatten", "named"];

/// The parsed `#[arg(…)]` of a parameter.
#[derive(Default)]
pub(crate) struct ArgAttr {
    pub(crate) rename: Option<LitStr>,
    pub(crate) description: Option<LitStr>,
    /// The default: `Some(None)` is that of the type.
    pub(crate) default: Option<Option<Expr>>,
    pub(crate) range: Option<Bounds>,
    pub(crate) length: Option<Bounds>,
    pub(crate) secret: bool,
    pub(crate) lone: Option<(Path, LoneParameter)>,
}

/// Whether the only parameter is the args struct, if the user says so.
#[derive(Clone, Copy)]
pub(crate) enum LoneParameter {
    /// The parameter is the args struct (`flatten`).
    ArgsStruct,
    /// The parameter is a named argument (`named`).
    Named,
}

impl ArgAttr {
    /// Parses and removes all `#[arg(…)]` of a parameter.
    pub(crate) fn take(attrs: &mut Vec<Attribute>, errors: &Errors) -> Self {
        let mut arg = Self::default();
        attrs.retain(|attr| {
            if !attr.path().is_ident("arg") {
                return true;
            }
            match &attr.meta {
                Meta::List(list) => {
                    for (name, word) in parse_words("arg", list.tokens.clone(), &WORDS, errors) {
                        arg.set(&name, &word, errors);
                    }
                }
                other => errors
                    .at(other, "`#[arg]` has no arguments: write them in parentheses, such as `#[arg(default = 3)]`"),
            }
            false
        });
        arg
    }

    /// Parses and removes all `#[arg(…)]` of a field of an args struct.
    pub(crate) fn take_of_field(attrs: &mut Vec<Attribute>, errors: &Errors) -> Self {
        let arg = Self::take(attrs, errors);
        if let Some((word, _)) = &arg.lone {
            errors.at(
                word,
                "`flatten` and `named` describe a parameter: on a field, write \
                 `#[serde(flatten)]` or remove the word",
            );
        }
        arg
    }

    /// Whether it has a word that describes a single argument.
    pub(crate) fn describes_argument(&self) -> bool {
        let Self { rename, description, default, range, length, secret, lone: _ } = self;
        let has_rule = range.is_some() || length.is_some();
        rename.is_some() || description.is_some() || default.is_some() || has_rule || *secret
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
                Meta::List(_) => {
                    errors.at(word, "`default` takes no list: write `default`, or `default = 3`");
                }
            },
            "range" => self.range = Bounds::parse(word, BoundKind::Number, errors),
            "length" => self.length = Bounds::parse(word, BoundKind::Count, errors),
            "secret" => {
                value::flag(word, errors);
                self.secret = true;
            }
            _ => {
                value::flag(word, errors);
                let lone = match name {
                    "flatten" => LoneParameter::ArgsStruct,
                    _ => LoneParameter::Named,
                };
                if self.lone.is_some() {
                    errors.at(word, "`flatten` and `named` contradict each other: keep one");
                }
                self.lone = Some((word.path().clone(), lone));
            }
        }
    }
}
