//! The records of one run, sorted by kind.

use deadheat_model::{ObjectId, ObjectKind, ThreadId};
use deadheat_wire::channel::{self, COMMITTED_AT, Damage, HEADER_SIZE, LOST_AT, STEPS_AT};
use deadheat_wire::plan::Switch;
use deadheat_wire::record::{
    CycleLink, Deadlock, EndKind, Ended, FreedUse, Functions, Granules, Hang, Held, Meeting, Memory, Misuse, Module,
    Notice, Pair, Reached, Record, Started, Step, ThreadCreated, Unordered,
};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::os::unix::fs::FileExt;

/// What the runtime wrote of a run.
#[derive(Clone, Debug, Default)]
pub struct Records {
    /// First record of the program's own process; none if the runtime was never in control.
    pub started: Option<Started>,
    /// Linked modules with sites, in the order of `SiteId::module`.
    pub modules: Vec<Module>,
    /// Loaded libraries: path, and difference between run-time addresses and the file's.
    pub libraries: Vec<(String, u64)>,
    /// Threads, in order of creation.
    pub threads: Vec<ThreadCreated>,
    /// Result of phase 1's first run.
    pub granules: Option<Granules>,
    /// When functions ran, for each process that lived to tell.
    pub functions: Vec<Functions>,
    /// Which statements ran beside other threads, for each module of each such process.
    pub reached: Vec<Reached>,
    /// Suspicious pairs.
    pub pairs: Vec<Pair>,
    /// Predicted cycles of waiting.
    pub cycles: Vec<Vec<CycleLink>>,
    /// Meetings at the targets.
    pub meetings: Vec<Meeting>,
    /// Pairs of accesses that happens-before does not order.
    pub unordered: Vec<Unordered>,
    /// Synchronisation calls that broke their contract.
    pub misuses: Vec<Misuse>,
    /// Uses of freed blocks, in order, but for those that ordinary runs show too.
    pub freed_uses: Vec<FreedUse>,
    /// The deadlock that ended the run.
    pub deadlock: Option<Deadlock>,
    /// The hang that ended the run.
    pub hang: Option<Hang>,
    /// From which places objects of synchronisation were come to, see [`Record::Places`].
    pub places: Vec<Vec<u64>>,
    /// The recorded schedule.
    pub switches: Vec<Switch>,
    /// The run's events, if the plan asked for them.
    pub steps_taken: Vec<Step>,
    /// What objects lie in, as far as they are named and not static.
    pub objects: HashMap<ObjectId, Memory>,
    /// Where a replay could not be followed.
    pub diverged: Option<(u64, ThreadId)>,
    /// Words that turned out to be hand-made locks.
    pub lock_words: Vec<u64>,
    /// What the user should know.
    pub notices: Vec<Notice>,
    /// How the program's own process ended, if that was seen.
    pub ended: Option<Ended>,
    /// How its child processes ended, as far as they were followed.
    pub children: Vec<Ended>,
    /// Processes that wrote records.
    pub processes: u32,
    /// Those of them that began as a program, not as a copy of their parent.
    pub programs: u32,
    /// Records dropped for want of room.
    pub lost: u64,
    /// Scheduling steps.
    pub steps: u64,
    /// What stopped the reading short.
    pub damage: Option<Damage>,
}

/// What was added already, of that of which there may be very much: a run may have a hundred thousand meetings.
#[derive(Default)]
struct Seen {
    threads: HashSet<ThreadId>,
    /// By number and step: where it is.
    meetings: HashMap<(u32, u64), usize>,
}

