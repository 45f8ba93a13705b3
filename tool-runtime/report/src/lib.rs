//! What a person sees of runs, for [tool-runtime](https://docs.rs/tool-runtime): recorded events as
//! one HTML file, and progress on a terminal.
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "report")]
pub mod report;
#[cfg(feature = "terminal")]
pub mod terminal;
