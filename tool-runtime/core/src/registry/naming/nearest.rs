//! Suggests tools to a model that called an unknown one.

use strsim::normalized_damerau_levenshtein;

use crate::registry::Entry;
use crate::tool::definition::full_name::split_full_name;

/// The maximum number of suggestions.
const MAX_SUGGESTIONS: usize = 3;

/// The minimum similarity (0 to 1) of a suggestion.
const MIN_SIMILARITY: f64 = 0.6;

/// The maximum length of names that are compared. No tool has a longer name, and the cost grows
/// with the length.
const MAX_LENGTH: usize = 256;

/// The maximum number of names that are compared exactly: those that share the most characters.
const MAX_COMPARED: usize = 64;

/// The similarity of two names of which one contains the other.
const CONTAINED_SIMILARITY: f64 = 0.9;

/// The minimum length of a name that counts as contained.
const MIN_CONTAINED_LENGTH: usize = 3;

/// The separators that models write between a namespace and a name.
const NAMESPACE_SEPARATORS: [char; 3] = ['.', ':', '/'];

/// Returns the name of a tool to suggest for the name that a model called.
///
/// If the model named a provider, as in `github__find` or `githubFind`, the suggestion is a full
/// name. Otherwise the model could mistake another provider's tool for the one that it named.
pub(crate) fn name_to_suggest<'a>(tool: &'a Entry, called_name: &str) -> &'a str {
    let contains_more = || {
        let (called_name, own_name) = (normalize(called_name), normalize(tool.own_name()));
        called_name.len() > own_name.len() && called_name.contains(&own_name)
    };
    let has_namespace =
        called_name.contains(NAMESPACE_SEPARATORS) || split_full_name(called_name).is_some();
    if has_namespace || called_name.len() <= MAX_LENGTH && contains_more() {
        tool.full_name()
    } else {
        tool.name()
    }
}

/// Returns the tools whose own names are most similar to `called_name`, best first.
pub(crate) fn nearest<'a>(
    called_name: &str,
    tools: impl Iterator<Item = &'a Entry>,
) -> Vec<&'a Entry> {
    nearest_names(called_name, tools.map(|tool| (tool.own_name(), tool)), |tool| tool.full_name())
}

/// Returns the text that is most similar to `text`.
pub(crate) fn nearest_text<'a>(
    text: &str,
    texts: impl Iterator<Item = &'a str>,
) -> Option<&'a str> {
    nearest_names(text, texts.map(|it| (it, it)), |it| it).first().copied()
}

/// Returns the items whose names are most similar to `called_name`, best first. Ties are resolved
/// by the similarity of the full names.
///
/// - Case and separators do not count: models write `getWeather` for `get_weather`.
/// - A name that contains the other, as `get_weather` contains `weather`, is similar to it,
///   whatever their lengths.
/// - A namespace is ignored: what precedes the last `.`, `:` or `/`, and then the first `__`, as in
///   `functions.get_weather`.
///
/// The cost of a comparison is the product of the lengths, so few names are compared. The number of
/// shared characters, in any order, gives an upper bound of the similarity.
fn nearest_names<'a, T: Copy>(
    called_name: &str,
    items: impl Iterator<Item = (&'a str, T)>,
    full_name: impl Fn(T) -> &'a str,
) -> Vec<T> {
    if called_name.len() > MAX_LENGTH {
        return Vec::new();
    }
    let unqualified = called_name.rsplit(NAMESPACE_SEPARATORS).next().unwrap_or_default();
    let own_name = split_full_name(unqualified).map_or(unqualified, |(_, own_name)| own_name);
    let mut targets = vec![normalize(called_name), normalize(unqualified), normalize(own_name)];
    targets.dedup();
    let targets: Vec<_> =
        targets.into_iter().map(|target| (CharCounts::of(&target), target)).collect();
    let upper_bound = |name| {
        let counts = CharCounts::of(name);
        targets.iter().map(|(target, _)| target.max_similarity(&counts)).fold(0.0, f64::max)
    };
    let best_similarity = |name, similarity: fn(&str, &str) -> f64| {
        let name = normalize(name);
        targets.iter().map(|(_, target)| similarity(target, &name)).fold(0.0, f64::max)
    };
    let shared = |full| targets.iter().map(|(_, target)| shared_prefix(target, full)).max();
    let mut candidates: Vec<_> = items
        .map(|(name, item)| (upper_bound(name), name, item))
        .filter(|(bound, ..)| *bound >= MIN_SIMILARITY)
        .map(|(bound, name, item)| (bound, shared(full_name(item)), full_name(item), name, item))
        .collect();
    candidates.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)).then(a.2.cmp(b.2)));

    let mut ranked: Vec<(f64, f64, &str, T)> = Vec::new();
    for (bound, _, full, name, item) in candidates.into_iter().take(MAX_COMPARED) {
        if ranked.get(MAX_SUGGESTIONS - 1).is_some_and(|(worst, ..)| *worst > bound) {
            break;
        }
        let similarity = best_similarity(name, similarity);
        if similarity >= MIN_SIMILARITY {
            let of_full_name = best_similarity(full, normalized_damerau_levenshtein);
            let is_before = |other: &(f64, f64, &str, T)| {
                let by_similarity = other.0.total_cmp(&similarity).reverse();
                let by_full_name = other.1.total_cmp(&of_full_name).reverse();
                by_similarity.then(by_full_name).then(other.2.cmp(full)).is_le()
            };
            let index = ranked.partition_point(is_before);
            ranked.insert(index, (similarity, of_full_name, full, item));
            ranked.truncate(MAX_SUGGESTIONS);
        }
    }
    ranked.into_iter().map(|(.., item)| item).collect()
}

