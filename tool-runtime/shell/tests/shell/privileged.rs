//! Files of the workspace that run with other rights.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use tool_runtime::shell::{Sandbox, Shell};

use super::fixture::Fixture;

/// Changes a file through a mapping in memory, by which the kernel does not take its rights away.
const MAP: &str = "python3 -c 'import mmap, sys; f = open(sys.argv[1], \"r+b\"); \
    mmap.mmap(f.fileno(), 0)[0:4] = b\"evil\"'";

fn create(folder: &Path, name: &str, mode: u32) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "good program").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
}

#[tokio::test]
async fn files_with_other_rights_can_not_be_written() {
    let fixture = Fixture::with(Sandbox::workspace_write(), |folder| {
        create(folder, "setuid", 0o4755);
        create(folder, "deep/folder/setgid", 0o2755);
        create(folder, "with space\nand more", 0o6777);
        create(folder, ".git/hooks/setuid", 0o4755);
        create(folder, "plain", 0o755);
    });
    // One that another program creates later.
    create(&fixture.path(""), "later", 0o4700);
    let names =
        ["setuid", "deep/folder/setgid", "with space\nand more", ".git/hooks/setuid", "later"];
    for name in names {
        let path = fixture.path(name);
        let mode = path.metadata().unwrap().permissions().mode();
        for attempt in [
            MAP,
            "f() { echo evil >\"$1\"; }; f",
            "f() { dd if=/dev/zero of=\"$1\" bs=1 count=1 conv=notrunc; }; f",
            "truncate -s 1",
            "f() { ln \"$1\" linked && echo evil >linked; }; f",
            "f() { mv \"$1\" moved && echo evil >moved; }; f",
            "rm -f",
            "chmod 777",
            "touch -t 200001010000",
        ] {
            let (code, output) = fixture.run(&format!("{attempt} '{name}'")).await;
            assert_ne!(code, 0, "{attempt} {name}: {output}");
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "good program", "{name}");
        assert_eq!(path.metadata().unwrap().permissions().mode(), mode, "{name}");
    }
    let (code, output) = fixture.run(&format!("{MAP} plain && cat plain && ./deep/../plain")).await;
    assert!(output.starts_with("evil program"), "{code} {output}");
    // Background processes and other folders are no exception.
    let shell = Shell::new(fixture.path("deep"), Sandbox::read_only().writable(fixture.path("")));
    assert!(shell.check().is_ok());
}

#[test]
fn too_many_files_with_other_rights_make_the_sandbox_unavailable() {
    let fixture = Fixture::new(Sandbox::workspace_write());
    for number in 0..257 {
        create(&fixture.path(""), &format!("setuid {number}"), 0o4755);
    }
    let error = Shell::new(fixture.path(""), Sandbox::workspace_write()).check().unwrap_err();
    assert!(error.reason.contains("has 257 files with setuid bits"), "{error}");
    assert!(Shell::new(fixture.path(""), Sandbox::read_only()).check().is_ok());
}
