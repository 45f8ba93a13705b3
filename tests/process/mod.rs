//! Tests of long-lived child processes, with real ones.

mod ends;
mod streams;
