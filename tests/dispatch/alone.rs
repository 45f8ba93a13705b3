//! One call is run as several are, but for the task that it runs in.

use tool_runtime::Policy;

use super::*;

tokio::task_local! {
    static CALLER: &'static str;
}

#[tokio::test]
async fn several_run_in_tasks_of_their_own() {
    let look = ByHand::new("look", || -> Call<'static> {
        Box::pin(async {
            let seen = CALLER.try_with(|caller| *caller).unwrap_or("nobody");
            Ok(ToolOutput::text(seen))
        })
    });
    let dispatcher = dispatcher(Tools::new().with(look));
    for (count, caller) in [(1, "me"), (2, "nobody")] {
        let list = vec![("look", "{}"); count];
        let done = CALLER.scope("me", dispatcher.dispatch(calls(&list))).await;
        assert_eq!(texts(&done), vec![caller; count]);
    }
}

/// Holds its thread up: the clock goes on and nothing else does.
fn hold_up(span: Duration) {
    let mut advance = std::pin::pin!(tokio::time::advance(span));
    let _ = advance.as_mut().poll(&mut Context::from_waker(std::task::Waker::noop()));
}

#[tokio::test(start_paused = true)]
async fn what_ends_after_its_time_is_not_used() {
    for (millis, count, code) in
        [(2_000, 1, "TOOL_TIMEOUT"), (2_000, 3, "TOOL_TIMEOUT"), (999, 1, "-")]
    {
        let mut busy = ByHand::new("busy", move || -> Call<'static> {
            Box::pin(async move {
                hold_up(Duration::from_millis(millis));
                Ok(ToolOutput::text("done"))
            })
        });
        busy.0 = busy.0.timeout(Duration::from_secs(1));
        let dispatcher = dispatcher(Tools::new().with(busy));
        let done = dispatcher.dispatch(calls(&vec![("busy", "{}"); count])).await;
        assert_eq!(codes(&done), vec![code; count]);
        if code == "TOOL_TIMEOUT" {
            let text =
                "The tool took longer than 1s, so its result is not used. It may have had effects.";
            assert_eq!(texts(&done), vec![text; count]);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_short_way_leads_where_the_long_one_does() {
    silence_panics();
    let list = [
        ("add", r#"{"a": 1, "b": 2}"#),
        ("add", "```\n{'a': 1, b: 2}\n```"),
        ("add", r#"{"a": 1}"#),
        ("add", "{"),
        ("fail", "{}"),
        ("crash", "{}"),
        ("unknown", "{}"),
    ];
    for call in list {
        let short = all().dispatch(calls(&[call])).await.remove(0);
        // A limit that limits nothing, and a time that is never reached.
        let limits = tool_runtime::dispatch::Concurrency::default().all(100);
        let long =
            all().policy(Policy::new().concurrency(limits).batch_deadline(Duration::from_secs(60)));
        let mut long = long.dispatch(calls(&[call])).await.remove(0);
        long.started = short.started;
        assert_eq!(short, long);
    }
}
