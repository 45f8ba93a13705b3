//! What pure tools said: the same arguments give the same output, so they are asked once.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use serde_json::Value;
use tokio::sync::OnceCell;

use crate::registry::Entry;
use crate::tool::{Tool, ToolError, ToolOutput};

/// The most outputs that are remembered; then the oldest goes.
const MOST: usize = 1_000;

/// The most bytes of arguments and outputs that are remembered together.
const MOST_BYTES: usize = 32 << 20;

/// A tool's full name and its arguments, whose members are sorted.
type Key = Arc<(String, String)>;

/// The outputs of the pure tools of one dispatcher, which is one run of an agent. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Memo(Arc<Mutex<Remembered>>);

#[derive(Default)]
struct Remembered {
    outputs: HashMap<Key, Cell>,
    oldest: VecDeque<Key>,
    bytes: usize,
}

/// What one tool said, which may have another one in its place by now.
struct Cell {
    of: Weak<dyn Tool>,
    output: Arc<OnceCell<ToolOutput>>,
    /// Of the arguments, and of the output once it is there.
    bytes: usize,
}

impl Memo {
    /// What the tool said to these arguments, or else what `run` gives, which begins only then, and
    /// whether it was remembered. Calls of the same at the same time wait for the first. An error is not
    /// remembered: the next one tries again.
    ///
    /// One that may not wait runs beside the first: where a tool waits for it, the first may wait for
    /// that tool in turn, or be that tool.
    pub(super) async fn recall<F>(
        &self,
        entry: &Entry,
        arguments: &Value,
        may_wait: bool,
        run: F,
    ) -> (Result<ToolOutput, ToolError>, bool)
    where
        F: Future<Output = Result<ToolOutput, ToolError>>,
    {
        let key = Arc::new((entry.full_name().to_owned(), arguments.to_string()));
        let cell = self.cell(entry, &key);
        if !may_wait {
            if let Some(output) = cell.get() {
                return (Ok(output.clone()), true);
            }
            let outcome = run.await;
            // Fails where the first is still at it, which remembers as much.
            if let Ok(output) = &outcome
                && cell.set(output.clone()).is_ok()
            {
                self.weigh(&key, &cell, bytes(output));
            }
            return (outcome, false);
        }
        let mut ran = false;
        let output = cell
            .get_or_try_init(|| {
                ran = true;
                run
            })
            .await
            .cloned();
        if ran && let Ok(output) = &output {
            self.weigh(&key, &cell, bytes(output));
        }
        (output, !ran)
    }

    fn cell(&self, entry: &Entry, key: &Key) -> Arc<OnceCell<ToolOutput>> {
        let tool = Arc::downgrade(entry.tool());
        let mut remembered = self.lock();
        if let Some(cell) = remembered.outputs.get(key)
            && cell.of.ptr_eq(&tool)
        {
            return Arc::clone(&cell.output);
        }
        if remembered.oldest.len() >= MOST {
            remembered.forget_oldest();
        }
        let (output, bytes) = (Arc::default(), key.1.len());
        let cell = Cell { of: tool, output: Arc::clone(&output), bytes };
        match remembered.outputs.insert(Arc::clone(key), cell) {
            Some(replaced) => remembered.bytes -= replaced.bytes,
            None => remembered.oldest.push_back(Arc::clone(key)),
        }
        remembered.add(bytes);
        output
    }

