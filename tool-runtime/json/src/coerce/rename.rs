//! Corrects keys that differ in case or separators: `maxResults` for `max_results`.

use std::collections::HashMap;

use super::{flat_schema::FlatSchema, fuel::Fuel};
use crate::tree::Member;

/// The letters and digits of a key in lower case.
fn normalized_key(key: &str) -> String {
    let letters = key.chars().filter(|c| !matches!(c, '_' | '-' | ' ' | '.'));
    letters.flat_map(char::to_lowercase).collect()
}

/// The member that claims a name, if its key differs, or a conflict between several claims.
enum Claim {
    By(usize),
    Conflict,
}

/// Returns the indexes of the members to rename with their new names, for each name that exactly
/// one member matches. None are renamed without fuel.
pub(super) fn renames(
    members: &[Member],
    schema: &FlatSchema<'_>,
    fuel: &mut Fuel,
) -> Vec<(usize, String)> {
    let is_unknown = |member: &Member| !schema.has_property(&member.key);
    if schema.expects_other_properties() || !members.iter().any(is_unknown) {
        return Vec::new();
    }
    let Some(names) = schema.normalized_names(fuel, normalized_key) else { return Vec::new() };
    let mut claims: HashMap<&str, Claim> = HashMap::new();
    for (index, member) in members.iter().enumerate() {
        let Some(Some(name)) = names.get(&normalized_key(&member.key)) else { continue };
        let claim = if *name == member.key { Claim::Conflict } else { Claim::By(index) };
        claims.entry(name).and_modify(|known| *known = Claim::Conflict).or_insert(claim);
    }
    let renamed = claims.into_iter().filter_map(|(name, claim)| match claim {
        Claim::By(index) => Some((index, name.to_owned())),
        Claim::Conflict => None,
    });
    renamed.collect()
}
