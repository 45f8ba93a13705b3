//! Changes of single files: atomic, and never of another version than the expected one.

mod temporary;

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;

use rustix::fs::{
    AtFlags, Gid, Mode, OFlags, RenameFlags, Stat, Uid, fchmod, fchown, fstat, openat,
    renameat_with, unlinkat,
};
use rustix::io::Errno;

use crate::path::RelativePath;
use crate::root::{FileError, Root, check_regular};
use crate::state::FileState;
use crate::version::{MAX_CONTENT, Version};

pub(crate) use temporary::remove_abandoned;
use temporary::{Temporary, create_unnamed, give_name, temporary_name, with_place};

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

impl From<Errno> for ChangeError {
    fn from(error: Errno) -> Self {
        match error {
            Errno::EXIST | Errno::NOENT => Self::Conflict,
            error => Self::File(error.into()),
        }
    }
}

/// Reads a file; `None` if there is none.
pub(crate) fn load(
    root: &Root,
    path: &RelativePath,
) -> Result<Option<(FileState, Stat)>, ChangeError> {
    match root.file(path) {
        Ok((file, stat)) => Ok(Some((read_state(file, &stat)?, stat))),
        Err(FileError::System(Errno::NOENT)) => Ok(None),
        Err(error) => Err(ChangeError::File(error)),
    }
}

fn read_state(file: File, stat: &Stat) -> Result<FileState, ChangeError> {
    let mut bytes = Vec::new();
    file.take(MAX_CONTENT + 1).read_to_end(&mut bytes).map_err(ChangeError::Io)?;
    Ok(FileState::of_file((bytes.len() as u64 <= MAX_CONTENT).then_some(bytes), stat))
}

/// Creates a file, and the folders above it.
pub(crate) fn create(
    root: &Root,
    path: &RelativePath,
    bytes: &[u8],
    mode: Option<u32>,
) -> Result<FileState, ChangeError> {
    let (folder, name) = path.split();
    let folder = match root.create_folder(&folder) {
        Err(error) => return Err(ChangeError::File(error.into())),
        Ok(folder) => folder,
    };
    let first_mode = if mode.is_some() { PRIVATE } else { DEFAULT };
    let finished = |file: &File| {
        if let Some(mode) = mode {
            fchmod(file, Mode::from_raw_mode(mode))?;
        }
        file.sync_all().map_err(ChangeError::Io)?;
        Ok::<_, ChangeError>(fstat(file)?.st_mode & 0o777)
    };
    if let Some(file) = create_unnamed(&folder, bytes, first_mode)? {
        let mode = finished(&file)?;
        if give_name(&file, &folder, name)? {
            return Ok(FileState::of_content(bytes, mode));
        }
    }
    with_place(root, &folder, |place| {
        let temporary = Temporary::create(place, bytes, first_mode)?;
        let mode = finished(&temporary.file)?;
        rename_to_new(place, &temporary.name, &folder, name)?;
        temporary.keep();
        Ok(FileState::of_content(bytes, mode))
    })
}

/// Replaces the content of a file that is in this version. Its permissions are kept.
pub(crate) fn replace(
    root: &Root,
    path: &RelativePath,
    bytes: &[u8],
    (state, stat): &(FileState, Stat),
) -> Result<FileState, ChangeError> {
    let (folder, name) = path.split();
    let folder = root.folder(&folder)?;
    with_place(root, &folder, |place| {
        // Until it has the permissions of the file, others must not read the content.
        let temporary = Temporary::create(place, bytes, PRIVATE)?;
        let mode = adopt_owner(&temporary.file, stat, state.mode)?;
        fchmod(&temporary.file, Mode::from_raw_mode(mode))?;
        temporary.file.sync_all().map_err(ChangeError::Io)?;
        match renameat_with(place, &temporary.name, &folder, name, RenameFlags::EXCHANGE) {
            Ok(()) => {
                // The temporary name has what was replaced: no change can be lost in between.
                let replaced = version_of_entry(place, &temporary.name);
                if replaced != Some(state.version) {
                    let new = Version::of_content(bytes);
                    put_back((&folder, name), (place, &temporary.name), replaced, new)?;
                    return Err(ChangeError::Conflict);
                }
            }
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                if version_of_entry(&folder, name) != Some(state.version) {
                    return Err(ChangeError::Conflict);
                }
                rustix::fs::renameat(place, &temporary.name, &folder, name)?;
                temporary.keep();
            }
            Err(error) => return Err(error.into()),
        }
        Ok(FileState::of_content(bytes, mode))
    })
}

