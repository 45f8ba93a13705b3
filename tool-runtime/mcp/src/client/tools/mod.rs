//! The tools of a server: listed, bounded, and registered.

pub(crate) mod catalog;
pub(crate) mod definition;
pub(crate) mod list;
pub(crate) mod page;
pub(crate) mod refresh;
pub(crate) mod text;
