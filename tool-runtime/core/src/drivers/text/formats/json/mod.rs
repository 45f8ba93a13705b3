//! Formats whose arguments are JSON, in their own markers.

pub(super) mod bare;
pub(super) mod command;
pub(super) mod deepseek;
pub(super) mod functools;
pub(super) mod gigachat;
pub(super) mod hermes;
pub(super) mod kimi_k2;
pub(super) mod lfm2;
pub(super) mod llama;
pub(super) mod minimax_m1;
pub(super) mod mistral;
pub(super) mod nemotron;
