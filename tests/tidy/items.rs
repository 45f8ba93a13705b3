//! Reads the documented items of a source file, line by line; rustfmt makes that regular.

/// A comment block and the item below it.
#[derive(Debug, Default)]
pub(crate) struct Item {
    /// The line of the item, from 1.
    pub(crate) line: usize,
    /// The type of an `impl` or trait block around a method, else an empty string.
    pub(crate) owner: String,
    /// The code of the item's first line, without indentation.
    pub(crate) code: String,
    /// The doc comment without its markers.
    pub(crate) docs: Vec<String>,
    /// Whether an attribute hides the item from the docs.
    pub(crate) is_hidden: bool,
}

const KINDS: [&str; 8] = ["struct", "enum", "trait", "fn", "type", "const", "mod", "macro_rules!"];

impl Item {
    /// Returns what kind of item this is, and its name.
    pub(crate) fn kind_and_name(&self) -> Option<(&str, &str)> {
        let mut words = self.code.split(|c: char| !(c.is_alphanumeric() || "_!".contains(c)));
        let kind = words.find(|word| KINDS.contains(word))?;
        let name = words.find(|word| !word.is_empty() && *word != "fn")?;
        Some((kind, name))
    }

    /// Returns whether the item is declared `pub` without a restriction.
    pub(crate) fn is_public(&self) -> bool {
        self.code.starts_with("pub ")
    }

    /// Returns the first sentence of the docs: the text up to a full stop or an empty line.
    pub(crate) fn summary(&self) -> String {
        summary(&self.docs)
    }

    /// Returns whether the docs contain Rust code that is compiled.
    pub(crate) fn has_example(&self) -> bool {
        let mut is_code = false;
        self.docs.iter().any(|line| {
            let Some(info) = line.trim_start().strip_prefix("```") else { return false };
            is_code = !is_code;
            is_code && ["", "no_run", "should_panic", "rust", "compile_fail"].contains(&info.trim())
        })
    }
}

/// Returns the first sentence of a doc comment.
pub(crate) fn summary(docs: &[String]) -> String {
    let first: Vec<_> = docs
        .iter()
        .map(|line| line.trim())
        .skip_while(|line| line.is_empty())
        .take_while(|line| !line.is_empty() && !line.starts_with("```"))
        .collect();
    let text = first.join(" ");
    let end = text.find(". ").unwrap_or(text.len());
    text[..end].to_owned()
}

/// Reads the docs at the start of a module.
pub(crate) fn module_docs(text: &str) -> Vec<String> {
    let lines = text.lines().take_while(|line| line.starts_with("//!") || line.is_empty());
    lines.map(|line| line.trim_start_matches("//!").trim_start().to_owned()).collect()
}

/// Reads all items of a file, and all else that has a doc comment, such as fields and variants.
/// Modules of tests are left out.
pub(crate) fn items(text: &str) -> Vec<Item> {
    let mut found = Vec::new();
    let mut item = Item::default();
    // The blocks around a line: their indentation and the type's name.
    let mut owners: Vec<(usize, String)> = Vec::new();
    let mut open_attribute = 0_i32;
    for (at, line) in text.lines().enumerate() {
        let code = line.trim_start();
        let indent = line.len() - code.len();
        if open_attribute > 0 || code.starts_with("#[") {
            item.is_hidden |= code.contains("doc(hidden)");
            open_attribute += depth(code);
            if code.starts_with("#[cfg(test)]") && text.lines().nth(at + 1) == Some("mod tests {") {
                break;
            }
            continue;
        }
        if let Some(doc) = code.strip_prefix("///") {
            item.docs.push(doc.strip_prefix(' ').unwrap_or(doc).to_owned());
            continue;
        }
        if code == "}" {
            owners.retain(|(own, ..)| *own < indent);
        }
        if code.starts_with("impl") || is_trait(code) {
            owners.push((indent, block_type(code)));
        }
        let is_item = !item.docs.is_empty() || code.starts_with("pub ");
        if is_item && !code.is_empty() && !code.starts_with("//") {
            let owner = owners.iter().rev().find(|(own, _)| *own < indent);
            let owner = owner.map(|(_, name)| name.clone()).unwrap_or_default();
            let code = code.to_owned();
            found.push(Item { line: at + 1, owner, code, ..item });
        }
        item = Item::default();
    }
    found
}

fn depth(code: &str) -> i32 {
    let count = |mark| i32::try_from(code.matches(mark).count()).expect("a short line");
    count('[') - count(']')
}

fn is_trait(code: &str) -> bool {
    code.starts_with("pub trait ")
        || code.starts_with("trait ")
        || code.starts_with("pub(crate) trait ")
}

/// Returns the name of the type that an `impl` is for, or of a trait.
fn block_type(code: &str) -> String {
    let without_parameters = |text: &str| {
        let Some(rest) = text.strip_prefix('<') else { return text.to_owned() };
        let mut depth = 1;
        let end = rest.find(|c: char| {
            depth += i32::from(c == '<') - i32::from(c == '>');
            depth == 0
        });
        end.map_or_else(String::new, |end| rest[end + 1..].to_owned())
    };
    let target = match code.split_once(" for ") {
        Some((_, target)) => target.to_owned(),
        None => match code.split_once("trait ") {
            Some((_, name)) if !code.starts_with("impl") => name.to_owned(),
            _ => without_parameters(code.trim_start_matches("impl")),
        },
    };
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    target.trim().chars().take_while(|c| is_name(*c)).collect()
}

#[test]
fn items_are_read_with_docs_and_owner() {
    let text = "\
/// Runs the agent.
///
/// ```
/// run();
/// ```
#[must_use]
pub struct Run<'a> {
    /// The name.
    pub name: &'a str,
}

impl<'a, T: Into<&'a str>> Run<'a> {
    /// Returns the next step. More.
    pub async fn next(&mut self) {}
}

impl Tool for Run<'_> {
    fn call(&self) {}
}

/// Parses a text.
///
/// ```text
/// no Rust
/// ```
#[doc(hidden)]
pub fn hidden() {}
";
    let items = items(text);
    let read: Vec<_> = items.iter().map(|item| (item.line, item.owner.as_str())).collect();
    assert_eq!(read, [(7, ""), (9, ""), (14, "Run"), (27, "")]);
    assert!(items[0].has_example() && !items[2].has_example());
    assert_eq!(items[0].kind_and_name(), Some(("struct", "Run")));
    assert_eq!(items[2].kind_and_name(), Some(("fn", "next")));
    assert_eq!(items[2].summary(), "Returns the next step");
    assert!(items[3].is_hidden && !items[3].has_example());
}
