//! The parameters of a tool's function, judged by their types.
//!
//! Generated code lists them as nested pairs, `(Owned<City>, (Lent<ToolContext>, ()))`:
//! [`Owned<T>`] for one written `T`, [`Lent<T>`] for one written `&T`. What each of them is, an
//! argument or the context, traits say; never how its type was spelled.

mod list;
mod one;

pub use list::{Optional, Params, Slot};
pub use one::{Decodes, Give, HasSchema, Lend, Lent, Owned, Param};

pub(super) use list::Named;
