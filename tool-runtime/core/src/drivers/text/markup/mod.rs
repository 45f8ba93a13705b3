//! The markup that the calls of all formats share: its words, members of objects, and searches in a
//! text that may be incomplete.

mod members;
#[cfg(test)]
mod scan_counter;
mod search;
mod value_end;
mod words;

pub(crate) use self::members::Members;
pub(crate) use self::{
    members::MemberWalker,
    search::{
        beginning, ending, find_first, first_line, text_before, text_before_any,
        without_partial_marker,
    },
    value_end::value_end,
    words::{END_TOKENS, MESSAGE_ENDS, TAG_NAMES, WRAPPERS, is_markup_word, markup_words},
};
