//! Recognizes an expression that is a call, alone on its line, in no known format:
//! `@search(query="x")`, `[[search({…})]]`, `Calling search with {…}`, `<ctrl42>call…`.
//!
//! The name of an offered tool alone is a word. It counts only before values: an object, quoted
//! text, or an argument of the tool with a value. A signature, such as `search(query: str)`, has
//! types instead.

use crate::drivers::text::ToolLookup;
use crate::drivers::text::grammar::beginning;
use crate::json::__private::is_one_of;
use crate::tool::ToolDefinition;

/// The largest number of signs before a name: `[[`, `@`, `>>>`.
const MAX_SIGNS: usize = 6;
/// The longest name that is looked up, in bytes.
const MAX_NAME_LEN: usize = 128;
/// Signs that quote what follows them, or begin a heading or an item of a list.
const OTHER_SIGNS: &str = "\"'`“”‘’«»„#>-+|\\*_.,;:?)]}";
/// Words before the name of a tool, in lower case.
const VERBS: [&str; 13] = [
    "calling",
    "call",
    "invoking",
    "invoke",
    "using",
    "use",
    "running",
    "run",
    "executing",
    "execute",
    "await",
    "print",
    "requesting",
];
/// Words between a verb and the name of a tool.
const NOUNS: [&str; 5] = ["the", "tool", "function", "my", "api"];
/// Words between the name of a tool and its arguments, in lower case.
const CONNECTIVES: [&str; 16] = [
    "tool",
    "function",
    "with",
    "using",
    "on",
    "and",
    "the",
    "following",
    "arguments",
    "argument",
    "args",
    "parameters",
    "params",
    "input",
    "inputs",
    "as",
];
/// Beginnings of values that are no text, in lower case.
const WORDS: [&str; 4] = ["true", "false", "null", "none"];

/// Returns true if `text`, which begins a line, begins with a call of an offered tool, after which
/// its paragraph or the text ends.
pub(crate) fn begins_call_expression(text: &str, tools: &ToolLookup<'_>) -> bool {
    if let Some(rest) = after_control_token(text) {
        return names_callee(rest, tools);
    }
    let arrow = ["->", "=>"].iter().find(|arrow| text.starts_with(**arrow));
    let signs = text.chars().take(MAX_SIGNS).take_while(|c| is_sign(*c));
    let signs_len: usize = arrow.map_or_else(|| signs.map(char::len_utf8).sum(), |it| it.len());
    let rest = text.get(signs_len..).unwrap_or_default();
    let (rest, is_announced) = without_verb(rest.strip_prefix(' ').unwrap_or(rest));
    let name_len = rest.find(|c: char| !is_of_name(c)).unwrap_or(rest.len());
    let (name, after) = rest.split_at_checked(name_len).unwrap_or_default();
    let after = match after.strip_prefix([']', '>', '}']) {
        // `[search] {…}`
        Some(after) if signs_len > 0 => after,
        _ if is_announced => without_connectives(after),
        _ => after,
    };
    // Most lines end here.
    if name.is_empty() || name.len() > MAX_NAME_LEN || !opens_arguments(after) {
        return false;
    }
    // A name of one word has to be spelled as the tool's, because it may be a word.
    let is_name =
        |tool: &ToolDefinition| tool.name == name || name.contains('.') || tool.name.contains('_');
    let callee = tools.find(name).filter(|tool| is_name(tool));
    callee.is_some_and(|tool| has_values(after, tool) && ends_paragraph(text))
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || "_-.".contains(c)
}

fn is_sign(c: char) -> bool {
    !c.is_alphanumeric() && !c.is_whitespace() && !OTHER_SIGNS.contains(c)
}

/// Returns the text after `<ctrl42>call`, which models of Google write where a call begins.
fn after_control_token(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("<ctrl")?.trim_start_matches(|c: char| c.is_ascii_digit());
    rest.strip_prefix(">call")
}