    /// An output has come.
    fn weigh(&self, key: &Key, output: &Arc<OnceCell<ToolOutput>>, bytes: usize) {
        let mut remembered = self.lock();
        // It may have been forgotten meanwhile.
        let is_it = |cell: &&mut Cell| Arc::ptr_eq(&cell.output, output);
        if let Some(cell) = remembered.outputs.get_mut(key).filter(is_it) {
            cell.bytes += bytes;
            remembered.add(bytes);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Remembered> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Remembered {
    /// So much has come, and the oldest go until there is room for it.
    fn add(&mut self, bytes: usize) {
        self.bytes += bytes;
        while self.bytes > MOST_BYTES && self.forget_oldest() {}
    }

    /// Whether there was one.
    fn forget_oldest(&mut self) -> bool {
        let oldest = self.oldest.pop_front();
        let gone = oldest.as_ref().and_then(|oldest| self.outputs.remove(oldest));
        self.bytes -= gone.map_or(0, |gone| gone.bytes);
        oldest.is_some()
    }
}

fn bytes(output: &ToolOutput) -> usize {
    output.as_text().len() + output.images().iter().map(|it| it.base64.len()).sum::<usize>()
}

impl fmt::Debug for Memo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memo").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use serde_json::json;

    use super::{MOST, MOST_BYTES, Memo};
    use crate::message::Arguments;
    use crate::registry::{Registry, Snapshot};
    use crate::tool::{Tool, ToolContext, ToolDefinition, ToolError, ToolOutput};

    struct Says(ToolDefinition);

    #[async_trait]
    impl Tool for Says {
        fn definition(&self) -> &ToolDefinition {
            &self.0
        }

        async fn call(&self, _: Arguments, _: &ToolContext) -> Result<ToolOutput, ToolError> {
            Err("nobody calls it".into())
        }
    }

    fn tools() -> Snapshot {
        let registry = Registry::new();
        let definition = ToolDefinition::new("t", "T.", json!({ "type": "object" }));
        registry.register(std::sync::Arc::new(Says(definition))).unwrap();
        registry.snapshot()
    }

    async fn says(memo: &Memo, tools: &Snapshot, number: usize) -> bool {
        let run = async { Ok(ToolOutput::text(number.to_string())) };
        let entry = tools.entry("t").unwrap();
        let may_wait = number.is_multiple_of(2);
        let (output, was_remembered) =
            memo.recall(entry, &json!({ "n": number }), may_wait, run).await;
        assert_eq!(output.unwrap().as_text(), number.to_string());
        was_remembered
    }

    #[tokio::test]
    async fn the_oldest_is_forgotten_first() {
        let (memo, tools) = (Memo::default(), tools());
        for number in 0..=MOST {
            assert!(!says(&memo, &tools, number).await);
        }
        assert!(says(&memo, &tools, MOST).await && says(&memo, &tools, 1).await);
        assert!(!says(&memo, &tools, 0).await);
    }

    #[tokio::test]
    async fn large_outputs_make_room_for_each_other() {
        let (memo, tools) = (Memo::default(), tools());
        let entry = tools.entry("t").unwrap();
        let ask = async |number: usize, bytes: usize| {
            let run = async { Ok(ToolOutput::text("x".repeat(bytes))) };
            memo.recall(entry, &json!({ "n": number }), number.is_multiple_of(2), run).await.1
        };
        // With the arguments.
        let half = MOST_BYTES / 2 - json!({ "n": 1 }).to_string().len();
        for (number, bytes, was_remembered) in [
            (1, half, false),
            (2, half, false),
            (1, 0, true),
            // The oldest goes.
            (3, 1, false),
            (2, 0, true),
            (1, 1, false),
            // It is too large itself, and all go with it.
            (4, MOST_BYTES + 1, false),
            (4, 1, false),
            (4, 0, true),
        ] {
            assert_eq!(ask(number, bytes).await, was_remembered, "{number}");
        }
        assert_eq!(memo.lock().bytes, MOST_BYTES / 2 - half + 1);
    }

    /// Also where nothing comes of them.
    #[tokio::test]
    async fn large_arguments_make_room_for_each_other() {
        let (memo, tools) = (Memo::default(), tools());
        let entry = tools.entry("t").unwrap();
        for number in 0..40 {
            let arguments = json!({ "n": number, "text": "x".repeat(1 << 20) });
            let fail = async { Err(ToolError::failed("no")) };
            memo.recall(entry, &arguments, number % 2 == 0, fail).await.0.unwrap_err();
            assert!(memo.lock().bytes <= MOST_BYTES);
        }
        let remembered = memo.lock();
        assert_eq!((remembered.outputs.len(), remembered.oldest.len()), (31, 31));
    }

    #[tokio::test]
    async fn an_error_is_not_remembered() {
        let (memo, tools) = (Memo::default(), tools());
        for number in [1, 2] {
            let (entry, fail) = (tools.entry("t").unwrap(), async { Err(ToolError::failed("no")) });
            let failed = memo.recall(entry, &json!({ "n": number }), number == 2, fail).await;
            assert!(failed.0.is_err() && !failed.1);
            assert!(!says(&memo, &tools, number).await);
            assert!(says(&memo, &tools, number).await);
        }
    }

    #[tokio::test]
    async fn another_tool_of_the_name_speaks_for_itself() {
        let (memo, one, other) = (Memo::default(), tools(), tools());
        assert!(!says(&memo, &one, 1).await && says(&memo, &one, 1).await);
        assert!(!says(&memo, &other, 1).await && says(&memo, &other, 1).await);
    }
}
