//! Which sanitizers a command line turns on, and which of them cannot share a program with deadheat.

use super::command_line::CommandLine;

/// Each of these keeps its own shadow of memory, or puts itself in the place of malloc or of the thread
/// calls, or needs whole-program optimisation. What is not named here (`undefined` and its parts, coverage)
/// only adds checks and goes along.
const CANNOT_BE_COMBINED: &[&str] = &[
    "address",
    "alloc-token",
    "dataflow",
    "fuzzer",
    "hwaddress",
    "kcfi",
    "kernel-address",
    "kernel-hwaddress",
    "kernel-memory",
    "leak",
    "memory",
    "memtag",
    "memtag-globals",
    "memtag-heap",
    "memtag-stack",
    "numerical",
    "realtime",
    "safe-stack",
    "scudo",
    "shadow-call-stack",
    "thread",
    "type",
];

/// The sanitizers in force that deadheat cannot be combined with, in the order given.
pub fn in_the_way(line: &CommandLine) -> Vec<String> {
    let mut active: Vec<String> = Vec::new();
    for option in line.options() {
        let on = option.strip_prefix("-fsanitize=");
        let off = option.strip_prefix("-fno-sanitize=");
        for name in on.into_iter().flat_map(|list| list.split(',')) {
            if !active.iter().any(|a| a == name) {
                active.push(name.to_owned());
            }
        }
        for name in off.into_iter().flat_map(|list| list.split(',')) {
            active.retain(|a| a != name && name != "all");
        }
    }
    active.retain(|name| CANNOT_BE_COMBINED.contains(&name.as_str()) || name.starts_with("cfi"));
    active
}
