//! Items that the other crates of the workspace use beside the public API. They are not part of it
//! and can change in any release.

// Bounds of arguments: a program passes the values and does not name the trait.
pub use crate::dispatch::policy::strings::IntoStrings;
pub use crate::registry::into_registry::IntoRegistry;

// The decisions of a run and of a window. A `Run` performs them; tests and benches look at each.
pub use crate::agent::turn::step::{Outcome, Step};
pub use crate::agent::window::count::estimate_tokens;
pub use crate::agent::window::plan::WindowPlan;
pub use crate::agent::window::state::WindowState;

// The reader of calls in text: providers read what a server rejected; tests cut a text into pieces.
pub use crate::drivers::text::format_set::Formats;
pub use crate::drivers::text::lookup::ToolLookup;
pub use crate::drivers::text::stream::{TextChunk, TextStream};

// One way for all wings: to write and read values, to wait before a retry, to replace a file.
pub use crate::dispatch::policy::retry::backoff;
pub use crate::event::money::format_amount;
pub use crate::guard::BoxFuture;
pub use crate::message::first_bytes::first_bytes;
pub use crate::message::foreign::MediaKind;
pub use crate::message::foreign::UriUse;
pub use crate::message::foreign::media_refusal;
pub use crate::message::foreign::uri_use;
pub use crate::message::media::image_type::image_type;
pub use crate::message::visible::invisible::is_invisible;
pub use crate::message::visible::visible_value;
pub use crate::schema::ordered_json::OrderedJson;
pub use crate::tool::args::value_end::end_of_value;
pub use crate::tool::output::rows::Rows;
pub use tool_http::replace_file;
pub use tool_http::replace_private_file;

// Clients of models share how a reply is emitted, and the error of one that was cut.
pub use crate::errors::InterruptedError;
pub use crate::message::delta::emit_reply;
