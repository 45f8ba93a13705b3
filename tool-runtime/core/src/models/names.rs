//! Tool names that satisfy the rules of a provider, and the way back to the tool.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;

/// The rules of a provider for the names of tools. ASCII letters and digits are allowed everywhere.
///
/// ```
/// use tool_runtime::models::NameRules;
///
/// assert!(NameRules::OPENAI.allows("get_weather"));
/// assert!(!NameRules::OPENAI.allows("weather.get"));
/// assert!(NameRules::GEMINI.allows("weather.get"));
/// assert!(!NameRules::GEMINI.allows("2nd"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NameRules {
    /// The maximum number of characters.
    pub max_length: usize,
    /// The characters that are allowed in addition to ASCII letters and digits.
    pub extra_characters: &'static str,
    /// Whether the first character must be a letter or an underscore.
    pub starts_with_letter: bool,
}

impl NameRules {
    /// The rules of OpenAI and of APIs that are compatible with it: `^[a-zA-Z0-9_-]{1,64}$`.
    pub const OPENAI: Self =
        Self { max_length: 64, extra_characters: "_-", starts_with_letter: false };
    /// The rules of Anthropic, which are those of OpenAI.
    pub const ANTHROPIC: Self = Self::OPENAI;
    /// The rules of Gemini: a letter or an underscore, then letters, digits, `_`, `.` and `-`, at
    /// most 64 characters in total.
    pub const GEMINI: Self =
        Self { max_length: 64, extra_characters: "_.-", starts_with_letter: true };

    /// Returns `true` if these rules allow the name.
    pub fn allows(&self, name: &str) -> bool {
        let first = name.chars().next();
        let is_start = first.is_some_and(|first| !self.starts_with_letter || is_letter(first));
        is_start && name.len() <= self.max_length && name.chars().all(|c| self.allows_char(c))
    }

    fn allows_char(&self, c: char) -> bool {
        c.is_ascii_alphanumeric() || self.extra_characters.contains(c)
    }

    /// Returns the closest name that these rules allow.
    pub(crate) fn normalize<'n>(&self, name: &'n str) -> Cow<'n, str> {
        if self.allows(name) {
            return Cow::Borrowed(name);
        }
        let allowed = name.chars().map(|c| if self.allows_char(c) { c } else { '_' });
        let normalized: String = allowed.take(self.max_length).collect();
        Cow::Owned(match normalized.chars().next() {
            None => "unknown".to_owned(),
            Some(first) if self.starts_with_letter && !is_letter(first) => {
                format!("_{normalized}").chars().take(self.max_length).collect()
            }
            Some(_) => normalized,
        })
    }
}

const fn is_letter(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}

/// Maps the names of a request's tools to names that a provider allows, and back.
///
/// - A name that the rules allow stays unchanged.
/// - Any other name is normalized. If several names have the same normalized form, a hash of the
///   name is appended. So a tool keeps its wire name when other tools are added or removed, as
///   long as no other name has the same normalized form.
/// - No two tools have the same wire name, and each wire name leads back to its tool.
/// - A name that a conversation mentions and that no tool has is never sent as the wire name of a
///   tool.
///
/// ```
/// use tool_runtime::models::{NameRules, WireNames};
///
/// let names = WireNames::new(["get_time", "maps/find", "maps.find"], NameRules::OPENAI);
/// assert_eq!(names.wire_name("get_time"), "get_time");
/// let wire_name = names.wire_name("maps/find").into_owned();
/// assert!(wire_name.starts_with("maps_find_") && wire_name != names.wire_name("maps.find"));
/// assert_eq!(names.tool_name(&wire_name), "maps/find");
/// // A name that was never sent is returned unchanged.
/// assert_eq!(names.tool_name("made_up"), "made_up");
/// // A name that no tool has does not lead to a tool.
/// assert_ne!(names.wire_name("get time"), "get_time");
/// ```
#[derive(Clone, Debug)]
pub struct WireNames {
    rules: NameRules,
    /// Wire names → tool names.
    tools: BTreeMap<String, String>,
    /// Tool names → wire names, where the two differ.
    renamed: HashMap<String, String>,
}

