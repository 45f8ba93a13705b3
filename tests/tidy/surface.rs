//! The numbers of public and of hidden types of each crate.
//!
//! Each type costs every reader of the documentation, so a number only falls: a crate that needs a
//! new type hides, merges or removes another one. The listings `public-api.txt` are written by
//! `.ci/steps/full/api write`. Hidden types are those that the modules `__private` and
//! `__workspace` export, and all others under `#[doc(hidden)]`. rustdoc renders a link to a hidden
//! item as plain text and reports nothing, so the links of the public docs are checked here.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use regex_lite::Regex;

use super::documentation::{is_documented_api, is_generated};
use super::files::{LIBRARIES, files, relative, root, sources};
use super::items::{Item, items, module_docs};

/// The folder of a crate below `tool-runtime`, its accepted number of public types, and of hidden
/// ones.
const ACCEPTED: [(&str, usize, usize); 17] = [
    ("", 0, 0),
    ("conformance", 1, 0),
    ("core", 228, 38),
    ("dynamic", 40, 0),
    ("files", 5, 0),
    ("html", 1, 0),
    ("http", 14, 0),
    ("json", 13, 4),
    ("knowledge", 26, 0),
    ("mcp", 66, 0),
    ("otel", 3, 0),
    ("providers", 20, 10),
    ("report", 3, 0),
    ("schedule", 18, 0),
    ("shell", 6, 0),
    ("store", 12, 0),
    ("web", 13, 0),
];

/// Returns the path of the type that a line of a listing declares. Associated types are none.
fn declared_type(line: &str) -> Option<&str> {
    let mut item = line;
    while let Some(attribute) = item.strip_prefix("#[") {
        item = attribute.split_once("] ")?.1;
    }
    let kinds = ["pub enum ", "pub struct ", "pub trait ", "pub type ", "pub union "];
    let item = kinds.iter().find_map(|kind| item.strip_prefix(kind))?;
    let path = item.split(|c: char| !(c.is_alphanumeric() || "_:".contains(c))).next()?;
    let path = path.trim_end_matches(':');
    let (module, _) = path.rsplit_once("::")?;
    let owner = module.rsplit("::").next()?;
    owner.starts_with(char::is_lowercase).then_some(path)
}

/// Returns the public types of a listing: the path of each, by its name. A name at several paths is
/// an error, because a reader could not know whether they are one type.
fn public_types(listing: &str) -> Result<BTreeMap<&str, &str>, String> {
    let mut types = BTreeMap::new();
    for path in listing.lines().filter_map(declared_type) {
        let other = types.insert(path.rsplit("::").next().unwrap_or(path), path);
        // An associated type of a generic type has the path of that type.
        if let Some(other) = other.filter(|other| *other != path) {
            return Err(format!("one name at two paths: {other} and {path}"));
        }
    }
    Ok(types)
}

/// Returns the names of the hidden types of a crate that its listing does not have.
fn hidden_types(folder: &str, public: &BTreeMap<&str, &str>) -> BTreeSet<String> {
    let mut types = BTreeSet::new();
    for (path, text) in sources(folder) {
        let is_hidden_file = ["private.rs", "workspace.rs"].iter().any(|name| path.ends_with(name));
        // A module under the attribute ends with a brace at the start of a line, another item at
        // the latest with an empty line.
        let hidden_items = text.split("#[doc(hidden)]\n").skip(1);
        let hidden_items = hidden_items.filter_map(|item| match item.starts_with("pub mod") {
            true => item.split("\n}").next(),
            false => item.split("\n\n").next(),
        });
        let whole_file = is_hidden_file.then_some(text.as_str());
        for hidden in hidden_items.chain(whole_file) {
            let code = hidden.lines().filter(|line| !line.trim_start().starts_with("//"));
            let code = code.collect::<Vec<_>>().join("\n");
            let exports = code.split("pub use ").skip(1).filter_map(|it| it.split(';').next());
            let crate_exports = exports.filter(|export| !export.starts_with("std::"));
            let declared = code.lines().filter_map(declared_name);
            let names = crate_exports
                .flat_map(|export| export.split(|c: char| !is_name(c)))
                .chain(declared);
            types.extend(
                names.filter(|name| is_type(name) && !public.contains_key(name)).map(String::from),
            );
        }
    }
    types
}

