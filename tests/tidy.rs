//! Rules of the repository, checked against its own files.
//!
//! - `structure`: imports between modules, sans-IO modules, file sizes, the top level.
//! - `identifiers`: names of declarations.
//! - `language`: the words of docs, comments, error messages and test names.
//! - `documentation`: summaries, README and features.
//! - `examples`: examples of public items.
//!
//! `files` finds what they read, `declarations` reads the declared names of code, `prose` reads
//! comments and messages, `items` reads the documented items of a source file, and `source` removes
//! comments and strings from code.

#[path = "tidy/declarations.rs"]
mod declarations;
#[path = "tidy/documentation.rs"]
mod documentation;
#[path = "tidy/examples.rs"]
mod examples;
#[path = "tidy/files.rs"]
mod files;
#[path = "tidy/identifiers.rs"]
mod identifiers;
#[path = "tidy/items.rs"]
mod items;
#[path = "tidy/language.rs"]
mod language;
#[path = "tidy/prose.rs"]
mod prose;
#[path = "support/source.rs"]
mod source;
#[path = "tidy/structure.rs"]
mod structure;
