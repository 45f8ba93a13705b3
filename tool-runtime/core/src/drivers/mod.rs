//! Drivers: how tools are encoded into model requests and how calls are parsed from replies.
//!
//! A [`Driver`] stands between the agent loop and the model:
//!
//! - [`Native`], the default, takes calls from the tool-call fields of the provider's API. It is
//!   for models with native tool calling.
//! - [`Text`] takes native calls, and calls that the model writes with markup into its text. It is
//!   for servers without a tool-call parser for their model, and for small models.
//! - [`ReAct`] lets the model reply with a JSON decision. It is for models without tool calling.
//!
//! The flow of one turn:
//!
//! 1. [`Driver::prepare`] turns the request of the loop into the request that is sent
//!    (`driver.rs`, `request.rs`).
//! 2. [`Driver::stream_decoder`] decodes the deltas of a streamed reply. The loop records what was
//!    emitted (`delta_tracker.rs`).
//! 3. [`Driver::parse`] parses the reply (`native.rs`, `text/`, `react/`). On a
//!    [`ReplyParseError`] (`error.rs`) the loop sends the feedback and repeats the request, up to
//!    [`Driver::max_parse_attempts`] replies.
//! 4. [`Driver::answer_request`] may request the answer separately.
//!
//! The transcript stores calls and results, never the encoding of a driver. A conversation can
//! therefore continue under another driver.

mod delta_tracker;
mod driver;
mod error;
mod native;
mod react;
mod request;
pub mod text;

pub(crate) use self::delta_tracker::DeltaTracker;
pub(crate) use self::driver::DeltaDecoder;
pub(crate) use self::error::ReplyParseErrorKind;
pub use self::{
    driver::Driver, error::ReplyParseError, native::Native, react::ReAct, request::PreparedRequest,
    text::driver::Text,
};
