//! Generated code in modules with unusual names, without a prelude and with strict lints.

mod hygiene;
mod no_prelude;
mod renamed;
pub mod strict_lints;
