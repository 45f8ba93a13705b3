//! How calls travel in what a model says.
//!
//! A [`Driver`] stands between the loop and a model: it offers the tools, and reads the calls out of what
//! comes back. [`Native`] uses the fields that providers have for that, [`Text`] also what a model wrote into
//! its text, and [`ReAct`] needs neither: it has the model decide, in JSON, what to do next. Where a
//! conversation goes on under another driver, nothing changes: it is kept as calls and results.

mod driver;
mod misread;
mod native;
pub mod react;
pub mod text;
mod told;

pub(crate) use self::told::Told;
pub use self::{
    driver::{Asked, Driver, LastWord, Listener},
    misread::{Misread, MisreadKind},
    native::Native,
    react::ReAct,
    text::Text,
};
