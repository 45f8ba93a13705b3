//! What a model may have meant that called a tool which there isn't.

use strsim::normalized_damerau_levenshtein;

use super::Entry;
use crate::tool::full_name::parts;

/// How many names are worth offering.
const MOST: usize = 3;

/// Below this likeness (0 to 1) a name is no more than noise.
const LEAST: f64 = 0.6;

/// Names longer than this are not compared: no tool is named so, and the cost grows with them.
const LONGEST: usize = 256;

/// How many names are compared letter by letter: those that hold the most of the same letters.
const MOST_COMPARED: usize = 64;

/// How like a name is to one that holds it whole.
const CONTAINED: f64 = 0.9;

/// The shortest name for which that says anything.
const SHORTEST_CONTAINED: usize = 3;

/// What stands between a space of names and a name in it, as models write it.
const SEPARATORS: [char; 3] = ['.', ':', '/'];

/// What a tool is called in an answer to one who said this name.
///
/// Whoever asks for a tool of somebody's, as `github__find` or `githubFind`, must not be sent to
/// another's of that name without being told whose it is.
pub(crate) fn called<'a>(tool: &'a Entry, said: &str) -> &'a str {
    let holds_more = || {
        let (all, own) = (plain(said), plain(tool.own_name()));
        all.len() > own.len() && all.contains(&own)
    };
    let says_whose = said.contains(SEPARATORS) || parts(said).is_some();
    if says_whose || said.len() <= LONGEST && holds_more() { tool.full_name() } else { tool.name() }
}

/// The tools whose own names are most like `said`, best first.
pub(crate) fn nearest<'a>(said: &str, tools: impl Iterator<Item = &'a Entry>) -> Vec<&'a Entry> {
    nearest_names(said, tools.map(|tool| (tool.own_name(), tool)), |tool| tool.full_name())
}

/// Of things by their names, those with the names most like `said`, best first; where they are alike,
/// those whose names in full are most like it.
///
/// Case and the kind of separator don't count: models write `getWeather` for `get_weather`. A name
/// that holds the other whole (`weather` for `get_weather`) is like it, whatever their lengths; and
/// what stands before the last `.`, `:` or `/`, and before the first `__` behind that, may be a space
/// of names (`functions.get_weather`).
///
/// To compare two names takes the product of their lengths, so it is done for few: how many letters
/// they share, in whatever order, says how like they can be at most.
fn nearest_names<'a, T: Copy>(
    said: &str,
    named: impl Iterator<Item = (&'a str, T)>,
    full: impl Fn(T) -> &'a str,
) -> Vec<T> {
    if said.len() > LONGEST {
        return Vec::new();
    }
    let bare = said.rsplit(SEPARATORS).next().unwrap_or_default();
    let own = parts(bare).map_or(bare, |(_, own)| own);
    let mut wanted = vec![plain(said), plain(bare), plain(own)];
    wanted.dedup();
    let wanted: Vec<_> = wanted.into_iter().map(|plain| (Letters::of(&plain), plain)).collect();
    let most_alike = |known| {
        let letters = Letters::of(known);
        wanted.iter().map(|(wanted, _)| wanted.most_likeness(&letters)).fold(0.0, f64::max)
    };
    let alike = |known, likeness: fn(&str, &str) -> f64| {
        let plain = plain(known);
        wanted.iter().map(|(_, wanted)| likeness(wanted, &plain)).fold(0.0, f64::max)
    };
    let shared = |full| wanted.iter().map(|(_, wanted)| shared_beginning(wanted, full)).max();
    let mut promising: Vec<_> = named
        .map(|(known, it)| (most_alike(known), known, it))
        .filter(|(most, ..)| *most >= LEAST)
        .map(|(most, known, it)| (most, shared(full(it)), full(it), known, it))
        .collect();
    promising.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)).then(a.2.cmp(b.2)));

    let mut ranked: Vec<(f64, f64, &str, T)> = Vec::new();
    for (most, _, full, known, it) in promising.into_iter().take(MOST_COMPARED) {
        if ranked.get(MOST - 1).is_some_and(|(least, ..)| *least > most) {
            break;
        }
        let alike_at_all = alike(known, likeness);
        if alike_at_all >= LEAST {
            let in_full = alike(full, normalized_damerau_levenshtein);
            ranked.push((alike_at_all, in_full, full, it));
            ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1)).then(a.2.cmp(b.2)));
            ranked.truncate(MOST);
        }
    }
    ranked.into_iter().map(|(.., it)| it).collect()
}

