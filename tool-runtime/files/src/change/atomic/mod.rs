//! Changes of single files: atomic, and never of another version than the expected one.

mod permissions;
mod temporary;

use std::fs::{File, Metadata};
use std::io::{self, Read, Write as _};

use crate::names::temporary_name;
use crate::path::RelativePath;
use crate::root::{FileError, Folder, Root};
use crate::state::FileState;
use crate::version::{MAX_CONTENT, Version};
use permissions::{adopt_owner, set_mode};
use temporary::{Temporary, with_place};

pub(crate) use permissions::mode;
pub(crate) use temporary::remove_abandoned;

/// The permissions of a new file, of which the system takes those of the umask.
const DEFAULT: u32 = 0o666;

/// The permissions of a file that only its owner may read.
const PRIVATE: u32 = 0o600;

/// The reason why a change was not made.
#[derive(Debug)]
pub(crate) enum ChangeError {
    /// The file is not in the expected version, or exists although it should not.
    Conflict,
    File(FileError),
    Io(io::Error),
}

impl From<FileError> for ChangeError {
    fn from(error: FileError) -> Self {
        if error.has_kind(io::ErrorKind::AlreadyExists) || error.has_kind(io::ErrorKind::NotFound) {
            Self::Conflict
        } else {
            Self::File(error)
        }
    }
}

/// Reads a file; `None` if there is none.
pub(crate) fn load(
    root: &Root,
    path: &RelativePath,
) -> Result<Option<(FileState, Metadata)>, ChangeError> {
    match root.file(path) {
        Ok((file, metadata)) => Ok(Some((read_state(file, &metadata)?, metadata))),
        Err(error) if error.has_kind(io::ErrorKind::NotFound) => Ok(None),
        Err(error) => Err(ChangeError::File(error)),
    }
}

fn read_state(file: File, metadata: &Metadata) -> Result<FileState, ChangeError> {
    let mut bytes = Vec::new();
    file.take(MAX_CONTENT + 1).read_to_end(&mut bytes).map_err(ChangeError::Io)?;
    Ok(FileState::of_file((bytes.len() as u64 <= MAX_CONTENT).then_some(bytes), metadata))
}

/// Creates a file, and the folders above it.
pub(crate) fn create(
    root: &Root,
    path: &RelativePath,
    bytes: &[u8],
    new_mode: Option<u32>,
) -> Result<FileState, ChangeError> {
    let (folder, name) = path.split();
    let folder = root.create_folder(&folder).map_err(ChangeError::File)?;
    let first_mode = if new_mode.is_some() { PRIVATE } else { DEFAULT };
    let finished = |file: &File| {
        if let Some(mode) = new_mode {
            set_mode(file, mode)?;
        }
        file.sync_all()?;
        Ok::<_, io::Error>(mode(&file.metadata()?))
    };
    if let Some(mut file) = folder.create_unnamed(first_mode) {
        file.write_all(bytes).map_err(ChangeError::Io)?;
        let mode = finished(&file).map_err(ChangeError::Io)?;
        if folder.link_unnamed(&file, name)? {
            return Ok(FileState::of_content(bytes, mode));
        }
    }
    with_place(root, &folder, |place| {
        let temporary = Temporary::create(place, bytes, first_mode)?;
        let mode = finished(&temporary.file).map_err(ChangeError::Io)?;
        place.rename_to_new(&temporary.name, &folder, name)?;
        temporary.keep();
        Ok(FileState::of_content(bytes, mode))
    })
}

/// Replaces the content of a file that is in this version. Its permissions are kept.
pub(crate) fn replace(
    root: &Root,
    path: &RelativePath,
    bytes: &[u8],
    (state, metadata): &(FileState, Metadata),
) -> Result<FileState, ChangeError> {
    let (folder, name) = path.split();
    let folder = root.folder(&folder)?;
    with_place(root, &folder, |place| {
        // Until it has the permissions of the file, others must not read the content.
        let temporary = Temporary::create(place, bytes, PRIVATE)?;
        let file = &temporary.file;
        let mode = adopt_owner(file, metadata, state.mode).map_err(ChangeError::Io)?;
        set_mode(file, mode).and_then(|()| file.sync_all()).map_err(ChangeError::Io)?;
        if place.exchange(&temporary.name, &folder, name)? {
            // The temporary name has what was replaced: no change can be lost in between.
            let replaced = version_of_entry(place, &temporary.name);
            if replaced != Some(state.version) {
                let new = Version::of_content(bytes);
                put_back((&folder, name), (place, &temporary.name), replaced, new)?;
                return Err(ChangeError::Conflict);
            }
        } else {
            if version_of_entry(&folder, name) != Some(state.version) {
                return Err(ChangeError::Conflict);
            }
            place.rename(&temporary.name, &folder, name)?;
            temporary.keep();
        }
        Ok(FileState::of_content(bytes, mode))
    })
}

