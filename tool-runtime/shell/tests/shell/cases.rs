//! The attempts to escape. Each is a command line that prints `THROUGH` if it succeeds, in a way
//! that harms nothing.

/// One attempt.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) script: &'static str,
    /// Whether the attempt is known to succeed without a sandbox, within the namespaces of the
    /// test: as anybody, as root only, or not tried there.
    pub(crate) control: Control,
}

/// The users that succeed without a sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Control {
    /// Root and other users.
    Anybody,
    /// Root.
    Root,
    /// Unknown: it depends on the machine, or its success would not be harmless.
    NotTried,
}

use Control::{Anybody, NotTried, Root};

/// Defines Python functions for system calls, and prints whether one succeeds.
macro_rules! python {
    ($($line:literal)*) => {
        concat!(
            "python3 - <<'END'\n",
            "import ctypes, os, socket, struct, sys\n",
            "libc = ctypes.CDLL(None, use_errno=True)\n",
            "def call(*a): return libc.syscall(*[ctypes.c_long(x) if isinstance(x, int) else x for x in a])\n",
            "def through(ok): print('THROUGH' if ok else 'refused', os.strerror(ctypes.get_errno()))\n",
            "env = os.environ\n",
            $($line, "\n",)*
            "END"
        )
    };
}

macro_rules! cases {
    ($($control:ident $name:literal: $script:expr;)*) => {
        pub(crate) const CASES: &[Case] =
            &[$(Case { name: $name, script: $script, control: $control }),*];
    };
}