/// Returns true if the name of an offered tool stands before a bracket.
fn names_callee(text: &str, tools: &ToolLookup<'_>) -> bool {
    text.match_indices(['(', '{']).any(|(at, _)| {
        let before = text.get(..at).unwrap_or_default();
        before.rsplit(|c| !is_of_name(c)).next().is_some_and(|name| tools.find(name).is_some())
    })
}

/// Returns the text after a verb that announces a call, and true if there is one.
fn without_verb(text: &str) -> (&str, bool) {
    let Some(mut rest) = without_word(text, &VERBS) else { return (text, false) };
    while let Some(after) = without_word(rest, &NOUNS) {
        rest = after;
    }
    (rest.trim_start_matches(['`', '*', '"', '\'']), true)
}

/// Returns the text after the first word, if it is one of `words`, in lower case.
fn without_word<'t>(text: &'t str, words: &[&str]) -> Option<&'t str> {
    let end = text.find(|c: char| !c.is_alphabetic()).filter(|end| *end < 16)?;
    let (word, rest) = text.split_at_checked(end)?;
    let rest = rest.strip_prefix([' ', '(', ':'])?.trim_start_matches([':', ' ']);
    words.contains(&word.to_lowercase().as_str()).then_some(rest)
}

fn without_connectives(text: &str) -> &str {
    let mut rest = text.trim_start_matches(['`', '*', '"', '\'', ':', ' ']);
    loop {
        let end = rest.find(|c: char| !c.is_alphabetic()).unwrap_or(0);
        let (word, after) = rest.split_at_checked(end).unwrap_or_default();
        if word.is_empty() || !CONNECTIVES.contains(&word.to_lowercase().as_str()) {
            return rest;
        }
        rest = after.trim_start_matches([':', ' ', '\n']);
    }
}

fn opens_arguments(after: &str) -> bool {
    after.starts_with('(') || after.trim_start_matches([' ', ':', '\n', '\r']).starts_with('{')
}

/// Returns true if the arguments that begin `text` are values.
fn has_values(text: &str, tool: &ToolDefinition) -> bool {
    let Some(rest) = text.strip_prefix('(') else {
        let object = text.trim_start_matches([' ', ':', '\n', '\r']);
        return object.strip_prefix('{').is_some_and(|inner| begins_member(inner, tool));
    };
    let rest = rest.trim_start();
    rest.starts_with(['"', '\'', '{']) && !is_in_mustache(rest) || begins_member(rest, tool)
}

/// Returns true for a name of a value in a template: `({{query}})`.
fn is_in_mustache(text: &str) -> bool {
    text.strip_prefix("{{").is_some_and(|inner| !inner.trim_start().starts_with(['"', '\'']))
}

/// Returns true if an argument of the tool with a value begins `text`: `query="x"`, `"query": 1`.
fn begins_member(text: &str, tool: &ToolDefinition) -> bool {
    let text = text.trim_start().trim_start_matches(['"', '\'']);
    let key_len = text.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '-');
    let Some((key, after)) = key_len.and_then(|len| text.split_at_checked(len)) else {
        return false;
    };
    let after = after.trim_start_matches(['"', '\'']).trim_start();
    let Some(value) = after.strip_prefix(['=', ':']) else { return false };
    let value = value.trim_start_matches(['>', ' ', '\n']);
    let properties = tool.parameters.as_value().get("properties").and_then(|it| it.as_object());
    let mut names = properties.into_iter().flatten();
    names.any(|(name, _)| is_one_of(key, &[name])) && is_value(value)
}

fn is_value(text: &str) -> bool {
    let word = text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    text.starts_with(['"', '\'', '{', '[', '-', '<'])
        || text.starts_with(|c: char| c.is_ascii_digit())
        || WORDS.contains(&beginning(word, MAX_NAME_LEN).to_lowercase().as_str())
}

