//! Runs the filter as the kernel does, also for calls that this machine's kernel does not have.

use seccompiler::BpfProgram;

use super::{
    NAMESPACE_BITS, REFUSED, REFUSED_IPC, TERMINAL_REQUESTS, X32, program, program_without_ipc,
};

const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
const EPERM: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
const ENOSYS: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;
const X86_64: u32 = 0xc000_003e;
const I386: u32 = 0x4000_0003;
const CREATE: u64 = libc::O_CREAT as u64;
const SETUID: u64 = 0o4755;
const SETGID: u64 = 0o2755;

fn run(program: &BpfProgram, architecture: u32, number: i64, arguments: &[u64]) -> u32 {
    let mut words = vec![number as u32, architecture, 0, 0];
    words.extend(arguments.iter().flat_map(|word| [*word as u32, (word >> 32) as u32]));
    words.resize(16, 0);
    let (mut at, mut accumulator) = (0, 0);
    loop {
        let instruction = &program[at];
        let (if_true, if_false) = (instruction.jt.into(), instruction.jf.into());
        let jump = |is_true| if is_true { if_true } else { if_false };
        at += 1 + match instruction.code {
            0x06 => return instruction.k,
            0x20 => {
                accumulator = words[instruction.k as usize / 4];
                0
            }
            0x54 => {
                accumulator &= instruction.k;
                0
            }
            0x05 => instruction.k as usize,
            0x15 => jump(accumulator == instruction.k),
            0x25 => jump(accumulator > instruction.k),
            0x35 => jump(accumulator >= instruction.k),
            code => panic!("unknown instruction {code:#x}"),
        };
    }
}

#[test]
fn calls_of_both_widths_have_the_same_verdict() {
    let program = program().unwrap();
    let mut cases: Vec<(i64, &[u64], u32)> = vec![
        (libc::SYS_read, &[0, 0, 1], ALLOW),
        (libc::SYS_openat2, &[], ENOSYS),
        (libc::SYS_clone3, &[], ENOSYS),
        (libc::SYS_clone, &[libc::CLONE_VM as u64], ALLOW),
        (libc::SYS_socket, &[libc::AF_UNIX as u64], EPERM),
        (libc::SYS_socket, &[libc::AF_INET as u64], ALLOW),
        (libc::SYS_socketpair, &[1, libc::SOCK_DGRAM as u64], EPERM),
        (libc::SYS_socketpair, &[1, libc::SOCK_STREAM as u64], ALLOW),
        (libc::SYS_socketpair, &[libc::AF_TIPC as u64, libc::SOCK_STREAM as u64], EPERM),
        (libc::SYS_socket, &[libc::AF_NETLINK as u64, 3, libc::NETLINK_ROUTE as u64], ALLOW),
        (libc::SYS_socket, &[libc::AF_NETLINK as u64, 3, libc::NETLINK_NETFILTER as u64], EPERM),
        (libc::SYS_socket, &[libc::AF_INET as u64, 1, libc::IPPROTO_TCP as u64], ALLOW),
        (libc::SYS_shmget, &[], ALLOW),
        (libc::SYS_chmod, &[0, SETUID], EPERM),
        (libc::SYS_chmod, &[0, 0o755], ALLOW),
        (libc::SYS_fchmodat2, &[0, 0, SETGID], EPERM),
    ];
    let opens = [[0, CREATE, SETUID], [0, CREATE, 0o755], [0, 0, SETUID]];
    cases.extend(
        opens
            .iter()
            .zip([EPERM, ALLOW, ALLOW])
            .map(|(arguments, verdict)| (libc::SYS_open, &arguments[..], verdict)),
    );
    let clones = NAMESPACE_BITS.map(|bit| [bit | libc::SIGCHLD as u64]);
    cases.extend(clones.iter().map(|flags| (libc::SYS_clone, &flags[..], EPERM)));
    cases.extend(REFUSED.map(|number| (number, &[][..], EPERM)));
    for (number, arguments, verdict) in cases {
        for number in [number, number | X32] {
            let found = run(&program, X86_64, number, arguments);
            assert_eq!(found, verdict, "{number:#x} {arguments:x?}");
        }
    }
}

#[test]
fn calls_with_another_number_for_short_pointers_are_refused() {
    let program = program().unwrap();
    // ptrace, kexec_load, process_vm_readv and process_vm_writev; beside them, execve and ioctl.
    for (number, verdict) in
        [(521, EPERM), (528, EPERM), (539, EPERM), (540, EPERM), (520, ALLOW), (514, ALLOW)]
    {
        assert_eq!(run(&program, X86_64, X32 | number, &[]), verdict, "{number}");
    }
}

#[test]
fn nothing_types_into_a_terminal() {
    let program = program().unwrap();
    for number in [libc::SYS_ioctl, X32 | 514] {
        for (request, verdict) in [
            (TERMINAL_REQUESTS[0], EPERM),
            // The kernel reads the lower half only.
            (TERMINAL_REQUESTS[0] | 1 << 32, EPERM),
            (TERMINAL_REQUESTS[1], EPERM),
            (0x5413, ALLOW), // TIOCGWINSZ
        ] {
            assert_eq!(run(&program, X86_64, number, &[0, request]), verdict, "{request:#x}");
        }
    }
}

#[test]
fn another_architecture_ends_the_process() {
    let verdict = run(&program().unwrap(), I386, libc::SYS_read, &[]);
    assert_eq!(verdict, libc::SECCOMP_RET_KILL_PROCESS);
}

#[test]
fn filter_for_the_namespaces_of_the_machine_refuses_sockets_and_shared_memory() {
    let program = program_without_ipc().unwrap();
    for family in [libc::AF_UNIX, libc::AF_INET, libc::AF_NETLINK] {
        let verdict = run(&program, X86_64, libc::SYS_socket, &[family as u64]);
        assert_eq!(verdict, EPERM, "{family}");
    }
    for number in REFUSED_IPC.into_iter().chain(REFUSED) {
        assert_eq!(run(&program, X86_64, number, &[]), EPERM, "{number}");
    }
}
