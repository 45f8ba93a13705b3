//! Mangles a text as models do and in other ways: by tokens, by ranges, by characters.

use serde_json::Value;

use crate::corpus;
use crate::draw::Draws;

/// The longest text after encoding: each pass doubles the backslashes.
const MAX_ENCODED_CHARS: usize = 4_000;

/// The fragments that are inserted.
const FRAGMENTS: [&str; 119] = [
    "{",
    "{{",
    "}}",
    "&quot;",
    "&amp;",
    "{}",
    "\\n\"",
    "<!-- ",
    " -->",
    "- ",
    "| ",
    "\n\n    ",
    "« ",
    "For example:\n",
    "call:",
    "assistantcommentary to=functions.",
    "<tool_calls>",
    "</tool_calls>",
    "</a>",
    "}",
    "[",
    "]",
    "(",
    ")",
    "\"",
    "'",
    "`",
    "“",
    "”",
    "‘",
    "’",
    "＂",
    "\"\"\"",
    "'''",
    "\\",
    "\\\"",
    "\\n",
    "\\u",
    "\\u00e9",
    "\\ud83d",
    "C:\\",
    "u'",
    "r\"",
    "b'a'",
    "f'",
    "a\"\"",
    "${a}",
    "<a>",
    "[your a]",
    "0755",
    "\\'",
    "\\`",
    "\\$",
    "\\(",
    "\\x41",
    "\\\n",
    "it\\'s",
    ":",
    "：",
    ",",
    "，",
    "=",
    "=>",
    ";",
    "+",
    "//",
    "/*",
    "*/",
    "#",
    "\n",
    "\t",
    "\r\n",
    "\0",
    " ",
    "\u{a0}",
    "\u{feff}",
    "1",
    "-",
    ".5",
    "1_000",
    "1e5",
    "0",
    "...",
    "…",
    "true",
    "None",
    "undefined",
    "NaN",
    "null",
    "a",
    "å",
    "😀",
    "```json\n",
    "```",
    "<think>",
    "</tool_call>",
    "\"a\": ",
    ", \"b\": ",
    ", \"A\": ",
    ", \"Name\": \"g\"",
    ", \"kwargs\": {\"a\": 1}",
    "{}{",
    "{{\"a\": 1}}",
    "\"{\"a\": \"b\"}\"",
    "&#39;",
    "<query>",
    "git commit -m \\\"\\`a\\`\\\"",
    "searchjson",
    "functions_search_2",
    "<｜｜DSML｜｜tool_calls>",
    "<｜DSML｜invoke name=\"search\">",
    "<invoke name=\"search\">{\"query\": \"x\"}</invoke>",
    "call:search{query:",
    "Action: search({",
    "\n@search(query=\"x\")\n",
    "[[search({\"query\": \"x\"})]]",
    "\nTool: search\nInput: ",
    "<ctrl42>call",
    "Calling search with {",
];

/// The texts to mangle.
pub(crate) struct Seeds(Vec<String>);

impl Seeds {
    /// Loads the inputs of all cases of a corpus.
    pub(crate) fn of_corpus(corpus: &str) -> Self {
        let files = corpus::files(corpus);
        let cases = files.iter().flat_map(|(_, file)| corpus::cases(file));
        Self(cases.map(|case| case.text()).collect())
    }

    /// Picks a text and mangles it.
    pub(crate) fn mangled(&self, draws: &mut Draws<'_>) -> String {
        let text = self.pick(draws).to_owned();
        mangled(draws, &text, self)
    }

    fn pick(&self, draws: &mut Draws<'_>) -> &str {
        // One draw may have only eight bits.
        let at = draws.below(256) * 256 + draws.below(256);
        &self.0[at % self.0.len()]
    }
}

/// Applies a few changes to `text`.
pub(crate) fn mangled(draws: &mut Draws<'_>, text: &str, seeds: &Seeds) -> String {
    let mut text: Vec<char> = text.chars().collect();
    for _ in 0..1 + draws.below(5) {
        change(draws, &mut text, seeds);
    }
    text.into_iter().collect()
}

fn change(draws: &mut Draws<'_>, text: &mut Vec<char>, seeds: &Seeds) {
    let at = place(draws, text.len() + 1);
    let short = (at + 1 + draws.below(3)).min(text.len());
    let long = (at + draws.below(40)).min(text.len());
    match draws.below(16) {
        0..=3 => put(text, at, draws.from(&FRAGMENTS)),
        4 | 5 => drop(text.drain(at..short)),
        6 => {
            text.drain(at..short);
            put(text, at, draws.from(&FRAGMENTS));
        }
        // Repeat a range once or many times.
        7 => {
            let stretch = text[at..long].repeat(1 + draws.from(&[0, 0, 0, 1, 60]));
            text.splice(at..at, stretch);
        }
        8 => drop(text.drain(at..long)),
        9 => text.truncate(at),
        10 => drop(text.drain(..at)),
        // Replace a character everywhere.
        11 => {
            let (from, to) = draws.from(&[
                ('"', '\''),
                ('\'', '"'),
                ('"', '”'),
                (':', '='),
                (',', ' '),
                (' ', '\n'),
                ('}', ']'),
                ('{', '('),
            ]);
            text.iter_mut().filter(|c| **c == from).for_each(|c| *c = to);
        }
        12 => {
            let other = seeds.pick(draws);
            put(text, at, other);
        }
        // Encode the text up to three times, as some servers do.
        13 => {
            for _ in 0..1 + draws.below(3) {
                let whole: String = text.iter().collect();
                *text = Value::String(whole).to_string().chars().take(MAX_ENCODED_CHARS).collect();
            }
        }
        14 => {
            let whole: String = text.iter().collect();
            let quote = draws.from(&["&quot;", "&#34;", "&#x22;"]);
            let whole = whole.replace('&', "&amp;").replace('<', "&lt;").replace('"', quote);
            *text = whole.chars().take(MAX_ENCODED_CHARS).collect();
        }
        _ => {
            let (before, after) = draws.from(&[
                ("{{", "}}"),
                ("{}", ""),
                ("\"", "\""),
                ("f'", "'"),
                ("{\"name\": \"f\", \"arguments\": ", "}"),
                ("{\"tool\": \"f\", \"params\": ", "}"),
                ("{\"action\": \"f\", \"tool_input\": ", "}"),
                ("{\"kwargs\": ", "}"),
                ("{\"name\": \"f\", \"arguments\": \"", "\"}"),
                ("<invoke name=\"search\">", "</invoke>"),
                ("@search(", ")"),
                ("[[search(", ")]]"),
                ("Calling search with ", ""),
                ("\"", "\"\n"),
                ("`", "`"),
                ("```json\n", "\n```"),
                ("{\"a\": ", "}"),
                ("[", "]"),
                ("{\"a\": \"", "\"}"),
                ("<tool_call>", "</tool_call>"),
                ("f(", ");"),
                ("As {x} says: ", "."),
            ]);
            put(text, 0, before);
            text.extend(after.chars());
        }
    }
}

fn place(draws: &mut Draws<'_>, end: usize) -> usize {
    (draws.below(256) * 256 + draws.below(256)) % end
}

fn put(text: &mut Vec<char>, at: usize, piece: &str) {
    text.splice(at..at, piece.chars());
}
