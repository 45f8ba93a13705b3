//! Examples: every public type, trait and entry method has one that is compiled and run.
//!
//! An entry method creates a value, opens a file or waits: `new`, `open`, `from_…` and `async fn`.
//! The example of a type is enough for its `new` if it calls it, unless the type is exported by the
//! crate itself. What else users enter by is listed.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::PathBuf;

use regex_lite::Regex;

use super::documentation::{crates, is_documented_api, is_generated};
use super::files::{files, relative, root};
use super::items::{Item, items};

/// Methods by which a user enters a part of the crate, beside those that the rule finds.
const ENTRY_POINTS: [(&str, &[&str]); 16] = [
    ("Agent", &["stream", "start", "resume", "session", "check", "policy", "into_tool"]),
    ("Cassette", &["record", "replay"]),
    ("Client", &["new"]),
    ("Dispatcher", &["policy"]),
    ("Paused", &["decide"]),
    ("Partial", &["push", "value"]),
    ("Registry", &["register", "register_all_from", "without", "prefer", "filter"]),
    ("Run", &["stream", "extract_stream", "state"]),
    ("RunReport", &["write_to", "to_html"]),
    ("Schema", &["of", "check", "for_dialect"]),
    ("Session", &["stream", "start", "fork", "truncate", "rename"]),
    ("SessionLocks", &["new", "try_lock"]),
    ("Steering", &["new"]),
    ("ToolContext", &["get", "require", "spawn", "progress", "record", "redact"]),
    ("ToolError", &["invalid_arguments", "transient", "retry_after"]),
    ("Window", &["new"]),
];

/// Examples that are compiled and not run: the type of a method, the item or page, and the reason.
const COMPILED_ONLY: &[(&str, &str, &str)] = &[
    ("", "Anthropic", "needs a network"),
    ("", "Client", "needs a network"),
    ("", "ConventionsExporter", "needs an HTTP client outside of tokio"),
    ("", "Gemini", "needs a network"),
    ("", "GeminiEmbedder", "needs a network"),
    ("", "McpClient", "needs a server"),
    ("", "McpConnection", "needs a server"),
    ("", "McpServer", "needs standard input"),
    ("", "Mistral", "needs a network"),
    ("", "MistralEmbedder", "needs a network"),
    ("", "Ollama", "needs a network"),
    ("", "OllamaEmbedder", "needs a network"),
    ("", "OpenAi", "needs a network"),
    ("", "OpenAiEmbedder", "needs a network"),
    ("", "OpenAiResponses", "needs a network"),
    ("", "layer", "sets the subscriber of the process"),
    ("", "Postgres", "needs a server"),
    ("", "PostgresDocuments", "needs a server"),
    ("", "PostgresNotifications", "needs a server"),
    ("", "PostgresRecords", "needs a server"),
    ("", "PostgresTables", "needs a server"),
    ("", "RustTools", "compiles for minutes"),
    ("", "providers.md", "needs a network"),
    ("", "rust_tools.md", "compiles for minutes"),
    ("Cassette", "record", "needs a network"),
    ("Client", "from_env", "needs a key and a network"),
    ("McpClient", "connect", "needs a server"),
    ("McpConnection", "approve", "needs a server"),
    ("McpConnection", "complete_prompt", "needs a server"),
    ("McpConnection", "complete_resource", "needs a server"),
    ("McpConnection", "connected", "needs a server"),
    ("McpConnection", "disconnect", "needs a server"),
    ("McpConnection", "prompt", "needs a server"),
    ("McpConnection", "prompts", "needs a server"),
    ("McpConnection", "read_resource", "needs a server"),
    ("McpConnection", "refresh", "needs a server"),
    ("McpConnection", "resource_templates", "needs a server"),
    ("McpConnection", "resources", "needs a server"),
    ("McpConnection", "set_roots", "needs a server"),
    ("McpConnection", "subscribe", "needs a server"),
    ("McpConnection", "tool_meta", "needs a server"),
    ("McpConnection", "tools", "needs a server"),
    ("McpConnection", "unsubscribe", "needs a server"),
    ("McpServer", "router", "needs a network"),
    ("McpServer", "serve_stdio", "needs standard input"),
    ("Postgres", "connect", "needs a server"),
    ("Postgres", "connect_with", "needs a server"),
    ("Postgres", "from_pool", "needs a server"),
    ("Postgres", "listen", "needs a server"),
    ("Postgres", "notify", "needs a server"),
    ("Postgres", "records", "needs a server"),
    ("Postgres", "tables", "needs a server"),
    ("PostgresDocuments", "index_vectors", "needs a server"),
    ("PostgresDocuments", "open", "needs a server"),
    ("PostgresNotifications", "next", "needs a server"),
    ("PostgresTables", "client", "needs a server"),
    ("RustTools", "prepare", "compiles for minutes"),
];

