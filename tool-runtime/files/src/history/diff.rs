//! Unified diffs in the form that `git apply` takes.

use similar::{Algorithm, DiffOp, capture_diff_slices_deadline, group_diff_ops};

use crate::state::FileState;

/// The number of unchanged lines around a change.
const CONTEXT: usize = 3;

/// The time after which the diff of a file becomes coarser.
const MAX_TIME: std::time::Duration = std::time::Duration::from_millis(500);

/// Returns the diff of one file. `None` stands for no file.
///
/// The diff is empty if nothing changed, and `None` if the content is binary or too large.
pub(crate) fn file_diff(
    path: &str,
    before: Option<&FileState>,
    after: Option<&FileState>,
) -> Option<String> {
    let text = |state: Option<&FileState>| match state {
        Some(state) => state.diff_text().map(str::to_owned),
        None => Some(String::new()),
    };
    let (old, new) = (text(before)?, text(after)?);
    let mode = |state: Option<&FileState>| state.map(|state| git_mode(state.mode));
    let (old_name, new_name) = (quoted("a/", path), quoted("b/", path));
    let mut diff = format!("diff --git {old_name} {new_name}\n");
    match (mode(before), mode(after)) {
        (None, None) => return Some(String::new()),
        (None, Some(mode)) => diff.push_str(&format!("new file mode {mode}\n")),
        (Some(mode), None) => diff.push_str(&format!("deleted file mode {mode}\n")),
        (Some(old), Some(new)) if old != new => {
            diff.push_str(&format!("old mode {old}\nnew mode {new}\n"));
        }
        _ if old == new => return Some(String::new()),
        _ => {}
    }
    if old != new {
        // A tab ends a name with spaces, as git writes it.
        let end = |name: &str| if name.contains(' ') { "\t" } else { "" };
        let name = |name: &str, exists: bool| {
            if exists { format!("{name}{}", end(name)) } else { "/dev/null".to_owned() }
        };
        let (old_name, new_name) =
            (name(&old_name, before.is_some()), name(&new_name, after.is_some()));
        diff.push_str(&format!("--- {old_name}\n+++ {new_name}\n"));
        push_hunks(&mut diff, &old, &new);
    }
    Some(diff)
}

fn git_mode(mode: u32) -> &'static str {
    if mode & 0o100 == 0 { "100644" } else { "100755" }
}

/// Writes a name in the notation of git, with quotation marks if it needs them.
fn quoted(prefix: &str, path: &str) -> String {
    if path.contains(['"', '\\']) {
        format!("\"{prefix}{}\"", path.replace('\\', "\\\\").replace('"', "\\\""))
    } else {
        format!("{prefix}{path}")
    }
}

fn push_hunks(diff: &mut String, old: &str, new: &str) {
    // Like git, and unlike the text functions of `similar`, a line ends with `\n` only.
    let old: Vec<_> = old.split_inclusive('\n').collect();
    let new: Vec<_> = new.split_inclusive('\n').collect();
    let deadline = std::time::Instant::now().checked_add(MAX_TIME);
    let ops = capture_diff_slices_deadline(Algorithm::Myers, &old, &new, deadline);
    for group in group_diff_ops(ops, CONTEXT) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let old_range = first.old_range().start..last.old_range().end;
        let new_range = first.new_range().start..last.new_range().end;
        let (old_span, new_span) = (span(&old_range), span(&new_range));
        diff.push_str(&format!("@@ -{old_span} +{new_span} @@\n"));
        for op in group {
            let removed = old.get(op.old_range()).unwrap_or_default();
            let added = new.get(op.new_range()).unwrap_or_default();
            if let DiffOp::Equal { .. } = op {
                removed.iter().for_each(|line| push_line(diff, ' ', line));
            } else {
                removed.iter().for_each(|line| push_line(diff, '-', line));
                added.iter().for_each(|line| push_line(diff, '+', line));
            }
        }
    }
}

/// Writes the first line and the number of lines. An empty range names the line before it.
fn span(range: &std::ops::Range<usize>) -> String {
    match range.len() {
        0 => format!("{},0", range.start),
        1 => format!("{}", range.start + 1),
        count => format!("{},{count}", range.start + 1),
    }
}

fn push_line(diff: &mut String, sign: char, line: &str) {
    diff.push(sign);
    diff.push_str(line);
    if !line.ends_with('\n') {
        diff.push_str("\n\\ No newline at end of file\n");
    }
}

/// Returns the first lines of a text that fit into `limit` bytes, with a note about the others.
pub(crate) fn first_lines(text: String, limit: usize) -> String {
    if text.len() <= limit {
        return text;
    }
    let end = (0..=limit).rfind(|end| text.is_char_boundary(*end)).unwrap_or_default();
    let (head, _) = text.split_at(end);
    let (head, _) = head.rsplit_once('\n').unwrap_or((head, ""));
    let omitted = text.lines().count() - head.lines().count();
    format!("{head}\n[{omitted} more lines]\n")
}
