//! How calls travel in what a model says.

pub mod text;