/// Gives a new file the owner and the group of the one that it replaces, as far as the program may,
/// and returns its permissions.
///
/// Only root may give files away: for others, the file becomes theirs. If even the group can't be
/// kept, the new one gets no more rights than everyone has.
fn adopt_owner(file: &File, stat: &Stat, mode: u32) -> Result<u32, Errno> {
    let new = fstat(file)?;
    if (new.st_uid, new.st_gid) == (stat.st_uid, stat.st_gid) {
        return Ok(mode);
    }
    let (owner, group) = (Uid::from_raw(stat.st_uid), Gid::from_raw(stat.st_gid));
    let has_group = fchown(file, Some(owner), Some(group)).is_ok()
        || new.st_gid == stat.st_gid
        || fchown(file, None, Some(group)).is_ok();
    let rights_of_others = (mode & 0o007) << 3;
    Ok(if has_group { mode } else { mode & (!0o070 | rights_of_others) })
}

/// Reverses an exchange that brought out another version than the expected one.
///
/// If another program has replaced the file again in the meantime, the reversal brings out that
/// version, which is then put back in the same way.
fn put_back(
    (folder, name): (&OwnedFd, &str),
    (place, temporary): (&OwnedFd, &str),
    mut replaced: Option<Version>,
    new: Version,
) -> Result<(), Errno> {
    let mut placed = Some(new);
    loop {
        renameat_with(place, temporary, folder, name, RenameFlags::EXCHANGE)?;
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
        take(&folder, name, place, &temporary, expected)?;
        Ok(unlinkat(place, &temporary, AtFlags::empty())?)
    })
}

/// Moves a file that is in this version to a name where nothing is. In another version, it is moved
/// back.
fn take(
    from: &OwnedFd,
    name: &str,
    to: &OwnedFd,
    new_name: &str,
    expected: Version,
) -> Result<(), ChangeError> {
    rename_to_new(from, name, to, new_name)?;
    if version_of_entry(to, new_name) == Some(expected) {
        return Ok(());
    }
    // Fails if the name is taken again: then the file stays under its new name, and nothing is
    // lost.
    rename_to_new(to, new_name, from, name)?;
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
    let to_folder = match root.create_folder(&to_folder) {
        Err(error) => return Err(ChangeError::File(error.into())),
        Ok(folder) => folder,
    };
    take(&from_folder, from_name, &to_folder, to_name, expected)
}

fn rename_to_new(from: &OwnedFd, name: &str, to: &OwnedFd, new_name: &str) -> Result<(), Errno> {
    match renameat_with(from, name, to, new_name, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            match rustix::fs::statat(to, new_name, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => rustix::fs::renameat(from, name, to, new_name),
                Ok(_) => Err(Errno::EXIST),
                Err(error) => Err(error),
            }
        }
        result => result,
    }
}

/// Returns the version of an entry; `None` if it is no regular file.
fn version_of_entry(folder: &OwnedFd, name: &str) -> Option<Version> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(folder, name, flags, Mode::empty()).ok()?;
    let stat = fstat(&file).ok()?;
    check_regular(&stat).ok()?;
    Some(read_state(File::from(file), &stat).ok()?.version)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rustix::fs::{Mode, OFlags, open};

    use super::{ChangeError, take};
    use crate::version::Version;

    #[test]
    fn file_in_another_version_is_not_taken() {
        let path = std::env::temp_dir().join(format!("take-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("a"), "theirs").unwrap();
        let folder = open(&path, OFlags::PATH | OFlags::DIRECTORY, Mode::empty()).unwrap();
        let take_as =
            |content: &[u8]| take(&folder, "a", &folder, "taken", Version::of_content(content));
        assert!(matches!(take_as(b"mine"), Err(ChangeError::Conflict)));
        assert_eq!(fs::read_to_string(path.join("a")).unwrap(), "theirs");
        assert!(!path.join("taken").exists());
        take_as(b"theirs").unwrap();
        assert!(path.join("taken").exists() && !path.join("a").exists());
        fs::remove_dir_all(path).unwrap();
    }
}
