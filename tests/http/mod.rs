//! Tests of the HTTP transport and of recordings, without a model. The clients of model providers
//! test the same transport in the target `providers`.

mod cassette;
mod reqwest_transport;
mod tool_errors;
