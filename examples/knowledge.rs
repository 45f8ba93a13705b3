//! Knowledge: adds the files of a folder to a store, and searches them.
//!
//! Run it with `cargo run --example knowledge --features knowledge -- --store FILE COMMAND`. It
//! needs no key and no network.
//!
//! | command | what it does |
//! |---|---|
//! | `add FOLDER` | adds the text files of a folder, and removes those that no longer exist |
//! | `search QUERY` | prints the best passages as JSON lines |
//! | `eval FOLDER` | measures a retrieval set: `docs.jsonl`, `queries.jsonl` and `qrels.tsv` |
//! | `--ask QUESTION` | runs an agent whose model, which is part of this program, quotes the best passage; alone, or after another command |
//!
//! Each line of `docs.jsonl` has `id` and `text`, each line of `queries.jsonl` has `id` and
//! `query`, and each line of `qrels.tsv` has the id of a query, a tab, and the id of a relevant
//! document.
//!
//! These options add the search by vectors:
//!
//! | option | meaning |
//! |---|---|
//! | `--embedder openai` | the model `OPENAI_EMBEDDING_MODEL` of the server `OPENAI_BASE_URL` |
//! | `--embedder test` | an embedder for tests, whose vectors compare words only |
//! | `--words WEIGHT`, `--vectors WEIGHT` | the weights of both rankings; default: 1 |

use std::collections::{BTreeMap, HashSet};
use std::error::Error;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use tool_runtime::knowledge::{
    Document, DocumentStore, Fusion, Knowledge, SearchFilter, SqliteDocuments,
};
use tool_runtime::models::{Embedder, TestEmbedder};
use tool_runtime::providers::OpenAiEmbedder;
use tool_runtime::store::Sqlite;
use tool_runtime::{
    Agent, ChatModel, ChatReply, ChatRequest, Message, ModelError, async_trait, tools,
};

const USAGE: &str = "\
usage: knowledge --store FILE [add FOLDER | search QUERY | eval FOLDER] [--ask QUESTION]
    [--embedder openai|test] [--words WEIGHT] [--vectors WEIGHT]";

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut arguments = arguments.iter();
    let (mut file, mut command, mut question) = (None, None, None);
    let (mut embedder, mut fusion) = (None::<Arc<dyn Embedder>>, Fusion::default());
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or(USAGE)?;
        match (name.as_str(), value.as_str()) {
            ("--store", path) => file = Some(path),
            ("add" | "search" | "eval", _) if command.is_none() => command = Some((name, value)),
            ("--ask", text) => question = Some(text),
            ("--embedder", "openai") => embedder = Some(Arc::new(OpenAiEmbedder::from_env()?)),
            ("--embedder", "test") => embedder = Some(Arc::new(TestEmbedder::new(256))),
            ("--words", weight) => fusion = fusion.words(weight.parse()?),
            ("--vectors", weight) => fusion = fusion.vectors(weight.parse()?),
            _ => return Err(USAGE.into()),
        }
    }
    if command.is_none() && question.is_none() {
        return Err(USAGE.into());
    }
    let store = Sqlite::open(file.ok_or(USAGE)?).await?;
    let mut knowledge = Knowledge::new(SqliteDocuments::open(&store).await?).fusion(fusion);
    if let Some(embedder) = embedder {
        knowledge = knowledge.embedder(embedder);
    }
    if let Some((command, argument)) = command {
        match command.as_str() {
            "add" => add(&knowledge, argument).await?,
            "search" => search(&knowledge, argument).await?,
            _ => evaluate(&knowledge, Path::new(argument)).await?,
        }
    }
    match question {
        Some(question) => ask(knowledge, question).await,
        None => Ok(()),
    }
}

async fn add(knowledge: &Knowledge, folder: &str) -> Result<(), Box<dyn Error>> {
    let report = knowledge.add_folder(folder, "").await?;
    for (path, reason) in &report.skipped {
        eprintln!("skipped {}: {reason}", path.display());
    }
    let added = report.added;
    println!(
        "{}",
        json!({
            "new": added.new,
            "replaced": added.replaced,
            "unchanged": added.unchanged,
            "removed": report.removed,
            "skipped": report.skipped.len(),
        })
    );
    Ok(())
}

async fn search(knowledge: &Knowledge, query: &str) -> Result<(), Box<dyn Error>> {
    for passage in knowledge.search(query, &SearchFilter::default(), 5).await? {
        println!(
            "{}",
            json!({
                "source": passage.source,
                "heading": passage.heading,
                "start": passage.start,
                "score": passage.score,
                "snippet": passage.snippet,
            })
        );
    }
    Ok(())
}

