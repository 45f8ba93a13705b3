use proc_macro2::TokenStream;
use syn::{Expr, Ident, LitStr, Meta, Path, Type};

use super::value;
use super::words::{EFFECTS, parse_words};
use crate::errors::Errors;
use crate::path::Runtime;

/// All words, in the order in which error messages list them.
const WORDS: [&str; 26] = [
    "name",
    "title",
    "description",
    "version",
    "effect",
    "idempotent",
    "reattaches",
    "pure",
    "sequential",
    "blocking",
    "timeout",
    "max_retries",
    "rate_limit",
    "permission",
    "check",
    "requires",
    "extensions",
    "repair",
    "cli",
    "available",
    "weight",
    "hidden",
    "disabled",
    "always",
    "overrides",
    "crate",
];

/// A word with its location and its value.
pub(crate) struct Word<T> {
    pub(crate) at: Path,
    pub(crate) value: T,
}

/// The parsed words of `#[tool(…)]`.
#[derive(Default)]
pub(crate) struct ToolAttr {
    pub(crate) name: Option<Word<LitStr>>,
    pub(crate) title: Option<Word<LitStr>>,
    pub(crate) description: Option<Word<LitStr>>,
    pub(crate) version: Option<Word<LitStr>>,
    pub(crate) effect: Option<Word<&'static str>>,
    pub(crate) idempotent: Option<Word<()>>,
    pub(crate) reattaches: Option<Word<()>>,
    pub(crate) pure: Option<Word<()>>,
    pub(crate) sequential: Option<Word<()>>,
    pub(crate) blocking: Option<Word<()>>,
    /// In milliseconds.
    pub(crate) timeout: Option<Word<u64>>,
    pub(crate) max_retries: Option<Word<u32>>,
    /// The number of calls, and the length of the period in milliseconds.
    pub(crate) rate_limit: Option<Word<(u32, u64)>>,
    pub(crate) permission: Option<Word<&'static str>>,
    pub(crate) check: Option<Word<Path>>,
    pub(crate) requires: Option<Word<Vec<LitStr>>>,
    pub(crate) extensions: Option<Word<Vec<Type>>>,
    pub(crate) repair: Option<Word<&'static str>>,
    pub(crate) cli: Option<Word<LitStr>>,
    pub(crate) available: Option<Word<Path>>,
    pub(crate) weight: Option<Word<f64>>,
    pub(crate) hidden: Option<Word<()>>,
    pub(crate) disabled: Option<Word<()>>,
    pub(crate) always: Option<Word<()>>,
    /// The names and the literals.
    pub(crate) overrides: Option<Word<Vec<(Ident, Expr)>>>,
    pub(crate) runtime: Runtime,
}

impl ToolAttr {
    pub(crate) fn parse(tokens: TokenStream, errors: &Errors) -> Self {
        let mut attr = Self::default();
        for (name, word) in parse_words("tool", tokens, &WORDS, errors) {
            attr.set(&name, &word, errors);
        }
        attr
    }

    fn set(&mut self, name: &str, word: &Meta, errors: &Errors) {
        let at = || word.path().clone();
        let flag = || {
            value::flag(word, errors);
            Some(Word { at: at(), value: () })
        };
        let text =
            |example| value::text(word, example, errors).map(|value| Word { at: at(), value });
        let choice = |example, choices| {
            value::choice(word, example, choices, errors).map(|value| Word { at: at(), value })
        };
        match name {
            "name" => self.name = text("name = \"get_weather\""),
            "title" => self.title = text("title = \"Weather\""),
            "description" => self.description = text("description = \"What it does.\""),
            "version" => self.version = text("version = \"2\""),
            "effect" => {
                self.effect = choice("effect = \"read\"", &EFFECTS[..]);
            }
            "idempotent" => self.idempotent = flag(),
            "reattaches" => self.reattaches = flag(),
            "pure" => self.pure = flag(),
            "sequential" => self.sequential = flag(),
            "blocking" => self.blocking = flag(),
            "timeout" => {
                self.timeout = value::duration(word, "timeout = \"5s\"", errors)
                    .map(|value| Word { at: at(), value });
            }
            "max_retries" => {
                self.max_retries = value::count(word, "max_retries = 3", errors)
                    .map(|value| Word { at: at(), value });
            }
            "rate_limit" => {
                self.rate_limit = value::rate(word, "rate_limit = \"10/min\"", errors)
                    .map(|value| Word { at: at(), value });
            }
            "permission" => {
                self.permission = choice("permission = \"ask\"", &["allow", "ask", "deny"][..]);
            }
            "check" => {
                self.check = value::path(word, "check = check_transfer", errors)
                    .map(|value| Word { at: at(), value });
            }
            "requires" => {
                let value = value::list(word, "requires(\"filesystem\", \"network\")", errors);
                self.requires = Some(Word { at: at(), value });
            }
            "extensions" => {
                let value = value::types(word, "extensions(Database, Settings)", errors);
                self.extensions = Some(Word { at: at(), value });
            }
            "repair" => {
                self.repair =
                    choice("repair = \"lossless\"", &["none", "lossless", "inferred", "lossy"][..]);
            }
            "cli" => self.cli = text("cli = \"git\""),
            "available" => {
                self.available = value::path(word, "available = is_online", errors)
                    .map(|value| Word { at: at(), value });
            }
            "weight" => {
                self.weight = value::number(word, "weight = 2.5", errors)
                    .map(|value| Word { at: at(), value });
            }
            "hidden" => self.hidden = flag(),
            "disabled" => self.disabled = flag(),
            "always" => self.always = flag(),
            "overrides" => {
                let value = value::literals(word, "overrides(group = \"files\", rank = 3)", errors);
                self.overrides = Some(Word { at: at(), value });
            }
            _ => {
                if let Some(path) = value::path(word, "crate = my::tool_runtime", errors) {
                    self.runtime = Runtime::at(path);
                }
            }
        }
    }
}
