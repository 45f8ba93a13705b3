//! The owner and the permission bits of files.

use std::fs::{File, Metadata};
use std::io;

/// Returns the permission bits of a file.
#[cfg(unix)]
pub(crate) fn mode(metadata: &Metadata) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;

    metadata.permissions().mode() & 0o777
}

/// Returns the permission bits that git gives files on systems without any.
#[cfg(not(unix))]
pub(crate) fn mode(_: &Metadata) -> u32 {
    0o644
}

#[cfg(unix)]
pub(super) fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;

    file.set_permissions(std::fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
pub(super) fn set_mode(_: &File, _: u32) -> io::Result<()> {
    Ok(())
}

/// Gives a new file the owner and the group of the one that it replaces, as far as the program may,
/// and returns its permissions.
///
/// Only root may change the owner of a file, so a file that another user writes belongs to that
/// user. If the group can't be kept either, the new group gets no more rights than everyone has.
#[cfg(unix)]
pub(super) fn adopt_owner(file: &File, replaced: &Metadata, mode: u32) -> io::Result<u32> {
    use std::os::unix::fs::{MetadataExt as _, fchown};

    let new = file.metadata()?;
    let (owner, group) = (replaced.uid(), replaced.gid());
    if (new.uid(), new.gid()) == (owner, group) {
        return Ok(mode);
    }
    let has_group = fchown(file, Some(owner), Some(group)).is_ok()
        || new.gid() == group
        || fchown(file, None, Some(group)).is_ok();
    let rights_of_others = (mode & 0o007) << 3;
    Ok(if has_group { mode } else { mode & (!0o070 | rights_of_others) })
}

/// Returns the permissions: the new file inherits the access rules of its folder.
#[cfg(not(unix))]
pub(super) fn adopt_owner(_: &File, _: &Metadata, mode: u32) -> io::Result<u32> {
    Ok(mode)
}
