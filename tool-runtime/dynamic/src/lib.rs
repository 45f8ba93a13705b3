//! Tools that are made at run time, built on the public API of [`tool_runtime`].
//!
//! A tool is described by [`Pieces`]: its name, description, arguments, effect and body.
//! [`Pieces::check`] reports everything that is wrong with them at once. A [`ToolBackend`] turns
//! the [`CheckedPieces`] into a tool, which is called like every other tool.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod backend;
mod pieces;

pub use backend::ToolBackend;
pub use pieces::{
    ArgumentField, BodyKind, CheckedField, CheckedPieces, ElementType, ExampleCall, FieldType,
    PieceError, PieceErrors, Pieces, Presence, Shape,
};
