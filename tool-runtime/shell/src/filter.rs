//! The system calls that a sandboxed command may not use.
//!
//! The filter allows what it does not name. It refuses what leads out of the namespaces, reaches
//! parts of the kernel that programs don't need, or leaves something behind that has effects
//! outside: sockets to other processes, files that are setuid.

use std::collections::BTreeMap;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch, sock_filter,
};

/// The address families of sockets that may be created. Those of the internet reach the network
/// of the sandbox, which is empty; that of netlink is used to look up names, with the protocol 0
/// (`NETLINK_ROUTE`).
const FAMILIES: [u64; 3] = [libc::AF_INET as u64, libc::AF_INET6 as u64, libc::AF_NETLINK as u64];

/// `open_tree_attr` of Linux 6.15. The number is the same on all architectures.
const SYS_OPEN_TREE_ATTR: i64 = 467;

/// Requests that type into a terminal: `TIOCSTI` and `TIOCLINUX`.
const TERMINAL_REQUESTS: [u64; 2] = [0x5412, 0x541c];

/// Bit of the numbers by which x86-64 calls are made for 32-bit pointers. The kernel may accept it.
#[cfg(target_arch = "x86_64")]
const X32: i64 = 0x4000_0000;

/// The numbers that calls of [`REFUSED`] have for 32-bit pointers alone: `ptrace`, `kexec_load`,
/// `process_vm_readv` and `process_vm_writev`.
#[cfg(target_arch = "x86_64")]
const REFUSED_X32: [i64; 4] = [521, 528, 539, 540];

/// The number of `ioctl` for 32-bit pointers.
#[cfg(target_arch = "x86_64")]
const IOCTL_X32: i64 = 514;

/// Refused with all arguments.
const REFUSED: [i64; 42] = [
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    SYS_OPEN_TREE_ATTR,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_syslog,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
];

/// Refused in the IPC namespace of the machine, where these calls share memory and messages with
/// the other processes of the user.
const REFUSED_IPC: [i64; 13] = [
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];

/// Bits of the mode of a file that let it run with the rights of its owner or group.
const SET_ID_BITS: [u64; 2] = [0o4000, 0o2000];

/// The flags with which a call creates a process in namespaces of its own.
const NAMESPACE_BITS: [u64; 7] = [
    libc::CLONE_NEWUSER as u64,
    libc::CLONE_NEWNS as u64,
    libc::CLONE_NEWPID as u64,
    libc::CLONE_NEWNET as u64,
    libc::CLONE_NEWIPC as u64,
    libc::CLONE_NEWUTS as u64,
    libc::CLONE_NEWCGROUP as u64,
];

/// The bits of flags with which a call creates a file: `O_CREAT`, and that of `O_TMPFILE`.
const CREATE_BITS: [u64; 2] = [libc::O_CREAT as u64, 0o20_000_000];

/// Returns the filter as the bytes that the kernel loads.
pub(crate) fn bytes() -> Result<Vec<u8>, String> {
    let program = program().map_err(|error| format!("the filter can't be built: {error}"))?;
    let instructions = program.iter().flat_map(|instruction| {
        let [code_low, code_high] = instruction.code.to_ne_bytes();
        let [a, b, c, d] = instruction.k.to_ne_bytes();
        [code_low, code_high, instruction.jt, instruction.jf, a, b, c, d]
    });
    Ok(instructions.collect())
}

/// Returns the filter for a sandbox with a separate network.
fn program() -> Result<BpfProgram, BackendError> {
    let netlink = libc::AF_NETLINK as u64;
    let other_protocol = SeccompRule::new(vec![
        condition(0, SeccompCmpOp::Eq, netlink)?,
        condition(2, SeccompCmpOp::Ne, 0)?,
    ])?;
    program_with(vec![other_family()?, other_protocol], &[])
}

/// Returns the filter for a sandbox in the network and the IPC namespace of the machine, which
/// refuses all sockets, System V IPC and message queues.
pub(crate) fn program_without_ipc() -> Result<BpfProgram, BackendError> {
    program_with(Vec::new(), &REFUSED_IPC)
}

