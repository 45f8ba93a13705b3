//! Formats with tags around each call and each argument.

pub(super) mod anthropic;
pub(super) mod dsml;
pub(super) mod glm;
pub(super) mod kimi_k3;
pub(super) mod minimax_m2;
pub(super) mod minimax_m3;
pub(super) mod qwen_xml;
pub(super) mod step3;
