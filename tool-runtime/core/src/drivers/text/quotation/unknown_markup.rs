//! Recognizes markup of calls in a format that is not known: a line that begins with a tag or a
//! label of calls, before the name of an offered tool or an object that is a call.
//!
//! Other markup, such as HTML, mentions the names of tools, too. A name counts only where a call
//! has it: `<tool_use>NAME`, `name="NAME"`, `"tool": "NAME"`, `<name>NAME</name>`. An element with
//! the name of a tool and nothing else, `<tool name="NAME"/>`, is an entry of a list of tools,
//! unless the tool requires no arguments.
//!
//! Two kinds of calls have no tag: expressions (`call_expression.rs`), and objects that are a call
//! of two tools, or have two members with arguments.

use crate::drivers::text::ToolLookup;
use crate::drivers::text::grammar::{Members, beginning, begins_ambiguous_call};
use crate::drivers::text::quotation::call_expression::begins_call_expression;
use crate::json::__private::{ARGUMENTS, NAMES};
use crate::tool::ToolDefinition;

/// The longest tag or label that is examined, in bytes.
const MAX_HEAD_LEN: usize = 64;
/// The longest text after it in which the name of a tool is searched, in bytes.
const MAX_BODY_LEN: usize = 1024;
/// Words in the names of tags around calls.
const TAG_WORDS: [&str; 30] = [
    "tool",
    "tools",
    "toolcall",
    "toolcalls",
    "tooluse",
    "toolrequest",
    "function",
    "functions",
    "functioncall",
    "functioncalls",
    "call",
    "calls",
    "callfunction",
    "calltool",
    "invoke",
    "invocation",
    "invoketool",
    "usetool",
    "runtool",
    "action",
    "actions",
    "plugin",
    "plugins",
    "recipient",
    "execute",
    "exec",
    "act",
    "run",
    "fn",
    "func",
];
/// Labels before the name of a tool, in lower case.
const LABELS: [&str; 15] = [
    "action",
    "tool",
    "tool call",
    "tool name",
    "function",
    "function call",
    "function name",
    "call",
    "use tool",
    "act",
    "calling",
    "calling tool",
    "invoke",
    "api",
    "api call",
];
/// Prefixes of the names of tools that begin a line.
const PREFIXES: [&str; 3] = ["to=functions.", "to=", "functions."];
/// Words before a prefix: roles and channels without the tokens around them.
const ROLES: [&str; 4] = ["assistant", "commentary", "analysis", "final"];
/// Labels before the arguments, in lower case.
const ARGUMENT_LABELS: [&str; 10] = [
    "action input",
    "tool input",
    "tool arguments",
    "arguments",
    "argument",
    "args",
    "parameters",
    "params",
    "input",
    "kwargs",
];

/// Returns true if `text`, which begins a line, begins with markup of a call: `<functioncall>`,
/// `[TOOL_REQUEST]`, `<run_command>`, `Action 1: run_command[ls]`.
pub(crate) fn begins_unknown_call(text: &str, tools: &ToolLookup<'_>) -> bool {
    let ends_as_call = text.trim_end().ends_with(['}', ')']);
    let text = beginning(text, MAX_HEAD_LEN + MAX_BODY_LEN);
    if begins_ambiguous_call(text, tools) || begins_call_expression(text, tools) && !is_link(text) {
        return true;
    }
    let Some(inner) = text.strip_prefix(['<', '[', '✿']) else {
        return ends_as_call && begins_recipient_call(text, tools)
            || begins_labeled_call(text, tools);
    };
    let name = tag_name(inner);
    let start = text.len() - inner.trim_start_matches(TAG_SIGNS).len();
    let Some(body) = text.get(start + name.len()..) else { return false };
    let is_tag = TAG_WORDS.iter().any(|word| words(name).any(|it| it == *word));
    if is_tag && !is_link(text) && (names_tool(body, tools) || is_call(body)) {
        return true;
    }
    text.starts_with('<')
        && (is_element_of_tool(name, body, tools) || is_tag_before_object(body, tools))
}