/// Returns true unless the line ends with a bracket and another line follows it directly, as in a
/// program.
fn ends_paragraph(text: &str) -> bool {
    let mut lines = text.split('\n');
    let first = lines.next().unwrap_or_default().trim_end();
    !first.ends_with([')', ']', '}', '>', ';'])
        || lines.next().is_none_or(|it| it.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::begins_call_expression;
    use crate::drivers::text::ToolLookup;
    use crate::tool::ToolDefinition;

    fn begins(text: &str) -> bool {
        let schema = json!({"type": "object", "properties": {"command": {}, "query": {}}});
        let [run, search] = ["run_command", "search"]
            .map(|name| ToolDefinition::new(name, "Runs.", schema.clone()));
        begins_call_expression(text, &ToolLookup::new(&[&run, &search]))
    }

    #[test]
    fn call_with_values_alone_on_its_line_is_recognized() {
        for text in [
            "@search(query=\"x\")",
            "@run_command({\"command\": \"ls\"})\n\nI'll wait.",
            "!search('x')",
            "/search {\"query\": \"x\"}",
            "$run_command(command: 'ls')",
            "🔧 search({\"query\": \"x\"})",
            "[[search({\"query\": \"x\"})]]",
            "[[ search(query=\"x\") ]]",
            "{{search(query=\"x\")}}",
            "<<run_command(command=\"ls\")>>",
            "((search(query=\"x\")))",
            "[search({\"query\": \"x\"})]",
            "[search] {\"query\": \"x\"}",
            "-> search({\"query\": \"x\"})",
            "=> search(query=\"x\")",
            "<search(query=\"x\")>",
            "search(query=\"x\")",
            "search(\n  query = \"x\",\n)",
            "search({query: 'x'});",
            "functions.search({\"query\": \"x\"})",
            "default_api.run_command(command='ls')",
            "await search({ query: \"x\" });",
            "print(default_api.search(query='x'))",
            "search{\"query\": \"x\"}",
            "search: {\"query\": \"x\"}",
            "run_command\n{\"command\": \"ls\"}",
            "runCommand(command=[\"ls\"])",
            "search(query=7)",
            "Calling search with {\"query\": \"x\"}",
            "Calling `search` with arguments: {\"query\": \"x\"}",
            "Call tool search with the following parameters:\n{\"query\": \"x\"}",
            "Using the run_command tool: {\"command\": \"ls\"}",
            "Invoking **search** with input {\"query\": \"x\"}",
            "calling search(query=\"x\")",
            "call: run_command(command=\"ls\")",
            "<ctrl42>call\nprint(default_api.search(query='x'))",
            "<ctrl42>call:search{query:<escape>x<escape>}<ctrl43>",
        ] {
            assert!(begins(text), "{text}");
        }
    }

    #[test]
    fn signatures_sentences_and_programs_are_no_calls() {
        for text in [
            "search(query: str)",
            "search(query: string): Promise<Hits>",
            "search(query)",
            "search()",
            "search({{query}})",
            "fn search(query: Vec<String>)",
            "search (the first one)",
            "search: {x}",
            "search for {\"query\": \"x\"}",
            "@search(query=\"x\")\ndef run():",
            "search(query=\"x\")\nprint(y)",
            "@search",
            "@search please find it (soon)",
            "[[search]]",
            "[search](https://x.io)",
            "[search] {x}",
            "[[search (engine)]]",
            "{{query}}",
            "# search(query=\"x\")",
            "- search(query=\"x\")",
            "> search(query=\"x\")",
            "`search(query=\"x\")`",
            "\"search(query=\\\"x\\\")\"",
            "other(query=\"x\")",
            "Search(query=\"x\")",
            "search(other=\"x\")",
            "Calling search is easy {so}",
            "Call us {\"query\": \"x\"}",
            "Use search (it is good)",
            "<ctrl42>thought\nI may search (it)",
            "<ctrl42>call other(query='x')",
            "{\"query\": \"x\"}",
            "",
        ] {
            assert!(!begins(text), "{text}");
        }
    }
}
