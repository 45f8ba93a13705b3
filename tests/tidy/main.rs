//! Rules of the repository, checked against its own files.
//!
//! - `circles`: imports between the files of a folder.
//! - `structure`: imports between modules, sans-IO modules, file sizes, the top level.
//! - `identifiers`: names of declarations.
//! - `language`: the words of docs, comments, error messages and test names.
//! - `documentation`: summaries, README and features.
//! - `examples`: examples of public items.
//! - `settings`: names of limits on sizes, counts and times, and of errors.
//! - `surface`: the numbers of public and hidden types.
//! - `vocabulary`: serialized names.
//!
//! `files` finds what they read, `declarations` reads the declared names of code, `prose` reads
//! comments and messages, `items` reads the documented items of a source file, and `source` removes
//! comments and strings from code.

mod circles;
mod declarations;
mod documentation;
mod examples;
mod files;
mod identifiers;
mod items;
mod language;
mod prose;
mod settings;
mod source;
mod structure;
mod surface;
mod vocabulary;