/// Returns the end of the last element of the tag with which `markup` begins, if nothing follows it
/// on its line; or the end of a line that begins with a label or an expression and ends with a
/// bracket; or the end of the text, if a line with the arguments ends it.
pub(crate) fn element_end(markup: &str) -> Option<usize> {
    if !markup.starts_with(['<', '[']) || markup.starts_with("[[") {
        let line = markup.split('\n').next().unwrap_or_default();
        let line = line.trim_end().trim_end_matches(';');
        let ends = line.ends_with([')', ']', '}']).then_some(line.len());
        return ends.or_else(|| ends_with_arguments(markup).then_some(markup.len()));
    }
    let (open, close) = if markup.starts_with('<') { ("</", '>') } else { ("[/", ']') };
    let inner = markup.strip_prefix(['<', '['])?;
    let name = inner.split(|c: char| c.is_whitespace() || "<>[]=({:".contains(c)).next()?;
    let name = name.trim_end_matches('/');
    let ends = [format!("{open}{name}{close}"), format!("[END_{name}]")];
    let ends = ends.iter().filter(|_| !name.is_empty());
    let end = ends.filter_map(|end| Some(markup.rfind(end.as_str())? + end.len())).max()?;
    let line = markup.get(end..)?.split('\n').next().unwrap_or_default();
    line.trim().is_empty().then_some(end)
}

/// Returns true if the line after the first one has the arguments, and ends the text, perhaps with
/// lines that are indented below it.
fn ends_with_arguments(markup: &str) -> bool {
    let mut lines = markup.lines().skip(1).filter(|line| !line.trim().is_empty());
    lines.next().is_some_and(begins_with_argument_label)
        && lines.all(|line| line.starts_with([' ', '\t']))
}

/// Signs before the name of a tag.
const TAG_SIGNS: [char; 5] = ['|', '｜', '/', '<', '['];

/// Returns the name of the tag of which `inner` is the rest.
fn tag_name(inner: &str) -> &str {
    let inner = inner.trim_start_matches(TAG_SIGNS);
    let is_of_name = |c: char| c.is_alphanumeric() || "_-▁|｜".contains(c);
    let name = inner.split(|c| !is_of_name(c)).next().unwrap_or_default();
    beginning(name, MAX_HEAD_LEN).trim_end_matches(['|', '｜'])
}

/// Returns the words of a name in lower case: `ToolCall` and `tool_call` have two.
fn words(name: &str) -> impl Iterator<Item = String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || c.is_uppercase() && was_lower {
            words.push(String::new());
        }
        was_lower = c.is_lowercase();
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
    }
    words.into_iter()
}

/// Returns true for a link of Markdown: `[Call us](https://…)`, `[Call us]: https://…`.
fn is_link(text: &str) -> bool {
    let after = text.split_once(']').map(|(_, after)| after);
    text.starts_with('[') && after.is_some_and(|after| after.starts_with(['(', ':']))
}

/// Returns true if a tag with the name of a tool is a call of it: `<run_command command="ls"/>`. A
/// name of one word may be an element of HTML, so an argument has to follow it.
fn is_element_of_tool(name: &str, body: &str, tools: &ToolLookup<'_>) -> bool {
    let Some(tool) = tools.find(name).filter(|tool| tool.name == name || name.contains('_')) else {
        return false;
    };
    let Some(after) = body.trim_start().split_once('>').map(|(_, after)| after) else {
        return false;
    };
    if name.contains('_') || after.trim_start().starts_with('{') {
        return true;
    }
    let parameters = tool.parameters.as_value().get("properties").and_then(|it| it.as_object());
    parameters.into_iter().flatten().any(|(parameter, _)| {
        [format!("<{parameter}>"), format!(" {parameter}=")]
            .iter()
            .any(|start| body.contains(start.as_str()))
    })
}

/// Returns true if an attribute of a tag names a tool, and an object follows the tag:
/// `<x tool="run_command">{`.
fn is_tag_before_object(body: &str, tools: &ToolLookup<'_>) -> bool {
    let head = body.split_once('>').filter(|(_, after)| after.trim_start().starts_with('{'));
    head.is_some_and(|(attributes, _)| attributes.contains('=') && names_tool(attributes, tools))
}

/// Returns true if `body`, which follows the name of a tag, is an object with a name and arguments.
fn is_call(body: &str) -> bool {
    let Some(at) = body.find('{').filter(|at| *at < MAX_HEAD_LEN) else { return false };
    let object = body.get(at..).unwrap_or_default();
    let members = Members::of(object);
    members.get(NAMES).is_some_and(|name| name.starts_with('"'))
        && members.get(ARGUMENTS).is_some_and(|arguments| arguments.starts_with('{'))
}

