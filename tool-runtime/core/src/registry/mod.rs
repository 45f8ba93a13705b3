//! The tools of a program, and the views and selections of them.
//!
//! A [`Registry`] is shared and mutable. A [`Snapshot`] is an immutable copy of its contents, so
//! the tools that a model is offered are the tools that its calls run. Taking a snapshot needs no
//! lock.
//!
//! Each change is atomic, no foreign code runs while the lock is held, and a tool is asked for its
//! definition only once, when it is registered.
//!
//! # Tool names
//!
//! A tool has an *own* name, which its definition declares. The tool of a provider also has a
//! *full* name, `provider__name`, which is unique and never changes. Models call it by its own name
//! as long as no other tool has that name, and by its full name otherwise.
//!
//! - A setting applies to all tools that [have the name](crate::ToolDefinition::has_name), whatever
//!   name models use. A setting for `find` applies to every tool with that own name, with or
//!   without a provider. A setting for `github__find` applies to one tool. This is the rule of
//!   [`Registry::only`], [`without`](Registry::without) and [`prefer`](Registry::prefer), a
//!   [`DescriptionStore`], `BySearch::always`, and the [permissions](crate::dispatch::Permissions),
//!   [concurrency](crate::dispatch::Concurrency) and [rate limits](crate::dispatch::RateLimits) of
//!   a policy.
//! - A lookup finds one tool: the tool that models currently call by the name, or the tool with
//!   that full name. This is the rule of calls, [`Snapshot::get`] and [`Registry::unregister`].
//!
//! The tools of a list that is [always prefixed](Tools::always_prefixed) are called by their full
//! names only, and do not change the names of others.
//!
//! An own name that contains `__` could be mistaken for the full name of another tool. A provider's
//! tool with such a name is known by its full name only.

// The files of this module:
//
// - `handle.rs`: the registry, whose other methods stand beside what they change.
// - `contents/`, `contents/table.rs`: the contents at one moment, replaced as a whole by
//   `contents/shared.rs`.
// - `contents/entry.rs`: one registered tool. `naming/namesakes.rs`: tools with the same own name.
// - `naming/`: under which name models call a tool.
// - `descriptions/`, `descriptions/description_source.rs`: descriptions that replace those of the
//   tools.
// - `filter.rs`: views. `changes.rs`: the signal that the tools of a view changed.
// - `candidates.rs`: tools that are checked before they are registered.
// - `provider.rs`, `labels.rs`: groups of tools.
// - `contents/replace.rs`: a group that is replaced in one change.
// - `contents/valid_tools.rs`: lists from outside, of which the invalid tools are skipped.
// - `contents/weak.rs`: references that do not keep a registry alive.
// - `descriptions/preferences.rs`: preferences that are set, saved and loaded.
// - `naming/nearest.rs`: suggestions for a model that calls an unknown tool.
// - `select/`: which tools are offered on a turn.

mod candidates;
mod changes;
mod contents;
mod descriptions;
pub(crate) mod error;
mod filter;
pub(crate) mod handle;
pub(crate) mod into_registry;
mod labels;
mod naming;
pub mod overrides;
mod provider;
pub(crate) mod select;
pub(crate) mod snapshot;
pub(crate) mod tools;

pub use changes::RegistryChanges;
pub use contents::entry::Entry;
pub use contents::valid_tools::{RegistrationReport, SkippedTool};
pub use contents::weak::WeakRegistry;
pub use descriptions::{DescriptionStore, MemoryDescriptions};
pub(crate) use error::RegistryError;
pub(crate) use handle::Registry;
pub(crate) use naming::nearest::{name_to_suggest, nearest, nearest_text};
pub(crate) use select::selectable;
#[cfg(feature = "search")]
pub use select::{BySearch, SearchTools, ToolIndex};
pub use select::{ByWeight, Selector, SelectorInput, definition_bytes};
pub(crate) use snapshot::Snapshot;
pub(crate) use tools::Tools;
