//! Measures one prompt of a session in a database file, by the length of the conversation before
//! it; the lease of a prompt; and the list of the sessions that wait for an approval.
//!
//! `TOOL_TESTS_POSTGRES` is the connection string of a PostgreSQL database to measure as well.

#![expect(clippy::print_stdout, reason = "a bench prints its figures")]
#![expect(clippy::unwrap_used, reason = "a bench stops at the first failure")]

use std::time::{Duration, Instant};

use tool_runtime::agent::session::{
    MemorySessions, SessionQuery, SessionStatus, SessionStore, SessionWrite,
};
use tool_runtime::agent::window::Window;
use tool_runtime::store::{Postgres, Sqlite};
use tool_runtime::{
    Agent, ChatModel, ChatReply, ChatRequest, Message, ModelError, Tools, async_trait,
};

const LENGTHS: [usize; 3] = [1_000, 10_000, 100_000];
const PROMPTS: usize = 20;
/// Token limit of the window: some 40 messages.
const TOKENS: u64 = 4_000;

struct Brief;

#[async_trait]
impl ChatModel for Brief {
    async fn reply(&self, _: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        Ok(ChatReply::text("Four degrees and light rain. ".repeat(6)))
    }
}

fn main() {
    let folder = std::env::temp_dir().join(format!("sessions-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    println!("| messages before | with a window ms | without a window ms |");
    println!("|---|---|---|");
    for length in LENGTHS {
        let millis = [Some(Window::new().max_tokens(TOKENS)), None].map(|window| {
            let file = folder.join(format!("{length}-{}.db", window.is_some()));
            runtime.block_on(async {
                let store = Sqlite::open(file).await.unwrap();
                let agent = Agent::new(Brief, Tools::new()).system("Be brief.");
                let agent = match window {
                    Some(window) => agent.window(window),
                    None => agent,
                };
                prompt_millis(&agent, &store, length).await
            })
        });
        println!("| {length} | {:.2} | {:.2} |", millis[0], millis[1]);
    }
    println!("\n| store | lease of a prompt µs | 10 paused of 10,000 sessions ms |");
    println!("|---|---|---|");
    let file = folder.join("leases.db");
    runtime.block_on(async {
        print_leases("memory", &MemorySessions::new()).await;
        print_leases("SQLite", &Sqlite::open(file).await.unwrap()).await;
        if let Ok(config) = std::env::var("TOOL_TESTS_POSTGRES") {
            print_leases("PostgreSQL", &Postgres::connect(&config).await.unwrap()).await;
        }
    });
    std::fs::remove_dir_all(folder).unwrap();
}

/// Prints the median times of a lease that is acquired and released, and of the list of paused
/// sessions with the loading of each.
async fn print_leases(name: &str, store: &dyn SessionStore) {
    const SESSIONS: usize = 10_000;
    let messages = [Message::user("What should I wear in Oslo?")];
    for number in 0..SESSIONS {
        let is_paused = number.is_multiple_of(SESSIONS / 10);
        let status = if is_paused { SessionStatus::Paused } else { SessionStatus::Idle };
        let write = SessionWrite::create().messages(0, &messages).status(status, None);
        store.save(&format!("bench/{number}"), write).await.unwrap();
    }
    let (mut leases, mut lists) = (Vec::new(), Vec::new());
    for _ in 0..PROMPTS * 10 {
        let (owner, lifetime) = (store.locks().owner(), Duration::from_secs(30));
        let started = Instant::now();
        let epoch = store.acquire("bench/1", owner, lifetime).await.unwrap();
        store.release("bench/1", epoch).await.unwrap();
        leases.push(started.elapsed().as_secs_f64() * 1e6);
    }
    for _ in 0..PROMPTS {
        let started = Instant::now();
        let query = SessionQuery::all().prefix("bench/").status(SessionStatus::Paused);
        let paused = store.list(query).await.unwrap();
        assert_eq!(paused.len(), 10);
        for info in paused {
            store.load(&info.session).await.unwrap();
        }
        lists.push(started.elapsed().as_secs_f64() * 1e3);
    }
    println!("| {name} | {:.0} | {:.2} |", median(leases), median(lists));
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap()
}

/// Returns the median time of a prompt after so many messages.
async fn prompt_millis(agent: &Agent, store: &Sqlite, length: usize) -> f64 {
    let session = agent.session(store.clone(), "s");
    session.run("What should I wear in Oslo?").await.unwrap();
    let record = store.load("s").await.unwrap().unwrap();
    let exchange = |number: usize| {
        let question = format!("What should I wear in city {number}? {}", "Please. ".repeat(16));
        [Message::user(question), Message::assistant("Four degrees and light rain. ".repeat(6))]
    };
    let messages: Vec<_> = (0..length / 2).flat_map(exchange).collect();
    let write = SessionWrite::update(record.revision).messages(record.messages.len(), &messages);
    store.save("s", write.state(&record.state)).await.unwrap();
    // The first prompts find the window and settle.
    for _ in 0..2 {
        session.run("And tomorrow?").await.unwrap();
    }
    let mut millis = Vec::new();
    for _ in 0..PROMPTS {
        let started = Instant::now();
        session.run("And the day after? ".repeat(8)).await.unwrap();
        millis.push(started.elapsed().as_secs_f64() * 1e3);
    }
    median(millis)
}
