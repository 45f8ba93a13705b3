//! Resolution of `$ref`: local JSON pointers only.

use serde_json::Value;

/// Returns the schema that `reference` (`#`, `#/$defs/X`, …) names inside `root`.
///
/// Returns `None` for a reference to another document or to an anchor. Such a reference adds no
/// rule, since nothing is ever fetched.
#[doc(hidden)]
pub fn resolve<'s>(root: &'s Value, reference: &str) -> Option<&'s Value> {
    let fragment = reference.strip_prefix('#')?;
    if fragment.contains('%') {
        root.pointer(&percent_decode(fragment)?)
    } else {
        root.pointer(fragment)
    }
}

/// Returns `None` if an escape is truncated, isn't hexadecimal or doesn't decode to UTF-8.
fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(if byte == b'%' { hex(rest.next()?)? << 4 | hex(rest.next()?)? } else { byte });
    }
    String::from_utf8(bytes).ok()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use super::resolve;
    use serde_json::json;

    #[test]
    fn resolve_accepts_every_form_of_local_pointer() {
        let root = json!({"$defs": {"a/b": 1, "c~d": 2, "e f": 3, "ü": 4, "list": [5, 6]}});
        for (reference, found) in [
            ("#", Some(root.clone())),
            ("#/$defs/a~1b", Some(json!(1))),
            ("#/$defs/c~0d", Some(json!(2))),
            ("#/%24defs/e%20f", Some(json!(3))),
            ("#/$defs/%C3%bc", Some(json!(4))),
            ("#/$defs/list/1", Some(json!(6))),
            ("#/$defs/none", None),
            ("#anchor", None),
            ("#/%2", None),
            ("#/%zz", None),
            ("#/%FF", None),
            ("other.json#/a", None),
            ("", None),
        ] {
            assert_eq!(resolve(&root, reference), found.as_ref(), "{reference}");
        }
    }
}
