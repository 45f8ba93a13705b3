//! Small records that outlive a process, such as descriptions of tools that processes share.
//!
//! A database implements one trait, [`Records`], for all of them. The types that keep such records
//! take any store of this trait, so a program passes one store to each of them.
//!
//! `store.rs` is the contract, `record.rs` its data, `query.rs` which records a list has;
//! `memory.rs` and `file/` are implementations without a database. `large/` keeps texts that are
//! longer than a record.

mod error;
mod file;
mod large;
mod memory;
mod query;
mod record;
mod store;

pub use error::StoreError;
pub use file::FileRecords;
pub use large::{LargeRecords, MAX_LARGE_KEY_BYTES};
pub use memory::MemoryRecords;
pub use query::{Position, RecordQuery};
pub use record::{CorruptRecord, Record, RecordList};
pub use store::{
    Expected, MAX_COLLECTION_BYTES, MAX_KEY_BYTES, MAX_RECORD_BYTES, Records, check_sizes,
};
