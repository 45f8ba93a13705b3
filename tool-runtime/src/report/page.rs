//! A drawing as one HTML file that needs nothing else, and lets nothing else in.
//!
//! What the page shows comes from models, tools and whoever they talked to. So it is no markup
//! anywhere in the file: it is JSON in a block of data, in which no letter has a meaning to HTML, and the
//! script puts it on the page as text. Should anything get past that, the page's policy lets it neither
//! run nor load: only the two blocks whose hashes are named in it count.

use serde::Serialize;

const STYLE: &str = include_str!("page/style.css");
const BODY: &str = include_str!("page/body.html");
const SCRIPT: &str = concat!(
    "\"use strict\";\n// Whatever is said in the data goes onto the page as text: no markup is made of it.\n{\n",
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

/// SHA-256 of the style and of the script, as browsers compute them; a test knows when they are old.
const STYLE_HASH: &str = "wJza2TtNVdrbW+xfu3Cco8Gj3hnbDnUCq0EdTs7hszw=";
const SCRIPT_HASH: &str = "yF8oFYRdZ6wuN7Sao5p7MN5rLJ7KBbdotoTsmWI0sF8=";

/// The page that draws this.
pub(super) fn page(data: &impl Serialize) -> String {
    let data = serde_json::to_string(data).unwrap_or_else(|_| "null".into());
    let policy = format!(
        "default-src 'none'; base-uri 'none'; form-action 'none'; \
         style-src 'sha256-{STYLE_HASH}'; script-src 'sha256-{SCRIPT_HASH}'"
    );
    let data = in_a_script(&data);
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

/// JSON in which no letter means anything to HTML or to JavaScript. They all stand in strings, where an
/// escape says the same.
fn in_a_script(json: &str) -> String {
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
    use crate::report::details::word;
    use crate::report::row::{Kind, Mark, State};

    /// Nobody would guess them.
    #[test]
    fn the_page_lists_what_a_row_may_be() {
        let kinds = [Kind::Run, Kind::Model, Kind::Tool, Kind::Event].map(|it| word(&it));
        let states = [State::Done, State::Failed, State::Blocked, State::Waiting, State::Open];
        let marks = [Mark::Retried, Mark::Repaired, Mark::Remembered, Mark::Refused];
        let words = kinds.into_iter().chain(states.map(|it| word(&it)));
        let expected: Vec<_> =
            words.chain(marks.map(|it| word(&it))).map(|word| format!("is:{word}")).collect();
        let listed = BODY.split(['<', '>', ' ', '\n']).filter(|word| word.starts_with("is:"));
        assert_eq!(listed.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn no_letter_of_the_data_means_anything_to_html() {
        for text in [
            "</script><script>alert(1)</script>",
            "<!-- <script> --> ]]> <![CDATA[",
            "&lt;img src=x onerror=alert(1)&gt; \" ' ` = /",
            "\u{2028}\u{2029}\u{0}\u{7f}\u{feff}\u{202e}\u{10ffff}",
            "\\u003c/script\\u003e \\ud800",
        ] {
            let escaped = in_a_script(&serde_json::to_string(text).unwrap());
            assert!(!escaped.contains(['<', '>', '&', '\u{2028}', '\u{2029}', '\0']), "{escaped}");
            assert_eq!(serde_json::from_str::<String>(&escaped).unwrap(), text);
        }
    }
}
