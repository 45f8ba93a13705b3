//! Reads the documented items of a source file, line by line; rustfmt makes that regular.

/// A comment block and the item below it.
#[derive(Debug, Default)]
pub(crate) struct Item {
    /// The line of the item, from 1.
    pub(crate) line: usize,
    /// The type of the block around a method, field or variant, else an empty string.
    pub(crate) owner: String,
    /// Whether that block is a trait or a type that is declared `pub`: what it holds is public.
    pub(crate) is_in_public_block: bool,
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

    /// Returns whether the item is a public field, a variant of a public type with its fields, or
    /// an item of a public trait.
    pub(crate) fn is_public_member(&self) -> bool {
        let is_field = self.is_public() && self.kind_and_name().is_none();
        self.is_in_public_block || (is_field && !self.owner.is_empty())
    }

    /// Returns the first sentence of the docs: the text up to a full stop or an empty line.
    pub(crate) fn summary(&self) -> String {
        summary(&self.docs)
    }

    /// Returns whether the docs contain Rust code that is compiled.
    pub(crate) fn has_example(&self) -> bool {
        let compiled = ["", "no_run", "should_panic", "rust", "compile_fail"];
        self.code_blocks().any(|info| compiled.contains(&info))
    }

    /// Returns the attributes of each code block of the docs.
    pub(crate) fn code_blocks(&self) -> impl Iterator<Item = &str> {
        let fences = self.docs.iter().filter_map(|line| line.trim_start().strip_prefix("```"));
        fences.step_by(2).map(str::trim)
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
    // The blocks around a line: their indentation, the type's name, and an item of the block.
    let mut owners: Vec<(usize, String, Item)> = Vec::new();
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
        // A comment between the docs and the item.
        if code.starts_with("//") && !item.docs.is_empty() {
            continue;
        }
        if code == "}" {
            owners.retain(|(block_indent, ..)| *block_indent < indent);
        }
        if code.starts_with("impl") || is_trait(code) || is_type(code) {
            // Members of a public enum or trait are public; fields of a struct say it themselves.
            let is_in_public_block =
                code.starts_with("pub trait ") || code.starts_with("pub enum ");
            let is_hidden = item.is_hidden;
            let member = Item { is_in_public_block, is_hidden, ..Item::default() };
            owners.push((indent, block_type(code), member));
        }
        let is_item = !item.docs.is_empty() || code.starts_with("pub ");
        if is_item && !code.is_empty() && !code.starts_with("//") {
            let owner = owners.iter().rev().find(|(block_indent, ..)| *block_indent < indent);
            if let Some((_, name, member)) = owner {
                item.owner.clone_from(name);
                item.is_in_public_block = member.is_in_public_block;
                item.is_hidden |= member.is_hidden;
            }
            found.push(Item { line: at + 1, code: code.to_owned(), ..item });
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

/// Returns whether a line opens the block of a struct or an enum.
fn is_type(code: &str) -> bool {
    let code = code.strip_prefix("pub ").or_else(|| code.strip_prefix("pub(crate) "));
    let is_declared = |code: &str| code.starts_with("struct ") || code.starts_with("enum ");
    code.is_some_and(is_declared) && code.is_some_and(|code| code.ends_with('{'))
}

/// Returns the name of the type that an `impl` is for, or of a trait, a struct or an enum.
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
        None if code.starts_with("impl") => without_parameters(code.trim_start_matches("impl")),
        None => {
            let keywords = ["trait ", "struct ", "enum "];
            let name = keywords.iter().find_map(|keyword| code.split_once(keyword));
            name.map(|(_, name)| name.to_owned()).unwrap_or_default()
        }
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

/// A kind.
pub enum Kind {
    /// One.
    One {
        /// Two.
        two: u8,
    },
}

/// Reads.
pub trait Read {
    /// Reads a byte.
    fn read(&self);
}
";
    let items = items(text);
    let read: Vec<_> = items.iter().map(|item| (item.line, item.owner.as_str())).collect();
    let expected = [
        (7, ""),
        (9, "Run"),
        (14, "Run"),
        (27, ""),
        (30, ""),
        (32, "Kind"),
        (34, "Kind"),
        (39, ""),
        (41, "Read"),
    ];
    assert_eq!(read, expected);
    assert!(items[0].has_example() && !items[2].has_example());
    assert_eq!(items[0].kind_and_name(), Some(("struct", "Run")));
    assert_eq!(items[2].kind_and_name(), Some(("fn", "next")));
    assert_eq!(items[2].summary(), "Returns the next step");
    assert!(items[3].is_hidden && !items[3].has_example());
    let members: Vec<_> = items.iter().map(Item::is_public_member).collect();
    assert_eq!(members, [false, true, false, false, false, true, true, false, true]);
}
