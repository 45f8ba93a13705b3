//! HTML page of a report: one self-contained file.
//!
//! The data comes from models, tools and other sources, so no part of it is markup in the file. It
//! is JSON in a data block, in which no character has a meaning to HTML, and the script inserts it
//! as text. As a second defence, the content security policy of the page allows nothing to run or
//! load except the two blocks whose hashes it names.

use serde::Serialize;

use tool_core::__workspace::visible_value;

const STYLE: &str = include_str!("page/style.css");
const BODY: &str = include_str!("page/body.html");
const SCRIPT: &str = concat!(
    "\"use strict\";\n// The data is inserted into the page as text, never as markup.\n{\n",
    include_str!("page/words.js"),
    include_str!("page/details.js"),
    include_str!("page/rows.js"),
    include_str!("page/list.js"),
    include_str!("page/filter.js"),
    include_str!("page/time.js"),
    include_str!("page/head.js"),
    include_str!("page/keys.js"),
    "}\n",
);

/// SHA-256 of the style and of the script, as browsers compute it; a test fails if they are
/// outdated.
const STYLE_HASH: &str = "MLjcdFdOP1LBS8DQRr4dBTSdX+51zwAu5r7c1zgjcwE=";
const SCRIPT_HASH: &str = "ol4e69eQUrtKIi5CAfmjol+SGk240j/APah1D/agkBA=";

/// Returns the page with this data.
pub(super) fn page(data: &impl Serialize) -> String {
    // A person reads the report: no character of it may deceive.
    let data = serde_json::to_value(data).map(visible_value).unwrap_or_default().to_string();
    let policy = format!(
        "default-src 'none'; base-uri 'none'; form-action 'none'; \
         style-src 'sha256-{STYLE_HASH}'; script-src 'sha256-{SCRIPT_HASH}'"
    );
    let data = escape_for_script(&data);
    [
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n",
        "<meta http-equiv=\"Content-Security-Policy\" content=\"",
        &policy,
        "\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
        "<meta name=\"referrer\" content=\"no-referrer\">\n<title>Run report</title>\n<style>",
        STYLE,
        "</style>\n</head>\n<body>\n",
        BODY,
        "<script type=\"application/json\" id=\"data\">",
        &data,
        "</script>\n<script>",
        SCRIPT,
        "</script>\n</body>\n</html>\n",
    ]
    .concat()
}

/// Escapes JSON so that no character has a meaning to HTML or JavaScript. All of these characters
/// are in strings, where an escape has the same meaning.
fn escape_for_script(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len() + json.len() / 8);
    for c in json.chars() {
        match c {
            '<' => escaped.push_str("\\u003c"),
            '>' => escaped.push_str("\\u003e"),
            '&' => escaped.push_str("\\u0026"),
            '\u{2028}' => escaped.push_str("\\u2028"),
            '\u{2029}' => escaped.push_str("\\u2029"),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::details::serialized_name;
    use crate::report::row::{Mark, RowKind, RowState};

    /// The page lists the filters, because readers could not guess them.
    #[test]
    fn page_lists_all_filters() {
        let kinds = [RowKind::Run, RowKind::Model, RowKind::Tool, RowKind::Event]
            .map(|it| serialized_name(&it));
        let states = [
            RowState::Done,
            RowState::Failed,
            RowState::Blocked,
            RowState::Waiting,
            RowState::Open,
        ];
        let marks = [Mark::Retried, Mark::Repaired, Mark::Cached, Mark::Refused];
        let words = kinds.into_iter().chain(states.map(|it| serialized_name(&it)));
        let expected: Vec<_> = words
            .chain(marks.map(|it| serialized_name(&it)))
            .map(|word| format!("is:{word}"))
            .collect();
        let listed = BODY.split(['<', '>', ' ', '\n']).filter(|word| word.starts_with("is:"));
        assert_eq!(listed.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn data_is_escaped_for_html() {
        for text in [
            "</script><script>alert(1)</script>",
            "<!-- <script> --> ]]> <![CDATA[",
            "&lt;img src=x onerror=alert(1)&gt; \" ' ` = /",
            "\u{2028}\u{2029}\u{0}\u{7f}\u{feff}\u{202e}\u{10ffff}",
            "\\u003c/script\\u003e \\ud800",
        ] {
            let escaped = escape_for_script(&serde_json::to_string(text).unwrap());
            assert!(!escaped.contains(['<', '>', '&', '\u{2028}', '\u{2029}', '\0']), "{escaped}");
            assert_eq!(serde_json::from_str::<String>(&escaped).unwrap(), text);
        }
    }
}
