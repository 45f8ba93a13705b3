use std::io::Write;
let report = |is_through: bool| Ok(if is_through { "THROUGH" } else { "held" }.to_owned());
let reads = |path: &str| std::fs::read(path).is_ok() || std::fs::read_dir(path).is_ok();
match args.attack.as_str() {
    "read" => report(reads(&args.value)),
    "read_home" => report(reads("/root") || reads("/home")),
    "read_shadow" => report(reads("/etc/shadow") || reads("/etc/passwd")),
    "read_sources" => {
        let path = option_env!("CARGO_MANIFEST_DIR").unwrap_or("/x");
        report(reads(path) || reads(&format!("{path}/../..")))
    }
    "environment" => {
        let names: Vec<_> = std::env::vars().map(|(name, _)| name).collect();
        let known = ["PATH", "HOME", "LANG", "TERM", "PWD", "SHLVL", "_", "OLDPWD"];
        report(!names.iter().all(|name| known.contains(&name.as_str())))
    }
    "write_program" => {
        let program = std::env::current_exe().unwrap_or_default();
        report(std::fs::write(&program, "x").is_ok() || std::fs::remove_file(&program).is_ok())
    }
    "write_outside" => {
        let paths = ["/etc/x", "/usr/x", "/var/x", "/proc/sys/kernel/core_pattern", "canary-new"];
        report(paths.iter().any(|path| std::fs::write(path, "x").is_ok()))
    }
    "target" => {
        let program = std::env::current_exe().unwrap_or_default();
        let folder = program.ancestors().nth(3).map(|path| path.join("target"));
        report(folder.is_some_and(|path| path.exists()))
    }
    "unix_socket" => report(std::os::unix::net::UnixDatagram::unbound().is_ok()),
    "processes" => {
        let id = std::process::id();
        let others = std::fs::read_dir("/proc").into_iter().flatten().flatten().filter(|entry| {
            let name = entry.file_name().to_string_lossy().parse::<u32>();
            name.is_ok_and(|other| other > 2 && other != id)
        });
        report(others.count() > 2)
    }
    "connect" => report(std::net::TcpStream::connect(&args.value).is_ok()),
    "exit" => std::process::exit(0),
    "abort" => std::process::abort(),
    "memory" => {
        let mut parts = Vec::new();
        for _ in 0..64 {
            parts.push(vec![1_u8; 64 << 20]);
        }
        report(parts.len() == 64)
    }
    "file" => {
        let mut file = std::fs::File::create("/tmp/large").map_err(ToolError::from)?;
        for _ in 0..100 {
            file.write_all(&vec![0; 1 << 20])?;
        }
        report(true)
    }
    "panic" => panic!("on purpose"),
    other => Err(ToolError::failed(format!("unknown attack {other}"))),
}
