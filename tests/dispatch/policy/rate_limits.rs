//! Rate limits.

use tool_runtime::dispatch::{Batch, Concurrency, Dispatch, RateLimits};
use tool_runtime::event::BlockReason;
use tool_runtime::{
    Agent, CancellationToken, ChatReply, Policy, RateLimit, ScriptedModel, ScriptedTurn,
};

use super::*;

/// The start times of tools.
#[derive(Clone, Default)]
struct StartTimes(Arc<Mutex<Vec<Duration>>>);

impl StartTimes {
    fn seconds(&self) -> Vec<u64> {
        self.0.lock().unwrap().iter().map(Duration::as_secs).collect()
    }

    /// The maximum number of starts in any span of this length.
    fn most_in(&self, span: Duration) -> usize {
        let start_times = self.0.lock().unwrap();
        let from = |start: &Duration| {
            start_times.iter().filter(|at| *start <= **at && **at < *start + span).count()
        };
        start_times.iter().map(from).max().unwrap_or(0)
    }
}

fn note(ctx: &ToolContext) -> Result<(), ToolError> {
    let (StartTimes(start_times), start) =
        (ctx.get().ok_or("nowhere")?, ctx.get::<Instant>().unwrap());
    start_times.lock().unwrap().push(start.elapsed());
    Ok(())
}

/// Runs twice a second.
#[tool(rate_limit = "2/s")]
async fn declared(ctx: &ToolContext) -> Result<(), ToolError> {
    note(ctx)
}

/// Runs as often as it is called.
#[tool]
async fn free(ctx: &ToolContext) -> Result<(), ToolError> {
    note(ctx)
}

/// Takes this many seconds.
#[tool]
async fn slow(seconds: u64, ctx: &ToolContext) -> Result<(), ToolError> {
    note(ctx)?;
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    Ok(())
}

/// Fails, and is retried.
#[tool(idempotent, max_retries = 3)]
async fn fails(ctx: &ToolContext) -> Result<(), ToolError> {
    note(ctx)?;
    Err(ToolError::transient("not yet"))
}

fn limited(limits: RateLimits) -> (Dispatcher, StartTimes) {
    with_policy(Policy::new().rate_limits(limits))
}

fn with_policy(policy: Policy) -> (Dispatcher, StartTimes) {
    let registry = Registry::try_from(tools![declared, free, slow, fails]).unwrap();
    registry.register_all_from("far", tools![free]).unwrap();
    let start_times = StartTimes::default();
    let dispatcher = Dispatcher::new(registry).policy(policy);
    (dispatcher.extension(start_times.clone()).extension(Instant::now()), start_times)
}

fn per_ten_seconds(times: u32) -> RateLimit {
    RateLimit { times, per: Duration::from_secs(10) }
}

#[tokio::test(start_paused = true)]
async fn calls_wait_for_a_rate_limit_slot() {
    let d = RateLimits::default;
    for (limits, names, seconds) in [
        // The declared limit applies unless the policy sets another.
        (d(), &["declared"; 5][..], &[0, 0, 1, 1, 2][..]),
        (d().tool("declared", per_ten_seconds(1)), &["declared"; 3], &[0, 10, 20]),
        // A call that waits for its tool's limit delays no other tool.
        (d().all(per_ten_seconds(4)), &["declared", "declared", "declared", "free"], &[0, 0, 0, 1]),
        (d().all(per_ten_seconds(2)), &["free", "declared", "free"], &[0, 0, 10]),
        (d().provider("far", per_ten_seconds(1)), &["far__free", "far__free", "free"], &[0, 0, 10]),
        (d(), &["free"; 4], &[0, 0, 0, 0]),
        // A full name covers one tool, an own name all tools that have it.
        (
            d().tool("far__free", per_ten_seconds(1)),
            &["far__free", "far__free", "free"],
            &[0, 0, 10],
        ),
        (d().tool("free", per_ten_seconds(1)), &["free", "far__free"], &[0, 10]),
        // Each attempt counts.
        (d().tool("fails", per_ten_seconds(2)), &["fails"], &[0, 0, 10, 10]),
    ] {
        let (dispatcher, start_times) = limited(limits.clone());
        let executions = run(&dispatcher, names).await;
        assert!(executions.iter().all(|execution| execution.did_run()));
        assert_eq!(start_times.seconds(), seconds, "{names:?} {limits:?}");
    }
}

/// Runs once a minute, and has a timeout.
#[tool(rate_limit = "1/min", timeout = "90s")]
async fn patient(ctx: &ToolContext) -> Result<(), ToolError> {
    note(ctx)
}