async fn ask(knowledge: Knowledge, question: &str) -> Result<(), Box<dyn Error>> {
    println!("{}", Agent::new(Quoting, tools![..knowledge]).run(question).await?);
    Ok(())
}

/// Stands for a model: it searches for the question, and quotes what it finds.
struct Quoting;

#[async_trait]
impl ChatModel for Quoting {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        Ok(match request.messages.last() {
            Some(Message::Tool { results }) => {
                let found = results.first().map(|result| result.text.as_str()).unwrap_or_default();
                ChatReply::text(format!("I found this:\n{found}"))
            }
            question => {
                let query = question.map(Message::text).unwrap_or_default();
                let arguments = json!({ "query": query, "limit": 1 }).to_string();
                ChatReply::default().call("knowledge_search", arguments)
            }
        })
    }
}

/// Measures how well the relevant documents of a retrieval set are found.
async fn evaluate(knowledge: &Knowledge, folder: &Path) -> Result<(), Box<dyn Error>> {
    const TENANT: &str = "evaluation";
    let lines = |name: &str| -> Result<Vec<Value>, Box<dyn Error>> {
        let text = fs::read_to_string(folder.join(name))?;
        Ok(text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?)
    };
    let documents = lines("docs.jsonl")?.into_iter().map(|document| {
        Document::text(name_of(&document["id"]), document["text"].as_str().unwrap_or_default())
            .tenant(TENANT)
    });
    let documents: Vec<Document> = documents.collect();
    remove_others(knowledge, TENANT, &documents).await?;
    knowledge.add_all(documents).await?;

    let mut relevant: BTreeMap<String, HashSet<String>> = BTreeMap::new();
    for line in fs::read_to_string(folder.join("qrels.tsv"))?.lines() {
        if let Some((query, document)) = line.split_once('\t') {
            let document = document.split('\t').next().unwrap_or_default();
            relevant.entry(query.into()).or_default().insert(document.into());
        }
    }
    let (mut count, mut gain, mut recall_5, mut recall_10) = (0.0, 0.0, 0.0, 0.0);
    for query in lines("queries.jsonl")? {
        let Some(relevant) = relevant.get(&name_of(&query["id"])) else { continue };
        let question = query["query"].as_str().unwrap_or_default();
        let filter = SearchFilter::tenant(TENANT);
        let mut found: Vec<String> = Vec::new();
        for passage in knowledge.search(question, &filter, 100).await? {
            if found.len() < 10 && !found.contains(&passage.source) {
                found.push(passage.source);
            }
        }
        let is_relevant: Vec<bool> = found.iter().map(|it| relevant.contains(it)).collect();
        let at = |limit: usize| is_relevant.iter().take(limit).filter(|it| **it).count() as f64;
        count += 1.0;
        gain +=
            discounted_gain(&is_relevant) / discounted_gain(&vec![true; relevant.len().min(10)]);
        recall_5 += at(5) / relevant.len() as f64;
        recall_10 += at(10) / relevant.len() as f64;
    }
    let mean = |sum: f64| (sum / f64::max(count, 1.0) * 1e4).round() / 1e4;
    println!(
        "{}",
        json!({
            "queries": count,
            "nDCG@10": mean(gain),
            "recall@5": mean(recall_5),
            "recall@10": mean(recall_10),
        })
    );
    Ok(())
}

/// Removes the documents of another retrieval set.
async fn remove_others(
    knowledge: &Knowledge,
    tenant: &str,
    documents: &[Document],
) -> Result<(), Box<dyn Error>> {
    let known: HashSet<&str> = documents.iter().map(|it| it.source.as_str()).collect();
    let stored = knowledge.store().list(tenant, "", None, usize::MAX).await?;
    let others = stored.iter().map(|it| it.source.as_str()).filter(|it| !known.contains(it));
    knowledge.remove(tenant, &others.collect::<Vec<_>>()).await?;
    Ok(())
}

fn discounted_gain(is_relevant: &[bool]) -> f64 {
    let gains = is_relevant.iter().zip(2_u32..).filter(|(it, _)| **it);
    gains.map(|(_, rank)| 1.0 / f64::from(rank).log2()).sum()
}

/// Returns an id that is a text or a number.
fn name_of(id: &Value) -> String {
    id.as_str().map_or_else(|| id.to_string(), str::to_owned)
}