impl Records {
    /// Reads a record file, of whose (sparse) size only the committed part is looked at.
    pub fn read(file: &File) -> std::io::Result<Records> {
        let size = file.metadata()?.len();
        let mut header = vec![0; HEADER_SIZE.min(size as usize)];
        file.read_exact_at(&mut header, 0)?;
        let committed = number(&header, COMMITTED_AT).min(size.saturating_sub(HEADER_SIZE as u64));
        let mut bytes = header;
        let head = bytes.len();
        bytes.resize(head + committed as usize, 0);
        file.read_exact_at(&mut bytes[head..], head as u64)?;
        let (records, damage) = channel::read(&bytes);
        let mut sorted = Records {
            damage,
            lost: number(&bytes, LOST_AT),
            steps: number(&bytes, STEPS_AT),
            ..Records::default()
        };
        let mut seen = Seen::default();
        records.into_iter().for_each(|r| sorted.add(r, &mut seen));
        // Each is written when both its accesses are made, which is not the order of the meetings.
        sorted.meetings.sort_by_key(|m| m.number);
        sorted.forget_false_locks();
        if sorted.processes > 1 {
            // Each process has a schedule of its own, and the steps do not say whose they are.
            sorted.switches.clear();
            sorted.steps_taken.clear();
        }
        Ok(sorted)
    }

    /// Adds one record. Of several processes, the first that started is the program's own.
    fn add(&mut self, record: Record, seen: &mut Seen) {
        match record {
            Record::Started(s) => {
                self.processes += 1;
                self.programs += u32::from(s.parent.is_none());
                self.started.get_or_insert(s);
            }
            Record::Module(m) => {
                if !self
                    .modules
                    .iter()
                    .any(|have| have.path == m.path && have.bias == m.bias && have.calls == m.calls)
                {
                    self.modules.push(m);
                }
            }
            Record::Thread(t) => {
                if seen.threads.insert(t.thread) {
                    self.threads.push(t);
                }
            }
            Record::Library { path, bias } => {
                if !self.libraries.iter().any(|have| have.0 == path && have.1 == bias) {
                    self.libraries.push((path, bias));
                }
            }
            Record::Granules(g) => merge_granules(&mut self.granules, g),
            Record::Functions(f) => self.functions.push(f),
            Record::Reached(r) => self.reached.push(r),
            Record::Pair(p) => self.pairs.push(p),
            Record::Objects(objects) => self.objects.extend(objects),
            Record::Steps(steps) => self.steps_taken.extend(steps),
            Record::Cycle(links) => self.cycles.push(links),
            Record::Meeting(m) => self.add_meeting(m, seen),
            Record::Unordered(u) => self.unordered.push(u),
            Record::Misuse(m) => self.misuses.push(m),
            Record::FreedUse(m) => self.freed_uses.push(m),
            Record::Deadlock(d) => self.deadlock = Some(d),
            Record::Hang(h) => self.hang = Some(h),
            Record::Switches(s) => self.switches.extend(s),
            Record::Places(places) => self.places.extend(places),
            Record::Diverged { step, wanted } => {
                self.diverged.get_or_insert((step, wanted));
            }
            Record::LockWords(words) => self.lock_words.extend(words),
            Record::Notice(n) => {
                if !self.notices.contains(&n) {
                    self.notices.push(n);
                }
            }
            Record::Ended(e) => {
                if self.started.as_ref().is_none_or(|s| s.pid == e.pid) {
                    self.ended = Some(e);
                } else {
                    self.children.push(e);
                }
            }
        }
    }

    /// A word is held as a lock from its first taking, but whether it is one shows only later, if at all.
    fn forget_false_locks(&mut self) {
        let words = &self.lock_words;
        let is_lock = |held: &Held| held.kind != ObjectKind::LockWord || words.contains(&held.object.address);
        let pairs = self.pairs.iter_mut().flat_map(|p| [&mut p.first, &mut p.second]);
        let meetings = self
            .meetings
            .iter_mut()
            .flat_map(|m| [&mut m.arriving, &mut m.postponed]);
        let unordered = self.unordered.iter_mut().flat_map(|u| [&mut u.first, &mut u.second]);
        for witness in pairs.chain(meetings).chain(unordered) {
            witness.held.retain(is_lock);
        }
    }

    /// A meeting may be written twice: when it happens, and again with the memory after it.
    fn add_meeting(&mut self, meeting: Meeting, seen: &mut Seen) {
        let next = self.meetings.len();
        match seen.meetings.entry((meeting.number, meeting.step)) {
            Entry::Vacant(place) => {
                place.insert(next);
                self.meetings.push(meeting);
            }
            Entry::Occupied(place) => match self.meetings.get_mut(*place.get()) {
                Some(known) if known.after.is_empty() => *known = meeting,
                _ => {}
            },
        }
    }

