//! Errors: texts for the model, and the error of opening a workspace.

use std::io;
use std::path::PathBuf;

use rustix::io::Errno;
use tool_core::{ToolError, ToolErrorKind};

use crate::path::RelativePath;
use crate::root::FileError;

/// The reason why a folder can't be opened as a workspace.
///
/// ```
/// use tool_runtime::files::Files;
///
/// let error = Files::open("no/such/folder").unwrap_err();
/// assert!(error.to_string().starts_with("workspace can't be opened: no/such/folder: "));
/// ```
#[derive(Debug, thiserror::Error)]
#[error("workspace can't be opened: {}: {source}", folder.display())]
#[non_exhaustive]
pub struct OpenFilesError {
    /// The folder that was to be opened.
    pub folder: PathBuf,
    /// The error of the operating system. `Unsupported` means that the kernel is older than Linux
    /// 5.6, or that a sandbox forbids the system call `openat2`. Some sandboxes forbid it with
    /// `PermissionDenied`.
    pub source: io::Error,
}

/// Returns the error of a call that names this path.
pub(crate) fn path_error(path: &RelativePath, error: impl Into<FileError>) -> ToolError {
    let error = error.into();
    let FileError::System(errno) = error else {
        let text = match error {
            FileError::Folder => format!("`{path}` is a folder, not a file."),
            _ => format!("`{path}` is a device, a FIFO or a socket, not a regular file."),
        };
        return ToolError::new(ToolErrorKind::Failed, text);
    };
    let (kind, text) = match errno {
        Errno::NOENT => (ToolErrorKind::Failed, format!("`{path}` does not exist.")),
        Errno::NOTDIR => {
            let text = format!("`{path}` leads through a file, or is a file and not a folder.");
            (ToolErrorKind::Failed, text)
        }
        Errno::LOOP => {
            let text = format!("`{path}` is a link or leads through one; links are not followed.");
            (ToolErrorKind::Denied, text)
        }
        Errno::XDEV => {
            let text = format!("`{path}` leads out of the workspace or into another mount.");
            (ToolErrorKind::Denied, text)
        }
        Errno::EXIST => (ToolErrorKind::Failed, format!("`{path}` exists already.")),
        Errno::AGAIN => {
            let text = format!("`{path}` can't be opened while its folders are renamed. Retry.");
            (ToolErrorKind::Transient, text)
        }
        Errno::ACCESS | Errno::PERM | Errno::ROFS => {
            (ToolErrorKind::Failed, format!("`{path}` may not be accessed: {errno}."))
        }
        _ => (ToolErrorKind::Failed, format!("`{path}` can't be used: {errno}.")),
    };
    ToolError::new(kind, text).with_source(io::Error::from(errno))
}

/// Returns the error of reading or writing the content of a file.
pub(crate) fn io_error(path: &RelativePath, error: io::Error) -> ToolError {
    match Errno::from_io_error(&error) {
        Some(errno) => path_error(path, errno),
        None => {
            let text = format!("`{path}` can't be read or written: {error}.");
            ToolError::new(ToolErrorKind::Failed, text).with_source(error)
        }
    }
}
