//! What pure tools said: the same arguments give the same output, so they are asked once.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tokio::sync::OnceCell;

use crate::registry::Entry;
use crate::tool::{Tool, ToolError, ToolOutput};

/// The most outputs that are remembered; then the oldest goes.
const MOST: usize = 1_000;

/// A tool's full name and its arguments, whose members are sorted.
type Key = (String, String);

/// The outputs of the pure tools of one dispatcher, which is one run of an agent. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Memo(Arc<Mutex<Remembered>>);

#[derive(Default)]
struct Remembered {
    outputs: HashMap<Key, Cell>,
    oldest: VecDeque<Key>,
}

/// What one tool said, which may have another one in its place by now.
struct Cell {
    of: Arc<dyn Tool>,
    output: Arc<OnceCell<ToolOutput>>,
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
        let cell = self.cell(entry, (entry.full_name().to_owned(), arguments.to_string()));
        if !may_wait {
            if let Some(output) = cell.get() {
                return (Ok(output.clone()), true);
            }
            let outcome = run.await;
            if let Ok(output) = &outcome {
                // Fails where the first is still at it, which remembers as much.
                let _ = cell.set(output.clone());
            }
            return (outcome, false);
        }
        let mut ran = false;
        let output = cell
            .get_or_try_init(|| {
                ran = true;
                run
            })
            .await;
        (output.cloned(), !ran)
    }

    fn cell(&self, entry: &Entry, key: Key) -> Arc<OnceCell<ToolOutput>> {
        let mut remembered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || Cell { of: Arc::clone(entry.tool()), output: Arc::default() };
        if let Some(cell) = remembered.outputs.get_mut(&key) {
            if !Arc::ptr_eq(&cell.of, entry.tool()) {
                *cell = new();
            }
            return Arc::clone(&cell.output);
        }
        if remembered.oldest.len() >= MOST
            && let Some(oldest) = remembered.oldest.pop_front()
        {
            remembered.outputs.remove(&oldest);
        }
        let cell = new();
        let output = Arc::clone(&cell.output);
        remembered.oldest.push_back(key.clone());
        remembered.outputs.insert(key, cell);
        output
    }
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

    use super::{MOST, Memo};
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
