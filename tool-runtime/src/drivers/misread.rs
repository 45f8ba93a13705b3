//! A reply that can't be read.

use crate::models::ChatReply;

/// A reply in which no call and no answer can be found, or one that can't be meant.
///
/// The model is told what is wrong and asked again, [as often as the driver
/// has it](super::Driver::attempts).
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{}: {}", .kind.words(), self.why())]
#[non_exhaustive]
pub struct Misread {
    /// What is wrong with it.
    pub kind: MisreadKind,
    /// What the model said.
    pub said: Box<ChatReply>,
    /// What it is told: what is wrong, and what to say instead.
    pub told: String,
    /// What is taken where it can't be asked again; the run ends if there is nothing.
    pub otherwise: Option<Box<ChatReply>>,
}

/// What is wrong with a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MisreadKind {
    /// Nothing in it is what was asked for.
    Extraction,
    /// It is what was asked for, and names a tool that there is not, or arguments that the tool doesn't take.
    Validation,
}

impl MisreadKind {
    fn words(self) -> &'static str {
        match self {
            Self::Extraction => "no decision can be read out of the model's reply",
            Self::Validation => "what the model decided can't be done",
        }
    }
}

/// As much of what the model said as an error shows, in characters.
const SHOWN: usize = 300;

impl Misread {
    /// For whoever runs the model: where it named something wrong, that; or else what it said.
    fn why(&self) -> String {
        if self.kind == MisreadKind::Validation {
            return self.told.clone();
        }
        let said = self.said.words();
        let shown: String = said.chars().take(SHOWN).collect();
        let more = if shown.len() < said.len() { "…" } else { "" };
        format!("{shown:?}{more}")
    }

    /// Nothing in `said` is what was asked for.
    pub fn unreadable(said: ChatReply, told: impl Into<String>) -> Self {
        let (kind, said) = (MisreadKind::Extraction, Box::new(said));
        Self { kind, said, told: told.into(), otherwise: None }
    }

    /// What `said` asks for can't be done.
    pub fn invalid(said: ChatReply, told: impl Into<String>) -> Self {
        Self { kind: MisreadKind::Validation, ..Self::unreadable(said, told) }
    }

    /// Takes this where the model can't be asked again.
    #[must_use]
    pub fn otherwise(mut self, reply: ChatReply) -> Self {
        self.otherwise = Some(Box::new(reply));
        self
    }
}
