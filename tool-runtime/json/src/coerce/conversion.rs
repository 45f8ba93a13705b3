//! Converts a value of another type or spelling to what its schema expects.
//!
//! All conversions are attempted, those that do not fit are dropped, and exactly one must remain.

use serde_json::Value;

use super::{
    coercer::{Coercer, ValueContext, unambiguous},
    fit::UnknownMembers,
    flat_schema::FlatSchema,
    number::{as_json_number, is_integer, to_integer},
    type_set::TypeSet,
    view::JsonView,
};
use crate::{
    Fix, FixKind,
    tree::{Node, Tree},
};

impl Coercer<'_, '_> {
    pub(super) fn convert(
        &mut self,
        node: Node,
        schema: &FlatSchema<'_>,
        position: ValueContext,
    ) -> Node {
        let types = schema.types();
        let mut conversions: Vec<(Node, Vec<Fix>)> = scalar_conversions(&node, types, schema)
            .into_iter()
            .map(|(tree, kind)| {
                let span = node.span.clone();
                (Node { tree, span: span.clone() }, vec![Fix::new(kind, span)])
            })
            .collect();
        conversions.extend(self.convert_encoded(&node, types, schema));
        if position == ValueContext::Other
            && types.intersects(TypeSet::ARRAY)
            && can_be_only_item(&node.tree)
        {
            conversions.push(self.attempt(&node, |coercer, node| {
                coercer.record_fix(FixKind::IntoArray, &node);
                let span = node.span.clone();
                let list = Node { tree: Tree::Array(vec![node]), span };
                coercer.coerce_node(list, schema, ValueContext::Other)
            }));
        }
        if let Tree::Array(items) = &node.tree
            && let [item] = items.as_slice()
            && !matches!(item.tree, Tree::Array(_) | Tree::Null)
        {
            conversions.push(self.attempt(item, |coercer, item| {
                coercer.record_fix(FixKind::OutOfArray, &node);
                // Not to an array again: the value was an array that does not fit.
                coercer.coerce_node(item, schema, ValueContext::ArrayItem)
            }));
        }
        conversions.retain(|(node, _)| self.fits(node, schema, UnknownMembers::Allowed));
        match unambiguous(conversions).filter(|_| !self.fuel.is_exhausted()) {
            Some((node, fixes)) => {
                self.fixes.extend(fixes);
                node
            }
            None => node,
        }
    }

    /// Decodes the object or array in a string, and coerces it.
    fn convert_encoded(
        &mut self,
        node: &Node,
        types: TypeSet,
        schema: &FlatSchema<'_>,
    ) -> Option<(Node, Vec<Fix>)> {
        let (inner, mut fixes) = self.decode_string(node, types)?;
        let (inner, more) = self.attempt(&inner, |coercer, inner| {
            coercer.coerce_node(inner, schema, ValueContext::Other)
        });
        fixes.extend(more);
        Some((inner, fixes))
    }

    /// Decodes the object or array in a string, as it is spelled there.
    pub(super) fn decode_string(
        &mut self,
        node: &Node,
        types: TypeSet,
    ) -> Option<(Node, Vec<Fix>)> {
        let Tree::String { text, is_unquoted: false } = &node.tree else { return None };
        let expected = types.and(TypeSet::OBJECT.or(TypeSet::ARRAY));
        if types.intersects(TypeSet::STRING)
            || expected.is(TypeSet::NONE)
            || !self.fuel.consume(text.len())
        {
            return None;
        }
        let (mut inner, kinds) = (self.parse_inner)(text, expected)
            .filter(|(inner, _)| expected.intersects(inner.json_type()))?;
        inner.set_span(&node.span);
        let kinds = [FixKind::EncodedTwice].into_iter().chain(kinds);
        Some((inner, kinds.map(|kind| Fix::new(kind, node.span.clone())).collect()))
    }
}

/// The conversions of a scalar that the types allow.
fn scalar_conversions(
    node: &Node,
    types: TypeSet,
    schema: &FlatSchema<'_>,
) -> Vec<(Tree, FixKind)> {
    let mut conversions = Vec::new();
    let allows = |root| types.intersects(root);
    match &node.tree {
        Tree::String { text, is_unquoted } => {
            if allows(TypeSet::STRING) {
                let listed = matching_enum_value(text, schema)
                    .map(|text| Tree::String { text, is_unquoted: false });
                conversions.extend(listed.map(|text| (text, FixKind::EnumCase)));
            }
            if !is_unquoted {
                let unquoted = parse_unquoted(text.trim(), types);
                conversions.extend(unquoted.map(|tree| (tree, FixKind::Unquoted)));
            }
        }
        Tree::Number { source, json } => {
            if allows(TypeSet::INTEGER) && !is_integer(json) {
                let integer = to_integer(json);
                let number = integer.map(|json| Tree::Number { source: source.clone(), json });
                conversions.extend(number.map(|number| (number, FixKind::IntegralNumber)));
            }
            if allows(TypeSet::STRING) {
                let text = Tree::String { text: source.clone(), is_unquoted: false };
                conversions.push((text, FixKind::Quoted));
            }
        }
        Tree::Bool(value) if allows(TypeSet::STRING) => {
            let text = Tree::String { text: value.to_string(), is_unquoted: false };
            conversions.push((text, FixKind::Quoted));
        }
        _ => {}
    }
    conversions
}

/// Returns the enum value that differs from `text` only in case and surrounding whitespace.
fn matching_enum_value(text: &str, schema: &FlatSchema<'_>) -> Option<String> {
    let expected = normalized(text);
    let list = schema.enum_lists().next()?;
    let mut alike = list
        .iter()
        .filter_map(|value| value.as_str())
        .filter(|choice| normalized(choice) == expected);
    let first = alike.next()?;
    alike.all(|other| other == first).then(|| first.to_owned())
}

/// Returns whether `text` is in the list, ignoring case and surrounding whitespace.
pub(super) fn matches_enum(text: &str, list: &[Value]) -> bool {
    let expected = normalized(text);
    list.iter().filter_map(Value::as_str).any(|choice| normalized(choice) == expected)
}

fn normalized(text: &str) -> String {
    text.trim().to_lowercase()
}

/// Parses the number, boolean or null that a string spells. The literals of other languages differ
/// only in case, except for `None`.
fn parse_unquoted(text: &str, types: TypeSet) -> Option<Tree> {
    if types.intersects(TypeSet::BOOL) && text.eq_ignore_ascii_case("true") {
        return Some(Tree::Bool(true));
    }
    if types.intersects(TypeSet::BOOL) && text.eq_ignore_ascii_case("false") {
        return Some(Tree::Bool(false));
    }
    if types.intersects(TypeSet::NULL) && (text.eq_ignore_ascii_case("null") || text == "None") {
        return Some(Tree::Null);
    }
    let source = as_json_number(text).filter(|_| types.intersects(TypeSet::NUMBER))?;
    let json = if types.intersects(TypeSet::FRACTION) || is_integer(source) {
        source.to_owned()
    } else {
        to_integer(source)?
    };
    Some(Tree::Number { source: source.to_owned(), json })
}

/// Returns whether a value may be the only item of an array. A string may not if it looks like
/// several items, or is empty.
fn can_be_only_item(tree: &Tree) -> bool {
    match tree {
        Tree::Array(_) | Tree::Null => false,
        Tree::String { text, .. } => {
            !text.trim().is_empty()
                && !text.trim_start().starts_with(['[', '{'])
                && !text.contains([',', ';', '|', '\n', '、', '，'])
        }
        _ => true,
    }
}
