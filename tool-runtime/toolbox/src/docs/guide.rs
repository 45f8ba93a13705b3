//! Guide: one page for each task.
//!
//! This crate uses the vocabulary of the runtime, and these terms:
//!
//! | term | meaning |
//! |---|---|
//! | workspace | the one folder in which the tools of `Files` and `Shell` work |
//! | sandbox | the confinement of commands by the kernel: what they read, write and reach |
//! | source | the name of a document within its tenant, such as a path or a URL |
//! | chunk | a part of a document that is embedded and found by itself |
//! | passage | a chunk that a search returns, with its score |
//! | tenant | the owner of documents; a search finds only those of one tenant |
//! | scope | the owner of remembered facts: a user, a session or an agent |
//! | occurrence | one time at which a schedule is due |
//! | fire | run the action of a schedule for an occurrence |
//! | claim | a lease by which one of several schedulers fires an occurrence |
//! | principal | the user, tenant or service with whose rights a schedule fires |

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
    "files": workspace_tools diffs_and_undo;
    "knowledge": knowledge memory;
    "web": fetching_and_searching;
    "shell": sandbox;
    "schedule": schedules;
}