/// Returns the name of the type that a line of Rust declares.
fn declared_name(line: &str) -> Option<&str> {
    let kinds = ["pub enum ", "pub struct ", "pub trait ", "pub type "];
    let item = kinds.iter().find_map(|kind| line.strip_prefix(kind))?;
    item.split(|c: char| !is_name(c)).next()
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn is_type(name: &str) -> bool {
    name.starts_with(char::is_uppercase) && name.contains(char::is_lowercase)
}

/// Returns the folder of the sources of a crate below `tool-runtime`.
fn source_folder(folder: &str) -> String {
    ["tool-runtime", folder, "src"].join("/").replace("//", "/")
}

fn listing(folder: &str) -> String {
    let path = root().join("tool-runtime").join(folder).join("public-api.txt");
    fs::read_to_string(path).expect("a listing")
}

/// Returns the hidden types of all crates, and the hidden methods, each with its type.
fn hidden_names() -> BTreeSet<String> {
    let listings = ACCEPTED.map(|(folder, ..)| listing(folder));
    let public = listings.each_ref().map(|it| public_types(it).expect("one path for a type"));
    let mut names = BTreeSet::new();
    for ((folder, ..), public) in ACCEPTED.iter().zip(&public) {
        names.extend(hidden_types(&source_folder(folder), public));
    }
    names.retain(|name| public.iter().all(|types| !types.contains_key(name.as_str())));
    for (_, text) in LIBRARIES.into_iter().flat_map(sources) {
        for item in items(&text).iter().filter(|item| item.is_hidden && !item.owner.is_empty()) {
            names.extend(item.kind_and_name().map(|(_, name)| format!("{}::{name}", item.owner)));
        }
    }
    names
}

/// Returns the links of docs that lead to a hidden name. `owner` is the type that `Self` names.
fn hidden_links<'d>(docs: &'d str, owner: &str, hidden: &BTreeSet<String>) -> Vec<&'d str> {
    let link = Regex::new(r"\[([^\[\]]+)\](?:\(([^()]+)\))?").expect("an expression");
    // Code is between the fences.
    let prose = docs.split("```").step_by(2);
    let links = prose.flat_map(|prose| link.captures_iter(prose));
    let targets = links.filter_map(|link| link.get(2).or(link.get(1)).map(|it| it.as_str()));
    targets
        .filter(|target| {
            let path = target.split('#').next().unwrap_or_default();
            let path = path.split(|c: char| !is_name(c)).filter(|it| !it.is_empty());
            let path = path.map(|name| if name == "Self" { owner } else { name });
            let path: Vec<_> = path.collect();
            path.iter().any(|name| hidden.contains(*name))
                || path.windows(2).any(|pair| hidden.contains(&pair.join("::")))
        })
        .collect()
}

#[test]
fn public_docs_link_to_no_hidden_item() {
    let hidden = hidden_names();
    assert!(hidden.contains("WindowPlan") && hidden.contains("InterruptedError"), "{hidden:?}");
    let mut violations = Vec::new();
    let mut check = |place: String, docs: &str, owner: &str| {
        let found = hidden_links(docs, owner, &hidden).into_iter();
        violations.extend(found.map(|target| format!("{place}: {target}")));
    };
    for (path, text) in LIBRARIES.into_iter().flat_map(sources) {
        if is_generated(&path) {
            continue;
        }
        check(relative(&path), &module_docs(&text).join("\n"), "");
        let is_public = |item: &&Item| {
            let name = item.kind_and_name().map_or("", |(_, name)| name);
            let is_hidden = [name, &item.owner].iter().any(|name| hidden.contains(*name));
            (is_documented_api(item) || item.is_public_member()) && !item.is_hidden && !is_hidden
        };
        for item in items(&text).iter().filter(is_public) {
            check(format!("{}:{}", relative(&path), item.line), &item.docs.join("\n"), &item.owner);
        }
    }
    for (path, text) in files("tool-runtime", &["md"]) {
        check(relative(&path), &text, "");
    }
    assert!(violations.is_empty(), "{} links:\n{}", violations.len(), violations.join("\n"));
}

#[test]
fn links_to_hidden_items_are_found() {
    let hidden = ["Plan", "Run::poll"].map(String::from).into();
    for (docs, expected) in [
        ("Makes a [`Plan`].", &["`Plan`"][..]),
        (
            "See [the plan](crate::window::Plan#steps), and\n[wrapped\ntext](Plan).",
            &["crate::window::Plan#steps", "Plan"],
        ),
        ("Calls [`poll`](Self::poll), not [`Agent::poll`].", &["Self::poll"]),
        ("A [plan](crate::Planner) of `Plan`.\n```\nlet a = [Plan];\n```\n", &[]),
    ] {
        assert_eq!(hidden_links(docs, "Run", &hidden), expected, "{docs}");
    }
}

#[test]
fn no_crate_exports_more_types_than_accepted() {
    let mut wrong = Vec::new();
    let (mut all_public, mut all_hidden) = (0, 0);
    for (folder, accepted, accepted_hidden) in ACCEPTED {
        let (listing, source) = (listing(folder), source_folder(folder));
        assert!(LIBRARIES.contains(&source.as_str()), "{source}");
        let public = public_types(&listing).unwrap_or_else(|error| panic!("{source}: {error}"));
        let hidden = hidden_types(&source, &public);
        all_public += public.len();
        all_hidden += hidden.len();
        if public.len() > accepted {
            wrong.push(format!("{source}: {} public types; accepted: {accepted}", public.len()));
        }
        if hidden.len() > accepted_hidden {
            let count = hidden.len();
            wrong.push(format!("{source}: {count} hidden types; accepted: {accepted_hidden}"));
        }
    }
    assert_eq!(ACCEPTED.len(), LIBRARIES.len(), "a crate has no accepted number");
    let counts = wrong.join("\n");
    assert!(wrong.is_empty(), "{all_public} public and {all_hidden} hidden types:\n{counts}");
}

#[test]
fn type_has_one_path() {
    let listing = "\
pub mod tool
pub mod tool::agent
#[non_exhaustive] pub enum tool::agent::Agent
pub tool::agent::Agent::One
impl tool::agent::Agent
pub struct tool::agent::Run<'a>(_)
pub fn tool::agent::spawn()
pub type tool::agent::Runs = alloc::vec::Vec<tool::agent::Run>
impl core::str::FromStr for tool::agent::Run
pub type tool::agent::Run<T>::Err = core::fmt::Error
";
    let types = public_types(listing).map(|types| types.into_keys().collect());
    assert_eq!(types, Ok(vec!["Agent", "Run", "Runs"]));
    let twice = format!("{listing}#[non_exhaustive] pub enum tool::Agent\n");
    let expected = "one name at two paths: tool::agent::Agent and tool::Agent";
    assert_eq!(public_types(&twice), Err(expected.to_owned()));
}