/// Returns the filter with the rules by which sockets are refused; without rules, all are. The
/// further calls are refused with all arguments.
fn program_with(socket: Vec<SeccompRule>, further: &[i64]) -> Result<BpfProgram, BackendError> {
    let mut rules = BTreeMap::new();
    for &number in REFUSED.iter().chain(further) {
        rules.insert(number, Vec::new());
    }
    rules.insert(libc::SYS_socket, socket);
    // A datagram socket of a pair can be connected to the socket of another process.
    let pair = |kind: i32| rule(&[(1, 0xf, kind as u64)]);
    let other_pair = SeccompRule::new(vec![condition(0, SeccompCmpOp::Ne, libc::AF_UNIX as u64)?])?;
    let pairs = vec![pair(libc::SOCK_DGRAM)?, pair(libc::SOCK_RAW)?, other_pair];
    rules.insert(libc::SYS_socketpair, pairs);
    let requests = TERMINAL_REQUESTS.map(|request| rule(&[(1, u64::from(u32::MAX), request)]));
    let requests = requests.into_iter().collect::<Result<Vec<_>, _>>()?;
    rules.insert(libc::SYS_ioctl, requests.clone());
    let namespaces = NAMESPACE_BITS.map(|bit| rule(&[(0, bit, bit)]));
    rules.insert(libc::SYS_clone, namespaces.into_iter().collect::<Result<_, _>>()?);
    // The argument that is the mode.
    let mut modes = vec![
        (libc::SYS_fchmod, 1),
        (libc::SYS_fchmodat, 2),
        (libc::SYS_fchmodat2, 2),
        (libc::SYS_mkdirat, 2),
        (libc::SYS_mknodat, 2),
    ];
    let mut opens = vec![(libc::SYS_openat, 2)];
    #[cfg(target_arch = "x86_64")]
    {
        modes.extend([(libc::SYS_chmod, 1), (libc::SYS_creat, 1), (libc::SYS_mkdir, 1)]);
        modes.push((libc::SYS_mknod, 1));
        opens.push((libc::SYS_open, 1));
    }
    for (number, mode) in modes {
        let set_id = SET_ID_BITS.map(|bit| rule(&[(mode, bit, bit)]));
        rules.insert(number, set_id.into_iter().collect::<Result<_, _>>()?);
    }
    for (number, flags) in opens {
        // Without these flags, the mode is not an argument and may be anything.
        let set_id = CREATE_BITS.into_iter().flat_map(|create| {
            SET_ID_BITS.map(|bit| rule(&[(flags, create, create), (flags + 1, bit, bit)]))
        });
        rules.insert(number, set_id.collect::<Result<_, _>>()?);
    }
    #[cfg(target_arch = "x86_64")]
    {
        let twice: Vec<_> =
            rules.iter().map(|(number, chain)| (number | X32, chain.clone())).collect();
        rules.extend(twice);
        rules.extend(REFUSED_X32.map(|number| (number | X32, Vec::new())));
        rules.insert(IOCTL_X32 | X32, requests);
    }
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let refuse = SeccompAction::Errno(libc::EPERM as u32);
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch)?;
    let mut program: BpfProgram = filter.try_into()?;
    program.splice(..0, without_hidden_arguments());
    Ok(program)
}

/// Returns instructions that answer `openat2` and `clone3` as an old kernel does, so that programs
/// fall back to `openat` and `clone`. Their mode and flags are behind a pointer, where the filter
/// can't read them.
///
/// The numbers are the same on all architectures, so the one of the call need not be known here.
fn without_hidden_arguments() -> Vec<sock_filter> {
    let instruction = |code: u32, jt, jf, k| sock_filter { code: code as u16, jt, jf, k };
    let numbers = [libc::SYS_openat2 as u32, libc::SYS_clone3 as u32];
    #[cfg(target_arch = "x86_64")]
    let numbers = numbers.into_iter().flat_map(|number| [number, number | X32 as u32]);
    let mut instructions = vec![instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0)];
    for number in numbers {
        let refusal = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;
        instructions.push(instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, number));
        instructions.push(instruction(libc::BPF_RET | libc::BPF_K, 0, 0, refusal));
    }
    instructions
}

/// Returns a rule that holds if all masked arguments have these values: argument, mask, value.
fn rule(conditions: &[(u8, u64, u64)]) -> Result<SeccompRule, BackendError> {
    let conditions = conditions.iter().map(|&(argument, mask, value)| {
        let operator = SeccompCmpOp::MaskedEq(mask);
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
    });
    SeccompRule::new(conditions.collect::<Result<_, _>>()?)
}

/// Returns a rule that holds for a socket of any other than the allowed families.
fn other_family() -> Result<SeccompRule, BackendError> {
    let conditions = FAMILIES.map(|family| condition(0, SeccompCmpOp::Ne, family));
    SeccompRule::new(conditions.into_iter().collect::<Result<_, _>>()?)
}

fn condition(
    argument: u8,
    operator: SeccompCmpOp,
    value: u64,
) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn filter_fits_into_the_kernel() {
        let bytes = bytes().unwrap();
        assert_eq!(bytes.len() % 8, 0);
        assert!(bytes.len() > 8 * 100 && bytes.len() <= 8 * 4096, "{}", bytes.len());
    }
}

#[cfg(test)]
#[cfg(target_arch = "x86_64")]
mod verdicts;
