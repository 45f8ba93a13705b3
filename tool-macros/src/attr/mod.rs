//! The grammar of `#[tool(…)]` and of `#[arg(…)]`.

mod arg;
mod literal;
mod tool;
mod value;
mod words;

pub(crate) use arg::{ArgAttr, LoneParameter};
pub(crate) use tool::ToolAttr;
