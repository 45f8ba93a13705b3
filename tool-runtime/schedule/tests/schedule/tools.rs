//! The tools, as a model calls them.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::task::JoinSet;
use tool_runtime::dispatch::{Batch, Permissions, RunInfo};
use tool_runtime::schedule::ScheduleTools;
use tool_runtime::schedule::{
    Action, MissedPolicy, PRINCIPAL, ScheduleQuery, ScheduleState, Schedules,
};
use tool_runtime::store::Sqlite;
use tool_runtime::{Dispatcher, Permission, Policy, Registry, ToolCall, ToolExecution, tools};

use super::fixture::{Clock, in_memory};

struct Desk {
    store: Schedules,
    dispatcher: Dispatcher,
    clock: Clock,
}

impl Desk {
    fn new() -> Self {
        Self::with(|tools| tools)
    }

    fn with(change: impl Fn(ScheduleTools) -> ScheduleTools) -> Self {
        let (store, clock) = (in_memory(), Clock::at("2027-03-26T12:00:00Z"));
        let now = clock.clone();
        let tools = ScheduleTools::from_metadata(store.clone())
            .zone("Europe/Oslo")
            .callable(["send_mail"])
            .sessions(|principal, session| (principal, session) == ("ada", "s"))
            .clock(move || now.now());
        let allowed = ["schedule_create", "schedule_update", "schedule_delete"]
            .into_iter()
            .fold(Permissions::default(), |it, name| it.tool(name, Permission::Allow));
        let dispatcher = Dispatcher::new(Registry::try_from(tools![..change(tools)]).unwrap())
            .policy(Policy::new().permissions(allowed));
        Self { store, dispatcher, clock }
    }

    async fn call_as(
        &self,
        principal: Option<&str>,
        tool: &str,
        arguments: Value,
    ) -> ToolExecution {
        let mut batch = Batch::from(vec![ToolCall::new("1", tool, arguments)]);
        let mut info = RunInfo::default().session("chat");
        if let Some(principal) = principal {
            info = info.metadata(PRINCIPAL, principal);
        }
        batch.run_info = Some(Arc::new(info));
        let tools = self.dispatcher.registry().snapshot();
        self.dispatcher.dispatch_on(&tools, batch).await.remove(0)
    }

    async fn call(&self, tool: &str, arguments: Value) -> ToolExecution {
        self.call_as(Some("ada"), tool, arguments).await
    }

    async fn create(&self, arguments: Value) -> String {
        self.call("schedule_create", arguments).await.result.text
    }
}

#[tokio::test]
async fn created_schedule_shows_its_next_times_in_its_zone() {
    for (arguments, expected) in [
        (
            json!({ "name": "a", "cron": "30 2 * * *", "prompt": "Hi" }),
            "times: cron 30 2 * * * in Europe/Oslo | action: prompt \"Hi\" in session chat | \
             next: 2027-03-27 Sat 02:30:00 +01:00, 2027-03-28 Sun 03:00:00 +02:00, \
             2027-03-29 Mon 02:30:00 +02:00",
        ),
        (
            json!({ "name": "b", "at": "2027-03-28T09:00", "message": "Hi" }),
            "times: once at 2027-03-28T09:00:00 in Europe/Oslo | \
             action: message \"Hi\" to session chat | next: 2027-03-28 Sun 09:00:00 +02:00",
        ),
        (
            json!({ "name": "c", "at": "2027-03-28T09:00", "zone": "asia/tokyo", "prompt": "Hi",
                "session": "s" }),
            "in Asia/Tokyo | action: prompt \"Hi\" in session s | \
             next: 2027-03-28 Sun 09:00:00 +09:00",
        ),
        (
            json!({ "name": "first", "at": "2027-10-31T02:30+02:00[Europe/Oslo]", "prompt": "Hi" }),
            "next: 2027-10-31 Sun 02:30:00 +02:00",
        ),
        (
            json!({ "name": "second", "at": "2027-10-31T02:30+01:00[Europe/Oslo]", "prompt": "Hi" }),
            "times: once at 2027-10-31T01:30:00Z",
        ),
        (
            json!({ "name": "d", "at": "2027-03-28T09:00+01:00", "prompt": "Hi" }),
            "times: once at 2027-03-28T08:00:00Z",
        ),
        (
            json!({ "name": "e", "every": "1h 30m", "tool": "send_mail",
                "arguments": { "to": "ada" } }),
            "from 2027-03-26T13:30:00Z | action: call send_mail {\"to\":\"ada\"} | \
             next: 2027-03-26 Fri 13:30:00 +00:00, 2027-03-26 Fri 15:00:00 +00:00",
        ),
        (
            json!({ "name": "f", "every": "PT10S", "at": "2027-03-26T14:00", "prompt": "Hi" }),
            "next: 2027-03-26 Fri 13:00:00 +00:00, 2027-03-26 Fri 13:00:10 +00:00",
        ),
    ] {
        let text = Desk::new().create(arguments.clone()).await;
        assert!(text.contains(expected), "{arguments}\n{text}");
    }
}

