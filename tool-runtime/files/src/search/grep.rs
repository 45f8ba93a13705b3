//! The tool `grep`: the lines of files that match a regular expression.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use grep_matcher::{LineTerminator, Matcher};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkMatch,
};
use ignore::types::{Types, TypesBuilder};
use schemars::JsonSchema;
use serde::Serialize;
use tool_core::{CancellationToken, OutputFormat, Row, ToolError};

use super::list::{PathPattern, unreadable_note};
use super::walk::Walk;
use crate::error::path_error;
use crate::path::RelativePath;
use crate::read::lines::MARGIN;
use crate::root::{FileError, Root};
use tool_core::__workspace::Rows;

/// The default number of matches that are listed.
const DEFAULT_LIMIT: usize = 100;

/// The most matches that are listed.
const MAX_LIMIT: usize = 1000;

/// The most bytes of a line of the result.
const MAX_LINE_LEN: usize = 300;

/// The longest line that is searched, in bytes.
const MAX_HEAP: usize = 16 * 1024 * 1024;

/// The most bytes of a compiled pattern, and of the states that each thread derives from it.
const MAX_REGEX: usize = 10 * 1024 * 1024;

/// A line that matches, or one near it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct GrepLine {
    /// The path of the file within the workspace.
    path: String,
    /// The number of the line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// Whether the line only surrounds a match.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    context: bool,
    /// Whether the line belongs to the match that follows it.
    #[serde(skip)]
    precedes_match: bool,
    /// The number of matching lines, if only files are listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    matches: Option<u64>,
}

impl From<&GrepLine> for Row {
    fn from(line: &GrepLine) -> Self {
        Self::new()
            .with("path", line.path.clone())
            .with("line", line.line)
            .with("text", line.text.clone())
            .with("context", line.context.then_some(true))
            .with("matches", line.matches)
    }
}

/// A pattern and the files to search for it.
pub(crate) struct Search<'s> {
    pub(crate) pattern: &'s str,
    pub(crate) folder: RelativePath,
    pub(crate) glob: Option<String>,
    pub(crate) file_type: Option<String>,
    pub(crate) is_literal: bool,
    pub(crate) ignores_case: bool,
    pub(crate) lists_files: bool,
    pub(crate) includes_all: bool,
    pub(crate) context: usize,
    pub(crate) limit: Option<usize>,
    /// Returns a part of a text without secrets, also of those that reach into the part.
    pub(crate) redact: &'s (dyn Fn(&str, Range<usize>) -> String + Sync),
}

/// The matches of one file: at most as many as are listed.
struct FileMatches {
    lines: Vec<GrepLine>,
    listed: usize,
}

/// The matches of the first files.
#[derive(Default)]
struct Matches {
    files: BTreeMap<RelativePath, FileMatches>,
    listed: usize,
}

impl Matches {
    fn add(&mut self, path: &RelativePath, matches: FileMatches, limit: usize) {
        self.listed += matches.listed;
        self.files.insert(path.clone(), matches);
        while let Some(last) = self.files.last_entry()
            && self.listed - last.get().listed >= limit
        {
            self.listed -= last.remove().listed;
        }
    }
}

