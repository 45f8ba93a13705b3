//! A marker, and JSON behind it.

use super::super::{Format, Found, Miss, Offered, Opener, Rest};
use super::{Cursor, Strictness, calls_of, closed, may_be_call, up_to};

/// A format whose calls are objects, or lists of them, behind an opener.
#[derive(Debug)]
pub(in crate::drivers::text) struct Json {
    pub(in crate::drivers::text) name: &'static str,
    pub(in crate::drivers::text) openers: &'static [Opener],
    /// What ends it; it may be missing.
    pub(in crate::drivers::text) ends: &'static [&'static str],
}

impl Format for Json {
    fn name(&self) -> &str {
        self.name
    }

    fn openers(&self) -> &[Opener] {
        self.openers
    }

    fn read(&self, rest: Rest<'_>, offered: &Offered<'_>) -> Result<Found, Miss> {
        let mut cursor = Cursor::new(rest);
        let openers = markers(self.openers);
        // A tag that was written twice, or a pair of them with nothing in it.
        cursor.take_all(&[openers.as_slice(), self.ends].concat())?;
        let found = read_json(&mut cursor, offered, self.ends)?;
        let Found::Calls { calls, end } = found else { return Ok(found) };
        cursor.at = end;
        while let Some(end) = pair(cursor, &openers, self.ends)? {
            cursor.at = end;
        }
        Ok(Found::Calls { calls, end: cursor.at })
    }
}

/// The end of a pair of tags with nothing in it, if that is next.
fn pair(mut cursor: Cursor<'_>, openers: &[&str], ends: &[&str]) -> Result<Option<usize>, Miss> {
    cursor.skip_blanks();
    if cursor.is_done()? || !cursor.take(openers)? {
        return Ok(None);
    }
    cursor.skip_blanks();
    Ok((!cursor.is_done()? && cursor.take(ends)?).then_some(cursor.at))
}

/// The words of openers.
pub(in crate::drivers::text) fn markers(openers: &[Opener]) -> Vec<&'static str> {
    openers.iter().map(Opener::word).collect()
}

/// Objects or lists, with or without something between them, up to one of `ends`.
pub(in crate::drivers::text) fn read_json(
    cursor: &mut Cursor<'_>,
    offered: &Offered<'_>,
    ends: &[&str],
) -> Result<Found, Miss> {
    let mut calls = Vec::new();
    // Behind the last call.
    let mut end = 0;
    loop {
        cursor.take_all(&[",", ";", "```json", "```"])?;
        if cursor.is_done()? {
            break;
        }
        if cursor.take(ends)? {
            cursor.take_behind(ends)?;
            end = cursor.at;
            break;
        }
        if !cursor.rest().starts_with(['{', '[']) {
            break;
        }
        let rest = cursor.rest();
        if !may_be_call(Rest::new(rest, cursor.is_end), offered, Strictness::Marked) {
            match calls.is_empty() {
                true => return Err(Miss::Text),
                false => break,
            }
        }
        let (body, is_whole) = match closed(rest, 0, cursor.is_end) {
            Some(end) => (rest.get(..end).unwrap_or_default(), true),
            None if !cursor.is_end => return Err(Miss::More),
            None => (up_to(rest, ends), false),
        };
        match calls_of(body, offered, Strictness::Marked) {
            Some(more) => calls.extend(more),
            None if calls.is_empty() => return Err(Miss::Broken),
            None => break,
        }
        cursor.skip(body.len());
        if is_whole {
            // More closers than openers: what they close is whole all the same.
            cursor.take_behind(&["}"])?;
        }
        end = cursor.at;
        if !is_whole {
            cursor.take_all(ends)?;
            end = cursor.at;
            break;
        }
    }
    if calls.is_empty() {
        return Err(Miss::Text);
    }
    Ok(Found::Calls { calls, end })
}
