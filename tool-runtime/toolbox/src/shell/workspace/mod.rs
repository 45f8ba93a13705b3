//! The folders that commands may write. `system.rs` refuses those of programs and certificates.

mod system;

pub(super) use system::refusal;
