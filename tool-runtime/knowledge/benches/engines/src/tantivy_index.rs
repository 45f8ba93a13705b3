//! tantivy alone, with the texts stored in its index.

use std::path::Path;
use std::time::Instant;

use tantivy::collector::TopDocs;
use tantivy::query::QueryParser;
use tantivy::schema::{STORED, Schema, TEXT};
use tantivy::{Index, TantivyDocument, doc};

use crate::corpus::Corpus;
use crate::{RESULTS, report_ingest, report_searches};

/// The memory of the writer.
const WRITER_BYTES: usize = 128 << 20;

pub(crate) fn run(corpus: &Corpus, folder: &Path) {
    let mut schema = Schema::builder();
    let text = schema.add_text_field("text", TEXT | STORED);
    let index = Index::create_in_dir(folder, schema.build()).expect("an index");
    let start = Instant::now();
    let mut writer = index.writer_with_num_threads(1, WRITER_BYTES).expect("a writer");
    for number in 0..corpus.count {
        writer.add_document(doc!(text => corpus.text(number))).expect("a document");
    }
    writer.commit().expect("a commit");
    report_ingest("tantivy alone", corpus, start, folder);
    let searcher = index.reader().expect("a reader").searcher();
    let parser = QueryParser::for_index(&index, vec![text]);
    report_searches("  by words", corpus, |query| {
        let query = parser.parse_query(query).expect("a query");
        let best = searcher.search(&query, &TopDocs::with_limit(RESULTS).order_by_score());
        let best = best.expect("results");
        let texts =
            best.iter().map(|(_, id)| searcher.doc::<TantivyDocument>(*id).expect("a text"));
        texts.count()
    });
}
