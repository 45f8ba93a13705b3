//! Names of tools, as providers want them, and back.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
#[cfg(any(feature = "mistral", feature = "openai"))]
use std::ops::Bound;

/// What a provider asks of a tool's name. Letters and digits of ASCII fit everywhere.
///
/// ```
/// use tool_runtime::models::NameRules;
///
/// assert!(NameRules::OPENAI.fits("get_weather"));
/// assert!(!NameRules::OPENAI.fits("weather.get"));
/// assert!(NameRules::GEMINI.fits("weather.get"));
/// assert!(!NameRules::GEMINI.fits("2nd"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NameRules {
    /// The most characters.
    pub longest: usize,
    /// The characters that are allowed beside letters and digits.
    pub signs: &'static str,
    /// Whether the first is a letter or an underscore.
    pub begins_with_letter: bool,
}

impl NameRules {
    /// OpenAI and whoever speaks its protocol: `^[a-zA-Z0-9_-]{1,64}$`.
    pub const OPENAI: Self = Self { longest: 64, signs: "_-", begins_with_letter: false };
    /// Anthropic: the same.
    pub const ANTHROPIC: Self = Self::OPENAI;
    /// Gemini: a letter or an underscore, then letters, digits, `_`, `.` and `-`, 64 at most.
    pub const GEMINI: Self = Self { longest: 64, signs: "_.-", begins_with_letter: true };

    /// Whether a name is one by these rules.
    pub fn fits(&self, name: &str) -> bool {
        let first = name.chars().next();
        let begins = first.is_some_and(|first| !self.begins_with_letter || is_letter(first));
        begins && name.len() <= self.longest && name.chars().all(|c| self.allows(c))
    }

    fn allows(&self, c: char) -> bool {
        c.is_ascii_alphanumeric() || self.signs.contains(c)
    }

    /// The nearest name by these rules.
    pub(crate) fn fitted<'n>(&self, name: &'n str) -> Cow<'n, str> {
        if self.fits(name) {
            return Cow::Borrowed(name);
        }
        let fitted: String =
            name.chars().map(|c| if self.allows(c) { c } else { '_' }).take(self.longest).collect();
        Cow::Owned(match fitted.chars().next() {
            None => "unknown".to_owned(),
            Some(first) if self.begins_with_letter && !is_letter(first) => {
                format!("_{fitted}").chars().take(self.longest).collect()
            }
            Some(_) => fitted,
        })
    }
}

const fn is_letter(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}

/// The names of a request's tools as one provider takes them, and the way back from what its model
/// says.
///
/// A name that fits stays. Another is fitted, and marked by a hash of itself where two would be one:
/// so a name that was sent once is sent the same way again, whatever other tools come and go, as
/// long as nothing else is fitted to it. No two tools are sent under one name, and each name that is
/// sent leads back to its tool. What a conversation calls and no tool is named is never sent under the
/// name of a tool.
///
/// ```
/// use tool_runtime::models::{NameRules, WireNames};
///
/// let names = WireNames::new(["get_time", "maps/find", "maps.find"], NameRules::OPENAI);
/// assert_eq!(names.wire("get_time"), "get_time");
/// let wire = names.wire("maps/find").into_owned();
/// assert!(wire.starts_with("maps_find_") && wire != names.wire("maps.find"));
/// assert_eq!(names.own(&wire), "maps/find");
/// // What was never sent is what it is.
/// assert_eq!(names.own("made_up"), "made_up");
/// // What no tool is named leads to none.
/// assert_ne!(names.wire("get time"), "get_time");
/// ```
#[derive(Clone, Debug)]
pub struct WireNames {
    rules: NameRules,
    /// The names that tools are sent under, and whose they are.
    sent: BTreeMap<String, String>,
    /// Those that are sent otherwise than they are.
    to: HashMap<String, String>,
}

impl WireNames {
    /// The names of tools, by a provider's rules.
    pub fn new<'n>(names: impl IntoIterator<Item = &'n str>, rules: NameRules) -> Self {
        // Sorted, so that the order in which tools come decides nothing.
        let names: BTreeSet<&str> = names.into_iter().collect();
        let mut bearers = HashMap::<Cow<'_, str>, usize>::new();
        for name in &names {
            *bearers.entry(rules.fitted(name)).or_default() += 1;
        }
        let (fitting, others): (Vec<_>, Vec<_>) = names.into_iter().partition(|it| rules.fits(it));
        let own = |name: &str| (name.to_owned(), name.to_owned());
        let mut sent: BTreeMap<_, _> = fitting.into_iter().map(own).collect();
        let mut to = HashMap::new();
        for name in others {
            let fitted = rules.fitted(name);
            let is_cut = name.chars().count() > rules.longest;
            let wire = if is_cut || bearers.get(&fitted).is_some_and(|bearers| *bearers > 1) {
                // It is nobody's, nor what another name alone is fitted to.
                marked(name, &fitted, rules.longest, |wire| {
                    bearers.contains_key(wire) || sent.contains_key(wire)
                })
            } else {
                fitted.into_owned()
            };
            sent.insert(wire.clone(), name.to_owned());
            to.insert(name.to_owned(), wire);
        }
        Self { rules, sent, to }
    }

    /// The name to send for a tool, or for what a model called one.
    pub fn wire<'n>(&'n self, own: &'n str) -> Cow<'n, str> {
        if let Some(wire) = self.to.get(own) {
            return Cow::Borrowed(wire);
        }
        let fitted = self.rules.fitted(own);
        match self.sent.get(fitted.as_ref()) {
            // The model would read that it called this tool.
            Some(tool) if tool != own => {
                let is_taken = |wire: &str| self.sent.contains_key(wire);
                Cow::Owned(marked(own, &fitted, self.rules.longest, is_taken))
            }
            _ => fitted,
        }
    }

    /// The tool's own name for what the model said.
    pub fn own<'n>(&'n self, said: &'n str) -> &'n str {
        self.sent.get(said).map_or(said, String::as_str)
    }

    /// Whether a tool is sent under this name.
    #[cfg(any(feature = "mistral", feature = "openai"))]
    pub(crate) fn is_sent(&self, name: &str) -> bool {
        self.sent.contains_key(name)
    }

    /// Whether a tool is sent under a name that begins so.
    #[cfg(any(feature = "mistral", feature = "openai"))]
    pub(crate) fn is_begun(&self, start: &str) -> bool {
        let from = (Bound::Included(start), Bound::Unbounded);
        self.sent.range::<str, _>(from).next().is_some_and(|(name, _)| name.starts_with(start))
    }
}