#[tokio::test(start_paused = true)]
async fn call_waits_for_at_most_the_wait_timeout() {
    let second = Duration::from_secs(1);
    let limits =
        |seconds| RateLimits::default().tool("free", RateLimit { times: 1, per: seconds * second });
    for (limits, name, waits) in [
        // 30 s by default, or the timeout of the tool.
        (limits(29), "free", Some(29)),
        (limits(31), "free", None),
        (RateLimits::default(), "patient", Some(60)),
        (limits(31).wait_timeout(40 * second), "free", Some(31)),
        (limits(10).wait_timeout(9 * second), "free", None),
        (limits(10).wait_timeout(Duration::ZERO), "free", None),
        (RateLimits::default().wait_timeout(40 * second), "patient", None),
        (limits(86_400).wait_timeout(Duration::MAX), "free", Some(86_400)),
    ] {
        let dispatcher = dispatcher(tools![free, patient])
            .policy(Policy::new().rate_limits(limits.clone()))
            .extension(StartTimes::default())
            .extension(Instant::now());
        run(&dispatcher, &[name]).await;
        let offered_before = offered(&dispatcher).contains(&name.to_owned());
        let start = Instant::now();
        let execution = run(&dispatcher, &[name]).await.remove(0);
        let waited = execution.did_run().then(|| start.elapsed().as_secs());
        assert_eq!(waited, waits, "{name} {limits:?}");
        // A tool whose next call would be blocked is not offered.
        assert_eq!(offered_before, waits.is_some(), "{name} {limits:?}");
        if waits.is_none() {
            assert_eq!(start.elapsed(), Duration::ZERO);
            assert_eq!((code(&execution), execution.attempts), ("TOOL_UNAVAILABLE", 0));
            assert_eq!(execution.blocked_by, Some(BlockReason::RateLimit));
            tokio::time::sleep(86_400 * second).await;
            assert!(offered(&dispatcher).contains(&name.to_owned()));
        }
    }
}

/// Each call of a long queue waits for the limit, however many are before it.
#[tokio::test(start_paused = true)]
async fn wait_in_a_queue_is_limited() {
    let limits =
        RateLimits::default().all(per_ten_seconds(1)).wait_timeout(Duration::from_secs(25));
    let (dispatcher, start_times) = limited(limits);
    let start = Instant::now();
    let executions = run(&dispatcher, &["free"; 8]).await;
    let ran: Vec<_> = executions.iter().map(ToolExecution::did_run).collect();
    assert_eq!(ran.iter().filter(|ran| **ran).count(), 3, "{ran:?}");
    assert_eq!(start_times.seconds(), [0, 10, 20]);
    assert!(start.elapsed() <= Duration::from_secs(25), "{:?}", start.elapsed());
    let blocked = executions.iter().filter(|execution| !execution.did_run());
    for execution in blocked {
        assert_eq!(execution.blocked_by, Some(BlockReason::RateLimit));
        assert!(execution.result.text.contains("in 10 s"), "{}", execution.result.text);
    }
}

#[tokio::test(start_paused = true)]
async fn rate_limited_calls_start_in_order_of_arrival() {
    let (dispatcher, _) = limited(RateLimits::default().all(per_ten_seconds(1)));
    let mut waiting = Vec::new();
    for n in 0..4 {
        let dispatcher = dispatcher.clone();
        waiting.push(tokio::spawn(async move { run(&dispatcher, &["free"]).await.remove(0) }));
        tokio::time::sleep(Duration::from_secs(n)).await;
    }
    let mut ends = Vec::new();
    for call in waiting {
        ends.push(call.await.unwrap().finished_at());
    }
    assert!(ends.is_sorted());
}

/// Runs these calls at once within a deadline. Returns their executions and how long they took.
async fn run_within(
    dispatcher: &Dispatcher,
    deadline: Duration,
    names: &[&str],
) -> (Vec<ToolExecution>, Duration) {
    let calls: Vec<_> = names.iter().map(|name| ToolCall::new("c", *name, "{}")).collect();
    let mut batch = Batch::from(calls);
    batch.timeout = Some(deadline);
    let start = Instant::now();
    (Dispatch::dispatch(dispatcher, batch).await, start.elapsed())
}

#[tokio::test(start_paused = true)]
async fn cancelled_call_takes_no_rate_limit_slot() {
    let limits = RateLimits::default().all(per_ten_seconds(1));
    let (dispatcher, start_times) = limited(limits);
    let mut batch =
        Batch::from(vec![ToolCall::new("c", "free", "{}"), ToolCall::new("d", "free", "{}")]);
    let cancellation = CancellationToken::new();
    batch.cancellation = Some(cancellation.clone());
    let (executions, ()) = tokio::join!(Dispatch::dispatch(&dispatcher, batch), async {
        tokio::time::sleep(Duration::from_secs(3)).await;
        cancellation.cancel();
    });
    assert_eq!((code(&executions[0]), code(&executions[1])), ("-", "TOOL_CANCELLED"));
    assert_eq!(executions[1].attempts, 0);
    assert!(
        executions[1].result.text.ends_with("It was not run."),
        "{}",
        executions[1].result.text
    );
    run(&dispatcher, &["free"]).await;
    assert_eq!(start_times.seconds(), [0, 10]);
}

