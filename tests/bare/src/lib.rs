//! Tools of every form, in a crate that depends on tool-runtime alone, under the name `rt`.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};

use rt::{ToolContext, ToolError, Tools, args, tool, tools};

/// An order and its destination.
#[args(crate = rt)]
pub struct Order {
    /// The goods to order, by name and count.
    pub items: BTreeMap<String, u32>,
    pub to: Address,
    pub speed: Option<Speed>,
    pub payment: Payment,
}

/// The address of a customer.
#[args(crate = rt)]
#[serde(rename_all = "camelCase")]
pub struct Address {
    #[schemars(length(min = 1))]
    pub street: String,
    #[serde(default)]
    pub floors_up: u8,
}

/// Delivery speed.
#[args(crate = rt)]
#[derive(Clone, Copy, Debug, Default)]
#[serde(rename_all = "lowercase")]
pub enum Speed {
    #[default]
    Slow,
    Fast,
}

/// Payment method.
#[args(crate = rt)]
#[serde(tag = "by")]
pub enum Payment {
    Card { number: String },
    Cash,
}

/// Places an order.
#[tool(crate = rt, effect = "write", timeout = "5s")]
pub async fn order(args: Order) -> Result<String, ToolError> {
    let Address { street, floors_up } = args.to;
    let speed = args.speed.unwrap_or_default();
    let payment = match args.payment {
        Payment::Card { number } => format!("card {number}"),
        Payment::Cash => "cash".into(),
    };
    if args.items.is_empty() {
        return Err("there is nothing to order".into());
    }
    Ok(format!("{:?} to {street}, floor {floors_up}, {speed:?}, {payment}", args.items))
}

/// Adds two numbers.
#[tool(crate = rt, pure)]
pub async fn add(
    /// The first number.
    first: i64,
    /// The second number.
    #[arg(default = 1)]
    second: i64,
) -> i64 {
    first + second
}

/// Counts the letters of a text.
#[tool(crate = rt, blocking, effect = "none")]
pub fn letters(text: &str, ctx: &ToolContext) -> String {
    format!("{}: {}", ctx.tool_name(), text.chars().count())
}

/// A counter shared by two tools.
#[derive(Default)]
pub struct Counter(AtomicU32);

#[tool(crate = rt)]
impl Counter {
    /// Increases the count.
    #[tool(effect = "write")]
    async fn up(&self, by: u32) -> u32 {
        self.0.fetch_add(by, Ordering::Relaxed) + by
    }

    /// Returns the count.
    #[tool(effect = "read")]
    async fn count(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Returns all tools of the crate.
pub fn all() -> Tools {
    tools![order, add, letters, ..Counter::default()]
}
