//! Uses of freed blocks, as harms, and which of them are ordinary.
//!
//! A run that confirms sees accesses of its target statements, second frees and faults. What an ordinary run shows too
//! is no schedule's doing: the runs under `fifo` tell of second frees and of faults; for an access, the same statements
//! are watched in one more run under `fifo`, once for each set of statements with which one was seen.

use crate::outcome::Outcome;
use crate::records::{Of, Records};
use crate::replay::schedule_free;
use deadheat_model::{Harm, HarmKind, SiteKind, WaitReason};
use deadheat_wire::plan::{Mode, Plan, Policy};
use deadheat_wire::record::{FreedUse, FreedUseKind};
use std::collections::HashSet;
use std::sync::Mutex;

/// A place in a loaded file: where that was put does not count.
pub(crate) type Code = (String, u64);

/// Where a freed block was used and where it was freed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FreedUsePlace {
    /// The use, or the second free.
    pub at: Code,
    /// The first free.
    pub freed: Option<Code>,
}

/// A code address of a process without what differs from run to run.
pub(crate) fn code(address: u64, records: &Records, process: usize) -> Code {
    let modules = records.loaded(process);
    let libraries = records.libraries(process).map(|(path, bias)| (path.as_str(), *bias));
    let below = modules.chain(libraries).filter(|(_, bias)| *bias <= address);
    let (path, bias) = below.max_by_key(|(_, bias)| *bias).unwrap_or(("", 0));
    (path.into(), address - bias)
}

impl FreedUsePlace {
    /// Of a use in a run with these records.
    pub fn of(freed_use: &Of<FreedUse>, records: &Records) -> FreedUsePlace {
        let first = |stack: &Vec<u64>| stack.first().map(|address| code(*address, records, freed_use.process));
        FreedUsePlace {
            at: first(&freed_use.stack).unwrap_or_default(),
            freed: freed_use.freed.as_ref().and_then(|(_, stack)| first(stack)),
        }
    }
}

/// What kind of harm such a use is.
pub fn harm_kind(kind: FreedUseKind) -> HarmKind {
    match kind {
        FreedUseKind::Use | FreedUseKind::Synchronisation | FreedUseKind::Fault | FreedUseKind::Resize => {
            HarmKind::UseAfterFree
        }
        FreedUseKind::Free => HarmKind::DoubleFree,
    }
}

/// A use as the outcome of its run, which then ended as `then` says.
pub(crate) fn outcome(freed_use: &Of<FreedUse>, records: &Records, then: Option<Harm>) -> Outcome {
    let then = then.map_or(String::new(), |harm| format!("; then {}", harm.detail));
    Outcome::FreedUse {
        kind: harm_kind(freed_use.kind),
        place: FreedUsePlace::of(freed_use, records),
        told: format!("{}{then}", told(freed_use)),
    }
}

/// What was done with the block.
fn told(freed_use: &FreedUse) -> String {
    let by = freed_use.thread.0;
    let block = match freed_use.len {
        0 => "a block".into(),
        len => format!("a block of {len} bytes"),
    };
    let freed = match &freed_use.freed {
        Some((thread, _)) if thread.0 == by => "that it had freed".into(),
        Some((thread, _)) => format!("that T{} had freed", thread.0),
        None => "that was free".into(),
    };
    let done = match (freed_use.kind, &freed_use.access) {
        (FreedUseKind::Use, Some(access)) => {
            let verb = match access.kind {
                SiteKind::Read | SiteKind::AtomicLoad => "reads",
                SiteKind::Write | SiteKind::AtomicStore => "writes",
                _ => "reads and writes",
            };
            let offset = access.bytes.start.saturating_sub(freed_use.start);
            format!("{verb} {} bytes at offset {offset} of", access.bytes.len)
        }
        (FreedUseKind::Use, None) => "uses".into(),
        (FreedUseKind::Synchronisation, _) => "uses a lock or the like in".into(),
        (FreedUseKind::Fault, _) => "follows a pointer that it read from, or that lies in,".into(),
        (FreedUseKind::Free, _) => "frees again".into(),
        (FreedUseKind::Resize, _) => "changes the size of".into(),
    };
    format!("T{by} {done} {block} {freed}")
}

/// The uses that ordinary runs of a program show.
#[derive(Debug, Default)]
pub struct OrdinaryUses {
    known: Mutex<HashSet<(HarmKind, FreedUsePlace)>>,
    /// For the reader: the first records of each.
    told: Mutex<Vec<(Of<FreedUse>, Records)>>,
    /// Plans' sets of statements, by their bytes, that were looked at.
    asked: Mutex<HashSet<Vec<u8>>>,
}

/// Uses in ordinary runs that are told of.
const TOLD: usize = 8;

