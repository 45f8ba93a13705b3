//! Reports of runs for people, for [tool-runtime](https://docs.rs/tool-runtime): recorded events as
//! one HTML file, progress on a terminal, and approvals by the person there.
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "report")]
pub mod report;
#[cfg(feature = "terminal")]
pub mod terminal;
