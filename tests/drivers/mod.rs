//! Drivers that read tool calls from text.

mod react;
mod text;