#[tokio::test(start_paused = true)]
async fn call_without_a_slot_before_the_deadline_is_blocked_at_once() {
    let d = RateLimits::default;
    for (limits, names, seconds) in [
        (d(), ["declared"; 3], 1),
        (d().tool("free", per_ten_seconds(2)), ["free"; 3], 10),
        (d().provider("far", per_ten_seconds(2)), ["far__free"; 3], 10),
        (d().all(per_ten_seconds(2)), ["declared", "free", "free"], 10),
    ] {
        let (dispatcher, start_times) = limited(limits);
        let deadline = Duration::from_millis(900);
        let (executions, elapsed) = run_within(&dispatcher, deadline, &names).await;
        assert_eq!(elapsed, Duration::ZERO, "{names:?}");
        assert_eq!(executions.iter().map(code).collect::<Vec<_>>(), ["-", "-", "TOOL_UNAVAILABLE"]);
        assert_eq!(executions[2].blocked_by, Some(BlockReason::RateLimit));
        assert_eq!(
            executions[2].result.text,
            format!(
                "Not run: the rate limit allows the next call of `{}` in {seconds} s. Go on \
                 without it, or call again then.",
                names[2]
            )
        );
        // The blocked call has taken no slot.
        run(&dispatcher, &names[2..]).await;
        assert_eq!(start_times.seconds(), [0, 0, seconds]);
    }
}

#[tokio::test(start_paused = true)]
async fn queued_call_without_a_slot_before_the_deadline_is_blocked_at_once() {
    let limits = RateLimits::default().all(per_ten_seconds(1));
    let (dispatcher, start_times) = limited(limits);
    run(&dispatcher, &["free"]).await;
    let first = dispatcher.clone();
    let first = tokio::spawn(async move { run(&first, &["free"]).await });
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (executions, elapsed) = run_within(&dispatcher, Duration::from_secs(8), &["free"]).await;
    assert_eq!((executions[0].blocked_by, elapsed), (Some(BlockReason::RateLimit), Duration::ZERO));
    // A slot is free in time, but the call before it in the queue takes it.
    let (executions, elapsed) = run_within(&dispatcher, Duration::from_secs(15), &["free"]).await;
    assert_eq!(executions[0].blocked_by, Some(BlockReason::RateLimit));
    assert_eq!(elapsed, Duration::from_secs(9));
    first.await.unwrap();
    assert_eq!(start_times.seconds(), [0, 10]);
}

#[tokio::test(start_paused = true)]
async fn retry_is_skipped_without_a_slot_before_the_deadline() {
    let limits = RateLimits::default().tool("fails", per_ten_seconds(1));
    let (dispatcher, start_times) = limited(limits);
    let (executions, elapsed) = run_within(&dispatcher, Duration::from_secs(5), &["fails"]).await;
    // The failure of the attempt is the result.
    assert_eq!(code(&executions[0]), "TOOL_TRANSIENT_FAILURE");
    assert_eq!((executions[0].attempts, elapsed), (1, Duration::ZERO));
    assert_eq!(start_times.seconds(), [0]);
}

#[tokio::test(start_paused = true)]
async fn run_answers_before_its_time_limit_if_a_call_has_no_slot() {
    let call = || ChatReply::default().call("free", "{}");
    let model = ScriptedModel::new([
        ScriptedTurn::new(call()),
        ScriptedTurn::new(call()),
        ScriptedTurn::new(ChatReply::text("Later.")).expect_last("in 10 s"),
    ]);
    let limits = RateLimits::default().all(per_ten_seconds(1));
    let agent = Agent::new(model, tools![free])
        .policy(Policy::new().rate_limits(limits))
        .extension(StartTimes::default())
        .extension(Instant::now())
        .run_timeout(Duration::from_secs(5));
    assert_eq!(agent.run("Go").await.unwrap().text, "Later.");
}

