//! Pages for contributors: how the crate is built, what it guarantees, and how to change it.

#[doc = include_str!("design/architecture.md")]
pub mod architecture {}
#[doc = include_str!("design/invariants.md")]
pub mod invariants {}
#[doc = include_str!("design/libraries.md")]
pub mod libraries {}
#[doc = include_str!("design/glossary.md")]
pub mod glossary {}
#[doc = include_str!("design/contributing.md")]
pub mod contributing {}
