//! The numbers that can be bounds of an argument.

use serde_json::Value;

/// A number that can be a bound of `#[arg(range)]`.
#[diagnostic::on_unimplemented(
    message = "a bound of `range` is a number",
    label = "not a number of at most 64 bits"
)]
pub trait RangeBound: Into<Value> {}

macro_rules! range_bounds {
    ($($number:ty)*) => {
        $(#[diagnostic::do_not_recommend] impl RangeBound for $number {})*
    };
}

range_bounds!(i8 i16 i32 i64 isize u8 u16 u32 u64 usize f32 f64);

/// Returns a bound as JSON.
pub fn range_bound(bound: impl RangeBound) -> Value {
    bound.into()
}
