//! The index FTS5 of SQLite alone, which holds the texts.

use std::path::Path;
use std::time::Instant;

use rusqlite::Connection;

use crate::corpus::Corpus;
use crate::{RESULTS, report_ingest, report_searches};

/// The number of texts that are written in one transaction.
const BATCH: u64 = 256;

pub(crate) fn run(corpus: &Corpus, folder: &Path) {
    let mut connection = Connection::open(folder.join("fts5.db")).expect("a database");
    let setup = "PRAGMA journal_mode = wal; PRAGMA synchronous = normal;
        CREATE VIRTUAL TABLE texts USING fts5 (text, tokenize = 'porter unicode61');";
    connection.execute_batch(setup).expect("a table");
    let start = Instant::now();
    for first in (0..corpus.count).step_by(BATCH as usize) {
        let transaction = connection.transaction().expect("a transaction");
        let mut insert = transaction
            .prepare_cached("INSERT INTO texts (text) VALUES (?1)")
            .expect("a statement");
        for number in first..corpus.count.min(first + BATCH) {
            insert.execute([corpus.text(number)]).expect("a row");
        }
        drop(insert);
        transaction.commit().expect("a commit");
    }
    report_ingest("FTS5 alone", corpus, start, folder);
    let select = "SELECT text FROM texts WHERE texts MATCH ?1 ORDER BY bm25(texts) LIMIT ?2";
    let mut select = connection.prepare(select).expect("a statement");
    report_searches("  by words", corpus, |query| {
        let words = query.split(' ').collect::<Vec<_>>().join(" OR ");
        let rows = select.query_map((words, RESULTS as i64), |row| row.get::<_, String>(0));
        rows.expect("rows").filter_map(Result::ok).count()
    });
}
