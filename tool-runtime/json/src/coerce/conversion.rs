//! Converts a value of another type or spelling to what its schema expects.
//!
//! All conversions are attempted, those that do not fit are dropped, and exactly one must remain.

use serde_json::Value;

use super::{
    InnerText, InnerValue,
    coercer::{Coercer, ValueContext, unambiguous},
    fit::{JsonView, UnknownMembers},
    flat_schema::FlatSchema,
    type_set::TypeSet,
};
use crate::{
    Fix, FixKind,
    integers::is_integer,
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
            // A word without quotes in brackets may be a placeholder: `[query]`.
            && !matches!(
                item.tree,
                Tree::Array(_) | Tree::Null | Tree::String { is_unquoted: true, .. }
            )
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
        let (inner, mut fixes, _) = self.decode_string(node, types, InnerText::Member)?;
        let (inner, more) = self.attempt(&inner, |coercer, inner| {
            coercer.coerce_node(inner, schema, ValueContext::Other)
        });
        fixes.extend(more);
        Some((inner, fixes))
    }

    /// Decodes the object or array in a string, as it is spelled there; returns it with the fixes
    /// and whether its text was cut off.
    pub(super) fn decode_string(
        &mut self,
        node: &Node,
        types: TypeSet,
        place: InnerText,
    ) -> Option<(Node, Vec<Fix>, bool)> {
        let Tree::String { text, is_unquoted: false } = &node.tree else { return None };
        let expected = types.and(TypeSet::OBJECT.or(TypeSet::ARRAY));
        if types.intersects(TypeSet::STRING)
            || expected.is(TypeSet::NONE)
            || !self.fuel.consume(text.len())
        {
            return None;
        }
        let InnerValue { node: mut inner, kinds, truncated } =
            (self.parse_inner)(text, expected, place)
                .filter(|inner| expected.intersects(inner.node.json_type()))?;
        inner.set_span(&node.span);
        let kinds = [FixKind::EncodedTwice].into_iter().chain(kinds);
        let fixes = kinds.map(|kind| Fix::new(kind, node.span.clone())).collect();
        Some((inner, fixes, truncated))
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
            // 30.0 is the integer 30: where an integer is allowed, no text is intended.
            let is_intended = allows(TypeSet::INTEGER) && is_integral(json);
            if !is_intended && allows(TypeSet::STRING) {
                let text = Tree::String { text: source.clone(), is_unquoted: false };
                conversions.push((text, FixKind::Quoted));
            }
        }
        Tree::Bool(value) if allows(TypeSet::STRING) => {
            let text = Tree::String { text: value.to_string(), is_unquoted: false };
            conversions.push((text, FixKind::QuotedBoolean));
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
        to_integer(source).filter(|_| !has_thousands_point(source))?
    };
    Some(Tree::Number { source: source.to_owned(), json })
}

/// Returns whether the point of a number may separate thousands: in many languages, `1.000` is a
/// thousand.
fn has_thousands_point(source: &str) -> bool {
    let digits = source.trim_start_matches('-');
    digits.split_once('.').is_some_and(|(whole, fraction)| {
        whole.len() <= 3
            && whole != "0"
            && fraction.len() == 3
            && fraction.bytes().all(|byte| byte.is_ascii_digit())
    })
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

/// Returns the text if it is a JSON number: no local notation, no leading zeros, no words.
pub(super) fn as_json_number(text: &str) -> Option<&str> {
    let starts = text.starts_with(|c: char| c == '-' || c.is_ascii_digit());
    (starts && serde_json::from_str::<serde_json::Number>(text).is_ok()).then_some(text)
}

/// The maximum number of digits of a converted integer: `1e400` stays as it is.
const MAX_DIGITS: usize = 64;

/// Converts a number with a fraction or exponent to the equal integer; `None` for 3.7, and for an
/// integer of too many digits.
pub(super) fn to_integer(json: &str) -> Option<String> {
    let (digits, zeros) = integral(json)?;
    if digits.is_empty() {
        return Some("0".into());
    }
    let size = digits.len().checked_add(zeros)?;
    let sign = if json.starts_with('-') { "-" } else { "" };
    (size <= MAX_DIGITS).then(|| format!("{sign}{digits}{}", "0".repeat(zeros)))
}

/// Returns whether a number is an integer, however it is spelled: `1e300` is one, too.
pub(super) fn is_integral(json: &str) -> bool {
    integral(json).is_some()
}

/// Returns the first digits of an integer and the number of zeros that follow; no digits for 0, and
/// `None` for 3.7.
fn integral(json: &str) -> Option<(String, usize)> {
    let rest = json.strip_prefix('-').unwrap_or(json);
    let (mantissa, exponent) = rest.split_once(['e', 'E']).unwrap_or((rest, "0"));
    let (before, after) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent: i64 = exponent.strip_prefix('+').unwrap_or(exponent).parse().ok()?;
    let digits = format!("{before}{after}");
    let digits = digits.trim_start_matches('0');
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    if digits.is_empty() {
        return Some((String::new(), 0));
    }
    let shift = exponent.checked_sub(i64::try_from(after.len()).ok()?)?;
    let size = usize::try_from(shift.unsigned_abs()).ok()?;
    if shift >= 0 {
        return Some((digits.to_owned(), size));
    }
    let (integer, fraction) = digits.split_at_checked(digits.len().checked_sub(size)?)?;
    let is_integral = !integer.is_empty() && fraction.bytes().all(|digit| digit == b'0');
    is_integral.then(|| (integer.to_owned(), 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn to_integer_converts_only_integral_numbers() {
        for (json, expected) in [
            ("30.0", Some("30")),
            ("-30.00", Some("-30")),
            ("0.0", Some("0")),
            ("-0.0", Some("0")),
            ("1e3", Some("1000")),
            ("1.50e1", Some("15")),
            ("1500e-2", Some("15")),
            ("12345678901234567890.0", Some("12345678901234567890")),
            ("3.7", None),
            ("0.5", None),
            ("1e-1", None),
            ("15e-2", None),
            ("1e400", None),
            ("1e99999999999999999999", None),
            ("1e-9223372036854775808", None),
        ] {
            assert_eq!(to_integer(json).as_deref(), expected, "{json}");
        }
        assert!(["30.0", "0.0", "1e65", "-1e300", "1e400"].into_iter().all(is_integral));
        assert!(!["3.7", "0.5", "1e-1", "1e-400"].into_iter().any(is_integral));
    }

    #[test]
    fn as_json_number_rejects_other_spellings() {
        for text in ["0", "17", "-1.50", "2e5", "340282366920938463463374607431768211455"] {
            assert_eq!(as_json_number(text), Some(text));
        }
        for text in [
            "", "-", "1,234", "1.234,56", "1 234", "017", "02139", ".5", "5.", "0x1F", "NaN",
            "Infinity", "1_000", "12a", "3 apples", "1e400", "١٧", " 1", "[1]", "null",
        ] {
            assert_eq!(as_json_number(text), None, "{text}");
        }
    }
}
