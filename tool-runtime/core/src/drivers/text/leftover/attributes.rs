//! Attributes in the head of a tag that are not those of its format.

/// Returns the attributes of a head that `is_known` does not accept, such as `cwd="/tmp"` in
/// `name="run" cwd="/tmp"`, and repeated ones. From text that is no attribute on, all is returned.
pub(crate) fn other_attributes(head: &str, is_known: impl Fn(&str) -> bool) -> String {
    let has_words = |text: &str| text.contains(char::is_alphanumeric);
    let (mut rest, mut keys, mut others) = (head, Vec::new(), Vec::new());
    while let Some((before, after)) = rest.split_once('=') {
        let is_of_key = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | ':' | '.');
        let before = before.trim_end();
        let stray = before.trim_end_matches(is_of_key);
        let key = before.get(stray.len()..).unwrap_or_default();
        // The name of the tag may precede its first attribute.
        if has_words(stray) && !keys.is_empty() || key.is_empty() {
            break;
        }
        let value = after.trim_start();
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
        let end = match quote {
            Some(quote) => {
                let inner = value.get(1..).unwrap_or_default();
                inner.find(quote).map_or(value.len(), |end| end + 2)
            }
            None => value.find(char::is_whitespace).unwrap_or(value.len()),
        };
        let (value, after) = value.split_at_checked(end).unwrap_or((value, ""));
        if !is_known(key) || keys.contains(&key) {
            others.push(format!("{key}={value}"));
        }
        keys.push(key);
        rest = after;
    }
    others.extend(Some(rest.trim()).filter(|rest| has_words(rest)).map(str::to_owned));
    others.join(" ")
}

#[cfg(test)]
mod tests {
    use super::other_attributes;

    #[test]
    fn attributes_of_other_names_are_returned() {
        for (head, others) in [
            ("name=\"run\"", ""),
            ("name=\"run\" cwd=\"/tmp\"", "cwd=\"/tmp\""),
            ("cwd='/tmp' name=\"run\"", "cwd='/tmp'"),
            ("name=\"run\" cwd=/tmp", "cwd=/tmp"),
            ("name=\"run\" cwd = \"/tmp\" mode=\"a b\"", "cwd=\"/tmp\" mode=\"a b\""),
            ("name=\"a=b\"", ""),
            ("name=\"run\"cwd=\"/tmp", "cwd=\"/tmp"),
            ("name=\"run\" /", ""),
            ("call name=\"run\"", ""),
            ("name=\"run\", \"cwd\": \"/tmp\"", ", \"cwd\": \"/tmp\""),
            ("name=\"a\"<parameter name=\"cwd\"", "<parameter name=\"cwd\""),
            ("name=\"a\" name=\"b\"", "name=\"b\""),
            ("", ""),
        ] {
            assert_eq!(other_attributes(head, |key| key == "name"), others, "{head}");
        }
    }
}
