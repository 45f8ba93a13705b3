//! The weaker level by Landlock, which a program chooses.

use std::fs;
use std::os::fd::AsRawFd as _;

use serde_json::json;
use tool_runtime::shell::Sandbox;

use super::fixture::Fixture;

#[tokio::test]
async fn landlock_confines_files_network_and_signals() {
    let fixture = Fixture::new(Sandbox::workspace_write().landlock());
    let outside = fixture.folder.join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret.txt"), "c4n4ry").unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let out = outside.display();
    for (command, is_allowed) in [
        ("echo x >file && cat file".to_owned(), true),
        ("echo x >$TMPDIR/file && cat $TMPDIR/file".to_owned(), true),
        ("ls /usr >/dev/null && python3 -c 'print(1)'".to_owned(), true),
        (format!("cat '{out}/secret.txt'"), false),
        (format!("echo x >'{out}/new'"), false),
        (format!("ln -s '{out}' link && cat link/secret.txt"), false),
        (format!("ln '{out}/secret.txt' hard"), false),
        ("cat /etc/shadow".to_owned(), false),
        (format!("exec 3<>/dev/tcp/127.0.0.1/{port}"), false),
        ("python3 -c 'import socket; socket.socket(socket.AF_UNIX)'".to_owned(), false),
        (format!("kill -0 {}", std::process::id()), false),
        (format!("cat /proc/{}/environ", std::process::id()), false),
        ("cp /bin/true s; chmod u+s s && [ -u s ]".to_owned(), false),
    ] {
        let (code, output) = fixture.run(&command).await;
        assert_eq!(code == 0, is_allowed, "{command}: {output}");
        assert!(!output.contains("c4n4ry"), "{command}: {output}");
    }
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
}

#[tokio::test]
async fn weaker_level_is_named_everywhere() {
    let fixture = Fixture::new(Sandbox::read_only().landlock());
    let status = fixture.shell.check().unwrap();
    assert!(
        status.to_string().starts_with("read-only, enforced by landlock ABI 6; not enforced: ")
    );
    let preview = fixture.shell.preview_of("shell_exec", &json!({ "command": "ls" })).unwrap();
    assert!(preview.contains("landlock ABI 6; not enforced: descendants may outlive"), "{preview}");
    let (code, _) = fixture.run("touch new").await;
    assert!(code != 0 && !fixture.path("new").exists());
}

#[tokio::test]
async fn files_that_the_program_has_open_are_closed() {
    let fixture = Fixture::new(Sandbox::read_only().landlock());
    let path = fixture.folder.join("secret.txt");
    fs::write(&path, "c4n4ry").unwrap();
    // Enough that some have two digits.
    let files: Vec<_> = (0..20).map(|_| fs::File::open(&path).unwrap()).collect();
    for file in &files {
        rustix::io::fcntl_setfd(file, rustix::io::FdFlags::empty()).unwrap();
        let command = format!("cat <&{}", file.as_raw_fd());
        let (code, output) = fixture.run(&command).await;
        assert!(code != 0 && !output.contains("c4n4ry"), "{command}: {output}");
    }
}
