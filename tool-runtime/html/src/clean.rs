//! Prepares a tree for the conversion: without hidden elements, with absolute links, and only if
//! the result is bounded.

use std::rc::Rc;

use htmd::Node;
use html5ever::Attribute;
use html5ever::tendril::StrTendril;
use markup5ever_rcdom::NodeData;
use url::Url;

use crate::hidden::HidingStyles;
use crate::tree::MAX_DEPTH;

/// The most bytes that indentation and attributes may add to a page: each line of a nested list
/// repeats its indentation, each relative link the path of the page, and each paragraph the link
/// that the one before it has not closed.
const MAX_ADDED: usize = 32 * 1024 * 1024;

/// The bytes that one level indents a line by.
const INDENT_LEN: usize = 4;

/// A node that is to be visited.
struct Visit {
    node: Rc<Node>,
    depth: usize,
    /// The number of lists and quotations around it.
    indents: usize,
}

/// A page whose tree was cleaned.
pub(crate) struct CleanPage {
    pub(crate) title: String,
    /// Whether text was removed because the page hides it.
    pub(crate) has_hidden: bool,
}

/// Cleans a tree; `None` if the tree can't be converted within the limits.
pub(crate) fn clean(document: &Rc<Node>, url: &Url) -> Option<CleanPage> {
    let styles = styles_of(document);
    let mut has_hidden = false;
    let mut base = None;
    let mut title = None;
    let mut added = 0_usize;
    let mut visits = vec![Visit { node: Rc::clone(document), depth: 0, indents: 0 }];
    while let Some(Visit { node, depth, mut indents }) = visits.pop() {
        if depth > MAX_DEPTH || added > MAX_ADDED {
            return None;
        }
        match &node.data {
            NodeData::Text { contents } => {
                let lines = contents.borrow().bytes().filter(|byte| *byte == b'\n').count();
                added += (lines + 1) * indents * INDENT_LEN;
            }
            NodeData::Element { name, attrs, .. } => {
                let tag: &str = &name.local;
                let mut attributes = attrs.borrow_mut();
                let named = attributes.iter().map(|it| (&*it.name.local, &*it.value));
                if styles.hide(tag, named) {
                    has_hidden |= has_text(&node);
                    node.children.borrow_mut().clear();
                    attributes.clear();
                    continue;
                }
                match tag {
                    "title" if title.is_none() => title = Some(text_of(&node)),
                    "base" if base.is_none() => {
                        base = value(&attributes, "href").and_then(|href| url.join(href).ok());
                    }
                    "ul" | "ol" | "li" | "blockquote" => indents += 1,
                    "br" | "hr" | "p" | "div" | "tr" => added += indents * INDENT_LEN,
                    _ => {}
                }
                resolve_links(&mut attributes, base.as_ref().unwrap_or(url));
                added += attributes.iter().map(|attribute| attribute.value.len()).sum::<usize>();
            }
            _ => {}
        }
        // In the order of the page: the base of links precedes them.
        let children = node.children.borrow();
        visits.extend(children.iter().rev().map(|child| Visit {
            node: Rc::clone(child),
            depth: depth + 1,
            indents,
        }));
    }
    Some(CleanPage { title: title.unwrap_or_default(), has_hidden })
}

/// Returns the nodes below a node and the node itself, in the order of the page.
fn nodes(root: &Rc<Node>) -> impl Iterator<Item = Rc<Node>> {
    let mut visits = vec![Rc::clone(root)];
    std::iter::from_fn(move || {
        let node = visits.pop()?;
        visits.extend(node.children.borrow().iter().rev().map(Rc::clone));
        Some(node)
    })
}

/// Reads the styles within a page.
fn styles_of(document: &Rc<Node>) -> HidingStyles {
    let mut styles = HidingStyles::default();
    for node in nodes(document) {
        if let NodeData::Element { name, .. } = &node.data
            && &*name.local == "style"
        {
            for child in node.children.borrow().iter() {
                if let NodeData::Text { contents } = &child.data {
                    styles.add(&contents.borrow());
                }
            }
        }
    }
    styles
}

/// Whether an element has text for a reader.
fn has_text(element: &Rc<Node>) -> bool {
    nodes(element).any(|node| match &node.data {
        NodeData::Text { contents } => !contents.borrow().trim().is_empty(),
        _ => false,
    })
}

fn value<'a>(attributes: &'a [Attribute], name: &str) -> Option<&'a str> {
    let attribute = attributes.iter().find(|attribute| &*attribute.name.local == name)?;
    Some(&attribute.value)
}

/// Makes the targets of links and images absolute, and removes those that are not addresses of
/// pages, such as scripts and embedded data.
fn resolve_links(attributes: &mut Vec<Attribute>, base: &Url) {
    attributes.retain_mut(|attribute| {
        if !matches!(&*attribute.name.local, "href" | "src") {
            return true;
        }
        let Ok(target) = base.join(attribute.value.trim()) else { return false };
        attribute.value = StrTendril::from(target.as_str());
        matches!(target.scheme(), "http" | "https" | "mailto")
    });
}

fn text_of(node: &Node) -> String {
    let mut text = String::new();
    for child in node.children.borrow().iter() {
        if let NodeData::Text { contents } = &child.data {
            text.push_str(&contents.borrow());
        }
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(200).collect()
}
