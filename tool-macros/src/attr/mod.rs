//! The grammar of `#[tool(…)]` and of `#[arg(…)]`.

mod arg;
mod bounds;
mod literal;
mod tool;
mod value;
mod words;

pub(crate) use arg::{ArgAttr, LoneParameter};
pub(crate) use bounds::Bounds;
pub(crate) use tool::ToolAttr;
