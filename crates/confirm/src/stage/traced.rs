//! The symbolic trace that a run has left.

use crate::scratch::RunDirectory;
use deadheat_wire::trace::{
    CONSTRAINT_COUNT_AT, CONSTRAINT_SIZE, CONSTRAINTS_AT, HIT_BYTES_AT, HIT_ROOM, HITS_AT, MOST_CONSTRAINTS,
    MOST_NODES, MOST_TOUCHES, NAME_BYTES_AT, NAME_ROOM, NAMES_AT, NODE_COUNT_AT, NODE_SIZE, NODES_AT, TOUCH_COUNT_AT,
    TOUCH_SIZE, TOUCHES_AT, Trace,
};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// The used parts of a run's trace: those of the head at their places, nodes and touches one behind the other. The pages of
/// the others are not asked for.
pub(super) fn read(directory: &RunDirectory) -> io::Result<Vec<u8>> {
    let file = File::open(directory.join("trace"))?;
    let mut bytes = vec![0; NODES_AT];
    file.read_exact_at(&mut bytes[..NAMES_AT], 0)?;
    let words = [
        NAME_BYTES_AT,
        HIT_BYTES_AT,
        CONSTRAINT_COUNT_AT,
        NODE_COUNT_AT,
        TOUCH_COUNT_AT,
    ];
    let [names, hits, constraints, nodes, touches] =
        words.map(|at| Trace::new(&bytes).map_or(0, |t| t.word(at)) as usize);
    for (from, length) in [
        (NAMES_AT, names.min(NAME_ROOM)),
        (HITS_AT, hits.min(HIT_ROOM)),
        (
            CONSTRAINTS_AT,
            constraints.min(MOST_CONSTRAINTS as usize) * CONSTRAINT_SIZE,
        ),
    ] {
        file.read_exact_at(&mut bytes[from..from + length], from as u64)?;
    }
    for (from, length) in [
        (NODES_AT, nodes.min(MOST_NODES as usize) * NODE_SIZE),
        (TOUCHES_AT, touches.min(MOST_TOUCHES as usize) * TOUCH_SIZE),
    ] {
        let at = bytes.len();
        bytes.resize(at + length, 0);
        file.read_exact_at(&mut bytes[at..], from as u64)?;
    }
    Ok(bytes)
}
