//! Texts that are longer than a record.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::thread;

use tokio::task::yield_now;
use tool_runtime::records::{
    Expected, LargeRecords, MAX_COLLECTION_BYTES, MAX_KEY_BYTES, MAX_LARGE_KEY_BYTES,
    MAX_RECORD_BYTES, MemoryRecords, RecordQuery, Records, StoreError,
};

use crate::intercepted::Intercepted;

const COLLECTION: &str = "texts";
const PARTS: &str = "texts_parts";

/// Returns a store that is pending before each operation.
fn pending(store: &MemoryRecords) -> Intercepted {
    Intercepted::new(store.clone(), |_, _| async {
        yield_now().await;
        Ok(())
    })
}

fn texts(store: &(impl Records + Clone + 'static)) -> LargeRecords {
    LargeRecords::new(Arc::new(store.clone()), COLLECTION)
}

/// Returns a text of two parts that differs from those of other numbers.
fn long(number: usize) -> String {
    format!("{number} {}", "x".repeat(MAX_RECORD_BYTES + 5))
}

async fn parts(store: &impl Records) -> Vec<String> {
    let list = store.list(PARTS, RecordQuery::all()).await.unwrap();
    list.records.into_iter().map(|part| part.key).collect()
}

async fn value(texts: &LargeRecords, key: &str) -> Option<String> {
    texts.load(key).await.unwrap().map(|record| record.value)
}

/// Polls a future at most a number of times, and drops it. Returns whether it has completed.
async fn poll_times<T>(future: impl Future<Output = T>, polls: usize) -> bool {
    let mut future = pin!(future);
    for _ in 0..polls {
        if poll_fn(|context| Poll::Ready(future.as_mut().poll(context).is_ready())).await {
            return true;
        }
    }
    false
}

#[tokio::test]
async fn texts_of_any_size_are_loaded_and_listed_as_saved() {
    let store = MemoryRecords::new();
    let texts = texts(&store);
    let samples = [
        String::new(),
        "x".repeat(MAX_RECORD_BYTES),
        "x".repeat(MAX_RECORD_BYTES + 1),
        format!("x{}", "\u{1F600}".repeat(MAX_RECORD_BYTES)),
        "#parts ".to_owned(),
        "#parts {}".to_owned(),
        "y".repeat(20 * MAX_RECORD_BYTES),
    ];
    for (number, text) in samples.iter().enumerate() {
        for key in [number.to_string(), format!("{number}/a")] {
            let saved = texts.save(&key, Expected::Absent, text).await.unwrap();
            let loaded = texts.load(&key).await.unwrap().unwrap();
            assert_eq!((loaded.revision, loaded.key), (saved, key));
            assert!(loaded.value == *text, "{number}");
        }
    }
    let list = texts.list().await.unwrap();
    let listed: Vec<_> = list.records.iter().map(|record| &record.value).collect();
    let expected: Vec<_> = samples.iter().flat_map(|text| [text, text]).collect();
    assert!(listed == expected);
    assert_eq!(list.corrupt, []);
    assert_eq!(texts.count().await.unwrap(), samples.len() * 2);
    assert_eq!(texts.delete_unused_parts().await.unwrap(), 0);
}

#[tokio::test]
async fn parts_are_deleted_with_their_text() {
    let store = MemoryRecords::new();
    let texts = texts(&store);
    texts.save("a/b", Expected::Any, &long(0)).await.unwrap();
    let others = parts(&store).await;
    for text in [long(1), long(2), "short".to_owned(), long(3)] {
        texts.save("a", Expected::Any, &text).await.unwrap();
        let count = if text == "short" { 0 } else { 2 };
        assert_eq!(parts(&store).await.len(), others.len() + count);
    }
    let revision = texts.load("a").await.unwrap().unwrap().revision;
    texts.delete("a", Expected::Revision(revision)).await.unwrap();
    assert_eq!(parts(&store).await, others);
    assert!(value(&texts, "a/b").await == Some(long(0)));
}

#[tokio::test]
async fn largest_key_fits_a_long_text_and_a_larger_one_is_refused() {
    let store = MemoryRecords::new();
    let texts = texts(&store);
    let largest = "k".repeat(MAX_LARGE_KEY_BYTES);
    // The parts have the longest keys if the revision is high.
    let mut parts = Vec::new();
    for text in [long(1), long(2)] {
        texts.save(&largest, Expected::Any, &text).await.unwrap();
        parts = self::parts(&store).await;
        assert!(value(&texts, &largest).await == Some(text));
    }
    let longest = parts.iter().map(String::len).max().unwrap();
    let digits = (u64::MAX.to_string().len() - 1) + ("99999999".len() - "00000".len());
    assert!(longest + digits <= MAX_KEY_BYTES, "{longest}");

    let larger = largest + "k";
    for text in ["short", &*long(1)] {
        let error = texts.save(&larger, Expected::Any, text).await.unwrap_err().to_string();
        assert_eq!(error, format!("`{}` has 901 bytes; the limit is 900", "k".repeat(40)));
    }
    assert_eq!(texts.load(&larger).await.unwrap(), None);
}

#[tokio::test]
async fn name_that_is_too_large_for_parts_is_refused_for_each_text() {
    let store = MemoryRecords::new();
    let name = "n".repeat(MAX_COLLECTION_BYTES - "_parts".len());
    let texts = LargeRecords::new(Arc::new(store.clone()), &name);
    texts.save("a", Expected::Any, &long(1)).await.unwrap();
    let texts = LargeRecords::new(Arc::new(store.clone()), &(name + "n"));
    for text in ["short", &*long(1)] {
        let error = texts.save("a", Expected::Any, text).await.unwrap_err();
        assert!(matches!(error, StoreError::TooLarge { bytes: 65, max_bytes: 64, .. }), "{error}");
        assert_eq!(texts.count().await.unwrap(), 0);
    }
}

#[tokio::test]
async fn refused_save_changes_nothing() {
    let store = MemoryRecords::new();
    let texts = texts(&store);
    for new in [long(2), "short".to_owned()] {
        let revision = texts.save("a", Expected::Any, &long(1)).await.unwrap();
        for expected in [Expected::Absent, Expected::Revision(revision - 1)] {
            let refused = texts.save("a", expected, &new).await.unwrap_err();
            assert!(refused.is_conflict(), "{refused}");
        }
        let refused = texts.save("b", Expected::Revision(revision), &new).await.unwrap_err();
        assert!(matches!(refused, StoreError::NotFound(_)), "{refused}");
        assert!(value(&texts, "a").await == Some(long(1)));
        assert_eq!(parts(&store).await.len(), 2);
    }
}

#[tokio::test]
async fn dropped_save_leaves_the_previous_text_or_the_new_one() {
    for previous in [None, Some("short".to_owned()), Some(long(1))] {
        let mut polls = 0;
        loop {
            let store = MemoryRecords::new();
            let texts = texts(&pending(&store));
            if let Some(previous) = &previous {
                texts.save("a", Expected::Absent, previous).await.unwrap();
            }
            let new = long(2);
            let is_done = poll_times(texts.save("a", Expected::Any, &new), polls).await;
            let stored = value(&texts, "a").await;
            assert!(stored == previous || stored.as_ref() == Some(&new), "{polls}");
            let list = texts.list().await.unwrap();
            assert_eq!(list.corrupt, []);
            assert!(list.records.into_iter().map(|record| record.value).eq(stored.clone()));

            // The next write succeeds, and deletes the parts of the others.
            let expected = if stored.is_some() { Expected::Any } else { Expected::Absent };
            texts.save("a", expected, &long(3)).await.unwrap();
            assert!(value(&texts, "a").await == Some(long(3)));
            assert_eq!(parts(&store).await.len(), 2);
            if is_done {
                break;
            }
            polls += 1;
        }
        assert!(polls > 5, "the save was never pending");
    }
}

#[tokio::test]
async fn parts_of_a_dropped_save_are_deleted_once_they_are_unused() {
    for polls in 0..20 {
        let store = MemoryRecords::new();
        let texts = texts(&pending(&store));
        let revision = texts.save("a", Expected::Absent, "short").await.unwrap();
        poll_times(texts.save("a", Expected::Revision(revision), &long(1)), polls).await;
        // The writer might still be at work.
        texts.delete_unused_parts().await.unwrap();
        let is_whole = value(&texts, "a").await.is_some();
        assert!(is_whole);
        store.delete(COLLECTION, "a", Expected::Any).await.unwrap();
        let count = parts(&store).await.len();
        assert_eq!(texts.delete_unused_parts().await.unwrap(), count, "{polls}");
        assert_eq!(parts(&store).await, [""; 0]);
    }
}

#[tokio::test]
async fn writer_whose_key_was_created_and_deleted_meanwhile_does_not_succeed() {
    for polls in 1..20 {
        let store = MemoryRecords::new();
        let texts = texts(&pending(&store));
        let new = long(1);
        let mut save = pin!(texts.save("a", Expected::Absent, &new));
        if poll_times(save.as_mut(), polls).await {
            break;
        }
        // Another process creates and deletes the text, and with it the parts of all others.
        let other = self::texts(&store);
        other.save("a", Expected::Any, &long(2)).await.unwrap();
        other.delete("a", Expected::Any).await.unwrap();
        let saved = save.await;
        assert!(saved.as_ref().err().is_none_or(StoreError::is_conflict), "{polls} {saved:?}");
        let stored = other.load("a").await.unwrap();
        assert!(stored.is_none_or(|record| record.value == new), "{polls}");
        assert_eq!(other.list().await.unwrap().corrupt, []);
    }
}

#[tokio::test]
async fn damaged_text_is_listed_and_can_be_replaced_or_deleted() {
    for damage in ["missing", "altered", "head"] {
        let store = MemoryRecords::new();
        let texts = texts(&store);
        texts.save("other", Expected::Absent, &long(0)).await.unwrap();
        let revision = texts.save("a", Expected::Absent, &long(1)).await.unwrap();
        let keys = parts(&store).await;
        let part = keys.iter().find(|key| key.starts_with("a/")).unwrap();
        match damage {
            "missing" => store.delete(PARTS, part, Expected::Any).await.unwrap(),
            "altered" => store.save(PARTS, part, Expected::Any, "x", None).await.unwrap(),
            _ => store.save(COLLECTION, "a", Expected::Any, "#parts {", None).await.unwrap(),
        };
        let error = texts.load("a").await.unwrap_err();
        assert!(matches!(&error, StoreError::Corrupt { key, .. } if key == "a"), "{error}");
        let list = texts.list().await.unwrap();
        assert_eq!((list.records.len(), list.corrupt.len()), (1, 1));
        assert_eq!(list.corrupt[0].key, "a");
        assert!(list.corrupt[0].revision >= revision);
        assert_eq!(texts.count().await.unwrap(), 2);

        texts.save("a", Expected::Revision(list.corrupt[0].revision), &long(2)).await.unwrap();
        assert!(value(&texts, "a").await == Some(long(2)));
        store.save(COLLECTION, "a", Expected::Any, "#parts {", None).await.unwrap();
        texts.delete("a", Expected::Any).await.unwrap();
        assert!(value(&texts, "a").await.is_none());
        assert_eq!(parts(&store).await.len(), 2);
    }
}

#[tokio::test]
async fn concurrent_writers_and_readers_see_whole_texts() {
    let store = MemoryRecords::new();
    let texts = texts(&store);
    let runtime = tokio::runtime::Handle::current();
    let writers: Vec<_> = (0..2)
        .map(|writer| {
            let (texts, runtime) = (texts.clone(), runtime.clone());
            thread::spawn(move || {
                runtime.block_on(async {
                    for round in 0..40 {
                        let text = long(10 * round + writer);
                        match round % 8 {
                            7 => drop(texts.delete("a", Expected::Any).await.unwrap()),
                            _ => drop(texts.save("a", Expected::Any, &text).await.unwrap()),
                        }
                    }
                });
            })
        })
        .collect();
    let mut reads = 0;
    while !writers.iter().all(thread::JoinHandle::is_finished) {
        let list = texts.list().await.unwrap();
        assert_eq!(list.corrupt, []);
        texts.load("a").await.unwrap();
        texts.delete_unused_parts().await.unwrap();
        reads += 1;
    }
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    assert!(reads > 0);
    texts.delete("a", Expected::Any).await.unwrap();
    assert_eq!(parts(&store).await, [""; 0]);
}

#[tokio::test]
async fn concurrent_creations_have_one_winner() {
    for _ in 0..20 {
        let store = MemoryRecords::new();
        let runtime = tokio::runtime::Handle::current();
        let writers: Vec<_> = (0..4)
            .map(|writer| {
                let (texts, runtime) = (texts(&store), runtime.clone());
                thread::spawn(move || {
                    let text = long(writer);
                    runtime.block_on(texts.save("a", Expected::Absent, &text)).map(|_| text)
                })
            })
            .collect();
        let results: Vec<_> = writers.into_iter().map(|it| it.join().unwrap()).collect();
        let winners: Vec<_> = results.iter().filter_map(|result| result.as_ref().ok()).collect();
        assert_eq!(winners.len(), 1);
        assert!(results.iter().flat_map(|it| it.as_ref().err()).all(StoreError::is_conflict));
        assert!(value(&texts(&store), "a").await.as_ref() == Some(winners[0]));
        assert_eq!(parts(&store).await.len(), 2);
    }
}