    /// The end of the process that ended badly, if one did, else of the program's own.
    pub fn worst_end(&self) -> Option<&Ended> {
        let badly = |e: &&Ended| match e.how {
            EndKind::Deadlock | EndKind::Hang => true,
            EndKind::Signal(_) => e.at.is_some(),
            EndKind::Exit(_) | EndKind::Exec | EndKind::Refused => false,
        };
        let all = || self.ended.iter().chain(&self.children);
        all().find(badly).or(self.ended.as_ref())
    }

    /// Hash of the schedule, of all processes together in whatever order they ended; none if the end of the program's
    /// own process was not seen.
    pub fn schedule_hash(&self) -> Option<u64> {
        let own = self.ended.as_ref()?.schedule_hash;
        let mixed = |e: &Ended| (e.schedule_hash ^ e.schedule_hash >> 29).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        Some(self.children.iter().map(mixed).fold(own, u64::wrapping_add))
    }
}

fn merge_granules(into: &mut Option<Granules>, more: Granules) {
    let Some(have) = into else {
        *into = Some(more);
        return;
    };
    have.addresses.extend(more.addresses);
    have.addresses.sort_unstable();
    have.addresses.dedup();
    have.lock_words.extend(more.lock_words);
    have.lock_words.sort_unstable();
    have.lock_words.dedup();
    have.cut += more.cut;
    have.outside += more.outside;
}

fn number(bytes: &[u8], at: usize) -> u64 {
    bytes
        .get(at..at + 8)
        .and_then(|b| b.try_into().ok())
        .map_or(0, u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use deadheat_wire::channel::{MAGIC, frame};
    use deadheat_wire::record::EndKind;

    /// A record file as a dying process leaves it: whole frames, and rubbish after the committed length.
    pub(crate) fn file(records: &[Record]) -> File {
        let body: Vec<u8> = records.iter().flat_map(frame).collect();
        let mut bytes = vec![0; HEADER_SIZE];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[COMMITTED_AT..COMMITTED_AT + 8].copy_from_slice(&(body.len() as u64).to_le_bytes());
        bytes.extend(body);
        bytes.extend([0xff; 100]);
        let path = std::env::temp_dir().join(format!("dh-records-{}-{}", std::process::id(), bytes.len()));
        std::fs::write(&path, bytes).unwrap();
        let file = File::open(&path).unwrap();
        std::fs::remove_file(path).unwrap();
        file
    }

    fn ended(pid: u32, hash: u64) -> Record {
        Record::Ended(Ended {
            how: EndKind::Exit(0),
            pid,
            schedule_hash: hash,
            steps: 1,
            switches: 1,
            threads: 1,
            back_edges: 0,
            virtual_ns: 0,
            target_hits: 0,
            let_go: None,
            order: 0,
            wakes: 0,
            others: false,
            at: None,
            fault_address: None,
            assertion: None,
        })
    }

    #[test]
    fn a_childs_end_is_not_the_programs() {
        let started = |pid, parent| {
            Record::Started(Started {
                version: 1,
                pid,
                parent,
                fixed_addresses: true,
                opaque_libraries: vec![],
            })
        };
        let file = file(&[started(7, None), started(8, Some(7)), ended(7, 70), ended(8, 80)]);
        let records = Records::read(&file).unwrap();
        assert_eq!(records.ended.as_ref().map(|e| e.pid), Some(7));
        assert_eq!(records.children.iter().map(|e| e.pid).collect::<Vec<_>>(), [8]);
        // The schedule is that of both.
        assert!(records.schedule_hash().is_some_and(|hash| hash != 70));
        assert_eq!((records.processes, records.damage), (2, None));
    }

    #[test]
    fn a_run_without_an_end_is_read_to_its_last_record() {
        let file = file(&[Record::Notice(Notice::Text("a".into()))]);
        let records = Records::read(&file).unwrap();
        assert_eq!((records.notices.len(), records.schedule_hash()), (1, None));
        assert!(records.started.is_none());
    }
}