#[tokio::test]
async fn all_wrong_arguments_are_reported_at_once() {
    let desk = Desk::new();
    for (arguments, expected) in [
        (
            json!({ "name": "", "cron": "0 9 * * *", "zone": "Olso", "tool": "pay" }),
            &[
                "`name` must have",
                "`zone`: there is no time zone `Olso`",
                "`Europe/Oslo`",
                "`pay` can't be scheduled; use one of `send_mail`",
            ][..],
        ),
        (
            json!({ "name": "a" }),
            &["The time is missing: send `at`", "The action is missing: send `prompt`"],
        ),
        (
            json!({ "name": "a", "cron": "0 9 * *", "prompt": " " }),
            &[
                "`cron`: cron pattern `0 9 * *` is not valid",
                "an example is `0 9 * * 1-5`",
                "`prompt` is empty",
            ],
        ),
        (
            json!({ "name": "a", "at": "2027-03-26T09:00", "prompt": "Hi", "message": "Hi",
                "arguments": {} }),
            &[
                "would never fire",
                "`arguments` belong to `tool`",
                "Send one of `prompt`, `message` and `tool`.",
            ],
        ),
        (
            json!({ "name": "a", "at": "tomorrow", "prompt": "Hi" }),
            &["`at`: `tomorrow` is not a local date and time"],
        ),
        (
            json!({ "name": "a", "every": "soon", "prompt": "Hi" }),
            &["`every`: `soon` is not an interval in days or shorter units, such as `15m`"],
        ),
        (
            json!({ "name": "a", "every": "1h", "zone": "Europe/Olso", "prompt": "Hi" }),
            &["`zone`: there is no time zone `Europe/Olso`"],
        ),
        (
            json!({ "name": "a", "at": "2027-03-28T09:00", "zone": "Olso", "prompt": "Hi" }),
            &["`zone`: there is no time zone `Olso`"],
        ),
        (
            json!({ "name": "a", "cron": "x", "zone": "Olso", "prompt": "Hi" }),
            &["`cron`: cron pattern `x` is not valid", "`zone`: there is no time zone `Olso`"],
        ),
        (
            json!({ "name": "a", "every": "-1h", "prompt": "Hi" }),
            &["`every`: `-1h` is a negative interval: send a positive one, such as `15m`"],
        ),
        (
            json!({ "name": "a", "every": "0s", "prompt": "Hi" }),
            &["`every`: interval of 0ns is out of range: at least 1 second"],
        ),
        (
            json!({ "name": "a", "cron": "0 0 9 * * *", "prompt": "Hi" }),
            &[
                "`cron`: `0 0 9 * * *` has 6 fields: send five, which are minute, hour,",
                "such as `0 9 * * 1-5`, or `every` for times in seconds.",
            ],
        ),
        (
            json!({ "name": "a", "cron": "0 0 9 * * * 2027", "prompt": "Hi" }),
            &["`cron`: `0 0 9 * * * 2027` has 7 fields: send five"],
        ),
        (
            json!({ "name": "a", "every": "1h", "cron": "0 9 * * *", "prompt": "Hi" }),
            &["Send one of `at`, `every` and `cron`."],
        ),
        (
            json!({ "name": "a", "cron": "0 0 30 2 *", "prompt": "Hi" }),
            &["The schedule would never fire"],
        ),
        (
            json!({ "name": "a", "every": "soon", "prompt": "Hi", "session": "bob" }),
            &[
                "`every`: `soon` is not an interval",
                "`session`: `bob` is not available here; leave it out to use this one.",
            ],
        ),
    ] {
        let execution = desk.call("schedule_create", arguments.clone()).await;
        assert!(execution.failed_with("TOOL_INVALID_ARGUMENTS"), "{arguments}: {execution:?}");
        for part in expected {
            assert!(execution.result.text.contains(part), "{part}\n{}", execution.result.text);
        }
    }
    assert!(desk.store.list(ScheduleQuery::all()).await.unwrap().records.is_empty());
}

