//! The folder of the workspace on systems other than Linux, on cap-std.
//!
//! The folders of a path are opened one after the other, each as an entry of the one before, and
//! never through a link. On Windows, where some changes name the full path of an open folder, the
//! system does not rename a folder while it is open.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

use cap_fs_ext::{DirExt as _, FollowSymlinks, MetadataExt as _, OpenOptionsFollowExt as _};
#[cfg(unix)]
use cap_std::fs::OpenOptionsExt as _;
use cap_std::fs::{Dir, OpenOptions};
use cap_std::{AmbientAuthority, ambient_authority};

use super::{FileError, Kind, regular};
use crate::names::{is_native, temporary_name};
use crate::path::RelativePath;

/// An open folder. No path below it leads out of it.
#[derive(Debug)]
pub(crate) struct Root(Folder);

impl Root {
    /// Opens a folder. The path is the program's: links in it are followed.
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        let dir = open_ambient(folder, ambient_authority())?;
        let device = dir.dir_metadata()?.dev();
        Ok(Self(Folder { dir, device }))
    }

    /// Returns the path as the folders spell it, so that a file has one path on systems where
    /// several spellings of a name are the same. What does not exist is spelled as given.
    pub(crate) fn spelled(&self, path: RelativePath) -> RelativePath {
        let Ok(folder) = self.folder(&RelativePath::root()) else { return path };
        let mut folder = Some(folder);
        path.names().fold(RelativePath::root(), |above, name| {
            let spelling = folder.as_ref().and_then(|folder| folder.spelling(name));
            let spelled = above.join(spelling.as_deref().unwrap_or(name));
            folder = match (&folder, spelling) {
                (Some(folder), Some(name)) => folder.folder(&name).ok(),
                _ => None,
            };
            spelled
        })
    }

    /// Returns the type and the length of what is at a path, without opening it.
    pub(crate) fn stat(&self, path: &RelativePath) -> Result<(Kind, u64), FileError> {
        if path.is_root() {
            return Ok((Kind::Folder, 0));
        }
        let (folder, name) = path.split();
        match self.folder(&folder)?.stat(name)? {
            (Kind::Link, _) => Err(FileError::Link),
            stat => Ok(stat),
        }
    }

    /// Opens a folder for its entries, or to change one of them.
    pub(crate) fn folder(&self, path: &RelativePath) -> Result<Folder, FileError> {
        let root = Folder { dir: self.0.dir.try_clone()?, device: self.0.device };
        path.names().try_fold(root, |folder, name| folder.folder(name))
    }

    /// Opens a file that was listed as a regular one.
    pub(crate) fn listed_file(&self, path: &RelativePath) -> Result<(File, Metadata), FileError> {
        let (folder, name) = path.split();
        self.folder(&folder)?.file(name)
    }
}

#[cfg(not(windows))]
fn open_ambient(folder: &Path, authority: AmbientAuthority) -> io::Result<Dir> {
    Dir::open_ambient_dir(folder, authority)
}

/// Opens a folder of a local drive: cap-std forms wrong paths of entries of others.
#[cfg(windows)]
fn open_ambient(folder: &Path, authority: AmbientAuthority) -> io::Result<Dir> {
    use std::path::{Component, Prefix};

    let folder = folder.canonicalize()?;
    match folder.components().next() {
        Some(Component::Prefix(prefix)) if matches!(prefix.kind(), Prefix::VerbatimDisk(_)) => {
            Dir::open_ambient_dir(folder, authority)
        }
        _ => Err(io::Error::new(io::ErrorKind::Unsupported, "the folder is not on a local drive")),
    }
}

/// An open folder, to read or change one of its entries.
#[derive(Debug)]
pub(crate) struct Folder {
    dir: Dir,
    /// The device of the workspace.
    device: u64,
}

