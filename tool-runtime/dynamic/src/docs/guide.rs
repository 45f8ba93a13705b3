//! Guide: one page for each task.
//!
//! This crate uses the vocabulary of the runtime, and these terms:
//!
//! | term | meaning |
//! |---|---|
//! | dynamic tool | a tool that a program or a model makes at run time |
//! | spec | the description of a dynamic tool as data: name, arguments, effect, body and so on |
//! | body | the code of a dynamic tool, without the signature of its function |
//! | kind | the type of the content of an entry: tool, connection, preference or description |
//! | backend | builds tools from specs, for bodies in one language |
//! | catalog | the stored entries: dynamic tools, connections, preferences and descriptions |
//! | entry | a named element of a catalog, with its versions |
//! | registrar | registers the tools of the entries, and applies each change of the catalog |
//! | connection | the program or URL of an MCP server, with the names of its secrets |
//! | pin | store the definitions that a server lists first, so that a change needs an approval |

macro_rules! pages {
    ($($feature:literal: $($name:ident)*;)*) => {
        $($(
            #[cfg(feature = $feature)]
            #[doc = include_str!(concat!(stringify!($name), ".md"))]
            pub mod $name {}
        )*)*
    };
}

pages! {
    "catalog": catalog;
    "javascript": scripts;
    "rust-tools": rust_tools;
}

#[cfg(all(feature = "catalog", feature = "javascript"))]
#[doc = include_str!("dynamic_tools.md")]
pub mod dynamic_tools {}
