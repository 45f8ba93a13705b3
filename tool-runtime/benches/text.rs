//! Measures the search for calls in the text of replies that hold none, whole and streamed.

#![expect(
    clippy::print_stdout,
    reason = "a bench stops at the first failure and prints its figures"
)]

#[path = "../json/benches/rounds.rs"]
mod rounds;

use rounds::Rounds;
use serde_json::json;
use tool_runtime::__workspace::{Formats, TextStream, ToolLookup};
use tool_runtime::ToolDefinition;

const BYTES: usize = 10_000;
/// Sizes of pieces: as small as a provider sends, a large one, and the whole text.
const PIECES: [usize; 3] = [16, 1_000, BYTES];

/// Text as people write it, with code fences and tables.
const WRITTEN: &str = include_str!("../src/docs/guide/observability.md");

/// Names and repeated units of texts that hold more of one kind of markup than real replies do.
const TEXTS: [(&str, &str); 10] = [
    ("prose", "The weather in Oslo is mild in May, with some rain in the evenings; bring a coat. "),
    (
        "markdown and code",
        "The weather in Oslo is mild in May, with some rain; bring a coat.\n\n- **Mornings** are cool (4 °C), \
         `now` shows more.\n- See [the forecast](https://x.io) if a < b.\n\n```rust\nfn main() {\n    \
         println!(\"{}\", 1);\n}\n```\n\n",
    ),
    (
        "Python",
        "Then run it:\n\n```python\nimport sys\n\nfor line in sys.stdin:\n    name, _, rest = line.partition(\":\")\n    \
         if rest and name not in seen:\n        print(f\"{name}: {rest}\")\n```\n\n",
    ),
    (
        "JSON in fences",
        "The file is then:\n\n```json\n{\n  \"city\": \"Oslo\",\n  \"days\": [{\"high\": 12, \"low\": 4}, {\"high\": 14}],\n  \
         \"unit\": \"celsius\"\n}\n```\n\n",
    ),
    (
        "shell",
        "Install it first:\n\n```bash\ncargo install tool --locked\nexport CITY=Oslo\ntool --city \"$CITY\" < in.txt\n```\n\n",
    ),
    ("lists", "- **Mornings** are cool, at 4 °C.\n- `now` shows more.\n  1. First, then next.\n"),
    ("links", "See [the forecast](https://x.io/oslo) and [its source][1], or ask <mail@x.io>.\n"),
    ("a table", "| Oslo | 12 °C | rain |\n| Bergen | 9 °C | `none` |\n"),
    ("quotations", "> The weather in Oslo is mild in May.\n> Bring a coat.\n\nHe did.\n"),
    (
        "HTML",
        "<ul>\n  <li><a href=\"/oslo\">Oslo</a> is <b>mild</b></li>\n</ul>\n<p>So bring a coat.</p>\n",
    ),
];

fn main() {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let weather = ToolDefinition::new("weather", "Tells the weather.", schema);
    let weather: &'static ToolDefinition = Box::leak(Box::new(weather));
    let offered = || ToolLookup::new(&[weather]);

    println!("| 10 KB of | whole, µs | in pieces of 16, µs | of 1,000 | of 10,000 |");
    println!("|---|---|---|---|---|");
    // An argument selects texts by a part of their names.
    let selected =
        std::env::args().nth(1).filter(|word| !word.starts_with('-')).unwrap_or_default();
    let texts = TEXTS.map(|(name, piece)| (name, piece.repeat(BYTES / piece.len() + 1)));
    let mut written = WRITTEN.repeat(BYTES / WRITTEN.len() + 1);
    let end = (0..BYTES).rfind(|end| written.is_char_boundary(*end)).unwrap_or_default();
    written.truncate(end);
    let texts = [("a guide page", written)].into_iter().chain(texts);
    for (name, text) in texts.filter(|(name, _)| name.contains(&selected)) {
        let mut rounds = Rounds::new(40, 100);
        let whole = text.clone();
        rounds.add(move || Formats::all().extract(&whole, &offered()));
        for length in PIECES {
            let text = text.clone();
            rounds.add(move || streamed(&text, length, offered()));
        }
        let times: Vec<_> = rounds.run().iter().map(|time| format!("{:.2}", time / 1e3)).collect();
        println!("| {name} | {} |", times.join(" | "));
    }
}

fn streamed(text: &str, length: usize, offered: ToolLookup<'_>) -> usize {
    let mut stream = TextStream::new(Formats::all(), offered);
    let mut rest = text;
    while !rest.is_empty() {
        let end = (length..rest.len()).find(|end| rest.is_char_boundary(*end));
        let (piece, tail) = rest.split_at(end.unwrap_or(rest.len()));
        stream.push(piece);
        rest = tail;
    }
    stream.finish().calls.len()
}
