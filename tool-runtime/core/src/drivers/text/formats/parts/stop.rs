//! End-of-turn tokens at the end of a text, which are removed.
//!
//! Source: the chat templates of the models with these tokens.

use crate::drivers::text::grammar::{Cursor, END_TOKENS};
use crate::drivers::text::{Format, Input, Match, NoMatch, StartMarker, ToolLookup};

#[derive(Debug)]
pub(crate) struct EndTokens;

impl Format for EndTokens {
    fn name(&self) -> &str {
        "stop"
    }

    /// All end-of-turn tokens but `</s>`, which is an HTML tag as well.
    fn start_markers(&self) -> &[StartMarker] {
        &[
            StartMarker::Anywhere("<|im_end|>"),
            StartMarker::Anywhere("<|eot_id|>"),
            StartMarker::Anywhere("<|eot|>"),
            StartMarker::Anywhere("<|eom_id|>"),
            StartMarker::Anywhere("<|endoftext|>"),
            StartMarker::Anywhere("<|end|>"),
            StartMarker::Anywhere("<end_of_turn>"),
            StartMarker::Anywhere("<turn|>"),
            StartMarker::Anywhere("<｜end▁of▁sentence｜>"),
            StartMarker::Anywhere("<|return|>"),
            StartMarker::Anywhere("<|END_OF_TURN_TOKEN|>"),
            StartMarker::Anywhere("<|content_model_end_sampling|>"),
            StartMarker::Anywhere("<|tool_response>"),
            StartMarker::Anywhere("<start_function_response>"),
            StartMarker::Anywhere("<|observation|>"),
            StartMarker::Anywhere("<|user|>"),
        ]
    }

    fn parse(&self, input: Input<'_>, _: &ToolLookup<'_>) -> Result<Match, NoMatch> {
        let mut cursor = Cursor::new(input);
        cursor.take_all(&END_TOKENS)?;
        cursor.skip_blanks();
        if cursor.is_done()? {
            Ok(Match::Calls { calls: Vec::new(), end: cursor.at })
        } else {
            Err(NoMatch::Text)
        }
    }
}
