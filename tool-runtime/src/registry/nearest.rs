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

/// The names most like `name`, best first.
///
/// Case and the kind of separator don't count: models write `getWeather` for `get_weather`. A name
/// that holds the other whole (`weather` for `get_weather`) is like it, whatever their lengths; and
/// what stands before the last `.`, `:` or `/` may be a space of names (`functions.get_weather`).
///
/// To compare two names takes the product of their lengths, so it is done for few: how many letters
/// they share, in whatever order, says how like they can be at most.
pub(super) fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    if name.len() > LONGEST {
        return Vec::new();
    }
    let bare = name.rsplit(['.', ':', '/']).next().unwrap_or_default();
    let mut wanted = vec![plain(name), plain(bare)];
    wanted.dedup();
    let wanted: Vec<_> = wanted.into_iter().map(|plain| (Letters::of(&plain), plain)).collect();
    let most_alike = |known| {
        let letters = Letters::of(known);
        wanted.iter().map(|(wanted, _)| wanted.most_likeness(&letters)).fold(0.0, f64::max)
    };
    let shared = |known| wanted.iter().map(|(_, wanted)| shared_beginning(wanted, known)).max();
    let mut promising: Vec<_> = names
        .map(|known| (most_alike(known), known))
        .filter(|(most, _)| *most >= LEAST)
        .map(|(most, known)| (most, shared(known), known))
        .collect();
    promising.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)).then(a.2.cmp(b.2)));

    let mut ranked: Vec<(f64, &str)> = Vec::new();
    for (most, _, known) in promising.into_iter().take(MOST_COMPARED) {
        if ranked.get(MOST - 1).is_some_and(|(least, _)| *least > most) {
            break;
        }
        let plain = plain(known);
        let likeness =
            wanted.iter().map(|(_, wanted)| likeness(wanted, &plain)).fold(0.0, f64::max);
        if likeness >= LEAST {
            ranked.push((likeness, known));
            ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
            ranked.truncate(MOST);
        }
    }
    ranked.into_iter().map(|(_, known)| known).collect()
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
    strsim::normalized_damerau_levenshtein(a, b).max(contained)
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
    use super::{LEAST, MOST, MOST_COMPARED, likeness, nearest};

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
            let best = |known: &&str| likeness(said, known);
            let mut all: Vec<_> = names.iter().map(String::as_str).collect();
            all.retain(|known| best(known) >= LEAST);
            all.sort_by(|a, b| best(b).total_cmp(&best(a)).then(a.cmp(b)));
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