#[tokio::test]
async fn names_are_unique_for_each_principal() {
    let desk = Desk::new();
    let arguments = json!({ "name": "a", "cron": "0 9 * * *", "prompt": "Hi" });
    desk.create(arguments.clone()).await;
    assert!(desk.create(arguments.clone()).await.contains("`a` exists already"));
    assert!(desk.call_as(Some("bob"), "schedule_create", arguments).await.is_success());
}

#[tokio::test]
async fn one_of_concurrent_creations_of_a_name_succeeds() {
    let store = Sqlite::in_memory().unwrap().records().await.unwrap();
    let allowed = Permissions::default().tool("schedule_create", Permission::Allow);
    let tools = ScheduleTools::new(store, "ada");
    let dispatcher = Dispatcher::new(Registry::try_from(tools![..tools]).unwrap())
        .policy(Policy::new().permissions(allowed));
    let mut calls = JoinSet::new();
    for _ in 0..8 {
        let arguments = json!({ "name": "a", "every": "1h", "message": "Hi" });
        let (dispatcher, call) =
            (dispatcher.clone(), ToolCall::new("1", "schedule_create", arguments));
        calls.spawn(async move { dispatcher.dispatch(vec![call]).await.remove(0) });
    }
    let executions = calls.join_all().await;
    assert_eq!(executions.iter().filter(|it| it.is_success()).count(), 1);
    for execution in executions.iter().filter(|it| !it.is_success()) {
        let text = &execution.result.text;
        assert!(text.contains("`name`: `a` exists already; use another name."), "{text}");
    }
}

#[tokio::test]
async fn number_of_schedules_is_limited() {
    let desk = Desk::with(|tools| tools.max_schedules(2));
    let create = |name: &str| desk.create(json!({ "name": name, "every": "1h", "prompt": "Hi" }));
    assert!(create("a").await.contains("active"));
    assert!(create("b").await.contains("active"));
    assert!(create("c").await.contains("There are 2 schedules already: delete one first."));
}

#[tokio::test]
async fn principal_sees_and_changes_only_its_own_schedules() {
    let desk = Desk::new();
    desk.create(json!({ "name": "a", "cron": "0 9 * * *", "prompt": "Hi" })).await;
    let listed = desk.call_as(Some("bob"), "schedule_list", json!({})).await;
    assert_eq!(listed.result.text, "no results");
    for (tool, arguments) in [
        ("schedule_update", json!({ "name": "a", "paused": true })),
        ("schedule_delete", json!({ "name": "a" })),
    ] {
        let execution = desk.call_as(Some("bob"), tool, arguments).await;
        assert_eq!(execution.result.text, "There is no schedule `a`: there are no schedules.");
    }
    for (tool, arguments) in
        [("schedule_list", json!({})), ("schedule_delete", json!({ "name": "a" }))]
    {
        let execution = desk.call_as(None, tool, arguments).await;
        assert!(execution.failed_with("TOOL_DENIED"), "{execution:?}");
    }
    assert_eq!(desk.store.list(ScheduleQuery::all()).await.unwrap().records.len(), 1);
}

