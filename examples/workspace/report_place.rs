//! The place of the report and the patch.
//!
//! Commands may put links into the folder of the agent. A report that is written through such a
//! link would overwrite a file elsewhere. By default, the place is therefore outside of the folder.
//! If the user chooses a place in the folder, `Files` writes the report, because it follows no
//! links. Outside, another `Files` for the folder of the report writes it, so that both files are
//! replaced as a whole.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Component, Path, PathBuf, absolute};

use tool_runtime::event::RunId;
use tool_runtime::files::Files;
use tool_runtime::report::RunReport;

/// A place, which is chosen before the first command runs.
pub(crate) struct ReportPlace {
    /// The path of the report, which is relative to the folder if it is in the folder.
    path: PathBuf,
    is_in_folder: bool,
}

impl ReportPlace {
    /// Creates the place at a path, or in a new folder of the system for temporary files.
    pub(crate) fn new(folder: &Path, path: Option<&Path>) -> io::Result<Self> {
        let path = match path {
            Some(path) => without_parents(&absolute(path)?),
            None => {
                let name = format!("workspace-{}", RunId::random());
                std::env::temp_dir().join(name).join("report.html")
            }
        };
        let folders = [absolute(folder)?, folder.canonicalize()?];
        let paths = [path.clone(), with_real_folder(&path)];
        let pairs = paths.iter().flat_map(|path| folders.iter().map(move |it| (path, it)));
        let inside = pairs.filter_map(|(path, folder)| path.strip_prefix(folder).ok()).next();
        Ok(match inside {
            Some(relative) => Self { path: relative.to_owned(), is_in_folder: true },
            None => Self { path, is_in_folder: false },
        })
    }

    /// Writes the report, and the patch beside it. Returns their paths.
    pub(crate) fn write(
        &self,
        files: &Files,
        report: &RunReport,
        patch: &str,
    ) -> io::Result<(String, String)> {
        let patch_path = self.path.with_extension("patch");
        let paths = (self.path.display().to_string(), patch_path.display().to_string());
        if self.is_in_folder {
            files.write(&paths.0, report.to_html())?;
            files.write(&paths.1, patch)?;
            return Ok(paths);
        }
        let (Some(folder), Some(name)) = (self.path.parent(), self.path.file_name()) else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the report has no file name"));
        };
        // What the agent has read may be private.
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let files = Files::open(folder).map_err(io::Error::other)?;
        files.write(&name.to_string_lossy(), report.to_html())?;
        files.write(&Path::new(name).with_extension("patch").to_string_lossy(), patch)?;
        Ok(paths)
    }
}

/// Returns an absolute path without `..`: a folder that does not exist yet may be created later.
fn without_parents(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut path, part| {
        match part {
            Component::ParentDir => drop(path.pop()),
            part => path.push(part),
        }
        path
    })
}

/// Returns a path without the links in its folders, as far as they exist.
fn with_real_folder(path: &Path) -> PathBuf {
    for folder in path.ancestors().skip(1) {
        if let (Ok(real), Ok(rest)) = (folder.canonicalize(), path.strip_prefix(folder)) {
            return real.join(rest);
        }
    }
    path.to_owned()
}
