//! Parses HTML into a tree of bounded depth and size.

use std::borrow::Cow;
use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use htmd::Node;
use html5ever::interface::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::tendril::{StrTendril, TendrilSink};
use html5ever::{Attribute, ExpandedName, ParseOpts, QualName, parse_document};
use markup5ever_rcdom::RcDom;

/// The greatest depth of a tree, which is also that of browsers.
pub(crate) const MAX_DEPTH: usize = 512;

/// The most nodes of a tree.
const MAX_NODES: usize = 300_000;

/// The longest time to parse a page.
const MAX_TIME: Duration = Duration::from_secs(3);

/// The bytes after which the limits are checked. A byte creates at most as many nodes as the tree
/// is deep.
const PIECE_LEN: usize = 1024;

/// Parses a page; `None` if its tree is too deep or too large.
pub(crate) fn parse(html: &str) -> Option<Rc<Node>> {
    let start = Instant::now();
    let sink = BoundedSink { dom: RcDom::default(), nodes: Cell::new(0), depth: Cell::new(0) };
    let mut parser = parse_document(sink, ParseOpts::default());
    let mut rest = html;
    while !rest.is_empty() {
        let (piece, after) = split(rest);
        parser.process(StrTendril::from(piece));
        let sink = &parser.tokenizer.sink.sink;
        if !sink.is_within_limits() || start.elapsed() > MAX_TIME {
            return None;
        }
        rest = after;
    }
    parser.finish()
}

fn split(text: &str) -> (&str, &str) {
    let end = (PIECE_LEN..PIECE_LEN + 4).find_map(|end| text.split_at_checked(end));
    end.unwrap_or((text, ""))
}

/// Builds a tree, and counts its nodes and levels.
struct BoundedSink {
    dom: RcDom,
    nodes: Cell<usize>,
    /// The greatest depth of an element when it was added.
    depth: Cell<usize>,
}

impl BoundedSink {
    fn is_within_limits(&self) -> bool {
        self.nodes.get() <= MAX_NODES && self.depth.get() <= MAX_DEPTH
    }

    /// Measures the depth of an element. Texts need no count: those side by side are one node.
    fn measure(&self, parent: &Rc<Node>, child: &NodeOrText<Rc<Node>>) {
        if let NodeOrText::AppendNode(_) = child
            && self.is_within_limits()
        {
            let depth = 1 + std::iter::successors(Some(Rc::clone(parent)), parent_of).count();
            self.depth.set(self.depth.get().max(depth));
        }
    }
}

/// Returns the parent of a node.
pub(crate) fn parent_of(node: &Rc<Node>) -> Option<Rc<Node>> {
    let parent = node.parent.take();
    let found = parent.as_ref().and_then(std::rc::Weak::upgrade);
    node.parent.set(parent);
    found
}

impl TreeSink for BoundedSink {
    type Handle = Rc<Node>;
    /// The document; `None` if the tree is too deep or too large.
    type Output = Option<Rc<Node>>;
    type ElemName<'a> = ExpandedName<'a>;

    fn finish(self) -> Self::Output {
        self.is_within_limits().then(|| Rc::clone(&self.dom.document))
    }

    /// Errors are not kept: a hostile page has one for each byte.
    fn parse_error(&self, _: Cow<'static, str>) {}

    fn get_document(&self) -> Rc<Node> {
        self.dom.get_document()
    }

    fn elem_name<'a>(&'a self, target: &'a Rc<Node>) -> ExpandedName<'a> {
        self.dom.elem_name(target)
    }

    fn create_element(
        &self,
        name: QualName,
        attributes: Vec<Attribute>,
        flags: ElementFlags,
    ) -> Rc<Node> {
        self.nodes.set(self.nodes.get() + 1 + attributes.len());
        self.dom.create_element(name, attributes, flags)
    }

    fn create_comment(&self, _: StrTendril) -> Rc<Node> {
        self.nodes.set(self.nodes.get() + 1);
        self.dom.create_comment(StrTendril::new())
    }

    fn create_pi(&self, _: StrTendril, _: StrTendril) -> Rc<Node> {
        self.dom.create_comment(StrTendril::new())
    }

    fn append(&self, parent: &Rc<Node>, child: NodeOrText<Rc<Node>>) {
        self.measure(parent, &child);
        self.dom.append(parent, child);
    }

    fn append_based_on_parent_node(
        &self,
        element: &Rc<Node>,
        previous: &Rc<Node>,
        child: NodeOrText<Rc<Node>>,
    ) {
        self.measure(element, &child);
        self.dom.append_based_on_parent_node(element, previous, child);
    }

    fn append_doctype_to_document(&self, name: StrTendril, public: StrTendril, system: StrTendril) {
        self.dom.append_doctype_to_document(name, public, system);
    }

    fn get_template_contents(&self, target: &Rc<Node>) -> Rc<Node> {
        self.dom.get_template_contents(target)
    }

    fn same_node(&self, left: &Rc<Node>, right: &Rc<Node>) -> bool {
        self.dom.same_node(left, right)
    }

    fn set_quirks_mode(&self, mode: QuirksMode) {
        self.dom.set_quirks_mode(mode);
    }

    fn append_before_sibling(&self, sibling: &Rc<Node>, child: NodeOrText<Rc<Node>>) {
        self.measure(sibling, &child);
        self.dom.append_before_sibling(sibling, child);
    }

    fn add_attrs_if_missing(&self, target: &Rc<Node>, attributes: Vec<Attribute>) {
        self.nodes.set(self.nodes.get() + attributes.len());
        self.dom.add_attrs_if_missing(target, attributes);
    }

    fn remove_from_parent(&self, target: &Rc<Node>) {
        self.dom.remove_from_parent(target);
    }

    fn reparent_children(&self, node: &Rc<Node>, parent: &Rc<Node>) {
        self.dom.reparent_children(node, parent);
    }

    fn is_mathml_annotation_xml_integration_point(&self, node: &Rc<Node>) -> bool {
        self.dom.is_mathml_annotation_xml_integration_point(node)
    }

    /// The selected option is not shown twice: the search for its place is quadratic.
    fn maybe_clone_an_option_into_selectedcontent(&self, _: &Rc<Node>) {}
}