/// Returns the names that the crate exports at its root, or that the table of its docs links to.
fn root_names() -> HashSet<String> {
    let roots = ["tool-runtime/src/lib.rs", "tool-runtime/core/src/lib.rs"];
    let text = roots.map(|path| fs::read_to_string(root().join(path)).expect("a crate")).concat();
    let exports = Regex::new(r"(?m)^pub use \w+::(?:(\w+)|\{([^}]*)\});").expect("an expression");
    let links = Regex::new(r"\[`(?:\w+::)*([A-Z]\w*)[^`]*`\]").expect("an expression");
    let exported = exports.captures_iter(&text).flat_map(|capture| {
        let names = capture.get(1).or_else(|| capture.get(2)).expect("names").as_str();
        names.split(',').map(|name| name.trim().to_owned()).collect::<Vec<_>>()
    });
    exported.chain(links.captures_iter(&text).map(|capture| capture[1].to_owned())).collect()
}

/// Returns whether a method needs an example by the rule; `roots` are the types of the crate's
/// root.
fn is_entry_method(item: &Item, name: &str, roots: &HashSet<String>) -> bool {
    let waits = item.code.starts_with("pub async fn");
    let opens = name == "open" || name.starts_with("from_");
    !item.owner.is_empty() && (waits || opens || (name == "new" && roots.contains(&item.owner)))
}

fn is_listed(item: &Item, name: &str) -> bool {
    ENTRY_POINTS.iter().any(|(owner, methods)| item.owner == *owner && methods.contains(&name))
}

/// Returns the names that a crate exports for the others of this workspace alone.
fn hidden_names() -> HashSet<String> {
    let read = |path: &str| fs::read_to_string(root().join(path)).expect("a file of exports");
    let core = read("tool-runtime/core/src/workspace.rs");
    let export = Regex::new(r"(?m)^pub use [\w:]+::(\w+);").expect("an expression");
    let hidden = Regex::new(r"#\[doc\(hidden\)\]\n(?:#.*\n)*pub use [\w:]+::(\w+);");
    let hidden = hidden.expect("an expression");
    let http = read("tool-runtime/http/src/lib.rs");
    let found = export.captures_iter(&core).chain(hidden.captures_iter(&http));
    found.map(|capture| capture[1].to_owned()).collect()
}

/// Reads the documented items of the public crates with their files.
fn public_items() -> Vec<(PathBuf, Item)> {
    let hidden = hidden_names();
    assert!(hidden.len() > 5, "{hidden:?}");
    let is_hidden = |item: &Item| {
        let name = item.kind_and_name().map_or("", |(_, name)| name);
        let owner = if item.owner.is_empty() { name } else { &item.owner };
        hidden.contains(owner)
    };
    let files = crates().filter(|(path, _)| !is_generated(path));
    files
        .flat_map(|(path, text)| items(&text).into_iter().map(move |item| (path.clone(), item)))
        .filter(|(_, item)| is_documented_api(item) && !is_hidden(item))
        .collect()
}