/// A name with a mark of its own that isn't taken.
fn marked(name: &str, fitted: &str, longest: usize, is_taken: impl Fn(&str) -> bool) -> String {
    let with_mark = |turn| {
        let mark = format!("_{:08x}", hash(name).wrapping_add(turn));
        let head: String = fitted.chars().take(longest.saturating_sub(mark.len())).collect();
        head + &mark
    };
    (0..).map(with_mark).find(|wire| !is_taken(wire)).unwrap_or_default()
}

/// FNV-1a, for it is the same on every machine and in every build.
fn hash(name: &str) -> u32 {
    name.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{NameRules, WireNames};

    #[test]
    fn every_name_gets_one_of_its_own_and_back() {
        let long = "n".repeat(100);
        let longer = "n".repeat(101);
        let names = ["a", "a b", "a_b", "a/b", "a.b", "9a", "süß", "", &long, &longer];
        for rules in [NameRules::OPENAI, NameRules::GEMINI] {
            let wire = WireNames::new(names, rules);
            let sent: Vec<_> = names.iter().map(|name| wire.wire(name).into_owned()).collect();
            assert!(sent.iter().all(|name| rules.fits(name)), "{sent:?}");
            assert_eq!(sent.iter().collect::<HashSet<_>>().len(), names.len(), "{sent:?}");
            for (name, sent) in names.iter().zip(&sent) {
                assert_eq!(wire.own(sent), *name);
            }
            assert_eq!((sent[0].as_str(), sent[2].as_str()), ("a", "a_b"));
        }
    }

    #[test]
    fn a_mark_never_leads_to_another_tool() {
        let rules = NameRules::OPENAI;
        let pair = ["a b", "a/b"];
        let alone = WireNames::new(pair, rules);
        // A tool that is named what one of them would be sent as, and one that is fitted to that.
        let taken = alone.wire("a b").into_owned();
        let fitted = alone.wire("a/b").replacen('_', ".", 1);
        // Two long names of one hash.
        let colliding = ["zyp78t", "h4cnq4"];
        let long = colliding.map(|end| "n".repeat(80) + end);
        let names = [pair[0], pair[1], &taken, &fitted, &long[0], &long[1]];
        let wire = WireNames::new(names, rules);
        assert_eq!(wire.wire(&taken), taken);
        let sent: HashSet<_> = names.iter().map(|name| wire.wire(name).into_owned()).collect();
        assert_eq!(sent.len(), names.len(), "{sent:?}");
        for name in names {
            assert_eq!(wire.own(&wire.wire(name)), name);
        }
        // The same in whatever order they come, and however often.
        let again = WireNames::new(names.into_iter().rev().chain(names), rules);
        assert!(names.iter().all(|name| again.wire(name) == wire.wire(name)));
    }

    #[test]
    fn what_no_tool_is_named_still_fits() {
        let names = WireNames::new([], NameRules::OPENAI);
        for (called, sent) in [
            ("get_Weather-2", "get_Weather-2"),
            ("bad name\n", "bad_name_"),
            ("functions.süß", "functions_s__"),
            ("", "unknown"),
            (&"x".repeat(65), &"x".repeat(64)),
        ] {
            assert_eq!(names.wire(called), sent);
        }
    }

    #[test]
    fn what_no_tool_is_named_is_not_sent_as_one() {
        let rules = NameRules::OPENAI;
        let long = "n".repeat(64);
        let longer = "n".repeat(70);
        for (tools, called) in [
            (&["a_b"][..], "a b"),
            (&["a_b"], "a/b"),
            // The tool is not sent under its own name.
            (&["a b"], "a_b"),
            (&["a b", "a/b"], "a_b"),
            (&["unknown"], ""),
            (&[&long], &longer),
        ] {
            let names = WireNames::new(tools.iter().copied(), rules);
            let offered: Vec<_> = tools.iter().map(|tool| names.wire(tool)).collect();
            let sent = names.wire(called);
            assert!(rules.fits(&sent), "{sent}");
            assert!(!offered.contains(&sent), "{called} is sent as {sent}");
            assert!(!tools.contains(&names.own(&sent)), "{called} comes back as a tool");
            assert_eq!(names.wire(called), sent);
            // Nor is it where a tool has the name that its mark makes.
            let sent = sent.into_owned();
            let names = WireNames::new(tools.iter().copied().chain([sent.as_str()]), rules);
            assert!(sent == called || names.wire(called) != sent, "{called}");
        }
    }
}
