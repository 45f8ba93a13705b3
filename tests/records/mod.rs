//! Records: in files, and texts that are larger than a record.

mod file;
mod large;