#[test]
fn public_types_traits_and_entry_methods_have_examples() {
    let (items, roots) = (public_items(), root_names());
    assert!(roots.contains("Agent") && roots.contains("RunStream"), "{roots:?}");
    let mut type_docs: HashMap<&str, String> = HashMap::new();
    for (_, item) in items.iter().filter(|(_, item)| item.owner.is_empty()) {
        if let Some((_, name)) = item.kind_and_name() {
            type_docs.entry(name).or_default().push_str(&item.docs.join("\n"));
        }
    }
    let mut violations = Vec::new();
    let (mut listed, mut methods) = (HashSet::new(), 0);
    for (path, item) in &items {
        let Some((kind, name)) = item.kind_and_name() else { continue };
        let is_free_function = kind == "fn" && item.owner.is_empty();
        let is_type = ["struct", "enum", "trait"].contains(&kind);
        let is_method = !item.owner.is_empty() && ["fn", "const"].contains(&kind);
        let is_entry = is_method && (is_listed(item, name) || is_entry_method(item, name, &roots));
        if is_method && is_listed(item, name) {
            listed.insert((item.owner.as_str(), name));
        }
        methods += usize::from(is_entry);
        let is_called_by_type = || {
            let call = format!("{}::new(", item.owner);
            type_docs.get(item.owner.as_str()).is_some_and(|docs| docs.contains(&call))
        };
        let lacks_call = is_method && name == "new" && !is_entry && !is_called_by_type();
        let is_checked = is_type || is_free_function || is_entry || lacks_call;
        if is_checked && !item.has_example() {
            violations.push(format!("{}:{}: {kind} {name}", relative(path), item.line));
        }
    }
    let expected: usize = ENTRY_POINTS.iter().map(|(_, methods)| methods.len()).sum();
    assert_eq!(listed.len(), expected, "an entry point was renamed: change the list as well");
    assert!(methods > 80, "only {methods} entry methods were found");
    assert!(violations.is_empty(), "{} items:\n{}", violations.len(), violations.join("\n"));
}

#[test]
fn examples_run_unless_listed() {
    let mut compiled_only = HashSet::new();
    let mut violations = Vec::new();
    let mut check = |owner: &str, name: &str, attributes: &str, line: String| {
        let is_listed = |(listed_owner, listed_name, _): &(&str, &str, &str)| {
            (*listed_owner, *listed_name) == (owner, name)
        };
        match COMPILED_ONLY.iter().find(|it| is_listed(it)) {
            _ if is_run(attributes) => {}
            Some(listed) if attributes == "no_run" => _ = compiled_only.insert(listed),
            _ => violations.push(format!("{line}: `{attributes}`")),
        }
    };
    for (path, text) in crates() {
        for item in items(&text) {
            let name = item.kind_and_name().map_or("", |(_, name)| name);
            for attributes in item.code_blocks() {
                let line = format!("{}:{}", relative(&path), item.line);
                check(&item.owner, name, attributes, line);
            }
        }
    }
    let pages = ["tool-runtime/src/docs", "tool-runtime/dynamic/src/docs"];
    for (path, text) in pages.into_iter().flat_map(|folder| files(folder, &["md"])) {
        let page = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        for attributes in text.lines().filter_map(|line| line.strip_prefix("```")) {
            check("", page, attributes, relative(&path));
        }
    }
    assert!(violations.is_empty(), "{} examples:\n{}", violations.len(), violations.join("\n"));
    let unused = COMPILED_ONLY.iter().find(|listed| !compiled_only.contains(listed));
    assert_eq!(unused, None, "it has no example that is only compiled");
}

/// Returns whether a code block of these attributes is no Rust, or is run.
fn is_run(info: &str) -> bool {
    !info.split(',').any(|word| ["ignore", "no_run"].contains(&word.trim()))
}

#[test]
fn example_rules_find_violations() {
    assert!(is_run("") && is_run("text") && is_run("should_panic") && is_run("rust"));
    assert!(!is_run("ignore") && !is_run("rust,no_run"));
    let code = "\
impl Run {
    /// Waits for the end.
    pub async fn finish(self) {}

    /// Creates a run.
    pub fn new() -> Self {}

    /// Reads a run.
    pub fn from_json(text: &str) -> Self {}

    /// Returns the name.
    pub fn name(&self) -> &str {}
}
";
    let is_entry = |roots: &[&str]| {
        let roots = roots.iter().map(|name| (*name).to_owned()).collect();
        let name = |item: &Item| item.kind_and_name().map_or("", |(_, name)| name).to_owned();
        items(code)
            .iter()
            .map(|item| is_entry_method(item, &name(item), &roots))
            .collect::<Vec<_>>()
    };
    assert_eq!(is_entry(&["Run"]), [true, true, true, false]);
    assert_eq!(is_entry(&[]), [true, false, true, false]);
}
