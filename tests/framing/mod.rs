//! Tests of the decoders that split byte streams into messages.

mod lines;
mod sse;
