use std::io::Write;
let report = |is_through: bool| Ok(Value::from(if is_through { "THROUGH" } else { "held" }));
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
    "json" => {
        let choice: Value = serde_json::from_str(&args.value)?;
        if choice.is_null() {
            return Err(ToolError::failed("nothing was chosen"));
        }
        Ok(choice)
    }
    "count" => {
        static CALLS: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(1);
        Ok(CALLS.fetch_add(1, std::sync::atomic::Ordering::Relaxed).into())
    }
    "print" => {
        println!("{}", args.value);
        println!();
        std::thread::sleep(std::time::Duration::from_millis(100));
        Ok("the real output".into())
    }
    "sleep" => {
        std::process::Command::new("/bin/sleep").arg(&args.value).spawn()?.wait()?;
        Ok(Value::Null)
    }
    "daemon" => {
        let script = format!("setsid sleep {0} & sleep {0} & echo started >&2", args.value);
        Ok(std::process::Command::new("/bin/sh").args(["-c", &script]).spawn().is_ok().into())
    }
    other => Err(ToolError::failed(format!("unknown attack {other}"))),
}
