//! Errors: texts for the model, and the error of opening a workspace.

use std::io;
use std::path::PathBuf;

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
    /// The error of the operating system. On Linux, `Unsupported` means that the kernel is older
    /// than 5.6, or that a sandbox forbids the system call `openat2`. Some sandboxes forbid it with
    /// `PermissionDenied`. On Windows, `Unsupported` means that the folder is not on a local drive.
    pub source: io::Error,
}

/// Returns the error of a call that names this path.
pub(crate) fn path_error(path: &RelativePath, error: impl Into<FileError>) -> ToolError {
    let failed = |text| ToolError::new(ToolErrorKind::ExecutionFailed, text);
    let denied = |text| ToolError::new(ToolErrorKind::Denied, text);
    let error = match error.into() {
        FileError::Folder => return failed(format!("`{path}` is a folder, not a file.")),
        FileError::Special => {
            let text = format!("`{path}` is a device, a FIFO or a socket, not a regular file.");
            return failed(text);
        }
        FileError::Link => {
            let text = format!("`{path}` is a link or leads through one; links are not followed.");
            return denied(text);
        }
        FileError::OtherMount => {
            let text = format!("`{path}` leads out of the workspace or into another mount.");
            return denied(text);
        }
        FileError::System(error) => error,
    };
    let tool_error = match error.kind() {
        io::ErrorKind::NotFound => missing(path),
        io::ErrorKind::NotADirectory => {
            failed(format!("`{path}` leads through a file, or is a file and not a folder."))
        }
        io::ErrorKind::AlreadyExists => failed(format!("`{path}` exists already.")),
        io::ErrorKind::WouldBlock => {
            let text = format!("`{path}` can't be opened while its folders are renamed. Retry.");
            ToolError::new(ToolErrorKind::TransientFailure, text)
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            failed(format!("`{path}` may not be accessed: {error}."))
        }
        _ => failed(format!("`{path}` can't be used: {error}.")),
    };
    tool_error.with_source(error)
}

/// Returns the error of a call that names a path where nothing is.
pub(crate) fn missing(path: &RelativePath) -> ToolError {
    ToolError::new(ToolErrorKind::ExecutionFailed, format!("`{path}` does not exist."))
}

/// Returns the error of reading or writing the content of a file.
pub(crate) fn io_error(path: &RelativePath, error: io::Error) -> ToolError {
    if error.raw_os_error().is_some() {
        return path_error(path, error);
    }
    let text = format!("`{path}` can't be read or written: {error}.");
    ToolError::new(ToolErrorKind::ExecutionFailed, text).with_source(error)
}
