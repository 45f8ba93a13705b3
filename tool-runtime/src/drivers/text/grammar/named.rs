//! A marker, the tool's name, and a JSON object of its arguments behind it.

use super::super::{Format, Found, Miss, Offered, Opener, Rest};
use super::json::markers;
use super::{Cursor, closed, up_to};
use crate::message::ToolCall;

/// A format whose calls are a name and an object.
#[derive(Debug)]
pub(in crate::drivers::text) struct Named {
    pub(in crate::drivers::text) name: &'static str,
    pub(in crate::drivers::text) openers: &'static [Opener],
    /// What may stand before the name, behind the opener too. Each call has an opener of its own.
    pub(in crate::drivers::text) begins: &'static [&'static str],
    /// What stands between name and object: an empty one where there need be nothing.
    pub(in crate::drivers::text) between: &'static [&'static str],
    /// What may stand behind the object.
    pub(in crate::drivers::text) ends: &'static [&'static str],
}

impl Format for Named {
    fn name(&self) -> &str {
        self.name
    }

    fn openers(&self) -> &[Opener] {
        self.openers
    }

    fn read(&self, rest: Rest<'_>, offered: &Offered<'_>) -> Result<Found, Miss> {
        let mut cursor = Cursor::new(rest);
        cursor.take(&markers(self.openers))?;
        cursor.take_all(self.begins)?;
        let call = self.call(&mut cursor, offered)?;
        let end = cursor.at;
        cursor.take_all(self.ends)?;
        let end = end + cursor.since(end).trim_end().len();
        Ok(Found::Calls { calls: vec![call], end })
    }
}

impl Named {
    fn call(&self, cursor: &mut Cursor<'_>, offered: &Offered<'_>) -> Result<ToolCall, Miss> {
        let name = cursor.name()?;
        // Kimi counts its calls behind the name.
        let tool = offered.find(name).or_else(|| offered.find(name.rsplit_once(':')?.0));
        let tool = tool.ok_or(Miss::Text)?;
        cursor.skip_blanks();
        cursor.is_done()?;
        // Some of Mistral's templates give the call's id.
        if cursor.take(&["[CALL_ID]"])? {
            cursor.name()?;
        }
        skip_cut(cursor, self.between);
        if !cursor.is_done()? && !cursor.take(self.between)? {
            return Err(Miss::Text);
        }
        cursor.skip_blanks();
        skip_cut(cursor, &["```json"]);
        cursor.take_all(&["```json", "```"])?;
        skip_cut(cursor, self.ends);
        if cursor.is_done()? {
            // Cut before the arguments began.
            return offered.call(&tool.name, "{").ok_or(Miss::Broken);
        }
        if (Cursor { ..*cursor }).take(self.ends)? {
            return offered.call(&tool.name, "{}").ok_or(Miss::Broken);
        }
        let rest = cursor.rest();
        if !rest.starts_with('{') {
            return Err(Miss::Text);
        }
        let body = match closed(rest, 0, cursor.is_end) {
            Some(end) => rest.get(..end).unwrap_or_default(),
            None if !cursor.is_end => return Err(Miss::More),
            None => up_to(rest, self.ends).trim_end(),
        };
        cursor.skip(body.len());
        cursor.take_all(&["```"])?;
        offered.call(&tool.name, body).ok_or(Miss::Broken)
    }
}

/// Past one of these, in which the text breaks off.
fn skip_cut(cursor: &mut Cursor<'_>, words: &[&str]) {
    if cursor.is_cut(words) {
        cursor.skip_all();
    }
}