#[tokio::test]
async fn list_has_the_states_in_both_formats_and_pages() {
    let desk = Desk::with(|tools| tools.max_schedules(1000));
    for number in 0..101 {
        let name = format!("{number:03}");
        desk.create(json!({ "name": name, "cron": "0 9 * * *", "prompt": "Hi" })).await;
    }
    desk.call("schedule_update", json!({ "name": "000", "paused": true })).await;
    let result = desk.call("schedule_list", json!({})).await.result;
    let listed = &result.text;
    assert!(listed.starts_with("name: 000 | state: paused | times: cron 0 9 * * * in Europe/Oslo"));
    let parts = serde_json::to_string(&result).unwrap();
    assert!(parts.contains("[1 of 101 are omitted: send `after`: `099`]"), "{parts}");
    let listed = desk.call("schedule_list", json!({ "after": "099", "output": "json" })).await;
    let rows: Value = serde_json::from_str(&listed.result.text).unwrap();
    assert_eq!(rows.as_array().unwrap().len(), 1);
    assert_eq!((&rows[0]["name"], &rows[0]["state"]), (&json!("100"), &json!("active")));
    assert_eq!(rows[0]["next"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn update_changes_what_is_sent_and_keeps_the_rest() {
    let desk = Desk::new();
    desk.create(json!({ "name": "a", "cron": "0 9 * * *", "prompt": "Hi", "retries": 3 })).await;
    let update = async |arguments: Value| {
        let execution = desk.call("schedule_update", arguments).await;
        assert!(execution.is_success(), "{execution:?}");
        desk.store.load("ada", "a").await.unwrap().unwrap()
    };
    let record = update(json!({ "name": "a", "missed": "skip" })).await;
    assert_eq!(record.schedule.missed, MissedPolicy::Skip);
    assert_eq!(record.schedule.max_retries, 3);
    let record = update(json!({ "name": "a", "prompt": "Ho" })).await;
    assert_eq!(record.schedule.action, Action::prompt("Ho").session("chat"));
    assert_eq!(record.schedule.timing.to_string(), "cron 0 9 * * * in Europe/Oslo");
    let record = update(json!({ "name": "a", "cron": "0 10 * * *", "paused": true })).await;
    assert_eq!(record.state.to_string(), "paused");
    desk.clock.set("2027-05-01T12:00:00Z");
    let record = update(json!({ "name": "a", "paused": false })).await;
    assert_eq!(record.next_at.unwrap().to_string(), "2027-05-02T08:00:00Z");
    let wrong = desk.call("schedule_update", json!({ "name": "b", "paused": true })).await;
    assert_eq!(wrong.result.text, "There is no schedule `b`: the schedules are `a`.");
    let deleted = desk.call("schedule_delete", json!({ "name": "a" })).await;
    assert_eq!(deleted.result.text, "Deleted the schedule `a`.");
    assert_eq!(desk.store.load("ada", "a").await.unwrap(), None);
}

#[tokio::test]
async fn update_keeps_the_parts_of_times_and_actions_that_are_left_out() {
    let cron = json!({ "name": "a", "cron": "0 9 * * *", "zone": "Asia/Tokyo", "prompt": "Hi" });
    let at = json!({ "name": "a", "at": "2027-04-01T09:00", "message": "Hi", "session": "s" });
    let call = json!({ "name": "a", "cron": "@daily", "tool": "send_mail" });
    for (created, update, timing, action) in [
        (&cron, json!({ "zone": "Europe/Oslo" }), "cron 0 9 * * * in Europe/Oslo", "chat"),
        (&cron, json!({ "cron": "0 8 * * *" }), "cron 0 8 * * * in Asia/Tokyo", "chat"),
        (&cron, json!({ "at": "2027-04-01T09:00" }), "once at 2027-04-01T09:00:00 in Asia", "chat"),
        (&cron, json!({ "session": "s" }), "cron 0 9", "prompt \"Hi\" in session s"),
        (
            &at,
            json!({ "zone": "asia/tokyo" }),
            "once at 2027-04-01T09:00:00 in Asia/Tokyo",
            "session s",
        ),
        (&at, json!({ "message": "Ho" }), "in Europe/Oslo", "message \"Ho\" to session s"),
        (&at, json!({ "prompt": "Ho" }), "in Europe/Oslo", "prompt \"Ho\" in session s"),
        (&at, json!({ "session": "chat" }), "in Europe/Oslo", "message \"Hi\" to session chat"),
        (
            &call,
            json!({ "arguments": { "to": "bob" } }),
            "cron @daily",
            "call send_mail {\"to\":\"",
        ),
        (&call, json!({ "prompt": "Ho" }), "cron @daily", "prompt \"Ho\" in session chat"),
    ] {
        let desk = Desk::new();
        desk.create(created.clone()).await;
        let mut arguments = update.clone();
        arguments["name"] = json!("a");
        let execution = desk.call("schedule_update", arguments).await;
        assert!(execution.is_success(), "{update}: {}", execution.result.text);
        let schedule = desk.store.load("ada", "a").await.unwrap().unwrap().schedule;
        let found = (schedule.timing.to_string(), schedule.action.to_string());
        assert!(found.0.contains(timing) && found.1.contains(action), "{update}: {found:?}");
    }
}

#[tokio::test]
async fn update_refuses_parts_that_the_schedule_does_not_have() {
    let every = json!({ "name": "a", "every": "1h", "prompt": "Hi" });
    let call = json!({ "name": "a", "cron": "0 9 * * *", "tool": "send_mail" });
    for (created, update, expected) in [
        (
            &every,
            json!({ "zone": "Europe/Oslo" }),
            "`zone`: the schedule has no local times (every 1h from 2027-03-26T13:00:00Z): send \
             `at`, `every` or `cron` as well.",
        ),
        (&every, json!({ "arguments": {} }), "`arguments` belong to `tool`"),
        (&call, json!({ "session": "s" }), "The action is missing: send `prompt`"),
        (&call, json!({ "zone": "Olso" }), "`zone`: there is no time zone `Olso`"),
    ] {
        let desk = Desk::new();
        desk.create(created.clone()).await;
        let before = desk.store.load("ada", "a").await.unwrap();
        let mut arguments = update.clone();
        arguments["name"] = json!("a");
        let text = desk.call("schedule_update", arguments).await.result.text;
        assert!(text.contains(expected), "{update}: {text}");
        assert_eq!(desk.store.load("ada", "a").await.unwrap(), before);
    }
    // A program has scheduled a prompt in another session.
    let desk = Desk::new();
    desk.create(every).await;
    let mut record = desk.store.load("ada", "a").await.unwrap().unwrap();
    record.schedule.action = Action::prompt("Hi").session("private");
    desk.store.save(&record).await.unwrap();
    let text =
        desk.call("schedule_update", json!({ "name": "a", "prompt": "Ho" })).await.result.text;
    let expected = "`session`: `private` is not available here; send `chat` to use this one.";
    assert!(text.contains(expected), "{text}");
}

#[tokio::test]
async fn new_action_resumes_a_failed_schedule() {
    for (arguments, expected) in [
        (json!({ "name": "a", "prompt": "Ho" }), "active"),
        (json!({ "name": "a", "every": "2h" }), "active"),
        (json!({ "name": "a", "paused": false }), "active"),
        (json!({ "name": "a", "prompt": "Ho", "paused": true }), "paused"),
        (
            json!({ "name": "a", "retries": 2 }),
            "failed: no mail server; to resume it, call `schedule_update` with `paused`: false",
        ),
    ] {
        let desk = Desk::new();
        desk.create(json!({ "name": "a", "every": "1h", "prompt": "Hi" })).await;
        let mut record = desk.store.load("ada", "a").await.unwrap().unwrap();
        record.state = ScheduleState::Failed;
        record.stop_reason = Some("no mail server".into());
        record.failures = 10;
        desk.store.save(&record).await.unwrap();
        desk.clock.set("2027-05-01T12:00:00Z");
        let updated = desk.call("schedule_update", arguments.clone()).await.result.text;
        assert!(updated.contains(&format!(" | state: {expected} | ")), "{arguments}: {updated}");
        let record = desk.store.load("ada", "a").await.unwrap().unwrap();
        let is_resumed = !expected.starts_with("failed");
        // Occurrences of the meantime are not fired late.
        assert_eq!(record.handled_until == desk.clock.now(), is_resumed, "{arguments}");
        assert_eq!(record.failures == 0, is_resumed, "{arguments}");
        assert_eq!(record.stop_reason.is_none(), is_resumed, "{arguments}");
    }
}

#[tokio::test]
async fn delay_after_failures_is_listed_and_ended_by_a_change() {
    let (delayed, active) =
        ("active, delayed until 2027-03-26T14:00:00Z after 7 failures in succession", "active");
    for (change, expected) in [
        (json!({ "retries": 1 }), delayed),
        (json!({ "prompt": "Ho" }), active),
        (json!({ "paused": false }), active),
    ] {
        let desk = Desk::new();
        desk.create(json!({ "name": "a", "every": "1m", "prompt": "Hi" })).await;
        let mut record = desk.store.load("ada", "a").await.unwrap().unwrap();
        record.failures = 7;
        record.backoff_until = Some("2027-03-26T14:00:00Z".parse().unwrap());
        desk.store.save(&record).await.unwrap();
        let mut arguments = change.clone();
        arguments["name"] = json!("a");
        let updated = desk.call("schedule_update", arguments).await.result.text;
        assert!(updated.contains(&format!(" | state: {expected} | ")), "{change}: {updated}");
    }
}

#[tokio::test]
async fn change_loses_no_due_occurrence() {
    for (change, missed) in [
        (json!({ "cron": "0 9 * * *" }), 3),
        (json!({ "cron": "0 9 * * *", "paused": true }), 3),
        (json!({ "paused": true }), 3),
        // They still fire.
        (json!({ "paused": false }), 0),
        (json!({ "prompt": "Ho", "missed": "all" }), 0),
    ] {
        let desk = Desk::new();
        desk.create(json!({ "name": "a", "every": "1h", "prompt": "Hi" })).await;
        desk.clock.set("2027-03-26T15:30:00Z");
        let mut arguments = change.clone();
        arguments["name"] = json!("a");
        let execution = desk.call("schedule_update", arguments).await;
        assert!(execution.is_success(), "{change}: {}", execution.result.text);
        let record = desk.store.load("ada", "a").await.unwrap().unwrap();
        assert_eq!(record.counts.missed, missed, "{change}");
        let is_due = record.wake_at().is_some_and(|at| at <= desk.clock.now());
        assert_eq!(is_due, missed == 0, "{change}");
        // Those during a pause are not missed.
        desk.clock.set("2027-03-26T15:45:00Z");
        desk.call("schedule_update", json!({ "name": "a", "paused": false })).await;
        let record = desk.store.load("ada", "a").await.unwrap().unwrap();
        assert_eq!(record.counts.missed, missed, "{change}");
    }
}