/// What of a name is compared.
fn letters(name: &str) -> impl Iterator<Item = char> {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase)
}

fn plain(name: &str) -> String {
    letters(name).collect()
}

fn likeness(a: &str, b: &str) -> f64 {
    let whole = |part: &str, all: &str| part.len() >= SHORTEST_CONTAINED && all.contains(part);
    let contained = if whole(a, b) || whole(b, a) { CONTAINED } else { 0.0 };
    normalized_damerau_levenshtein(a, b).max(contained)
}

/// How many letters two names begin with that are the same.
fn shared_beginning(plain: &str, known: &str) -> usize {
    letters(known).zip(plain.chars()).take_while(|(a, b)| a == b).count()
}

/// How often each letter is in a name. Letters of foreign scripts may share a place: then two names
/// are taken for more alike than they are, and compared.
struct Letters {
    counts: [u8; 64],
    all: usize,
}

impl Letters {
    fn of(name: &str) -> Self {
        let (mut counts, mut all) = ([0_u8; 64], 0);
        let mut count = |place: usize| {
            all += 1;
            if let Some(count) = counts.get_mut(place % 64) {
                *count = count.saturating_add(1);
            }
        };
        // As `letters` does it; nearly all names are ASCII, for which it takes a fraction.
        if name.is_ascii() {
            let letters = name.bytes().filter(u8::is_ascii_alphanumeric);
            letters.for_each(|letter| count(letter.to_ascii_lowercase().into()));
        } else {
            letters(name).for_each(|letter| count(letter as usize));
        }
        Self { counts, all }
    }

    /// The most that the likeness of two names can be: each letter that one has and the other lacks
    /// has to be added, taken away or changed.
    fn most_likeness(&self, other: &Self) -> f64 {
        let shared: usize =
            self.counts.iter().zip(&other.counts).map(|(a, b)| usize::from(*a.min(b))).sum();
        let (shorter, longer) = (self.all.min(other.all), self.all.max(other.all));
        if longer == 0 {
            return 0.0;
        }
        let alike = shared as f64 / longer as f64;
        let may_be_contained = shared >= shorter && shorter > 0;
        if may_be_contained { alike.max(CONTAINED) } else { alike }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        LEAST, MOST, MOST_COMPARED, likeness, nearest_names, normalized_damerau_levenshtein,
    };

    fn nearest<'a>(said: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
        nearest_names(said, names.map(|name| (name, name)), |name| name)
    }

    #[test]
    fn offers_what_was_meant() {
        let names = ["get_weather", "list_files", "ok", "read_file", "send_mail"];
        for (said, meant) in [
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
            assert_eq!(nearest(said, names.into_iter()), meant, "{said}");
        }
    }

    /// Comparing few gives what comparing all gives.
    #[test]
    fn nothing_like_is_passed_over() {
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
        assert!(names.len() < MOST_COMPARED);
        for said in &names {
            let best = |known: &str| likeness(said, known);
            let whole = |known: &str| normalized_damerau_levenshtein(said, known);
            let mut all: Vec<_> = names.iter().map(String::as_str).collect();
            all.retain(|known| best(known) >= LEAST);
            all.sort_by(|a, b| {
                let by_whole = || whole(b).total_cmp(&whole(a));
                best(b).total_cmp(&best(a)).then_with(by_whole).then(a.cmp(b))
            });
            all.truncate(MOST);
            assert_eq!(nearest(said, names.iter().map(String::as_str)), all, "{said}");
        }
    }

    #[test]
    fn among_many_that_are_alike_the_beginning_decides() {
        let names: Vec<_> = (0..10_000).map(|n| format!("tool_{n:04}")).collect();
        let names = || names.iter().map(String::as_str);
        assert_eq!(nearest("tool1234", names())[0], "tool_1234");
        assert_eq!(nearest("get_weather", names().chain(["get_wether"])), ["get_wether"]);
        assert_eq!(nearest("tool", names()).len(), MOST);
    }

    #[test]
    fn an_endless_name_costs_nothing() {
        assert!(nearest(&"weather".repeat(100_000), ["weather"].into_iter()).is_empty());
    }
}