#[tokio::test(start_paused = true)]
async fn cancelled_call_returns_its_rate_limit_slot() {
    let limits = RateLimits::default().all(per_ten_seconds(2));
    let places = Concurrency::default().max_tool_calls("slow", 1);
    let (dispatcher, start_times) =
        with_policy(Policy::new().rate_limits(limits).concurrency(places));
    let call = || vec![ToolCall::new("c", "slow", r#"{"seconds": 5}"#)];
    let first = dispatcher.clone();
    let first = tokio::spawn(async move { first.dispatch(call()).await });
    tokio::time::sleep(Duration::from_secs(1)).await;
    // The call gets its slot at once, and no permit in time.
    let mut second = Batch::from(call());
    second.timeout = Some(Duration::from_secs(2));
    Dispatch::dispatch(&dispatcher, second).await;
    run(&dispatcher, &["free"]).await;
    first.await.unwrap();
    assert_eq!(start_times.seconds(), [0, 3]);
}

/// The slot moves to the time at which the call starts, so that later calls don't overtake it.
#[tokio::test(start_paused = true)]
async fn call_keeps_its_rate_limit_slot_while_it_waits_for_a_permit() {
    let limits = RateLimits::default().all(per_ten_seconds(2));
    let places = Concurrency::default().max_calls(1);
    let (dispatcher, start_times) =
        with_policy(Policy::new().rate_limits(limits).concurrency(places));
    let call = |id: &str| ToolCall::new(id, "slow", r#"{"seconds": 3}"#);
    let executions = dispatcher.dispatch(["a", "b", "c", "d"].map(call).into()).await;
    assert!(executions.iter().map(ToolExecution::finished_at).is_sorted());
    assert_eq!(start_times.seconds(), [0, 3, 10, 13]);
}

/// Random calls.
struct Traffic {
    times: u32,
    places: usize,
    /// The duration of each call, and the time until the next one.
    calls: Vec<(u64, u64)>,
}

impl Traffic {
    fn of_seed(mut seed: u64) -> Self {
        let mut below = move |end| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % end
        };
        let (times, places) = (1 + below(4) as u32, 1 + below(3) as usize);
        Self { times, places, calls: (0..30).map(|_| (5 * below(7), below(4))).collect() }
    }

    async fn run(self, span: Duration) -> StartTimes {
        let limits = RateLimits::default().all(RateLimit { times: self.times, per: span });
        let limits = limits.wait_timeout(Duration::MAX);
        let places = Concurrency::default().max_tool_calls("slow", self.places);
        let (dispatcher, start_times) =
            with_policy(Policy::new().rate_limits(limits).concurrency(places));
        let mut waiting = Vec::new();
        for (lasts, next) in self.calls {
            let dispatcher = dispatcher.clone();
            let call = ToolCall::new("c", "slow", json!({ "seconds": lasts }));
            waiting.push(tokio::spawn(async move { dispatcher.dispatch(vec![call]).await }));
            tokio::time::sleep(Duration::from_secs(next)).await;
        }
        for call in waiting {
            assert!(call.await.unwrap()[0].is_success());
        }
        start_times
    }
}

/// Waiting for permits never makes calls start faster.
#[tokio::test(start_paused = true)]
async fn no_span_holds_more_starts_than_the_limit() {
    let span = Duration::from_secs(10);
    for seed in 0..20 {
        let traffic = Traffic::of_seed(seed);
        let most = traffic.times as usize;
        let start_times = traffic.run(span).await;
        assert_eq!(start_times.seconds().len(), 30);
        assert!(start_times.most_in(span) <= most, "at most {most}: {:?}", start_times.seconds());
    }
}

#[tokio::test(start_paused = true)]
async fn rate_limit_covers_a_tool_under_all_its_names() {
    let selected = RateLimits::default().tool("far__declared", per_ten_seconds(2));
    for (limits, seconds) in [(RateLimits::default(), [0, 0, 1, 1]), (selected, [0, 0, 10, 10])] {
        let registry = Registry::new();
        registry.register_all_from("far", tools![declared]).unwrap();
        let start_times = StartTimes::default();
        let dispatcher =
            Dispatcher::new(registry.clone()).policy(Policy::new().rate_limits(limits));
        let dispatcher = dispatcher.extension(start_times.clone()).extension(Instant::now());
        run(&dispatcher, &["declared"; 2]).await;
        // Another tool of the name is registered, and the first is called by its full name.
        registry.register_all_from("near", tools![declared]).unwrap();
        run(&dispatcher, &["far__declared"; 2]).await;
        assert_eq!(start_times.seconds(), seconds);
    }
}

#[tokio::test(start_paused = true)]
async fn dispatchers_of_one_policy_count_on_their_own_and_clones_together() {
    let limits = RateLimits::default().all(per_ten_seconds(1));
    let policy = Policy::new().rate_limits(limits);
    let (first, of_first) = with_policy(policy.clone());
    let (second, of_second) = with_policy(policy);
    run(&first, &["free"]).await;
    run(&second, &["free"]).await;
    run(&first.clone(), &["free"]).await;
    assert_eq!((of_first.seconds(), of_second.seconds()), (vec![0, 10], vec![0]));
}
