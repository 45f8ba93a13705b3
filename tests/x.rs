use tool_runtime::*;
#[args]
struct Forecast {
    /// City name.
    city: String,
    days: Option<u8>,
}
/// Weather.
#[tool(effect = "read", idempotent, timeout = "5s")]
async fn forecast(args: Forecast) -> Result<String, std::io::Error> {
    Ok(format!("{} {:?}", args.city, args.days))
}
/// Adds.
#[tool]
async fn add(
    /// first
    a: i64,
    b: i64,
    ctx: &ToolContext,
    s: &str,
    l: &[u8],
    o: Option<String>,
) -> i64 {
    let _ = (ctx, s, l, o);
    a + b
}
type Ctx<'a> = &'a ToolContext;
/// x
#[tool]
async fn alias(_c: Ctx<'_>) {}

#[tokio::test]
async fn t() {
    for t in tools![forecast, add, alias] {
        println!("{}", serde_json::to_string_pretty(t.definition()).unwrap());
    }
    let d = Dispatcher::new(tools![forecast, add, alias].try_into().unwrap());
    for e in d
        .dispatch(vec![
            ToolCall::new("1", "forecast", r#"{"city":"Oslo"}"#),
            ToolCall::new("2", "add", r#"{"a":1,"b":2,"s":"x","l":[1,2]}"#),
            ToolCall::new("3", "add", r#"{"a":1,"b":"x"}"#),
            ToolCall::new("3", "alias", "{}"),
            ToolCall::new("3", "forecast", r#"{"city":1, "x": 3}"#),
        ])
        .await
    {
        println!("{:?}", e.result);
    }
}