/// Returns true if a tool is named where a call names it.
fn names_tool(body: &str, tools: &ToolLookup<'_>) -> bool {
    let is_of_name = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    let (mut at, mut is_first, mut key) = (0, true, "");
    while let Some(start) = body.get(at..).and_then(|rest| rest.find(is_of_name)) {
        let before = body.get(at..at + start).unwrap_or_default();
        let rest = body.get(at + start..).unwrap_or_default();
        let word = rest.split(|c| !is_of_name(c)).next().unwrap_or_default();
        let after = rest.get(word.len()..).unwrap_or_default();
        at += start + word.len();
        // `<functions.run_command>`
        let word = word.trim_start_matches('.');
        let is_value = NAMES.contains(&key) && before.contains(['=', ':', '>']);
        let is_tag = before.ends_with('<');
        if (is_first || is_value || is_tag)
            && let Some(tool) = offered(word, tools)
            && !is_word_of_sentence(word, after)
            && !is_entry(body.get(..at).unwrap_or_default(), after, tool)
        {
            return true;
        }
        // The names of keys come first: `<use_tool name="…">`, `{"name": …}`.
        is_first &= NAMES.contains(&word) && after.trim_start().starts_with(['=', ':', '"', '>']);
        // `android:name` is another key than `name`.
        key = if before == ":" { "" } else { word };
    }
    false
}

/// Returns the tool of this name. A name of one word has to be spelled as the tool's, because it
/// may be a word.
fn offered<'d>(name: &str, tools: &ToolLookup<'d>) -> Option<&'d ToolDefinition> {
    tools.find(name).filter(|tool| tool.name == name || name.contains(['_', '.']))
}

/// Returns true if a name, between `before` and `after`, is all that its element has, and the tool
/// requires arguments.
fn is_entry(before: &str, after: &str, tool: &ToolDefinition) -> bool {
    let attributes = before.rsplit('<').next().unwrap_or_default();
    let end = after.trim_start_matches(['"', '\'']).trim_start();
    let required = tool.parameters.as_value().get("required").and_then(|it| it.as_array());
    attributes.matches('=').count() == 1
        && ["/>", "></"].iter().any(|ending| end.starts_with(ending))
        && required.is_some_and(|names| !names.is_empty())
}

/// Returns true if other words follow a name that may be a word: `search the archive`.
fn is_word_of_sentence(name: &str, after: &str) -> bool {
    let next = after.trim_start_matches([' ', ',']);
    let word = next.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
    let is_attribute = next.get(word.len()..).is_some_and(|rest| rest.starts_with('='));
    next.len() < after.len() && !word.is_empty() && !is_attribute && !name.contains('_')
}

/// Returns true if a tool is the recipient of a message: `assistant to=functions.search`.
fn begins_recipient_call(text: &str, tools: &ToolLookup<'_>) -> bool {
    let mut rest = text;
    while let Some(after) = ROLES.iter().find_map(|role| rest.strip_prefix(role)) {
        rest = after.trim_start_matches(' ');
    }
    let name = PREFIXES.iter().find_map(|prefix| rest.strip_prefix(prefix));
    name.is_some_and(|name| names_recipient(name, tools))
}

/// Returns true if a label and the name of a tool are followed by arguments.
fn begins_labeled_call(text: &str, tools: &ToolLookup<'_>) -> bool {
    let Some(colon) = beginning(text, MAX_HEAD_LEN).find(':') else { return false };
    let (label, rest) = text.split_at_checked(colon).unwrap_or_default();
    let label = label.trim_matches(['#', '*', ' ']).to_lowercase().replace('_', " ");
    let label = label.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end();
    if !LABELS.contains(&label) {
        return false;
    }
    let rest = rest.trim_start_matches([':', '*', ' ', '\t', '`', '"']);
    let is_of_name = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    let name = rest.split(|c| !is_of_name(c)).next().unwrap_or_default();
    if offered(name, tools).is_none() {
        return false;
    }
    let after = rest.get(name.len()..).unwrap_or_default();
    let after = after.trim_start_matches(['*', ' ', '\t', '`', '"', '\r']);
    let Some(next) = after.strip_prefix('\n') else {
        return after.starts_with(['(', '[', '{']) || after.is_empty() && label == "action";
    };
    let next = next.trim_start();
    next.trim_start_matches(['#', '*', ' ']).starts_with('{') || begins_with_argument_label(next)
}

