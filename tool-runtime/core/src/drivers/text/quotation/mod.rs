//! Whether a text that looks like a call is one, or is quoted, announced or commented as an
//! example.

pub(crate) mod call_expression;
pub(crate) mod call_line;
pub(crate) mod fence;
pub(crate) mod lead_in;
pub(crate) mod lead_in_words;
pub(crate) mod line_prefix;
pub(crate) mod open_block;
pub(crate) mod open_elements;
pub(crate) mod quotation_marks;
pub(crate) mod quote_tracker;
pub(crate) mod remark;
pub(crate) mod trailing;
pub(crate) mod unknown_markup;
pub(crate) mod unreadable;