impl Folder {
    /// Returns the entries with their types, in no order. A name that can't be sent as
    /// an argument is omitted.
    pub(crate) fn entries(&self) -> Result<Vec<(String, Kind)>, FileError> {
        let mut entries = Vec::new();
        for entry in self.dir.entries()? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            if !is_native(&name) {
                continue;
            }
            let kind = match entry.file_type().map(Kind::from) {
                Ok(kind) if kind != Kind::Other => kind,
                // Some file systems do not return the type with the name.
                _ => match self.dir.symlink_metadata(&name) {
                    Ok(metadata) => metadata.file_type().into(),
                    Err(_) => continue,
                },
            };
            entries.push((name, kind));
        }
        Ok(entries)
    }

    fn folder(&self, name: &str) -> Result<Self, FileError> {
        let dir = match self.dir.open_dir_nofollow(name) {
            Ok(dir) => dir,
            Err(error) => {
                let is_link = self.dir.symlink_metadata(name).is_ok_and(|it| it.is_symlink());
                return Err(if is_link { FileError::Link } else { error.into() });
            }
        };
        if dir.dir_metadata()?.dev() != self.device {
            return Err(FileError::OtherMount);
        }
        Ok(Self { dir, device: self.device })
    }

    fn stat(&self, name: &str) -> Result<(Kind, u64), FileError> {
        let metadata = self.dir.symlink_metadata(name)?;
        if metadata.dev() != self.device {
            return Err(FileError::OtherMount);
        }
        Ok((metadata.file_type().into(), metadata.len()))
    }

    /// Returns the name that the folder lists for an entry; `None` if there is none.
    fn spelling(&self, name: &str) -> Option<String> {
        let entry = self.id(name).ok()?;
        let names = self.dir.entries().ok()?;
        let names = names.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        spelling(name, names, |other| self.id(other).is_ok_and(|id| id == entry))
    }

    /// Opens a regular file for reading.
    pub(crate) fn file(&self, name: &str) -> Result<(File, Metadata), FileError> {
        // Opening a device may have effects, so it is not opened to find out what it is.
        let (kind, _) = self.stat(name)?;
        kind.check_regular()?;
        let mut options = OpenOptions::new();
        options.read(true).follow(FollowSymlinks::No);
        #[cfg(unix)]
        {
            let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
            options.custom_flags(flags.bits().cast_signed());
        }
        regular(self.dir.open_with(name, &options)?.into_std())
    }

    /// Creates a file for writing under a name where nothing is.
    #[cfg_attr(not(unix), expect(unused_variables, reason = "only Unix has permission bits"))]
    pub(crate) fn create_file(&self, name: &str, mode: u32) -> Result<File, FileError> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).follow(FollowSymlinks::No);
        #[cfg(unix)]
        options.mode(mode);
        Ok(self.dir.open_with(name, &options)?.into_std())
    }

    /// Returns `None`, because only Linux has files without a name.
    pub(crate) fn create_unnamed(&self, _: u32) -> Option<File> {
        None
    }

    /// Returns `false`, because only Linux has files without a name.
    pub(crate) fn link_unnamed(&self, _: &File, _: &str) -> Result<bool, FileError> {
        Ok(false)
    }

    /// Creates a folder.
    pub(crate) fn create_folder(&self, name: &str) -> Result<(), FileError> {
        Ok(self.dir.create_dir(name)?)
    }

    /// Exchanges two entries. Returns whether the system supports this.
    #[cfg(target_vendor = "apple")]
    pub(crate) fn exchange(
        &self,
        name: &str,
        other: &Self,
        other_name: &str,
    ) -> Result<bool, FileError> {
        use rustix::fs::{RenameFlags, renameat_with};

        match renameat_with(&self.dir, name, &other.dir, other_name, RenameFlags::EXCHANGE) {
            Ok(()) => Ok(true),
            Err(error) if is_unsupported(error) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns `false`, because the system has no call that exchanges entries.
    #[cfg(not(target_vendor = "apple"))]
    pub(crate) fn exchange(&self, _: &str, _: &Self, _: &str) -> Result<bool, FileError> {
        Ok(false)
    }

    /// Moves an entry, and replaces what is at the new name.
    pub(crate) fn rename(&self, name: &str, to: &Self, new_name: &str) -> Result<(), FileError> {
        Ok(self.dir.rename(name, &to.dir, new_name)?)
    }

    /// Moves an entry to a name where nothing is.
    pub(crate) fn rename_to_new(
        &self,
        name: &str,
        to: &Self,
        new_name: &str,
    ) -> Result<(), FileError> {
        #[cfg(target_vendor = "apple")]
        {
            use rustix::fs::{RenameFlags, renameat_with};

            match renameat_with(&self.dir, name, &to.dir, new_name, RenameFlags::NOREPLACE) {
                Err(error) if is_unsupported(error) => {}
                result => return Ok(result?),
            }
        }
        // Only a name that no other program knows says which file was moved.
        let linked = temporary_name();
        match self.dir.hard_link(name, &self.dir, &linked) {
            Ok(()) => {
                let result = self.move_link(name, &linked, to, new_name);
                self.remove_file(&linked).and(result)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(error.into()),
            // The file system has no links of files.
            Err(_) => match to.dir.symlink_metadata(new_name) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    self.rename(name, to, new_name)
                }
                Err(error) => Err(error.into()),
                Ok(_) => Err(io::Error::from(io::ErrorKind::AlreadyExists).into()),
            },
        }
    }

    /// Gives a file that has the names `name` and `linked` the new name in place of the first one.
    /// What another program puts at one of the names meanwhile is not replaced or removed.
    fn move_link(
        &self,
        name: &str,
        linked: &str,
        to: &Self,
        new_name: &str,
    ) -> Result<(), FileError> {
        // A link is not created where something is.
        self.dir.hard_link(linked, &to.dir, new_name)?;
        let temporary = temporary_name();
        match self.rename(name, self, &temporary) {
            Ok(()) => {}
            Err(error) if error.has_kind(io::ErrorKind::NotFound) => return Ok(()),
            Err(error) => {
                if to.id(new_name)? == self.id(linked)? {
                    to.remove_file(new_name)?;
                }
                return Err(error);
            }
        }
        if self.id(&temporary)? != self.id(linked)? {
            // Fails if the name is taken again: then that file stays where it is.
            self.dir.hard_link(&temporary, &self.dir, name)?;
        }
        self.remove_file(&temporary)
    }

    /// Returns what identifies the file of an entry.
    fn id(&self, name: &str) -> io::Result<(u64, u64)> {
        let metadata = self.dir.symlink_metadata(name)?;
        Ok((metadata.dev(), metadata.ino()))
    }

    /// Removes an entry that is no folder.
    pub(crate) fn remove_file(&self, name: &str) -> Result<(), FileError> {
        Ok(self.dir.remove_file(name)?)
    }

    /// Removes a temporary file of a process that has ended.
    pub(crate) fn remove_abandoned(&self, name: &str) -> Result<(), FileError> {
        // Fails if a process has the file open.
        #[cfg(windows)]
        {
            use cap_std::fs::OpenOptionsExt as _;

            let mut options = OpenOptions::new();
            options.read(true).share_mode(0).follow(FollowSymlinks::No);
            drop(self.dir.open_with(name, &options)?);
        }
        self.remove_file(name)
    }

    /// Removes an empty folder.
    pub(crate) fn remove_folder(&self, name: &str) -> Result<(), FileError> {
        Ok(self.dir.remove_dir(name)?)
    }

    /// Opens the folder as a file, which can be locked; `None` if the system locks no folders.
    pub(crate) fn lockable(&self) -> io::Result<Option<File>> {
        if cfg!(windows) { Ok(None) } else { Ok(Some(self.dir.open(".")?.into_std())) }
    }
}

