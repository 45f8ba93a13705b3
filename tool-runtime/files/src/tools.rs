//! The tools, as a model sees them.

use tool_core::{OutputFormat, ToolContext, ToolError, ToolErrorKind, ToolOutput, tool};

use crate::Files;
use crate::change::edit::{Edit, apply};
use crate::path::RelativePath;
use crate::read::content::as_text;
use crate::read::{LineRange, read};
use crate::search::grep::{GrepLine, Search};
use crate::search::list::{Entry, MatchingFile, glob, list};
use crate::state::FileState;
use crate::version::MAX_CONTENT;
use tool_core::__workspace::Rows;

#[tool]
impl Files {
    /// Reads a text file with line numbers, or an image.
    #[tool(blocking, effect = "read", pure, timeout = "60s")]
    fn file_read(
        &self,
        /// Path relative to the workspace.
        path: &str,
        /// Number of the first line, from 1.
        #[arg(default = 1, range(min = 1))]
        offset: u64,
        /// Number of lines; at most 2000.
        #[arg(range(min = 1))]
        limit: Option<u64>,
        /// First character of each line, from 1, to read the rest of long lines.
        #[arg(default = 1, range(min = 1))]
        column: u64,
        ctx: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let path = self.0.path("path", path)?;
        let range = LineRange { offset, limit, column };
        let reading = read(&self.0.root, &path, range, &|text, part| ctx.redact_part(text, part))?;
        self.0.versions.record(ctx.run_id(), &path, reading.version);
        reading.output
    }

    /// Lists the entries of a folder.
    #[tool(blocking, effect = "read", pure, timeout = "60s")]
    fn file_list(
        &self,
        /// Path relative to the workspace.
        #[arg(default = ".")]
        path: &str,
        /// Number of levels to list.
        #[arg(default = 1, range(min = 1, max = 10))]
        depth: u8,
        #[arg(default)] output: OutputFormat,
        ctx: &ToolContext,
    ) -> Result<Rows<Entry>, ToolError> {
        let folder = self.0.path("path", path)?;
        list(&self.0.root, &folder, depth, (output, ctx.cancellation()))
    }

    /// Lists the files whose path matches a pattern. Hidden and ignored files are left out.
    #[tool(blocking, effect = "read", pure, timeout = "60s")]
    fn glob(
        &self,
        /// Pattern such as `src/**/*.rs`, relative to `path`. Without a `/`, it matches names in
        /// all folders.
        pattern: &str,
        /// Folder to search.
        #[arg(default = ".")]
        path: &str,
        /// Whether to include hidden and ignored files.
        #[arg(default = false)]
        all: bool,
        #[arg(default)] output: OutputFormat,
        ctx: &ToolContext,
    ) -> Result<Rows<MatchingFile>, ToolError> {
        let folder = self.0.path("path", path)?;
        glob(&self.0.root, &folder, pattern, all, (output, ctx.cancellation()))
    }

    /// Lists the lines of files that match a regular expression. Hidden, ignored and binary files
    /// are left out.
    #[expect(clippy::too_many_arguments, reason = "arguments of the model")]
    #[tool(blocking, effect = "read", pure, timeout = "60s")]
    fn grep(
        &self,
        /// Regular expression in the syntax of ripgrep, matched line by line.
        pattern: &str,
        /// File or folder to search.
        #[arg(default = ".")]
        path: &str,
        /// Pattern of paths relative to `path`, such as `*.rs`, `src/**` or, to leave files out,
        /// `!*.lock`.
        glob: Option<String>,
        /// File type of ripgrep, such as `rust` or `py`.
        #[arg(rename = "type")]
        file_type: Option<String>,
        /// Number of lines to show before and after each match.
        #[arg(default = 0, range(max = 20))]
        context: u8,
        #[arg(default = false)] ignore_case: bool,
        /// Whether `pattern` is plain text.
        #[arg(default = false)]
        literal: bool,
        /// Whether to list only the files with their numbers of matches.
        #[arg(default = false)]
        files_only: bool,
        /// Whether to include hidden and ignored files.
        #[arg(default = false)]
        all: bool,
        /// Number of matches to list; default: 100.
        #[arg(range(min = 1, max = 1000))]
        limit: Option<u16>,
        #[arg(default)] output: OutputFormat,
        ctx: &ToolContext,
    ) -> Result<Rows<GrepLine>, ToolError> {
        let search = Search {
            pattern,
            folder: self.0.path("path", path)?,
            glob,
            file_type,
            is_literal: literal,
            ignores_case: ignore_case,
            lists_files: files_only,
            includes_all: all,
            context: context.into(),
            limit: limit.map(usize::from),
            redact: &|text, part| ctx.redact_part(text, part),
        };
        search.run(&self.0.root, output, ctx.cancellation())
    }

