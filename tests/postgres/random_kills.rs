//! Kills a process that saves message after message at random times. Every acknowledged message has
//! to be there once, possibly with the one in progress.
//!
//! `KILLS` is the number of kills, 20 by default.

use std::env;
use std::io::{BufRead, BufReader, Write as _};
use std::process::{Command, Stdio};

use tool_runtime::Message;
use tool_runtime::agent::session::{SessionStore, SessionWrite};
use tool_runtime::store::Postgres;

use super::{client, named_schema, server};

const SCHEMA: &str = "TOOL_TESTS_SCHEMA";

fn message(number: usize) -> Message {
    Message::user(format!("{number} {}", "long enough ".repeat(number % 5 * 100)))
}

/// The child process.
#[tokio::test]
#[ignore = "the process that the test below kills"]
async fn child_saves_until_it_is_killed() {
    let Ok(name) = env::var(SCHEMA) else { return };
    let config = format!("{} application_name={name}", named_schema(&name).await);
    let store = Postgres::connect(&config).await.unwrap();
    let found = store.load("s").await.unwrap();
    let (mut revision, from) = found.map_or((0, 0), |it| (it.revision, it.messages.len()));
    for number in from.. {
        let write = SessionWrite::update(revision);
        revision = store.save("s", write.messages(number, &[message(number)])).await.unwrap();
        // On standard error, because the test harness uses standard output. Each line is one write,
        // so that a kill leaves no part of a line.
        let line = format!("saved {}\n", number + 1);
        std::io::stderr().write_all(line.as_bytes()).unwrap();
    }
}

#[tokio::test]
async fn kill_at_random_loses_and_repeats_nothing() {
    let kills = env::var("KILLS").ok().and_then(|it| it.parse().ok()).unwrap_or(20);
    let name = format!("random_kills_{}", std::process::id());
    let store = Postgres::connect(&named_schema(&name).await).await.unwrap();
    let admin = client(&server()).await;
    let mut random = fastrand::Rng::with_seed(7);
    let (mut saved, mut in_flight) = (0, 0);
    for _ in 0..kills {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "random_kills::child_saves_until_it_is_killed", "--ignored"])
            .arg("--nocapture")
            .env(SCHEMA, &name)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut acknowledged = saved;
        let mut read = |line: String| acknowledged = line["saved ".len()..].parse().unwrap();
        for _ in 0..random.usize(0..20) {
            read(lines.next().expect("the child ended by itself").unwrap());
        }
        for _ in 0..random.u32(0..200_000) {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // Lines that were written before the kill.
        lines.for_each(|line| read(line.unwrap()));
        // The server may still be at the last transaction.
        let count = "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1";
        while admin.query_one(count, &[&name]).await.unwrap().get::<_, i64>(0) > 0 {
            tokio::task::yield_now().await;
        }
        let record = store.load("s").await.unwrap();
        let messages = record.map(|it| it.messages).unwrap_or_default();
        saved = messages.len();
        assert_eq!(messages, (0..saved).map(message).collect::<Vec<_>>());
        assert!(
            (acknowledged..=acknowledged + 1).contains(&saved),
            "{saved} messages are saved and {acknowledged} were acknowledged"
        );
        in_flight += saved - acknowledged;
    }
    println!("{saved} messages, {kills} kills, {in_flight} saved that were not acknowledged");
}
