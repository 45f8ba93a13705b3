//! The progress, output and data that a tool passes on to observers while it runs.

use serde_json::Value;

use super::ToolContext;
use crate::event::{Progress, ToolEvent};

impl ToolContext {
    /// Reports progress, which observers receive as [`ToolEvent::Progress`].
    ///
    /// ```
    /// use tool_runtime::event::Progress;
    /// use tool_runtime::{ToolContext, tool};
    ///
    /// /// Imports files.
    /// #[tool(effect = "write")]
    /// async fn import(ctx: &ToolContext, files: Vec<String>) {
    ///     for (done, file) in files.into_iter().enumerate() {
    ///         let (done, message) = (done as f64, Some(file));
    ///         ctx.progress(Progress { done, message, ..Progress::default() });
    ///     }
    /// }
    /// ```
    pub fn progress(&self, progress: Progress) {
        self.emit_event(|| ToolEvent::Progress { call: self.call_id().clone(), progress });
    }

    /// Emits data of the tool's own, which observers receive as [`ToolEvent::DataEmitted`].
    ///
    /// The data is for screens and logs: the model does not receive it, and no run saves it. A
    /// [`Plan`](crate::event::Plan) has a form that screens know.
    ///
    /// ```
    /// use serde_json::json;
    /// use tool_runtime::{ToolContext, tool};
    ///
    /// /// Finds the way to a place.
    /// #[tool(effect = "read")]
    /// async fn find_way(place: String, ctx: &ToolContext) -> String {
    ///     ctx.emit("map", json!({ "latitude": 59.91, "longitude": 10.75 }));
    ///     format!("{place} is an hour away")
    /// }
    /// ```
    pub fn emit(&self, name: impl Into<String>, data: impl Into<Value>) {
        self.emit_event(|| {
            let (name, data) = (name.into(), data.into());
            ToolEvent::DataEmitted { call: self.call_id().clone(), name, data }
        });
    }

    /// Passes on the next part of the output, which observers receive as
    /// [`ToolEvent::OutputEmitted`].
    ///
    /// The model receives only what the tool returns. Text that may be the beginning of a secret is
    /// held back until the rest arrives or the attempt ends.
    ///
    /// ```
    /// use tool_runtime::{ToolContext, tool};
    ///
    /// /// Builds the project.
    /// #[tool]
    /// async fn build(ctx: &ToolContext) -> String {
    ///     for line in ["Compiling 1 of 2\n", "Compiling 2 of 2\n"] {
    ///         ctx.emit_output(line);
    ///     }
    ///     "The build succeeded.".into()
    /// }
    /// ```
    pub fn emit_output(&self, text: &str) {
        self.emit_redacted(Some(text));
    }

    /// Passes on the output that is held back, at the end of an attempt.
    pub(crate) fn finish_output(&self) {
        self.emit_redacted(None);
    }

    fn emit_redacted(&self, piece: Option<&str>) {
        let Some(scope) = self.scope().filter(|scope| !scope.observers.is_empty()) else { return };
        let text = match &scope.redactor {
            Some(redactor) => self.work().redact_output(redactor, piece),
            None => piece.unwrap_or_default().to_owned(),
        };
        if !text.is_empty() {
            scope.emit(|| ToolEvent::OutputEmitted { call: self.call_id().clone(), text });
        }
    }

    fn emit_event(&self, event: impl FnOnce() -> ToolEvent) {
        if let Some(scope) = self.scope() {
            scope.emit(event);
        }
    }
}
