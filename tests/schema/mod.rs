//! Schemas: their validation, their dialects, and their agreement with the decoder.

mod agreement;
mod dialect;
mod shapes;
