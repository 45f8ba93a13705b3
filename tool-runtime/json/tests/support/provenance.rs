//! Checks that repair invents nothing: every key, string and number of a value is in its text.

use serde_json::Value;
use tool_json::Parsed;

/// Returns a key, string or number of the value that the text does not contain.
pub(crate) fn invented(text: &str, parsed: &Parsed) -> Option<String> {
    // A reference may be escaped itself: `&amp;quot;`.
    let once = text.replace("&amp;", "&");
    let twice = once.replace("&amp;", "&");
    let plain_texts = [text, &once, &twice].map(without_references);
    let text_letters: Vec<_> =
        plain_texts.iter().map(String::as_str).chain([text]).map(letters).collect();
    let mut words = Vec::new();
    collect(&parsed.value, &mut words);
    let is_missing = |word: &String| !text_letters.iter().any(|text| is_spelled(text, word));
    if let Some(word) = words.into_iter().find(is_missing) {
        return Some(format!("{word:?} is not in the text"));
    }
    let plain = text.replace('_', "");
    let mut numbers = numbers(parsed.json()).into_iter();
    // A zero next to the decimal point may be omitted.
    let is_missing = |number: &String| {
        let number = number.strip_suffix(".0").unwrap_or(number);
        !plain.contains(number)
            && !plain.contains(&number.replacen("0.", ".", 1))
            && !has_value(&plain, number)
    };
    numbers.find(is_missing).map(|number| format!("{number} is not in the text"))
}

/// Returns the text without the character references of HTML, which stand for signs.
fn without_references(text: &str) -> String {
    let mut parts = text.split('&');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '#';
        let end = part.split_once(';').filter(|(name, _)| name.chars().all(is_of_name));
        plain.push_str(end.map_or(part, |(_, rest)| rest));
    }
    plain
}

/// Whether the text has the number with an exponent, such as 5e9, or with other leading zeros.
fn has_value(text: &str, number: &str) -> bool {
    let value: Option<f64> = number.parse().ok();
    text.split(|c: char| !c.is_ascii_digit() && !"+-.eE".contains(c))
        .filter(|word| {
            word.contains(['e', 'E']) || word.trim_start_matches(['+', '-']).starts_with(['0', '.'])
        })
        .any(|word| word.parse().ok() == value)
}

fn collect(value: &Value, words: &mut Vec<String>) {
    match value {
        Value::String(text) => words.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| collect(item, words)),
        Value::Object(members) => members.iter().for_each(|(key, value)| {
            words.push(key.clone());
            collect(value, words);
        }),
        _ => {}
    }
}

/// Returns the numbers of a JSON text.
fn numbers(json: &str) -> Vec<String> {
    let (mut found, mut number) = (Vec::new(), String::new());
    let (mut in_text, mut is_escaped) = (false, false);
    for c in json.chars().chain(" ".chars()) {
        let is_digit = c.is_ascii_digit() || "+-.eE".contains(c);
        if !in_text && is_digit && (c != 'e' || !number.is_empty()) {
            number.push(c);
            continue;
        }
        if number.contains(|c: char| c.is_ascii_digit()) {
            found.push(number.clone());
        }
        number.clear();
        in_text ^= c == '"' && !is_escaped;
        is_escaped = in_text && c == '\\' && !is_escaped;
    }
    found
}

/// Returns the letters and digits of a text, each with whether it may belong to an escape.
fn letters(text: &str) -> Vec<(char, bool)> {
    let mut letters = Vec::new();
    // The first half of a surrogate pair.
    let mut half = None;
    for (part, run) in text.split('\\').enumerate() {
        let escape = match run.chars().next() {
            Some('u') => 5,
            Some('x') => 3,
            _ => 1,
        };
        let escaped = if part == 0 { 0 } else { escape };
        for (at, c) in run.chars().enumerate() {
            letters.extend(plain(c).map(|c| (c, at < escaped)));
        }
        let code = run.get(1..5).filter(|_| escaped == 5);
        let code = code.and_then(|code| u32::from_str_radix(code, 16).ok());
        let pair = half.zip(code).and_then(|(high, low): (u32, u32)| {
            Some(0x1_0000 + (high - 0xd800) * 0x400 + low.checked_sub(0xdc00)?)
        });
        half = code.filter(|code| (0xd800..0xdc00).contains(code) && run.len() == 5);
        if let Some(c) = pair.or(code).and_then(char::from_u32) {
            let rest = run.chars().skip(5).flat_map(plain).count();
            let at = letters.len() - rest;
            letters.splice(at..at, plain(c).map(|c| (c, true)));
        }
    }
    letters
}

/// Returns the lower-case letters of a character: coercion may change the case.
fn plain(c: char) -> impl Iterator<Item = char> {
    c.to_lowercase().filter(|c| c.is_alphanumeric())
}

/// Whether the letters of `word` occur in a row in those of the text.
fn is_spelled(letters: &[(char, bool)], word: &str) -> bool {
    let word: Vec<char> = word.chars().flat_map(plain).collect();
    // The number of matched letters, for every possible start of the word.
    let mut found = vec![0];
    for (letter, is_escape) in letters {
        let mut next = vec![0];
        for &count in &found {
            if word.get(count) == Some(letter) {
                next.push(count + 1);
            }
            if *is_escape {
                next.push(count);
            }
        }
        next.sort_unstable();
        next.dedup();
        if next.last() == Some(&word.len()) {
            return true;
        }
        found = next;
    }
    word.is_empty()
}
