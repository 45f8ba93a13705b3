//! Corrects keys that differ in case or separators: `maxResults` for `max_results`.

use std::collections::HashMap;

use super::flat_schema::FlatSchema;
use crate::tree::Member;

/// The letters and digits of a key in lower case.
fn normalized_key(key: &str) -> String {
    let letters = key.chars().filter(|c| !matches!(c, '_' | '-' | ' ' | '.'));
    letters.flat_map(char::to_lowercase).collect()
}

/// Returns the indexes of the members to rename with their new names, for each name that exactly
/// one member matches.
pub(super) fn renames(members: &[Member], schema: &FlatSchema<'_>) -> Vec<(usize, String)> {
    let is_unknown = |member: &Member| !schema.has_property(&member.key);
    if schema.expects_other_properties() || !members.iter().any(is_unknown) {
        return Vec::new();
    }
    /// The member that claims a name, if any, or a conflict between several claims.
    enum Claim {
        By(Option<usize>),
        Conflict,
    }
    // The names by their normalized keys.
    let mut names: HashMap<String, (&str, Claim)> = HashMap::new();
    for name in schema.property_names() {
        let claim = names.entry(normalized_key(name)).or_insert((name, Claim::By(None)));
        if claim.0 != name {
            claim.1 = Claim::Conflict;
        }
    }
    for (index, member) in members.iter().enumerate() {
        if let Some((name, claim)) = names.get_mut(&normalized_key(&member.key)) {
            *claim = match claim {
                Claim::By(None) if *name != member.key => Claim::By(Some(index)),
                _ => Claim::Conflict,
            };
        }
    }
    names.remove("");
    let renamed = names.into_values().filter_map(|(name, claim)| match claim {
        Claim::By(Some(index)) => Some((index, name.to_owned())),
        _ => None,
    });
    renamed.collect()
}