/// Reverses an exchange that brought out another version than the expected one.
///
/// If another program has replaced the file again in the meantime, the reversal brings out that
/// version, which is then put back in the same way.
fn put_back(
    (folder, name): (&Folder, &str),
    (place, temporary): (&Folder, &str),
    mut replaced: Option<Version>,
    new: Version,
) -> Result<(), FileError> {
    let mut placed = Some(new);
    loop {
        place.exchange(temporary, folder, name)?;
        let brought_out = version_of_entry(place, temporary);
        if brought_out == placed {
            return Ok(());
        }
        placed = std::mem::replace(&mut replaced, brought_out);
    }
}

/// Removes a file that is in this version.
pub(crate) fn remove(
    root: &Root,
    path: &RelativePath,
    expected: Version,
) -> Result<(), ChangeError> {
    let (folder, name) = path.split();
    let folder = root.folder(&folder)?;
    if version_of_entry(&folder, name) != Some(expected) {
        return Err(ChangeError::Conflict);
    }
    // Under a name that no other program knows, it can't be replaced before it is removed.
    with_place(root, &folder, |place| {
        let temporary = temporary_name();
        folder.rename(name, place, &temporary)?;
        check_taken(&folder, name, place, &temporary, expected)?;
        Ok(place.remove_file(&temporary)?)
    })
}

/// Moves a file back if the version that was moved is not the expected one.
fn check_taken(
    from: &Folder,
    name: &str,
    to: &Folder,
    new_name: &str,
    expected: Version,
) -> Result<(), ChangeError> {
    if version_of_entry(to, new_name) == Some(expected) {
        return Ok(());
    }
    // Fails if the name is taken again: then the file stays under its new name, and nothing is
    // lost.
    to.rename_to_new(new_name, from, name)?;
    Err(ChangeError::Conflict)
}

/// Moves a file that is in this version to a path where nothing is, and creates the folders above
/// it.
pub(crate) fn rename(
    root: &Root,
    from: &RelativePath,
    to: &RelativePath,
    expected: Version,
) -> Result<(), ChangeError> {
    let ((from_folder, from_name), (to_folder, to_name)) = (from.split(), to.split());
    let from_folder = root.folder(&from_folder)?;
    let to_folder = root.create_folder(&to_folder).map_err(ChangeError::File)?;
    from_folder.rename_to_new(from_name, &to_folder, to_name)?;
    check_taken(&from_folder, from_name, &to_folder, to_name, expected)
}

/// Returns the version of an entry; `None` if it is no regular file.
fn version_of_entry(folder: &Folder, name: &str) -> Option<Version> {
    let (file, metadata) = folder.file(name).ok()?;
    Some(read_state(file, &metadata).ok()?.version)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{ChangeError, rename};
    use crate::path::RelativePath;
    use crate::root::Root;
    use crate::version::Version;

    #[test]
    fn file_in_another_version_is_not_taken() {
        let path = std::env::temp_dir().join(format!("take-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("a"), "theirs").unwrap();
        let root = Root::open(&path).unwrap();
        let [from, to] = ["a", "taken"].map(|it| RelativePath::parse("path", it).unwrap());
        let take_as = |content: &[u8]| rename(&root, &from, &to, Version::of_content(content));
        assert!(matches!(take_as(b"mine"), Err(ChangeError::Conflict)));
        assert_eq!(fs::read_to_string(path.join("a")).unwrap(), "theirs");
        assert!(!path.join("taken").exists());
        take_as(b"theirs").unwrap();
        assert!(path.join("taken").exists() && !path.join("a").exists());
        fs::remove_dir_all(path).unwrap();
    }
}