impl OrdinaryUses {
    /// An ordinary run showed these; they leave its records.
    pub fn learn(&self, records: &mut Records) {
        let freed_uses = std::mem::take(&mut records.freed_uses);
        let (Ok(mut known), Ok(mut told)) = (self.known.lock(), self.told.lock()) else {
            return;
        };
        for freed_use in freed_uses {
            let place = FreedUsePlace::of(&freed_use, records);
            if known.insert((harm_kind(freed_use.kind), place)) && told.len() < TOLD {
                let context = Records {
                    modules: records.modules.clone(),
                    processes: records.processes.clone(),
                    ..Records::default()
                };
                told.push((freed_use, context));
            }
        }
    }

    /// Takes those that are known out of a run's records.
    pub fn leave_out(&self, records: &mut Records) {
        if records.freed_uses.is_empty() {
            return;
        }
        let Ok(known) = self.known.lock() else { return };
        let mut freed_uses = std::mem::take(&mut records.freed_uses);
        freed_uses.retain(|m| !known.contains(&(harm_kind(m.kind), FreedUsePlace::of(m, records))));
        records.freed_uses = freed_uses;
    }

    /// Whether a thread of an ordinary run that ended in a deadlock waits for an object in a freed block: what is left in the
    /// block decides whether it ever comes back.
    pub fn blocks(&self, records: &Records) -> bool {
        let (Some(deadlock), Ok(told)) = (&records.deadlock, self.told.lock()) else {
            return false;
        };
        let lies_in = |address: u64, block: &FreedUse| (block.start..block.start + block.len).contains(&address);
        deadlock.threads.iter().any(|t| match t.reason {
            WaitReason::Object(_, object) => told.iter().any(|(block, _)| lies_in(object.address, block)),
            _ => false,
        })
    }

    /// The ordinary run that tells whether what this plan's run showed is ordinary; none if it was made.
    pub fn question(&self, plan: &Plan) -> Option<Plan> {
        let Mode::Confirm(_) = &plan.mode else { return None };
        let ordinary = schedule_free(plan, Policy::Fifo);
        let fresh = self.asked.lock().is_ok_and(|mut asked| asked.insert(ordinary.encode()));
        fresh.then_some(ordinary)
    }

    /// Those that are told of, each with what names its addresses.
    pub fn told(&self) -> Vec<(Of<FreedUse>, Records)> {
        self.told.lock().map(|told| told.clone()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::Process;
    use deadheat_model::{ObjectId, ObjectKind, ThreadId};
    use deadheat_wire::record::{Deadlock, Module, Waiting};

    fn freed_twice(at: u64, bias: u64) -> Records {
        let freed_use = FreedUse {
            kind: FreedUseKind::Free,
            thread: ThreadId(2),
            stack: vec![at + bias],
            access: None,
            start: 0x5000,
            len: 24,
            allocated: None,
            freed: Some((ThreadId(1), vec![0x10 + bias])),
            step: 7,
        };
        Records {
            modules: vec![Module {
                path: "a".into(),
                bias,
                sites: 0,
                calls: false,
            }],
            processes: vec![Process {
                modules: vec![(0, bias)],
                ..Process::default()
            }],
            freed_uses: vec![freed_use.into()],
            ..Records::default()
        }
    }

    #[test]
    fn what_ordinary_runs_show_is_left_out_wherever_it_was_loaded() {
        let ordinary = OrdinaryUses::default();
        ordinary.learn(&mut freed_twice(0x30, 0x1000));
        let mut same = freed_twice(0x30, 0x7000);
        ordinary.leave_out(&mut same);
        assert!(same.freed_uses.is_empty());
        let mut other = freed_twice(0x34, 0x7000);
        ordinary.leave_out(&mut other);
        assert_eq!(other.freed_uses.len(), 1);
        assert_eq!(ordinary.told().len(), 1);
    }

    #[test]
    fn a_deadlock_on_a_lock_in_a_block_that_ordinary_runs_freed() {
        let ordinary = OrdinaryUses::default();
        let mut records = freed_twice(0x30, 0);
        records.freed_uses[0].record.kind = FreedUseKind::Synchronisation;
        ordinary.learn(&mut records);
        let waits_for = |address: u64| {
            let mutex = ObjectId { address, generation: 0 };
            let waiting = Waiting {
                thread: ThreadId(2),
                reason: WaitReason::Object(ObjectKind::Mutex, mutex),
                holder: None,
                stack: vec![0x30],
                held: vec![],
            };
            Records {
                deadlock: Some(Deadlock { threads: vec![waiting] }.into()),
                ..freed_twice(0x30, 0)
            }
        };
        assert!(ordinary.blocks(&waits_for(0x5010)));
        assert!(!ordinary.blocks(&waits_for(0x5018)));
        assert!(!ordinary.blocks(&records));
    }

    #[test]
    fn it_is_told_who_freed_what() {
        let records = freed_twice(0x30, 0);
        let outcome = outcome(&records.freed_uses[0], &records, None);
        let harm = outcome.as_harm().map(|h| (h.kind, h.detail));
        let told = "T2 frees again a block of 24 bytes that T1 had freed";
        assert_eq!(harm, Some((HarmKind::DoubleFree, told.into())));
    }
}