impl Search<'_> {
    pub(crate) fn run(
        &self,
        root: &Root,
        format: OutputFormat,
        cancellation: CancellationToken,
    ) -> Result<Rows<GrepLine>, ToolError> {
        let matcher = self.matcher()?;
        let types = self.types()?;
        let glob = self.glob.as_deref().map(|glob| PathPattern::parse("glob", glob, &self.folder));
        let glob = glob.transpose()?;
        let limit = self.limit.unwrap_or(DEFAULT_LIMIT);
        let (matches, total) = (Mutex::new(Matches::default()), AtomicU64::new(0));
        let unsearched = AtomicU64::new(0);
        let visitor = |is_filtered: bool| {
            let mut searcher = self.searcher();
            let (matcher, types, glob) = (&matcher, &types, &glob);
            let (matches, total, unsearched) = (&matches, &total, &unsearched);
            move |path: &RelativePath| {
                let is_selected = || {
                    glob.as_ref().is_none_or(|glob| glob.matches(path))
                        && !types.matched(path.as_str(), false).is_ignore()
                };
                if is_filtered && !is_selected() {
                    return;
                }
                let mut sink =
                    Lines { search: self, path, matcher, limit, lines: vec![], count: 0 };
                let result = root
                    .listed_file(path)
                    .map_err(io_error)
                    .and_then(|(file, _)| searcher.search_file(matcher, &file, &mut sink));
                if result.is_err() {
                    unsearched.fetch_add(1, Ordering::Relaxed);
                }
                if let Some(found) = sink.finish(total) {
                    matches.lock().unwrap_or_else(PoisonError::into_inner).add(path, found, limit);
                }
            }
        };
        let unreadable = match root.file(&self.folder) {
            // A single file is searched whatever its name is.
            Ok(_) => {
                visitor(false)(&self.folder);
                0
            }
            Err(error @ FileError::Special) => return Err(path_error(&self.folder, error)),
            Err(_) => {
                let walk = Walk { root, includes_all: self.includes_all, cancellation };
                walk.run(&self.folder, || visitor(true))?
            }
        };
        let matches = matches.into_inner().unwrap_or_else(PoisonError::into_inner);
        let lines = first_matches(matches, limit);
        let total = total.into_inner() + lines.iter().filter(|line| line.context).count() as u64;
        let advice = "send a narrower `pattern`, `path`, `glob` or `type`";
        let larger = if limit < MAX_LIMIT { ", or a larger `limit`" } else { "" };
        let unsearched = unsearched.into_inner();
        let glob = glob.filter(|_| total == 0);
        Ok(Rows::limited(format, lines, total, (advice, larger))?
            .note(unreadable_note(unreadable))
            .note(glob.and_then(|glob| glob.hidden_note(self.includes_all)))
            .note((unsearched > 0).then(|| format!("[{unsearched} files can't be searched]"))))
    }

    fn matcher(&self) -> Result<RegexMatcher, ToolError> {
        let mut builder = RegexMatcherBuilder::new();
        if self.has_crlf() {
            builder.crlf(true);
        } else {
            builder.line_terminator(Some(b'\n'));
        }
        builder
            .case_insensitive(self.ignores_case)
            .fixed_strings(self.is_literal)
            // `^` and `$` are those of lines. Otherwise, each line is searched separately, which is
            // slow.
            .multi_line(true)
            .size_limit(MAX_REGEX)
            .dfa_size_limit(MAX_REGEX)
            .build(self.pattern)
            .map_err(|error| self.pattern_error(&error))
    }

    fn pattern_error(&self, error: &grep_regex::Error) -> ToolError {
        if matches!(error.kind(), grep_regex::ErrorKind::NotAllowed(_)) {
            let advice = "send the part of the pattern that is in one line, with `context`";
            let text =
                format!("`pattern` can't contain a line break, which no line has: {advice}.");
            return ToolError::invalid_arguments(text);
        }
        // The lines before the last one repeat the pattern, which may be long.
        let text = error.to_string();
        let reason = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
        let advice =
            if self.is_literal { "" } else { " Set `literal` to search for the text itself." };
        let text = format!("`pattern` is not a valid regular expression: {reason}.{advice}");
        ToolError::invalid_arguments(text)
    }

    /// Whether `$` also matches before `\r\n`. Then, the pattern can't match `\r` itself.
    fn has_crlf(&self) -> bool {
        !self.is_literal
            && self.pattern.contains('$')
            && !self.pattern.contains('\r')
            && !self.pattern.contains(r"\r")
    }

    fn types(&self) -> Result<Types, ToolError> {
        let mut types = TypesBuilder::new();
        types.add_defaults();
        if let Some(name) = &self.file_type {
            types.select(name);
        }
        types.build().map_err(|_| {
            let name = self.file_type.as_deref().unwrap_or_default();
            let text =
                format!("`type`: `{name}` is unknown; send a type of ripgrep, such as `rust`.");
            ToolError::invalid_arguments(text)
        })
    }

    fn searcher(&self) -> Searcher {
        let ending =
            if self.has_crlf() { LineTerminator::crlf() } else { LineTerminator::byte(b'\n') };
        SearcherBuilder::new()
            .line_terminator(ending)
            .binary_detection(BinaryDetection::quit(0))
            .before_context(self.context)
            .after_context(self.context)
            .heap_limit(Some(MAX_HEAP))
            .line_number(!self.lists_files)
            .build()
    }
}

