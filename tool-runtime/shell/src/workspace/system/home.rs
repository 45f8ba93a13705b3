//! The home folder of the user, in which shells, SSH and services find their settings.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// Returns the home folder of the environment, and that of the list of users: a login shell and
/// SSH use the latter.
pub(super) fn folders() -> Vec<PathBuf> {
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let listed = of_user(&users, rustix::process::getuid().as_raw());
    // Without `HOME`, the standard library asks the system, which knows more than the local list.
    let folders = env::home_dir().into_iter().chain(listed);
    folders.filter(|folder| folder.is_absolute() && folder != Path::new("/")).collect()
}

/// Returns the home folder of a user in a list in the format of `/etc/passwd`.
fn of_user(users: &str, id: u32) -> Option<PathBuf> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':').skip(2);
        let is_user = fields.next()?.parse() == Ok(id);
        fields.nth(2).filter(|_| is_user).map(PathBuf::from)
    })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{folders, of_user};

    #[test]
    fn home_folder_is_found_by_the_number_of_the_user() {
        let users = "root:x:0:0:root:/root:/bin/sh\nbroken\nada:x:1000:5::/home/ada:/bin/sh\n";
        assert_eq!(of_user(users, 1000), Some(PathBuf::from("/home/ada")));
        assert_eq!(of_user(users, 0), Some(PathBuf::from("/root")));
        assert_eq!(of_user(users, 5), None);
    }

    #[test]
    fn home_folder_of_the_environment_is_refused() {
        for folder in folders() {
            assert!(crate::workspace::refusal(&folder, true).is_some(), "{folder:?}");
        }
        let home = std::env::var_os("HOME").map(PathBuf::from);
        assert!(home.is_none_or(|home| folders().contains(&home)));
    }
}