impl WireNames {
    /// Maps the names of these tools according to the rules of a provider.
    pub fn new<'n>(names: impl IntoIterator<Item = &'n str>, rules: NameRules) -> Self {
        // Sorted, so that the result does not depend on the order of the tools.
        let names: BTreeSet<&str> = names.into_iter().collect();
        let mut counts = HashMap::<Cow<'_, str>, usize>::new();
        for name in &names {
            *counts.entry(rules.normalize(name)).or_default() += 1;
        }
        let (allowed, others): (Vec<_>, Vec<_>) =
            names.into_iter().partition(|it| rules.allows(it));
        let identity = |name: &str| (name.to_owned(), name.to_owned());
        let mut tools: BTreeMap<_, _> = allowed.into_iter().map(identity).collect();
        let mut renamed = HashMap::new();
        for name in others {
            let normalized = rules.normalize(name);
            let is_truncated = name.chars().count() > rules.max_length;
            let wire_name = if is_truncated || counts.get(&normalized).is_some_and(|it| *it > 1) {
                // The normalized form of any tool's name is taken too.
                with_hash(name, &normalized, rules.max_length, |wire_name| {
                    counts.contains_key(wire_name) || tools.contains_key(wire_name)
                })
            } else {
                normalized.into_owned()
            };
            tools.insert(wire_name.clone(), name.to_owned());
            renamed.insert(name.to_owned(), wire_name);
        }
        Self { rules, tools, renamed }
    }

    /// Returns the name to send for a tool, or for a name that a model called.
    pub fn wire_name<'n>(&'n self, name: &'n str) -> Cow<'n, str> {
        if let Some(wire_name) = self.renamed.get(name) {
            return Cow::Borrowed(wire_name);
        }
        let normalized = self.rules.normalize(name);
        match self.tools.get(normalized.as_ref()) {
            // The model would read that it called this tool.
            Some(tool) if tool != name => {
                let is_taken = |wire_name: &str| self.tools.contains_key(wire_name);
                Cow::Owned(with_hash(name, &normalized, self.rules.max_length, is_taken))
            }
            _ => normalized,
        }
    }

    /// Returns the name of the tool with this wire name, or `wire_name` if no tool has it.
    pub fn tool_name<'n>(&'n self, wire_name: &'n str) -> &'n str {
        self.tools.get(wire_name).map_or(wire_name, String::as_str)
    }

    /// Whether a tool has this wire name.
    pub fn is_sent(&self, wire_name: &str) -> bool {
        self.tools.contains_key(wire_name)
    }

    /// Whether the wire name of a tool starts with `prefix`.
    pub fn is_prefix(&self, prefix: &str) -> bool {
        let from = (Bound::Included(prefix), Bound::Unbounded);
        self.tools.range::<str, _>(from).next().is_some_and(|(name, _)| name.starts_with(prefix))
    }
}

/// Returns the normalized name with a hash appended, so that it is not taken.
fn with_hash(
    name: &str,
    normalized: &str,
    max_length: usize,
    is_taken: impl Fn(&str) -> bool,
) -> String {
    let candidate = |attempt| {
        let suffix = format!("_{:08x}", hash(name).wrapping_add(attempt));
        let prefix_length = max_length.saturating_sub(suffix.len());
        let prefix: String = normalized.chars().take(prefix_length).collect();
        prefix + &suffix
    };
    (0..).map(candidate).find(|wire_name| !is_taken(wire_name)).unwrap_or_default()
}

