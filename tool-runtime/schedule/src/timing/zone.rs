//! Time zones by their names.

use jiff::tz::{TimeZone, db};

use super::TimingError;

/// A time zone and its name.
pub(crate) struct NamedZone {
    pub(crate) name: String,
    pub(crate) zone: TimeZone,
}

/// The similarity below which two names have nothing in common, from 0 to 1.
const MIN_SIMILARITY: f64 = 0.75;

/// The most names that an error suggests.
const MAX_SUGGESTIONS: usize = 3;

/// Returns a zone of the database of time zones. The name of the result is in the spelling of the
/// database.
pub(crate) fn zone(name: &str) -> Result<NamedZone, TimingError> {
    let name = name.trim();
    match db().get(name) {
        Ok(zone) => {
            let name = zone.iana_name().unwrap_or(name).to_owned();
            Ok(NamedZone { name, zone })
        }
        Err(_) => Err(TimingError::Zone { name: name.to_owned(), nearest: nearest(name) }),
    }
}

fn nearest(name: &str) -> Vec<String> {
    let name = name.to_lowercase().replace(' ', "_");
    let place = |name: &str| name.rsplit('/').next().unwrap_or_default().to_owned();
    let place_of_name = place(&name);
    let similarity = |known: &str| {
        let known = known.to_lowercase();
        let of_places = strsim::jaro_winkler(&place(&known), &place_of_name);
        of_places + strsim::jaro_winkler(&known, &name) / 10.0
    };
    let mut scores: Vec<_> = db()
        .available()
        .map(|known| (similarity(known.as_str()), known.as_str().to_owned()))
        .filter(|(similarity, _)| *similarity >= MIN_SIMILARITY)
        .collect();
    scores.sort_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(&right.1)));
    scores.into_iter().take(MAX_SUGGESTIONS).map(|(_, known)| known).collect()
}

pub(super) fn suggestion(nearest: &[String]) -> String {
    match nearest {
        [] => ": use a name such as `Europe/Oslo` or `UTC`".into(),
        names => format!("; the nearest are `{}`", names.join("`, `")),
    }
}