/// Returns the characters of a name that are compared.
fn compared_chars(name: &str) -> impl Iterator<Item = char> {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase)
}

fn normalize(name: &str) -> String {
    compared_chars(name).collect()
}

fn similarity(a: &str, b: &str) -> f64 {
    let contains = |part: &str, all: &str| part.len() >= MIN_CONTAINED_LENGTH && all.contains(part);
    let contained = if contains(a, b) || contains(b, a) { CONTAINED_SIMILARITY } else { 0.0 };
    normalized_damerau_levenshtein(a, b).max(contained)
}

/// Returns the length of the common prefix of two names.
fn shared_prefix(normalized: &str, name: &str) -> usize {
    compared_chars(name).zip(normalized.chars()).take_while(|(a, b)| a == b).count()
}

/// How often each character occurs in a name. Characters outside of ASCII can share a counter; that
/// only raises the upper bound of the similarity.
struct CharCounts {
    counts: [u8; 64],
    total: usize,
}

impl CharCounts {
    fn of(name: &str) -> Self {
        let (mut counts, mut total) = ([0_u8; 64], 0);
        let mut count = |index: usize| {
            total += 1;
            if let Some(count) = counts.get_mut(index % 64) {
                *count = count.saturating_add(1);
            }
        };
        // Equivalent to `compared_chars`, and much faster for ASCII, which nearly all names are.
        if name.is_ascii() {
            let letters = name.bytes().filter(u8::is_ascii_alphanumeric);
            letters.for_each(|letter| count(letter.to_ascii_lowercase().into()));
        } else {
            compared_chars(name).for_each(|letter| count(letter as usize));
        }
        Self { counts, total }
    }

    /// Returns an upper bound of the similarity: each character that only one name has must be
    /// inserted, deleted or replaced.
    fn max_similarity(&self, other: &Self) -> f64 {
        let shared: usize =
            self.counts.iter().zip(&other.counts).map(|(a, b)| usize::from(*a.min(b))).sum();
        let (shorter, longer) = (self.total.min(other.total), self.total.max(other.total));
        if longer == 0 {
            return 0.0;
        }
        let ratio = shared as f64 / longer as f64;
        let may_be_contained = shared >= shorter && shorter > 0;
        if may_be_contained { ratio.max(CONTAINED_SIMILARITY) } else { ratio }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        MAX_COMPARED, MAX_SUGGESTIONS, MIN_SIMILARITY, nearest_names,
        normalized_damerau_levenshtein, similarity,
    };

    fn nearest<'a>(called_name: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
        nearest_names(called_name, names.map(|name| (name, name)), |name| name)
    }

    #[test]
    fn similar_names_are_suggested() {
        let names = ["get_weather", "list_files", "ok", "read_file", "send_mail"];
        for (called_name, expected) in [
            ("getWeather", vec!["get_weather"]),
            ("weather", vec!["get_weather"]),
            ("get_wether", vec!["get_weather"]),
            ("functions.read_file", vec!["read_file"]),
            ("functions.ok", vec!["ok"]),
            ("mcp:files/read_fil", vec!["read_file"]),
            ("shell::ok", vec!["ok"]),
            ("shell__ok", vec!["ok"]),
            ("mcp.shell__read_fil", vec!["read_file"]),
            ("functions.", vec![]),
            ("read_files", vec!["read_file"]),
            ("launch_rocket", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(nearest(called_name, names.into_iter()), expected, "{called_name}");
        }
    }

    /// The result is the same as if all names were compared.
    #[test]
    fn upper_bound_never_drops_a_suggestion() {
        let longer = |names: &[String]| -> Vec<_> {
            names
                .iter()
                .flat_map(|name| ["a", "b"].map(|letter| format!("{name}{letter}")))
                .collect()
        };
        let mut names = vec![vec![String::new()]];
        for length in 0..5 {
            names.push(longer(&names[length]));
        }
        let names: Vec<_> = names.into_iter().skip(1).flatten().collect();
        assert!(names.len() < MAX_COMPARED);
        for called_name in &names {
            let best = |known: &str| similarity(called_name, known);
            let whole = |known: &str| normalized_damerau_levenshtein(called_name, known);
            let mut all: Vec<_> = names.iter().map(String::as_str).collect();
            all.retain(|known| best(known) >= MIN_SIMILARITY);
            all.sort_by(|a, b| {
                let by_whole = || whole(b).total_cmp(&whole(a));
                best(b).total_cmp(&best(a)).then_with(by_whole).then(a.cmp(b))
            });
            all.truncate(MAX_SUGGESTIONS);
            assert_eq!(
                nearest(called_name, names.iter().map(String::as_str)),
                all,
                "{called_name}"
            );
        }
    }

    #[test]
    fn common_prefix_decides_among_many_similar_names() {
        let names: Vec<_> = (0..10_000).map(|n| format!("tool_{n:04}")).collect();
        let names = || names.iter().map(String::as_str);
        assert_eq!(nearest("tool1234", names())[0], "tool_1234");
        assert_eq!(nearest("get_weather", names().chain(["get_wether"])), ["get_wether"]);
        assert_eq!(nearest("tool", names()).len(), MAX_SUGGESTIONS);
    }

    #[test]
    fn very_long_name_is_not_compared() {
        assert!(nearest(&"weather".repeat(100_000), ["weather"].into_iter()).is_empty());
    }
}
