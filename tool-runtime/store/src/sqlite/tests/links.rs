use std::fs;
use std::os::unix::fs::symlink;

use super::folder::Folder;
use crate::sqlite::Sqlite;

#[tokio::test]
async fn link_in_the_place_of_a_file_is_refused() {
    let folder = Folder::new();
    let path = |name: &str| folder.file().with_file_name(name);
    drop(Sqlite::open(path("other.db")).await.unwrap());
    let before = fs::read(path("other.db")).unwrap();
    for target in ["other.db", "nothing.db"] {
        symlink(path(target), folder.file()).unwrap();
        let error = Sqlite::open(folder.file()).await.unwrap_err();
        let text = format!(
            "store file {} can't be opened: it is a link, which could lead to any file",
            folder.file().display()
        );
        assert_eq!(error.to_string(), text);
        fs::remove_file(folder.file()).unwrap();
    }
    assert!(fs::read(path("other.db")).unwrap() == before && !path("nothing.db").exists());
}

#[tokio::test]
async fn link_in_the_folder_of_a_file_is_followed() {
    let folder = Folder::new();
    let real = folder.file().with_file_name("real");
    fs::create_dir(&real).unwrap();
    symlink(&real, folder.file()).unwrap();
    drop(Sqlite::open(folder.file().join("sessions.db")).await.unwrap());
    assert!(real.join("sessions.db").exists());
}
