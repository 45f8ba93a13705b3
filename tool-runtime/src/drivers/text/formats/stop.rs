//! What says that the model is done, at the end of a text: no part of it.
//!
//! Source: the chat templates of the models whose tokens these are.

use super::super::grammar::{Cursor, STOPS};
use super::super::{Format, Found, Miss, Offered, Opener, Rest};

#[derive(Debug)]
pub(super) struct Stop;

impl Format for Stop {
    fn name(&self) -> &str {
        "stop"
    }

    /// All but `</s>`, which is a tag of HTML too.
    fn openers(&self) -> &[Opener] {
        &[
            Opener::Marker("<|im_end|>"),
            Opener::Marker("<|eot_id|>"),
            Opener::Marker("<|eot|>"),
            Opener::Marker("<|eom_id|>"),
            Opener::Marker("<|endoftext|>"),
            Opener::Marker("<|end|>"),
            Opener::Marker("<end_of_turn>"),
            Opener::Marker("<turn|>"),
            Opener::Marker("<｜end▁of▁sentence｜>"),
            Opener::Marker("<|return|>"),
            Opener::Marker("<|END_OF_TURN_TOKEN|>"),
            Opener::Marker("<|content_model_end_sampling|>"),
        ]
    }

    fn read(&self, rest: Rest<'_>, _: &Offered<'_>) -> Result<Found, Miss> {
        let mut cursor = Cursor::new(rest);
        cursor.take_all(&STOPS)?;
        cursor.skip_blanks();
        match cursor.is_done()? {
            true => Ok(Found::Calls { calls: Vec::new(), end: cursor.at }),
            false => Err(Miss::Text),
        }
    }
}
