//! Writes tables of data as Markdown without padding.
//!
//! Padding costs tokens, and lets a page of two long rows grow by the number of its short ones.

use std::rc::Rc;

use htmd::element_handler::{HandlerResult, Handlers};
use htmd::{Element, Node};
use markup5ever_rcdom::NodeData;

use crate::tree::parent_of;

/// Converts a table. One without a header, or within another table, is a layout: its cells follow
/// each other.
#[expect(clippy::needless_pass_by_value, reason = "the signature of a handler")]
pub(crate) fn table(handlers: &dyn Handlers, element: Element<'_>) -> Option<HandlerResult> {
    let rows = rows(element.node);
    let has_header = rows.iter().flatten().any(|cell| tag(cell) == "th");
    let is_within_cell = std::iter::successors(parent_of(element.node), parent_of)
        .any(|ancestor| matches!(tag(&ancestor), "td" | "th"));
    if !has_header || is_within_cell {
        let content = handlers.walk_children(element.node).content;
        return Some(format!("\n\n{}\n\n", content.trim_matches('\n')).into());
    }
    let mut text = String::from("\n\n");
    for (number, row) in rows.iter().enumerate() {
        text.push('|');
        for cell in row {
            let content = handlers.handle(cell).map(|result| result.content).unwrap_or_default();
            let words = content.split_whitespace().collect::<Vec<_>>().join(" ");
            text.push_str(&format!(" {} |", words.replace('|', "\\|")));
        }
        text.push('\n');
        if number == 0 {
            text.push('|');
            row.iter().for_each(|_| text.push_str(" --- |"));
            text.push('\n');
        }
    }
    text.push('\n');
    Some(text.into())
}

/// Returns the cells of each row that has any.
fn rows(table: &Rc<Node>) -> Vec<Vec<Rc<Node>>> {
    let mut rows = Vec::new();
    for child in table.children.borrow().iter() {
        match tag(child) {
            "tr" => rows.push(cells(child)),
            "thead" | "tbody" | "tfoot" => {
                let children = child.children.borrow();
                rows.extend(children.iter().filter(|row| tag(row) == "tr").map(cells));
            }
            _ => {}
        }
    }
    rows.retain(|cells| !cells.is_empty());
    rows
}

fn cells(row: &Rc<Node>) -> Vec<Rc<Node>> {
    let children = row.children.borrow();
    children.iter().filter(|cell| matches!(tag(cell), "td" | "th")).cloned().collect()
}

fn tag(node: &Rc<Node>) -> &str {
    match &node.data {
        NodeData::Element { name, .. } => &name.local,
        _ => "",
    }
}
