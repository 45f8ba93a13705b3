//! Keys in another case, or with other separators: `maxResults` for `max_results`.

use std::collections::HashMap;

use super::place::Place;
use crate::json::tree::Member;

/// The letters and digits of a key, small.
fn bare(key: &str) -> String {
    let letters = key.chars().filter(|c| !matches!(c, '_' | '-' | ' ' | '.'));
    letters.flat_map(char::to_lowercase).collect()
}

/// Which members, by their index, are to have which names: where one name fits and only one member
/// wants it.
pub(super) fn renames(members: &[Member], place: &Place<'_>) -> Vec<(usize, String)> {
    let strange = |member: &Member| !place.has_name(&member.key);
    if place.is_open() || !members.iter().any(strange) {
        return Vec::new();
    }
    /// Who wants a name: nobody yet, one member, or more than may.
    enum Wanted {
        By(Option<usize>),
        Refused,
    }
    // What is spelled alike once bare.
    let mut names: HashMap<String, (&str, Wanted)> = HashMap::new();
    for name in place.names() {
        let wanted = names.entry(bare(name)).or_insert((name, Wanted::By(None)));
        if wanted.0 != name {
            wanted.1 = Wanted::Refused;
        }
    }
    for (index, member) in members.iter().enumerate() {
        if let Some((name, wanted)) = names.get_mut(&bare(&member.key)) {
            *wanted = match wanted {
                Wanted::By(None) if *name != member.key => Wanted::By(Some(index)),
                _ => Wanted::Refused,
            };
        }
    }
    names.remove("");
    let settled = names.into_values().filter_map(|(name, wanted)| match wanted {
        Wanted::By(Some(index)) => Some((index, name.to_owned())),
        _ => None,
    });
    settled.collect()
}
