//! Searches for the start markers of all formats in one pass.

pub(crate) mod byte_search;
pub(crate) mod marker_index;
pub(crate) mod prefix_filter;