/// FNV-1a, because it gives the same value on every machine and in every build.
fn hash(name: &str) -> u32 {
    name.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{NameRules, WireNames};

    #[test]
    fn every_tool_gets_a_distinct_wire_name_that_maps_back() {
        let long = "n".repeat(100);
        let longer = "n".repeat(101);
        let names = ["a", "a b", "a_b", "a/b", "a.b", "9a", "süß", "", &long, &longer];
        for rules in [NameRules::OPENAI, NameRules::GEMINI] {
            let wire = WireNames::new(names, rules);
            let wire_names: Vec<_> =
                names.iter().map(|name| wire.wire_name(name).into_owned()).collect();
            assert!(wire_names.iter().all(|name| rules.allows(name)), "{wire_names:?}");
            assert_eq!(
                wire_names.iter().collect::<HashSet<_>>().len(),
                names.len(),
                "{wire_names:?}"
            );
            for (name, wire_name) in names.iter().zip(&wire_names) {
                assert_eq!(wire.tool_name(wire_name), *name);
            }
            assert_eq!((wire_names[0].as_str(), wire_names[2].as_str()), ("a", "a_b"));
        }
    }

    #[test]
    fn hash_suffix_never_leads_to_another_tool() {
        let rules = NameRules::OPENAI;
        let pair = ["a b", "a/b"];
        let pair_names = WireNames::new(pair, rules);
        // One tool has the wire name of the first. The normalized name of another is that of the
        // second.
        let wire_name = pair_names.wire_name("a b").into_owned();
        let fitted = pair_names.wire_name("a/b").replacen('_', ".", 1);
        // Two long names with the same hash.
        let colliding = ["zyp78t", "h4cnq4"];
        let long = colliding.map(|end| "n".repeat(80) + end);
        let names = [pair[0], pair[1], &wire_name, &fitted, &long[0], &long[1]];
        let wire = WireNames::new(names, rules);
        assert_eq!(wire.wire_name(&wire_name), wire_name);
        let wire_names: HashSet<_> =
            names.iter().map(|name| wire.wire_name(name).into_owned()).collect();
        assert_eq!(wire_names.len(), names.len(), "{wire_names:?}");
        for name in names {
            assert_eq!(wire.tool_name(&wire.wire_name(name)), name);
        }
        // Neither order nor repetition of the names changes the result.
        let reversed = WireNames::new(names.into_iter().rev().chain(names), rules);
        assert!(names.iter().all(|name| reversed.wire_name(name) == wire.wire_name(name)));
    }

    #[test]
    fn name_of_no_tool_is_sent_in_a_valid_form() {
        let names = WireNames::new([], NameRules::OPENAI);
        for (name, wire_name) in [
            ("get_Weather-2", "get_Weather-2"),
            ("bad name\n", "bad_name_"),
            ("functions.süß", "functions_s__"),
            ("", "unknown"),
            (&"x".repeat(65), &"x".repeat(64)),
        ] {
            assert_eq!(names.wire_name(name), wire_name);
        }
    }

    #[test]
    fn name_of_no_tool_is_not_sent_as_a_tool() {
        let rules = NameRules::OPENAI;
        let long = "n".repeat(64);
        let longer = "n".repeat(70);
        for (tools, unknown) in [
            (&["a_b"][..], "a b"),
            (&["a_b"], "a/b"),
            // The wire name of the tool differs from its name.
            (&["a b"], "a_b"),
            (&["a b", "a/b"], "a_b"),
            (&["unknown"], ""),
            (&[&long], &longer),
        ] {
            let names = WireNames::new(tools.iter().copied(), rules);
            let offered: Vec<_> = tools.iter().map(|tool| names.wire_name(tool)).collect();
            let wire_name = names.wire_name(unknown);
            assert!(rules.allows(&wire_name), "{wire_name}");
            assert!(!offered.contains(&wire_name), "{unknown} is sent as {wire_name}");
            assert!(!tools.contains(&names.tool_name(&wire_name)), "{unknown} maps back to a tool");
            assert_eq!(names.wire_name(unknown), wire_name);
            // Nor is it if a tool has the name that the hash suffix makes.
            let wire_name = wire_name.into_owned();
            let names = WireNames::new(tools.iter().copied().chain([wire_name.as_str()]), rules);
            assert!(wire_name == unknown || names.wire_name(unknown) != wire_name, "{unknown}");
        }
    }
}
