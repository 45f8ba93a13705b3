//! Secrets that a stream splits over several messages, such as the deltas of a text.
//!
//! Each line of the stream that is JSON is a message. The strings at the same place of all messages
//! are read as one text. Where a secret in it belongs to several messages, its parts are replaced.
//! A second pass ignores the positions of items in lists, because the part that continues a text
//! can follow others in its message.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::Value;

/// One message of a stream.
struct StreamMessage<'t> {
    /// The text before the JSON, such as `data: `.
    before: &'t str,
    json: Value,
    /// The end of the line.
    after: &'t str,
}

/// A string in a message: the index of the line, and that of the string.
type Place = (usize, usize);

/// Returns the stream without the secrets that are split, and without the start of one at the end
/// of a text if the connection broke. `find` returns where a text has secrets.
pub(super) fn without_split_secrets(
    stream: &str,
    replacement: &str,
    is_broken: bool,
    find: impl Fn(&str) -> Vec<Range<usize>>,
) -> String {
    let edited = without_secrets_at(Items::Distinct, stream, replacement, is_broken, &find);
    without_secrets_at(Items::Joined, &edited, replacement, is_broken, &find)
}

/// Whether strings in different items of a list are different texts.
#[derive(Clone, Copy)]
enum Items {
    Distinct,
    Joined,
}

fn without_secrets_at(
    items: Items,
    stream: &str,
    replacement: &str,
    is_broken: bool,
    find: impl Fn(&str) -> Vec<Range<usize>>,
) -> String {
    let lines: Vec<&str> = stream.split_inclusive('\n').collect();
    let mut messages: Vec<_> = lines.iter().map(|line| message(line)).collect();
    let mut texts: BTreeMap<String, Vec<(Place, String)>> = BTreeMap::new();
    for (line, message) in messages.iter_mut().enumerate() {
        let Some(message) = message else { continue };
        let mut count = 0;
        for_each_string(items, &mut message.json, "", &mut |path, text| {
            texts.entry(path.to_owned()).or_default().push(((line, count), text.clone()));
            count += 1;
        });
    }
    let mut edits: BTreeMap<Place, Vec<(Range<usize>, bool)>> = BTreeMap::new();
    for pieces in texts.values().filter(|pieces| pieces.len() > 1 || is_broken) {
        let joined: String = pieces.iter().map(|(_, text)| text.as_str()).collect();
        for secret in find(&joined) {
            let parts = parts(pieces, &secret);
            let is_split = parts.len() > 1 || (is_broken && secret.end == joined.len());
            for (index, (place, part)) in parts.into_iter().filter(|_| is_split).enumerate() {
                edits.entry(place).or_default().push((part, index == 0));
            }
        }
    }
    for (line, message) in messages.iter_mut().enumerate() {
        let Some(message) = message else { continue };
        let mut count = 0;
        for_each_string(items, &mut message.json, "", &mut |_, text| {
            let edits = edits.get(&(line, count)).into_iter().flatten().rev();
            edits.for_each(|(range, is_first)| {
                text.replace_range(range.clone(), if *is_first { replacement } else { "" });
            });
            count += 1;
        });
    }
    let is_edited = |line: usize| edits.range((line, 0)..(line + 1, 0)).next().is_some();
    let line =
        |(number, (line, message)): (usize, (&&str, &Option<StreamMessage<'_>>))| match message
            .as_ref()
            .filter(|_| is_edited(number))
        {
            Some(StreamMessage { before, json, after }) => format!("{before}{json}{after}"),
            None => (*line).to_owned(),
        };
    lines.iter().zip(&messages).enumerate().map(line).collect()
}

/// Returns the part of a secret in each piece of a text.
fn parts(pieces: &[(Place, String)], secret: &Range<usize>) -> Vec<(Place, Range<usize>)> {
    let mut start = 0;
    let mut parts = Vec::new();
    for (place, text) in pieces {
        let end = start + text.len();
        let part = secret.start.max(start)..secret.end.min(end);
        if part.start < part.end {
            parts.push((*place, part.start - start..part.end - start));
        }
        start = end;
    }
    parts
}

/// Parses a line of a stream: JSON, or an event with JSON as its data.
fn message(line: &str) -> Option<StreamMessage<'_>> {
    let start = line.find(['{', '['])?;
    let (before, rest) = line.split_at(start);
    let text = rest.trim_end();
    let is_message = matches!(before.trim(), "" | "data:");
    let json = serde_json::from_str(text).ok().filter(|_| is_message)?;
    Some(StreamMessage { before, json, after: rest.get(text.len()..).unwrap_or_default() })
}

/// Calls `visit` with each string of a message and its place, which includes the numbers by which
/// messages of several parts or calls are distinguished.
fn for_each_string(
    items: Items,
    value: &mut Value,
    path: &str,
    visit: &mut impl FnMut(&str, &mut String),
) {
    match value {
        Value::String(text) => visit(path, text),
        Value::Array(list) => {
            for (index, item) in list.iter_mut().enumerate() {
                let path = match items {
                    Items::Distinct => format!("{path}/{index}"),
                    Items::Joined => format!("{path}/"),
                };
                for_each_string(items, item, &path, visit);
            }
        }
        Value::Object(members) => {
            let numbers: String = members
                .iter()
                .filter(|(name, value)| name.ends_with("index") && value.is_number())
                .map(|(name, value)| format!("{name}={value},"))
                .collect();
            for (name, member) in members {
                for_each_string(items, member, &format!("{path}/{numbers}{name}"), visit);
            }
        }
        _ => {}
    }
}
