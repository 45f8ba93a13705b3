//! Tests of long-lived child processes, with real ones.

mod ends;
mod program_end;
mod streams;
