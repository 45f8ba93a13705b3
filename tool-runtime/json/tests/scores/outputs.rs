//! Scores model outputs with the schemas of the offered tools; there are no expected values.

use std::collections::BTreeMap;

use serde_json::Value;
use tool_json::{check, parse_as};

#[derive(Default)]
struct Score {
    texts: usize,
    /// The number of texts that are valid JSON.
    valid: usize,
    read: usize,
    truncated: usize,
    /// The number of parsed values that satisfy the schema.
    satisfied: usize,
}

/// Scores the outputs, and returns their number.
pub(crate) fn score(lines: &[Value], differences: bool) -> usize {
    let mut scores = BTreeMap::new();
    let mut listed = Vec::new();
    let outputs = lines.iter().filter(|line| line.get("tool_calls").is_some());
    for output in outputs.clone() {
        let schema = output.get("schema").cloned().unwrap_or(Value::Bool(true));
        let calls = output["tool_calls"].as_array().into_iter().flatten();
        let arguments = calls.filter_map(|call| call["function"]["arguments"].as_str());
        let content = output["content"].as_str().filter(|text| !text.trim().is_empty());
        let texts = arguments.map(|text| ("arguments", text));
        for (part, text) in texts.chain(content.map(|text| ("content", text))) {
            let prompt = output["prompt_kind"].as_str().unwrap_or("?");
            let end = output["finish_reason"].as_str().unwrap_or("?");
            let score: &mut Score =
                scores.entry((part, prompt.to_owned(), end.to_owned())).or_default();
            score.texts += 1;
            score.valid += usize::from(serde_json::from_str::<Value>(text).is_ok());
            let result = match parse_as(text, &schema) {
                Ok(parsed) => {
                    score.read += 1;
                    score.truncated += usize::from(parsed.truncated);
                    let mismatches = check(&parsed.value, &schema);
                    if mismatches.is_empty() {
                        score.satisfied += 1;
                        continue;
                    }
                    let mismatches: Vec<_> = mismatches.iter().map(ToString::to_string).collect();
                    format!("{}\n{}", parsed.value, mismatches.join("\n"))
                }
                Err(error) => error.to_string(),
            };
            let id = output["id"].as_str().unwrap_or("?");
            listed.push(format!("{id} / {part} / {prompt} / {end}\n{text}\ngot: {result}\n"));
        }
    }
    println!(
        "\n| part | prompt | ended by | texts | valid JSON | read | of these truncated | as the schema wants |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for ((part, prompt, end), score) in &scores {
        let Score { texts, valid, read, truncated, satisfied } = score;
        println!(
            "| {part} | {prompt} | {end} | {texts} | {valid} | {read} | {truncated} | {satisfied} |"
        );
    }
    if differences {
        println!("\n{}", listed.join("\n"));
    }
    outputs.count()
}