fn io_error(error: FileError) -> io::Error {
    match error {
        FileError::System(error) => error,
        _ => io::ErrorKind::InvalidInput.into(),
    }
}

/// Returns the lines up to the last match that is listed, with the lines around it.
fn first_matches(matches: Matches, limit: usize) -> Vec<GrepLine> {
    let mut listed = 0;
    let lines = matches.files.into_values().flat_map(|file| file.lines);
    let lines = lines.take_while(|line| {
        listed += usize::from(!line.context);
        listed + usize::from(line.precedes_match) <= limit
    });
    lines.collect()
}

/// Collects the lines of one file.
struct Lines<'l> {
    search: &'l Search<'l>,
    path: &'l RelativePath,
    matcher: &'l RegexMatcher,
    limit: usize,
    lines: Vec<GrepLine>,
    /// The number of matching lines.
    count: u64,
}

impl Lines<'_> {
    /// Adds a line. `kind` is that of a line near a match.
    fn add(&mut self, number: Option<u64>, bytes: &[u8], kind: Option<&SinkContextKind>) {
        let precedes_match = kind == Some(&SinkContextKind::Before);
        if self.search.lists_files || self.count + u64::from(precedes_match) > self.limit as u64 {
            return;
        }
        self.lines.push(GrepLine {
            path: self.path.as_str().to_owned(),
            line: number,
            text: Some(self.excerpt(bytes)),
            context: kind.is_some(),
            precedes_match,
            matches: None,
        });
    }

    /// Returns a line, or the part of a long line around its first match.
    fn excerpt(&self, bytes: &[u8]) -> String {
        let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.len() <= MAX_LINE_LEN {
            return String::from_utf8_lossy(line).into_owned();
        }
        let start = self.matcher.find(line).ok().flatten().map_or(0, |found| found.start());
        let start = start.saturating_sub(MAX_LINE_LEN / 3).min(line.len() - MAX_LINE_LEN);
        let (head, rest) = line.split_at(start);
        let (excerpt, tail) = rest.split_at(MAX_LINE_LEN.min(rest.len()));
        let head = head.get(head.len().saturating_sub(MARGIN)..).unwrap_or_default();
        let tail = tail.get(..MARGIN).unwrap_or(tail);
        let [head, excerpt, tail] = [head, excerpt, tail].map(String::from_utf8_lossy);
        let text = format!("{head}{excerpt}{tail}");
        let text = (self.search.redact)(&text, head.len()..head.len() + excerpt.len());
        // The excerpt may start or end inside a character.
        format!("…{}…", text.trim_matches(char::REPLACEMENT_CHARACTER))
    }

    fn finish(mut self, total: &AtomicU64) -> Option<FileMatches> {
        if self.count == 0 {
            return None;
        }
        if self.search.lists_files {
            let (path, matches) = (self.path.as_str().to_owned(), Some(self.count));
            self.lines.push(GrepLine {
                path,
                line: None,
                text: None,
                context: false,
                precedes_match: false,
                matches,
            });
            self.count = 1;
        }
        total.fetch_add(self.count, Ordering::Relaxed);
        let listed = self.lines.iter().filter(|line| !line.context).count();
        Some(FileMatches { lines: self.lines, listed })
    }
}

impl Sink for Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        self.count += 1;
        self.add(found.line_number(), found.bytes(), None);
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, line: &SinkContext<'_>) -> Result<bool, io::Error> {
        self.add(line.line_number(), line.bytes(), Some(line.kind()));
        Ok(true)
    }
}
