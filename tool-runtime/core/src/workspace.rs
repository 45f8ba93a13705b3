//! Items that the other crates of the workspace use beside the public API. They are not part of it
//! and can change in any release.

pub use crate::dispatch::policy::retry::backoff;
pub use crate::event::money::format_amount;
pub use crate::guard::BoxFuture;
pub use crate::message::first_bytes::first_bytes;
pub use crate::message::image_type::image_type;
pub use crate::message::visible::invisible::is_invisible;
pub use crate::message::visible::visible_value;
pub use crate::models::delta::emit_reply;
pub use crate::models::error::InterruptedError;
pub use crate::schema::ordered_json::OrderedJson;
pub use crate::tool::args::value_end::end_of_value;
pub use crate::tool::output::rows::Rows;
pub use tool_http::replace_file;
pub use tool_http::replace_private_file;
