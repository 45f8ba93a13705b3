# Runs in the sandbox before the command: entry OUTPUT CHECK... -- COMMAND...
# What it prints to the standard error is an error of the sandbox. The standard error of the command
# goes to its standard output if OUTPUT is merged.
fail() {
    echo "sandbox: $1" >&2
    exit 125
}
output=$1
shift
# The program may have put a folder of the workspace on PATH.
trusted=/usr/bin:/bin:/usr/local/bin
# A check is a path, its device and inode, and its entry in the table of mounts.
mounts=$(PATH=$trusted cat /proc/self/mountinfo) || fail "the mounts can't be read"
while [ "$1" != -- ]; do
    [ "$(PATH=$trusted stat -c %d:%i -- "$1" 2>/dev/null)" = "$2" ] || fail "$1 was replaced"
    case $mounts in
        *" $3,"* | *" $3 "*) ;;
        *) fail "$1 was moved" ;;
    esac
    shift 3
done
shift
# Files that the program has opened without close-on-exec. Other shells read one digit only.
for fd in /proc/self/fd/*; do
    fd=${fd##*/}
    if [ "$fd" -gt 2 ] && { [ "$fd" -lt 10 ] || [ -n "$BASH_VERSION" ]; }; then
        eval "exec $fd>&-"
    fi
done
if [ "$output" = merged ]; then
    # What follows on the standard error is no error of the sandbox: the command can open that of the
    # first process.
    echo "sandbox: started" >&2
    exec 2>&1
fi
exec "$@"
