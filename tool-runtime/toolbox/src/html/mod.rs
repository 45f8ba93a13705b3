//! Converts HTML to Markdown, in bounded time and memory whatever the page contains.
//!
//! 1. `tree.rs`: parses the page piece by piece, and stops at a tree that is too deep or too large.
//! 2. `clean.rs`: removes what a reader does not see, and makes links absolute. `hidden.rs` decides
//!    what that is, `style.rs` reads CSS for it.
//! 3. `table.rs`: writes tables without padding; the crate htmd writes everything else.
//! 4. `plain.rs`: reduces a page that the others refuse to its text; `long_tags.rs` shortens tags
//!    for it.
//!
//! All of it runs on a separate thread (`thread.rs`).

mod clean;
mod hidden;
mod long_tags;
mod plain;
mod style;
mod table;
mod thread;
mod tree;

use htmd::HtmlToMarkdown;
use url::Url;

use clean::{CleanPage, clean};
pub(crate) use plain::plain_text;
use table::table;
pub(crate) use thread::on_thread;
use tree::parse;

/// Elements whose content is not text for a reader.
const SKIPPED: [&str; 14] = [
    "audio", "canvas", "embed", "head", "iframe", "math", "noscript", "object", "script", "style",
    "svg", "template", "textarea", "video",
];

/// A page as Markdown.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Page {
    pub(crate) title: Option<String>,
    pub(crate) text: String,
    /// Whether the structure of the page was dropped, because it is nested too deeply or too large.
    pub(crate) is_plain: bool,
    /// Whether text was left out because the page hides it from its readers.
    pub(crate) has_hidden: bool,
}

impl Page {
    /// Reduces a page to its text.
    fn plain(html: &str) -> Self {
        let (text, has_hidden) = plain_text(html);
        Self { title: None, text, is_plain: true, has_hidden }
    }
}

/// Converts a page. Call it [on a separate thread](on_thread).
pub(crate) fn to_markdown(html: &str, url: &Url) -> Page {
    let Some(document) = parse(html) else { return Page::plain(html) };
    let Some(CleanPage { title, has_hidden }) = clean(&document, url) else {
        return Page::plain(html);
    };
    let converter = HtmlToMarkdown::builder()
        .skip_tags(SKIPPED.to_vec())
        .add_handler(vec!["table"], table)
        .build();
    let title = Some(title).filter(|title| !title.is_empty());
    Page { title, text: converter.tree_to_markdown(&document), is_plain: false, has_hidden }
}

/// The stack that the recursion of htmd needs for a tree of the greatest depth, with a reserve.
const STACK_LEN: usize = 32 * 1024 * 1024;
