use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use tool_runtime::Availability;

use super::*;

struct Shop {
    stock: AtomicI64,
}

#[args]
struct Order {
    /// How many.
    count: i64,
}

#[tool]
impl Shop {
    /// Creates a shop.
    pub fn new(stock: i64) -> Self {
        Self { stock: AtomicI64::new(stock) }
    }

    /// Tells how many there are.
    #[tool(effect = "read", idempotent)]
    async fn stock(&self) -> i64 {
        self.stock.load(Ordering::SeqCst)
    }

    /// Buys some.
    #[tool(effect = "write", name = "buy_some")]
    pub async fn buy(&self, ctx: &ToolContext, order: Order) -> Result<i64, String> {
        if order.count > self.stock().await {
            return Err(format!("{}: there are not so many", ctx.tool_name()));
        }
        Ok(self.stock.fetch_sub(order.count, Ordering::SeqCst) - order.count)
    }

    /// Needs no shop.
    #[tool(effect = "none")]
    async fn greet(
        /// Whom.
        #[arg(default = "you")]
        name: &str,
    ) -> String {
        format!("Hello, {name}!")
    }

    /// Counts on its thread.
    #[tool(blocking, effect = "read")]
    fn count(&self, times: u8) -> i64 {
        self.stock.load(Ordering::SeqCst) * i64::from(times)
    }

    /// Is not there.
    #[cfg(any())]
    #[tool]
    async fn nowhere(&self, missing: Missing) {}
}

/// Calls the tool of this name.
async fn ask(tools: &Registry, name: &str, arguments: &str) -> Result<String, ToolError> {
    let snapshot = tools.snapshot();
    let tool = snapshot.get(name).unwrap_or_else(|| panic!("no {name}"));
    let output = tool.call(arguments.into(), &ToolContext::default()).await;
    output.map(ToolOutput::into_text)
}

#[tokio::test]
async fn methods_share_one_value() {
    let tools = Registry::try_from(tools![..Shop::new(5)]).unwrap();
    let names: Vec<_> =
        tools.snapshot().iter().map(|tool| tool.definition().name.clone()).collect();
    assert_eq!(names, ["buy_some", "count", "greet", "stock"]);

    assert_eq!(ask(&tools, "stock", "{}").await.unwrap(), "5");
    assert_eq!(ask(&tools, "buy_some", r#"{"count": 2}"#).await.unwrap(), "3");
    assert_eq!(ask(&tools, "stock", "").await.unwrap(), "3");
    assert_eq!(ask(&tools, "count", r#"{"times": 2}"#).await.unwrap(), "6");
    assert_eq!(ask(&tools, "greet", "{}").await.unwrap(), "Hello, you!");
    let error = ask(&tools, "buy_some", r#"{"count": 9}"#).await.unwrap_err();
    assert_eq!(error.text(), "tool: there are not so many");

    let definition = tools.snapshot().get("buy_some").unwrap().definition().clone();
    assert_eq!(definition.description, "Buys some.");
    assert_eq!(definition.parameters.as_value()["properties"]["count"]["description"], "How many.");
    assert_eq!(definition.effect, Effect::Write);
}

#[tokio::test]
async fn annotated_methods_can_be_called() {
    let shop = Shop::new(2);
    assert_eq!(shop.buy(&ToolContext::default(), Order { count: 1 }).await, Ok(1));
    assert_eq!(Shop::greet("Ada").await, "Hello, Ada!");
}

#[tokio::test]
async fn program_keeps_access_to_the_value() {
    let shop = Arc::new(Shop::new(2));
    let tools = Registry::try_from(tools![..Arc::clone(&shop), definition_of_none]).unwrap();
    ask(&tools, "buy_some", r#"{"count": 2}"#).await.unwrap();
    assert_eq!(shop.stock().await, 0);
    assert!(tools.snapshot().get("definition_of_none").is_some());
}

/// Stands beside a toolbox.
#[tool]
async fn definition_of_none() {}

trait Store: Send + Sync + 'static {
    type Key: std::fmt::Display + serde::de::DeserializeOwned + schemars::JsonSchema + Send;

    fn put(&self, text: String);
    fn all(&self) -> Vec<String>;
}

#[derive(Default)]
struct Memory(Mutex<Vec<String>>);

impl Store for Memory {
    type Key = u32;

    fn put(&self, text: String) {
        self.0.lock().unwrap().push(text);
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

struct Notes<S>(S);

#[tool]
impl<S> Notes<S>
where
    S: Store,
{
    /// Writes a note.
    #[tool(effect = "write")]
    async fn write(&self, key: S::Key, text: String) {
        self.0.put(format!("{key}: {text}"));
    }

    /// Reads all notes.
    #[tool(effect = "read")]
    async fn all(&self) -> Vec<String> {
        self.0.all()
    }
}

#[tokio::test]
async fn toolbox_can_be_generic() {
    let tools = Registry::try_from(tools![..Notes(Memory::default()),]).unwrap();
    ask(&tools, "write", r#"{"key": 7, "text": "milk"}"#).await.unwrap();
    assert_eq!(ask(&tools, "all", "{}").await.unwrap(), r#"["7: milk"]"#);
    assert!(ask(&tools, "write", r#"{"key": "x", "text": ""}"#).await.is_err());
}

struct Printer(bool);

#[tool]
impl Printer {
    fn availability(&self) -> Availability {
        if self.0 { Availability::Available } else { Availability::Unavailable("no paper".into()) }
    }

    fn closed() -> Availability {
        Availability::Unavailable("closed".into())
    }

    /// Prints a text.
    #[tool(available = Self::availability)]
    async fn print(&self, text: String) -> String {
        text
    }

    /// Copies a text.
    #[tool(available = Self::closed)]
    async fn copy(&self, text: String) -> String {
        text
    }

    /// Opens the printer.
    #[tool(available = Self::closed)]
    async fn open() {}
}

#[test]
fn availability_depends_on_the_value_of_the_tools() {
    for (has_paper, expected) in
        [(true, Availability::Available), (false, Availability::Unavailable("no paper".into()))]
    {
        let tools = Registry::try_from(tools![..Printer(has_paper)]).unwrap().snapshot();
        let availability = |name| tools.get(name).unwrap().availability();
        assert_eq!(availability("print"), expected);
        for name in ["copy", "open"] {
            assert_eq!(availability(name), Availability::Unavailable("closed".into()));
        }
    }
}
