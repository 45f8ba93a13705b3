//! The files of the system that a sandboxed command may read.

/// Folders that are links to folders below `/usr` on most systems.
pub(crate) const USR_LINKS: [&str; 6] = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];

/// Readable by every user, and without keys: `/etc/ssl/private` is not part of it.
pub(crate) const FILES: [&str; 17] = [
    "/etc/passwd",
    "/etc/group",
    "/etc/nsswitch.conf",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/alternatives",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/ca-certificates",
    "/etc/pki/ca-trust",
    "/etc/pki/tls/certs",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/terminfo",
    "/etc/os-release",
    "/nix/store",
];
