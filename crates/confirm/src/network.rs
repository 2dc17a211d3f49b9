//! Whether a program can have anything to do with a network.
//!
//! A network of its own for every run keeps runs that listen on one port apart, but making one and throwing it away is work
//! for the kernel: where several short runs go on at once, up to a third of their time. A program gets none that in an ordinary run started no other
//! process and whose files call nothing that opens a socket or starts a process unseen. (One that asks the kernel for a
//! socket by hand shares the network with the other runs.)

use crate::records::Records;
use object::{Object, ObjectSymbol};
use std::path::Path;

/// What a program calls that comes to have a socket, or to start another program, in the C library.
const DOORS: [&str; 13] = [
    "socket",
    "getaddrinfo",
    "gethostbyname",
    "gethostbyname_r",
    "gethostbyname2",
    "gethostbyaddr",
    "gethostbyaddr_r",
    "getnameinfo",
    "res_query",
    "res_search",
    "system",
    "popen",
    "clone",
];
/// Libraries that offer doors and go through none themselves.
const BASE: [&str; 9] = [
    "libc.so",
    "ld-linux",
    "libm.so",
    "libpthread.so",
    "librt.so",
    "libdl.so",
    "libgcc_s.so",
    "libstdc++.so",
    "libresolv.so",
];

/// Whether the program with these records may use a network.
pub(crate) fn is_wanted(program: &Path, records: &Records) -> bool {
    let others = records.ended.as_ref().is_none_or(|ended| ended.others);
    let loaded = records.modules.iter().map(|m| &m.path);
    let loaded = loaded.chain(records.libraries(0).map(|(path, _)| path));
    let own = |path: &&Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        !BASE.iter().any(|base| name.starts_with(base))
    };
    let mut files = std::iter::once(program).chain(loaded.map(Path::new)).filter(own);
    records.processes.len() != 1 || others || files.any(calls_a_door)
}

/// Whether a file calls one of the [`DOORS`]; one that cannot be read may.
fn calls_a_door(file: &Path) -> bool {
    let Ok(bytes) = std::fs::read(file) else { return true };
    let Ok(elf) = object::File::parse(&*bytes) else {
        return true;
    };
    elf.dynamic_symbols()
        .any(|symbol| symbol.is_undefined() && symbol.name().is_ok_and(|name| DOORS.contains(&name)))
}