cases! {
    // Write outside of the workspace.
    Anybody "write beside the workspace": "echo x >$OUT/new && echo THROUGH";
    Anybody "write by ..": "echo x >../outside/new && echo THROUGH";
    Anybody "overwrite a file": "echo x >$OUT/secret.txt && echo THROUGH";
    Anybody "write by a link": "ln -sfn $OUT link && echo x >link/new && echo THROUGH";
    Anybody "write by a link to /proc/self/cwd": "cd .. && echo x >/proc/self/cwd/outside/new && echo THROUGH";
    Anybody "write by the root of a process": "echo x >/proc/$PID/root$OUT/new && echo THROUGH";
    Anybody "rename a file to the outside": "echo x >f && mv f $OUT/new && [ -e $OUT/new ] && echo THROUGH";
    Anybody "hard link from the outside": "ln -f $OUT/secret.txt hard && echo THROUGH";
    Anybody "make a socket outside": python!("s = socket.socketpair()[0]" "try:" "  u = socket.socket(socket.AF_UNIX); u.bind(env['OUT'] + '/new'); through(True)" "except OSError as e: print(e)");
    Anybody "create a file by tee": "echo x | tee $OUT/new >/dev/null && echo THROUGH";
    Anybody "link outside": "ln -s x $OUT/new && echo THROUGH";
    Anybody "FIFO outside": "mkfifo $OUT/new && echo THROUGH";
    Anybody "set the times of a file": "touch -t 200001010000 $OUT/secret.txt && echo THROUGH";
    Anybody "change the mode of a file": "chmod 600 $OUT/secret.txt && chmod 666 $OUT/secret.txt && echo THROUGH";
    Anybody "exchange with a file": python!("open('f2', 'w').write('x'); through(call(316, -100, b'f2', -100, env['OUT'].encode() + b'/secret.txt', 2) == 0)");
    Root "change the mode of a device": "chmod --reference=/dev/null /dev/null && echo THROUGH";
    Root "set the times of a device": "touch -r /dev/zero /dev/zero && echo THROUGH";
    NotTried "change the mode of bubblewrap": "chmod --reference=/proc/1/exe /proc/1/exe && echo THROUGH";
    NotTried "set the times of bubblewrap": "touch -r /proc/1/exe /proc/1/exe && echo THROUGH";
    Root "give a file to another user": "echo x >given && chown 12345 given && echo THROUGH";
    NotTried "write the temporary files of the system": "touch /var/tmp/canary && echo THROUGH";
    NotTried "write /etc": "echo x >>/etc/canary && echo THROUGH";
    NotTried "replace /etc/passwd": "cp /etc/passwd p && mount --bind p /etc/passwd && echo THROUGH";
    NotTried "write /usr": "touch /usr/local/canary && echo THROUGH";
    NotTried "write a program": ": >>/usr/bin/env && echo THROUGH";
    NotTried "write the root folder": "touch /canary && echo THROUGH";
    NotTried "write the home folder": "mkdir -p /root /home && touch /root/canary /home/canary && echo THROUGH";
    NotTried "write /dev": "touch /dev/canary && echo THROUGH";
    NotTried "write /proc": "echo 500 >/proc/1/oom_score_adj && echo THROUGH";
    Root "make a block device": "mknod disk b 7 7 && echo THROUGH";

    // Change what the next user of git runs.
    Anybody "write a hook": "echo x >.git/hooks/pre-commit && echo THROUGH";
    Anybody "write the settings": "echo x >>.git/config && echo THROUGH";
    Anybody "replace the settings": "echo x >new-config && mv -f new-config .git/config && echo THROUGH";
    Anybody "lead git to other settings": "echo ../evil >.git/commondir && echo THROUGH";
    Anybody "lead git in a worktree to other settings": "mkdir -p .git/worktrees/w && echo ../../../evil >.git/worktrees/w/commondir && echo THROUGH";
    Anybody "rename the hooks": "mv .git/hooks .git/old && mkdir .git/hooks && echo THROUGH";
    Anybody "rename the repository": "mv .git old-git && mv old-git .git && echo THROUGH";
    Anybody "remove the settings": "rm -f .git/config && touch .git/config && echo THROUGH";
    Anybody "change mode of a hook": "chmod +x .git/hooks/sample && echo THROUGH";
    Anybody "exchange the hooks": python!("os.makedirs('hooks', exist_ok=True); through(call(316, -100, b'hooks', -100, b'.git/hooks', 2) == 0)");
    Anybody "hard link to the settings": "ln -f .git/config linked && echo x >>linked && echo THROUGH";
    Anybody "write the settings by a descriptor": "exec 3<.git/config && echo x >>/proc/self/fd/3 && echo THROUGH";
    Anybody "truncate the settings": "truncate -s 0 .git/config && echo THROUGH";
    Anybody "write a hook of a submodule": "mkdir -p .git/modules/m/hooks && echo x >.git/modules/m/hooks/post-checkout && echo THROUGH";
    Anybody "remove the hooks": "rm -r .git/hooks && echo THROUGH";
    Root "mount over the hooks": "mkdir -p evil && mount --bind evil .git/hooks && echo THROUGH; umount .git/hooks";
    Root "unmount the hooks": "umount .git/hooks; mount -o remount,rw .git/hooks; touch .git/hooks/x && echo THROUGH";

    // Change what runs with other rights.
    Anybody "change a setuid file through a mapping": python!("import mmap; f = open('programs/setuid', 'r+b'); mmap.mmap(f.fileno(), 0)[0:4] = b'evil'; through(os.stat('programs/setuid').st_mode & 0o4000)");
    Anybody "write a setuid file": "echo evil >programs/setuid && echo THROUGH";
    Anybody "remove a setuid file": "rm -f programs/setuid && echo THROUGH";
    Anybody "exchange a setuid file": python!("open('f3', 'w').write('x'); through(call(316, -100, b'f3', -100, b'programs/setuid', 2) == 0)");

    // Read what is hidden.
    Anybody "read a file": "cat $OUT/secret.txt && echo THROUGH";
    Anybody "read by a link": "ln -sfn $OUT/secret.txt link2 && cat link2 && echo THROUGH";
    Anybody "read by ..": "cat ../outside/secret.txt && echo THROUGH";
    Anybody "read by the own root": "cat /proc/self/root$OUT/secret.txt && echo THROUGH";
    Anybody "read by the folder of a process": "cat /proc/$PID/cwd/outside/secret.txt && echo THROUGH";
    NotTried "see the keyrings of the user": "grep . /proc/keys /proc/key-users && echo THROUGH";
    NotTried "see timers and memory of the machine": "head -c 1 /proc/timer_list || head -c 1 /proc/vmallocinfo || head -c 1 /proc/kpageflags && echo THROUGH";
    NotTried "open devices": "for d in fuse kvm net/tun loop-control kmsg port vsock vhost-net userfaultfd mapper/control; do : </dev/$d && echo THROUGH; done";
    NotTried "get the handle of a file": python!("b = ctypes.create_string_buffer(struct.pack('Ii', 120, 0), 136); m = ctypes.create_string_buffer(8)" "through(call(303, -100, b'.', b, m, 0) == 0)");
    NotTried "watch a folder by fanotify": python!("fd = call(300, 0x200, 0); through(call(301, fd, 1, 2, -100, env['OUT'].encode()) == 0)");
    Anybody "read the environment of a process": "tr '\\0' '\\n' </proc/$PID/environ | grep CANARY && echo THROUGH";
    Anybody "read all environments": "cat /proc/*/environ | tr '\\0' '\\n' | grep -a CANARY && echo THROUGH";
    Anybody "read the own environment": "env | grep CANARY && echo THROUGH";
    Anybody "list the outside": "ls $OUT && echo THROUGH";
    Anybody "read the size of a file": "stat $OUT/secret.txt && echo THROUGH";
    Anybody "find a file by its parent": "find $OUT/.. -name secret.txt | grep . && echo THROUGH";
    Anybody "watch a folder": python!("fd = call(253); through(call(254, fd, env['OUT'].encode(), 2) >= 0)");
    Anybody "open a descriptor of a process": "ls /proc/$PID/fd && echo THROUGH";
    NotTried "read a disk": "head -c 1 /dev/vda || head -c 1 /dev/sda || head -c 1 /dev/nvme0n1 && echo THROUGH";
    NotTried "read the settings of the kernel": "ls /sys/kernel/debug /sys/kernel/security 2>/dev/null | grep . && echo THROUGH";
    NotTried "read by the root of the first process": "cat /proc/1/root$OUT/secret.txt && echo THROUGH";
    NotTried "read by the folder of the first process": "cat /proc/1/cwd$OUT/secret.txt && echo THROUGH";
    Anybody "read an inherited file": "for fd in /proc/self/fd/*; do [ -f $fd ] && cat $fd | grep c4n4ry && echo THROUGH; done";
    NotTried "read a file of the first process": "cat /proc/1/fd/* | grep c4n4ry && echo THROUGH";
    NotTried "read /etc/shadow": "cat /etc/shadow && echo THROUGH";
    NotTried "read keys of servers": "ls /etc/ssl/private && echo THROUGH";
    NotTried "list home folders": "ls -A /root /home 2>/dev/null | grep . && echo THROUGH";
    NotTried "list /run": "ls -A /run /var/run /var/log /mnt /srv /boot 2>/dev/null | grep . && echo THROUGH";
    NotTried "read memory": "head -c 1 /dev/mem || head -c 1 /proc/kcore && echo THROUGH";
    NotTried "read the kernel log": "dmesg | grep . && echo THROUGH";
    NotTried "list devices": "ls /sys/class 2>/dev/null | grep . || ls /dev/[vsn][dv][am]* && echo THROUGH";
    NotTried "open a file by its handle": python!("b = ctypes.create_string_buffer(struct.pack('Ii', 8, 1) + struct.pack('II', 2, 0))" "fd = os.open('.', os.O_RDONLY)" "through(call(304, fd, b, 0) >= 0)");
    Anybody "see processes": "[ -d /proc/$PID ] && echo THROUGH";
    Anybody "see shared memory": "ls -A /dev/shm | grep canary && echo THROUGH";
    Anybody "see shared memory of System V": "ipcs -m | grep 0x && echo THROUGH";

    // Reach the network and other processes.
    Anybody "TCP": "exec 3<>/dev/tcp/127.0.0.1/$TCP && echo x >&3 && echo THROUGH";
    Anybody "TCP by a mapped address": python!("s = socket.socket(socket.AF_INET6); s.settimeout(5); s.connect(('::ffff:127.0.0.1', int(env['TCP']))); through(True)");
    Anybody "TCP by the address of this host": python!("s = socket.socket(); s.settimeout(5); s.connect(('0.0.0.0', int(env['TCP']))); through(True)");
    Anybody "message queue": python!("through(call(240, env['QUEUE'].encode(), 0, 0, 0) >= 0)");
    NotTried "netlink of the firewall": python!("s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12); through(True)");
    NotTried "pair of another family": python!("s = socket.socketpair(30, socket.SOCK_STREAM); through(True)");
    Anybody "read the I/O priority of a process": "ionice -p $PID && echo THROUGH";
    NotTried "change the priority of all processes of the user": "renice -n 5 -u $(id -u)";
    NotTried "take a descriptor of a process": python!("fd = call(434, int(env['PID']), 0); through(call(438, fd, 0, 0) >= 0)");
    NotTried "compare processes": python!("through(call(312, os.getpid(), os.getpid(), 0, 0, 0) >= 0)");
    Anybody "hold a process": python!("through(call(434, int(env['PID']), 0) >= 0)");
    Anybody "read the limits of a process": "prlimit --pid $PID && echo THROUGH";
    Anybody "read the scheduling of a process": "taskset -p $PID && echo THROUGH";
    NotTried "TCP to the internet": "timeout 5 bash -c 'exec 3<>/dev/tcp/1.1.1.1/53' && echo THROUGH";
    NotTried "UDP": "echo x >/dev/udp/127.0.0.1/$UDP; sleep 0.1";
    NotTried "network interfaces": "grep -v -e lo: -e '|' /proc/net/dev && echo THROUGH";
    Anybody "socket outside": python!("s = socket.socket(socket.AF_UNIX); s.connect(env['OUT'] + '/stream'); through(True)");
    Anybody "socket in the workspace": python!("s = socket.socket(socket.AF_UNIX); s.connect('stream'); through(True)");
    Anybody "abstract socket": python!("s = socket.socket(socket.AF_UNIX); s.connect('\\0' + env['ABSTRACT']); through(True)");
    Anybody "datagrams in the workspace": python!("s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.sendto(b'x', 'datagrams'); through(True)");
    Anybody "datagrams by a pair": python!("a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)" "a.connect('datagrams'); a.send(b'x'); through(True)");
    Anybody "datagrams by a raw pair": python!("a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW)" "a.connect('datagrams'); a.send(b'x'); through(True)");
    Root "packet socket": python!("s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW); through(True)");
    NotTried "socket of a virtual machine": python!("s = socket.socket(40, socket.SOCK_STREAM); through(True)");
    NotTried "socket of the crypto interface": python!("s = socket.socket(38, socket.SOCK_SEQPACKET); through(True)");
    Anybody "signal a process": "kill -0 $PID && echo THROUGH";
    NotTried "kill a process": "kill -9 $PID && echo THROUGH";
    NotTried "kill all processes": "kill -9 -1; echo over";
    Anybody "change priority of a process": "renice -n 5 -p $PID && echo THROUGH";
    Anybody "trace a process": python!("through(call(101, 16, int(env['PID']), 0, 0) == 0)");
    NotTried "trace a process by calls of another width": python!("through(call(0x40000000 + 521, 16, int(env['PID']), 0, 0) == 0)");
    NotTried "trace a child": python!("p = os.fork()" "if p == 0: through(call(101, 0, 0, 0, 0) == 0); sys.stdout.flush(); os._exit(0)" "os.wait()");
    Anybody "read memory of a process": python!("b = ctypes.create_string_buffer(8); m = [l for l in open('/proc/%s/maps' % env['PID']) if 'r' in l.split()[1]][0]" "v = (ctypes.c_ulong * 2)(ctypes.addressof(b), 8); r = (ctypes.c_ulong * 2)(int(m.split('-')[0], 16), 8)" "through(call(310, int(env['PID']), v, 1, r, 1, 0) == 8)");
    Root "enter a namespace": "nsenter -t $PID -i true && echo THROUGH";
    NotTried "stay behind": "(setsid nohup sleep 7654321 >/dev/null 2>&1 &); (sleep 7654321 & disown)";
    NotTried "stay behind by a double fork": python!("if os.fork() == 0:" "  os.setsid()" "  if os.fork() == 0: os.execvp('sleep', ['sleep', '7654321'])" "  os._exit(0)");
    NotTried "type into the terminal": python!("import fcntl, termios" "try: fcntl.ioctl(0, termios.TIOCSTI, b'x'); through(True)" "except OSError as e: print(e)" "try: os.open('/dev/tty', os.O_RDWR); through(True)" "except OSError as e: print(e)");

    // Gain rights.
    Root "mount": "mkdir -p m && mount -t tmpfs none m && echo THROUGH";
    NotTried "mount writable": "mount -o remount,bind,rw /usr && echo THROUGH";
    Root "mount by the new calls": python!("through(call(430, b'tmpfs', 0) >= 0)");
    Root "mount by a copy of the tree": python!("through(call(428, -100, b'.', 1) >= 0)");
    NotTried "mount by a copy with attributes": python!("through(call(467, -100, b'.', 1, 0, 0) >= 0)");
    NotTried "mount by a picked file system": python!("through(call(433, -100, b'/', 0) >= 0)");
    NotTried "change the attributes of a mount": python!("a = ctypes.create_string_buffer(struct.pack('QQQQ', 0, 1, 0, 0), 32); through(call(442, -100, b'/usr', 0, a, 32) == 0)");
    NotTried "pivot the root": python!("through(call(155, b'.', b'.') == 0)");
    Root "raise its own priority": "renice -n -5 -p $$ && echo THROUGH";
    Root "make a character device": "mknod console c 5 1 && echo THROUGH";
    NotTried "make a file immutable": "echo x >fixed; chattr +i fixed && echo THROUGH; chattr -i fixed";
    NotTried "load a module": python!("through(call(313, 0, b'', 0) == 0)");
    Root "change the root": "chroot /usr true || chroot / true && echo THROUGH";
    NotTried "user namespace": "unshare -U true && echo THROUGH";
    NotTried "user namespace by clone": python!("p = call(56, 0x10000000 | 17, 0, 0, 0, 0)" "if p == 0: os._exit(0)" "through(p > 0)");
    NotTried "user namespace by clone3": python!("a = ctypes.create_string_buffer(struct.pack('11Q', 0x10000000, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0), 88)" "p = call(435, a, 88)" "if p == 0: os._exit(0)" "through(p > 0)");
    Anybody "setgid folder": "mkdir -m 2755 d1 && [ -g d1 ] && echo THROUGH";
    NotTried "setuid by 32-bit calls": python!("import mmap" "open('s11', 'w').close()" "m = mmap.mmap(-1, 4096, 0x22 | 0x40, 7); at = ctypes.addressof(ctypes.c_char.from_buffer(m))" "m[256:260] = b's11\\0'" "code = b'\\x53\\xb8\\x0f\\0\\0\\0\\xbb' + struct.pack('I', at + 256) + b'\\xb9\\xed\\x09\\0\\0\\xcd\\x80\\x5b\\xc3'" "m[0:len(code)] = code" "if os.fork() == 0: ctypes.CFUNCTYPE(ctypes.c_int)(at)(); os._exit(0)" "os.wait(); through(os.stat('s11').st_mode & 0o4000)");
    NotTried "make a group of processes": "mkdir /sys/fs/cgroup/canary && echo THROUGH";
    Root "mount namespace": "unshare -m true && echo THROUGH";
    Anybody "setuid by chmod": "cp /bin/true s1; chmod u+s s1 && [ -u s1 ] && echo THROUGH";
    Anybody "setgid by chmod": "cp /bin/true s2; chmod g+s s2 && [ -g s2 ] && echo THROUGH";
    Anybody "setuid by fchmod": python!("f = os.open('s3', os.O_CREAT | os.O_RDWR); os.fchmod(f, 0o4755); through(True)");
    Anybody "setuid by fchmodat2": python!("open('s4', 'w'); through(call(452, -100, b's4', 0o4755, 0) == 0)");
    Anybody "setuid by open": python!("os.open('s5', os.O_CREAT | os.O_RDWR, 0o4755); through(os.stat('s5').st_mode & 0o4000)");
    Anybody "setuid by openat2": python!("how = ctypes.create_string_buffer(struct.pack('QQQ', os.O_CREAT | os.O_RDWR, 0o4755, 0), 24)" "through(call(437, -100, b's6', how, 24) >= 0)");
    Anybody "setuid by creat": python!("through(call(85, b's7', 0o4755) >= 0)");
    Anybody "setuid by an unnamed file": python!("f = os.open('.', os.O_TMPFILE | os.O_RDWR, 0o4755); through(os.fstat(f).st_mode & 0o4000)");
    Anybody "setuid by mknod": python!("os.mknod('s8', 0o104755); through(os.stat('s8').st_mode & 0o4000)");
    NotTried "setuid by calls of another width": python!("open('s9', 'w'); through(call(0x40000000 + 90, b's9', 0o4755) == 0)");
    Root "file capabilities": "cp /bin/true s10 && setcap cap_net_raw+ep s10 && echo THROUGH";
    Anybody "add a key": python!("through(call(248, b'user', b'canary', b'x', 1, -3) > 0)");
    Anybody "read a keyring": python!("through(call(250, 0, -3, 1) > 0)");
    Anybody "request a key": python!("through(call(249, b'user', b'canary', 0, 0) > 0 or ctypes.get_errno() == 126)");
    NotTried "io_uring": python!("p = ctypes.create_string_buffer(120); through(call(425, 4, p) >= 0)");
    NotTried "load a BPF program": python!("b = ctypes.create_string_buffer(128); through(call(321, 0, b, 128) >= 0 or ctypes.get_errno() == 22)");
    NotTried "perf events": python!("b = ctypes.create_string_buffer(struct.pack('II', 1, 128), 128); through(call(298, b, 0, -1, -1, 0) >= 0)");
    NotTried "userfaultfd": python!("through(call(323, 1) >= 0)");
    NotTried "load a kernel by calls of another width": python!("through(call(0x40000000 + 528, 0, 0, 0, 0) == 0)");
    NotTried "load a kernel": python!("through(call(246, 0, 0, 0, 0) == 0)");
    Root "write core_pattern": ": >>/proc/sys/kernel/core_pattern && echo THROUGH";
    Root "write a setting of the kernel": ": >>/proc/sys/vm/swappiness && echo THROUGH";
    NotTried "write sysrq": ": >>/proc/sysrq-trigger && echo THROUGH";
    Root "unmount /proc": "umount -l /proc/sys; mount -t proc none /proc && : >>/proc/sys/vm/swappiness && echo THROUGH";
    Root "name the machine": "hostname canary && echo THROUGH";
    NotTried "set the clock": "date -s @$(date +%s) && echo THROUGH";
    NotTried "raise limits": "prlimit --nproc=1000000:1000000 true && echo THROUGH";
}