/// Returns true if `text` begins with the name of a tool, on which a channel may be glued, or after
/// which the type of the arguments stands: `searchcommentary json`, `search code{`.
fn names_recipient(text: &str, tools: &ToolLookup<'_>) -> bool {
    let word = text.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
    let glued = ROLES.iter().find_map(|role| word.strip_suffix(role));
    let after = text.get(word.len()..).unwrap_or_default().trim_start();
    let arguments = ["json", "code"].iter().find_map(|kind| after.strip_prefix(kind));
    let is_typed = arguments.is_some_and(|arguments| arguments.trim_start().starts_with('{'));
    glued.is_some_and(|name| offered(name, tools).is_some())
        || is_typed && offered(word, tools).is_some()
        || names_tool(text, tools)
}

fn begins_with_argument_label(text: &str) -> bool {
    let line = text.split('\n').next().unwrap_or_default();
    let line = beginning(line.trim_start().trim_start_matches(['#', '*', ' ']), MAX_HEAD_LEN);
    let line = line.to_lowercase();
    ARGUMENT_LABELS.iter().any(|label| {
        line.strip_prefix(label).is_some_and(|rest| rest.trim_start().starts_with([':', '*']))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{begins_unknown_call, element_end};
    use crate::drivers::text::ToolLookup;
    use crate::tool::ToolDefinition;

    fn begins(text: &str) -> bool {
        let schema = json!({"type": "object", "properties": {"command": {}, "query": {}}});
        let [run, search] = ["run_command", "search"]
            .map(|name| ToolDefinition::new(name, "Runs.", schema.clone()));
        let schema = json!({"properties": {"force": {}}, "required": ["force"]});
        let hammer = ToolDefinition::new("hammer", "Runs.", schema);
        begins_unknown_call(text, &ToolLookup::new(&[&run, &search, &hammer]))
    }

    #[test]
    fn markup_of_unknown_formats_is_recognized_by_the_name_of_a_tool() {
        for text in [
            "<functioncall>{\"name\": \"run_command\"}",
            "<ToolCall>{\"name\": \"run_command\"}",
            "<tool-call> run_command",
            "<use_tool name=\"run_command\">",
            "<tool_use>\n<tool_name>search</tool_name>",
            "<tool_use>\n  <search>\n    <query>x</query>",
            "<action>{\"tool\": \"search\"}",
            "<function(run_command)>{}",
            "<function:run_command>{}",
            "<functions.run_command>{}",
            "<|begin_of_tool_call|>{\"name\": \"run_command\"}",
            "<|recipient|>run_command\n",
            "<longcat_tool_call>run_command",
            "<run_command><command>ls</command></run_command>",
            "<run_command command=\"ls\"/>",
            "<search><query>x</query></search>",
            "<search query=\"x\"/>",
            "<search>{\"query\": \"x\"}</search>",
            "[TOOL_REQUEST]{\"name\": \"run_command\"}",
            "[tool_call: run_command for command \"ls\"]",
            "<｜｜GCML｜｜tool_calls>\n<｜｜GCML｜｜invoke name=\"run_command\">",
            "Action: run_command[ls]",
            "Action 1: run_command(\"ls\")",
            "ACTION: run_command\nACTION INPUT: {}",
            "Action : run_command",
            "**Action:** `run_command`\nArguments: {}",
            "Tool: search\nArguments: {\"query\": \"x\"}",
            "Function call: search({\"query\": \"x\"})",
            "### Tool: search\n**Parameters:** {}",
            "TOOL_CALL: search({\"query\": \"x\"})",
            "Act 1: search[x]",
            "functions.search:0{\"query\": \"x\"}",
            "assistant to=functions.search json\n{\"query\": \"x\"}",
            "analysis to=search code{\"query\": \"x\"}",
            "to=search\n{\"query\": \"x\"}",
            &format!("to=search\n{{\"query\": \"{}\"}}", "x".repeat(2000)),
            "assistant to=functions.searchcommentary json{\"query\": \"x\"}",
            "tool_name: search\narguments:\n  query: x",
            "<tools.search query=\"x\"/>",
            "<fn name=\"search\">{\"query\": \"x\"}</fn>",
            "<x tool=\"search\">{\"query\": \"x\"}</x>",
            "<execute>search(query=\"x\")</execute>",
            // No element has more than the name, but the tool requires no arguments.
            "<tool name=\"search\"/>",
            "<tool name=\"hammer\" force=\"1\"/>",
            "<tool name=\"hammer\"><force>1</force></tool>",
            "<tool name='hammer'>{\"force\": 1}</tool>",
            // Expressions.
            "@search(query=\"x\")",
            "[[search({\"query\": \"x\"})]]",
            "Calling search with {\"query\": \"x\"}",
            "Tool: search\nInput: x",
            "<ctrl42>call\nprint(default_api.search(query='x'))",
            // Objects with two meanings.
            "{\"tool\": \"search\", \"Tool\": \"hammer\", \"arguments\": {}}",
            "[{\"name\": \"search\", \"args\": {}}, {\"name\": \"search\", \"name\": \"x\"}]",
            "{\"name\": \"search\", \"args\": {\"a\": 1}, \"input\": {\"a\": 2}}",
            // Without an offered tool, by its members.
            "<functioncall>{\"name\": \"other\", \"arguments\": {}}",
            "[TOOL_REQUEST] {\"tool\": \"other\", \"params\": {}}",
        ] {
            assert!(begins(text), "{text}");
        }
    }

    #[test]
    fn other_markup_is_no_call() {
        for text in [
            "<functioncall>{\"name\": \"other\"}",
            "<b>run_command</b>",
            "<note>run_command</note>",
            "<search>\n<form><input name=\"query\"></form></search>",
            "<toolbar>\n<input type=\"search\"></toolbar>",
            "<callout>search</callout>",
            "<tools><tool name=\"hammer\"/></tools>",
            "<tools>\n<tool name=\"hammer\" /><tool name='hammer'></tool></tools>",
            "<Tool name=\"hammer\"/>",
            "[search(query=\"x\")](https://x.io)",
            "{\"name\": \"search\", \"Name\": \"Search\", \"price\": 3}",
            "{\"name\": \"x\", \"Name\": \"y\"}",
            "<transaction name=\"search\"/>",
            "<form action=\"search\"><input></form>",
            "<plugin>\n<groupId>org.search</groupId><artifactId>search</artifactId></plugin>",
            "<function>\n<title>Full text search</title></function>",
            "<action>search the archive</action>",
            "<T>search(query: T)</T>",
            "<Search query={x}/>",
            "<action android:name=\"search\"/>",
            "<function-group>\n<function>Search</function></function-group>",
            "<option value=\"search\">{x}</option>",
            "functions.search is the name",
            "[run_command](https://x.io)",
            "[Call search](https://x.io)",
            "[Tool: search]: https://x.io",
            "Action: we have to run run_command",
            "Action: search the archive (twice)",
            "Tool: search",
            "Call: search, please (soon)",
            "run_command is the tool",
            "The action: run_command",
            "[1, 2]",
            "",
        ] {
            assert!(!begins(text), "{text}");
        }
    }

    #[test]
    fn element_ends_with_its_line() {
        for (markup, end) in [
            ("<call>x</call>\nSo.", Some(14)),
            ("<call>x</call> so", None),
            ("<call name=\"x\">y</call>", Some(23)),
            ("[CALL]x[/CALL]\nSo.", Some(14)),
            ("[CALL]x[END_CALL]\nSo.", Some(17)),
            ("<call>x", None),
            ("Action: search[x]\nObservation: y", Some(17)),
            ("Action: search the web\nFine.", None),
            ("<>x</>", None),
            ("[[search(x)]]\n\nFine.", Some(13)),
            ("search(x);\n\nFine.", Some(9)),
            ("Tool: search\nInput: x", Some(21)),
            ("Tool: search\n\nInput: x\n", Some(23)),
            ("Tool: search\nInput: x\nOutput: y", None),
            ("tool_name: search\narguments:\n  query: x\n  limit: 3", Some(50)),
        ] {
            assert_eq!(element_end(markup), end, "{markup}");
        }
    }
}
