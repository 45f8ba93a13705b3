//! Reduces HTML to its text without a tree, in one pass.

/// Elements whose content is not text.
const SKIPPED: [&str; 3] = ["script", "style", "template"];

/// Elements within a line.
const INLINE: [&str; 16] = [
    "a", "abbr", "b", "cite", "code", "em", "font", "i", "kbd", "mark", "small", "span", "strong",
    "sub", "sup", "u",
];

/// Returns the text of a page, with a line break for each element that is not within a line.
pub(crate) fn plain_text(html: &str) -> String {
    let mut text = String::new();
    let mut rest = html;
    while let Some((before, after)) = rest.split_once('<') {
        push(&mut text, before);
        if let Some(comment) = after.strip_prefix("!--") {
            rest = comment.split_once("-->").map_or("", |(_, after)| after);
            continue;
        }
        let is_tag = after.starts_with(|c: char| c.is_ascii_alphabetic() || "/!?".contains(c));
        if !is_tag {
            text.push('<');
            rest = after;
            continue;
        }
        let Some((tag, after)) = after.split_once('>') else {
            // No tag ends from here on.
            rest = "";
            break;
        };
        let name = tag.trim_start_matches('/');
        let end = name.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(name.len());
        let name = name.get(..end).unwrap_or_default().to_ascii_lowercase();
        rest = after;
        if SKIPPED.contains(&name.as_str()) && !tag.starts_with('/') {
            rest = after_element(after, &name);
        } else if !INLINE.contains(&name.as_str()) && !text.ends_with('\n') {
            text.push('\n');
        }
    }
    push(&mut text, rest);
    text.trim().to_owned()
}

/// Returns what follows the end of an element, which begins on its content.
fn after_element<'h>(content: &'h str, name: &str) -> &'h str {
    let mut rest = content;
    while let Some((_, after)) = rest.split_once("</") {
        let is_end = after.get(..name.len()).is_some_and(|end| end.eq_ignore_ascii_case(name));
        if is_end {
            return after.split_once('>').map_or("", |(_, after)| after);
        }
        rest = after;
    }
    ""
}

/// Adds text with its white space folded and its most common references decoded.
fn push(text: &mut String, source: &str) {
    for word in source.split_inclusive(|c: char| c.is_whitespace()) {
        let trimmed = word.trim_end();
        if trimmed.contains('&') {
            text.push_str(&decoded(trimmed));
        } else {
            text.push_str(trimmed);
        }
        if trimmed.len() < word.len() && !text.ends_with([' ', '\n']) && !text.is_empty() {
            text.push(' ');
        }
    }
}

fn decoded(word: &str) -> String {
    let references =
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&nbsp;", " "), ("&amp;", "&")];
    references.into_iter().fold(word.to_owned(), |word, (name, c)| word.replace(name, c))
}
