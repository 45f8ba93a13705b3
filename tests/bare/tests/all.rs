//! Calls every tool of the crate.

use rt::{Registry, ToolContext};
use tool_tests_bare::{Address, Order, Payment, Speed, all, order};

#[tokio::test]
async fn every_tool_is_called() {
    let snapshot = Registry::try_from(all()).unwrap().snapshot();
    for (name, arguments, expected) in [
        (
            "order",
            r#"{"items": {"tea": 2}, "to": {"street": "Main St 1", "floorsUp": 3},
                "speed": "fast", "payment": {"by": "Card", "number": "12"}}"#,
            r#"{"tea": 2} to Main St 1, floor 3, Fast, card 12"#,
        ),
        ("add", r#"{"first": 41}"#, "42"),
        ("letters", r#"{"text": "añb"}"#, "tool: 3"),
        ("up", r#"{"by": 2}"#, "2"),
        ("count", "{}", "2"),
    ] {
        let tool = snapshot.get(name).unwrap();
        let output = tool.call(arguments.into(), &ToolContext::default()).await.unwrap();
        assert_eq!(output.as_text(), expected);
    }
}

#[tokio::test]
async fn annotated_functions_can_be_called() {
    let output = order(Order {
        items: [("tea".to_owned(), 1)].into(),
        to: Address { street: "Main St 1".into(), floors_up: 0 },
        speed: Some(Speed::Slow),
        payment: Payment::Cash,
    });
    assert_eq!(output.await.unwrap(), r#"{"tea": 1} to Main St 1, floor 0, Slow, cash"#);
}
