//! Families of model names.

/// The length of the shortest family whose names may follow a dash: a short name, as in
/// `marco-o1`, is a part of another name.
const MIN_INNER_LEN: usize = 4;

/// The beginning of the names of a family.
///
/// A version continues the name of a family: `claude-opus-5-5` does not belong to `claude-opus-5`,
/// but `claude-opus-5-20260101` does. A beginning that ends with a dash has any continuation, and a
/// final `#` is a digit before any continuation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Family(pub(super) &'static str);

impl Family {
    /// Returns the length of the known part of the names.
    pub(super) fn len(self) -> usize {
        self.0.trim_end_matches('#').len()
    }

    /// Returns whether a model belongs to the family. Routers and clouds put the maker, the region
    /// or the name of a deployment before the name.
    pub(super) fn has(self, model: &str) -> bool {
        let inner = model.char_indices().filter_map(|(at, c)| {
            let is_start = matches!(c, '/' | ':' | '.')
                || (matches!(c, '-' | '_') && self.len() >= MIN_INNER_LEN);
            model.get(at + c.len_utf8()..).filter(|_| is_start)
        });
        std::iter::once(model).chain(inner).any(|name| self.begins(name))
    }

    fn begins(self, name: &str) -> bool {
        if let Some(start) = self.0.strip_suffix('#') {
            let rest = name.strip_prefix(start);
            return rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        }
        let Some(rest) = name.strip_prefix(self.0) else { return false };
        match rest.chars().next() {
            _ if self.0.ends_with('-') => true,
            None | Some('@' | ':' | '/') => true,
            Some('-') => !is_version(rest.trim_start_matches('-')),
            Some(_) => false,
        }
    }
}

/// Returns whether a text begins with a number of one or two digits. Longer ones are dates.
fn is_version(rest: &str) -> bool {
    let digits = rest.chars().take_while(char::is_ascii_digit).count();
    let ends = rest.chars().nth(digits).is_none_or(|next| !next.is_alphanumeric());
    (1..=2).contains(&digits) && ends
}
