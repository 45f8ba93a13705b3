/// How many names are worth offering.
const MOST: usize = 3;

/// Below this likeness (0 to 1) a name is no more than noise.
const LEAST: f64 = 0.6;

/// Names longer than this are not compared: no tool is named so, and the cost grows with them.
const LONGEST: usize = 256;

/// The names most like `name`, best first.
///
/// Case and the kind of separator don't count: models write `getWeather` for `get_weather`. A name
/// that holds the other whole (`weather` for `get_weather`) is like it, whatever their lengths; and
/// what stands before the last `.`, `:` or `/` may be a space of names (`functions.get_weather`).
pub(super) fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    if name.len() > LONGEST {
        return Vec::new();
    }
    let wanted = plain(name);
    let bare = plain(name.rsplit(['.', ':', '/']).next().unwrap_or_default());
    let mut ranked: Vec<_> = names
        .map(|known| (plain(known), known))
        .map(|(plain, known)| (likeness(&wanted, &plain).max(likeness(&bare, &plain)), known))
        .filter(|(likeness, _)| *likeness >= LEAST)
        .collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    ranked.into_iter().take(MOST).map(|(_, known)| known).collect()
}

fn plain(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

fn likeness(a: &str, b: &str) -> f64 {
    let whole = |part: &str, all: &str| part.len() >= 3 && all.contains(part);
    let contained = if whole(a, b) || whole(b, a) { 0.9 } else { 0.0 };
    strsim::normalized_damerau_levenshtein(a, b).max(contained)
}

#[cfg(test)]
mod tests {
    use super::nearest;

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

    #[test]
    fn an_endless_name_costs_nothing() {
        assert!(nearest(&"weather".repeat(100_000), ["weather"].into_iter()).is_empty());
    }
}