#[cfg(target_vendor = "apple")]
fn is_unsupported(error: rustix::io::Errno) -> bool {
    use rustix::io::Errno;

    matches!(error, Errno::INVAL | Errno::NOSYS | Errno::NOTSUP | Errno::OPNOTSUPP)
}

/// Returns the spelling of a name among those of its folder. `is_same` returns whether another name
/// is that of the same file.
fn spelling(
    name: &str,
    names: impl Iterator<Item = String>,
    is_same: impl Fn(&str) -> bool,
) -> Option<String> {
    let mut others = Vec::new();
    for other in names {
        if other == name {
            return Some(other);
        }
        others.push(other);
    }
    // A link of the same file may have any name, so those that differ only by case come first.
    let folded = name.to_lowercase();
    others.sort_by_key(|other| other.to_lowercase() != folded);
    others.into_iter().find(|other| is_same(other))
}

impl From<cap_std::fs::FileType> for Kind {
    fn from(file_type: cap_std::fs::FileType) -> Self {
        if file_type.is_file() {
            Self::File
        } else if file_type.is_dir() {
            Self::Folder
        } else if file_type.is_symlink() {
            Self::Link
        } else {
            Self::Other
        }
    }
}

#[cfg(test)]
mod tests {
    use super::spelling;

    #[test]
    fn name_is_spelled_as_its_folder_lists_it() {
        let names = ["b.txt", "link", "README.md", "Projekt\u{308}"];
        let spell = |name: &str, same: &[&str]| {
            let names = names.into_iter().map(str::to_owned);
            spelling(name, names, |other| same.contains(&other))
        };
        assert_eq!(spell("b.txt", &[]).as_deref(), Some("b.txt"));
        assert_eq!(spell("readme.MD", &["link", "README.md"]).as_deref(), Some("README.md"));
        // The short name of a long one, or another normalization.
        assert_eq!(spell("README~1.MD", &["README.md"]).as_deref(), Some("README.md"));
        assert_eq!(spell("a.txt", &[]), None);
    }
}