    /// Creates a file with its folders, or replaces the content of a file.
    #[tool(blocking, effect = "write", sequential, permission = "ask")]
    fn file_write(
        &self,
        /// Path relative to the workspace.
        path: &str,
        /// The complete content.
        content: &str,
        ctx: &ToolContext,
    ) -> Result<String, ToolError> {
        let path = self.0.changed_path("path", path)?;
        let bytes = new_content(&path, content)?;
        let mut exists = false;
        self.0.write(&path, ctx, |current| {
            exists = current.is_some();
            Ok(bytes)
        })?;
        let verb = if exists { "Replaced" } else { "Created" };
        Ok(format!("{verb} {path} ({} bytes).", content.len()))
    }

    /// Replaces exact texts in a file. All edits are applied, or none.
    #[tool(blocking, effect = "write", sequential, permission = "ask")]
    fn file_edit(
        &self,
        /// Path relative to the workspace.
        path: &str,
        /// The edits, each applied to the result of those before it.
        #[arg(length(min = 1, max = 200))]
        edits: &[Edit],
        ctx: &ToolContext,
    ) -> Result<String, ToolError> {
        let path = self.0.changed_path("path", path)?;
        let mut count = 0;
        self.0.write(&path, ctx, |current| {
            let text;
            (text, count) = edited(&path, current, edits)?;
            Ok(text.into_bytes())
        })?;
        let plural = if count == 1 { "" } else { "s" };
        Ok(format!("Edited {path}: {count} replacement{plural}."))
    }

    /// Moves or renames a file. The new path must be free.
    #[tool(blocking, effect = "write", sequential, permission = "ask")]
    fn file_move(
        &self,
        /// Path relative to the workspace.
        path: &str,
        /// The new path of the file.
        to: &str,
        ctx: &ToolContext,
    ) -> Result<String, ToolError> {
        let from = self.0.changed_path("path", path)?;
        let to = self.0.changed_path("to", to)?;
        self.0.rename(&from, &to, ctx)?;
        Ok(format!("Moved {from} to {to}."))
    }

    /// Deletes a file.
    #[tool(blocking, effect = "write", sequential, permission = "ask")]
    fn file_delete(
        &self,
        /// Path relative to the workspace.
        path: &str,
        ctx: &ToolContext,
    ) -> Result<String, ToolError> {
        let path = self.0.changed_path("path", path)?;
        self.0.delete(&path, ctx)?;
        Ok(format!("Deleted {path}."))
    }
}

/// Returns the bytes of a new content, unless there are too many.
pub(crate) fn new_content(path: &RelativePath, content: &str) -> Result<Vec<u8>, ToolError> {
    if content.len() as u64 <= MAX_CONTENT {
        return Ok(content.as_bytes().to_vec());
    }
    let len = content.len();
    let text = format!("`{path}` would have {len} bytes; at most {MAX_CONTENT} are written.");
    Err(ToolError::new(ToolErrorKind::ExecutionFailed, text))
}

/// Returns the edited text of a file and the number of replacements.
pub(crate) fn edited(
    path: &RelativePath,
    current: Option<&FileState>,
    edits: &[Edit],
) -> Result<(String, usize), ToolError> {
    let failed = |text: String| ToolError::new(ToolErrorKind::ExecutionFailed, text);
    let Some(current) = current else {
        return Err(failed(format!("`{path}` does not exist: create it by `file_write`.")));
    };
    let Some(bytes) = &current.bytes else {
        let len = current.len;
        return Err(failed(format!(
            "`{path}` has {len} bytes; files of at most {MAX_CONTENT} are edited."
        )));
    };
    let Some(text) = as_text(bytes) else {
        return Err(failed(format!("`{path}` is not UTF-8 text, so it can't be edited.")));
    };
    let edited = apply(text, edits).map_err(|reason| failed(format!("`{path}`: {reason}")))?;
    new_content(path, &edited.text)?;
    Ok((edited.text, edited.count))
}
