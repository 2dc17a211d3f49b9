//! The records of one run, sorted by kind.

use deadheat_model::{ObjectId, ObjectKind, ThreadId};
use deadheat_wire::channel::{self, COMMITTED_AT, Damage, HEADER_SIZE, LOST_AT, STEPS_AT};
use deadheat_wire::plan::Switch;
use deadheat_wire::record::{
    CycleLink, Deadlock, EndKind, Ended, FreedUse, Functions, Granules, Hang, Held, Meeting, Memory, Misuse, Module,
    Notice, Pair, Reached, Record, Started, Step, ThreadCreated, Unordered,
};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::ops::Deref;
use std::os::unix::fs::FileExt;

/// A record, and which of the run's processes wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Of<T> {
    /// Index in [`Records::processes`].
    pub process: usize,
    /// What it wrote.
    pub record: T,
}

impl<T> Deref for Of<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.record
    }
}

/// Of the program's own process.
impl<T> From<T> for Of<T> {
    fn from(record: T) -> Of<T> {
        Of { process: 0, record }
    }
}

/// A process of a run: a program that was started, or a copy that went on from its parent.
#[derive(Clone, Debug, Default)]
pub struct Process {
    /// Index of the process that it is a copy of; none if it began as a program.
    pub parent: Option<usize>,
    /// Its modules by their numbers, and where they were put, as far as they are not its parent's.
    pub modules: Vec<(u16, u64)>,
    /// Loaded libraries, as far as they are not its parent's: path, and difference between run-time addresses and the
    /// file's.
    pub libraries: Vec<(String, u64)>,
    /// Threads, in order of creation, but for its parent's.
    pub threads: Vec<ThreadCreated>,
    /// What objects lie in, as far as they are named and not static.
    pub objects: HashMap<ObjectId, Memory>,
}

/// What the runtime wrote of a run.
#[derive(Clone, Debug, Default)]
pub struct Records {
    /// First record of the program's own process; none if the runtime was never in control.
    pub started: Option<Started>,
    /// Processes that wrote records, the program's own first.
    pub processes: Vec<Process>,
    /// Linked modules with sites of all processes, in the order of `SiteId::module`, as the first that has them was given them.
    pub modules: Vec<Module>,
    /// Result of phase 1's first run.
    pub granules: Option<Granules>,
    /// When functions ran, for each process that lived to tell.
    pub functions: Vec<Functions>,
    /// Which statements ran beside other threads, for each module of each such process.
    pub reached: Vec<Reached>,
    /// Suspicious pairs.
    pub pairs: Vec<Of<Pair>>,
    /// Predicted cycles of waiting.
    pub cycles: Vec<Of<Vec<CycleLink>>>,
    /// Meetings at the targets.
    pub meetings: Vec<Of<Meeting>>,
    /// Pairs of accesses that happens-before does not order.
    pub unordered: Vec<Of<Unordered>>,
    /// Synchronisation calls that broke their contract.
    pub misuses: Vec<Of<Misuse>>,
    /// Uses of freed blocks, in order, but for those that ordinary runs show too.
    pub freed_uses: Vec<Of<FreedUse>>,
    /// The deadlock that ended the run.
    pub deadlock: Option<Of<Deadlock>>,
    /// The hang that ended the run.
    pub hang: Option<Of<Hang>>,
    /// From which places objects of synchronisation were come to, see [`Record::Places`].
    pub places: Vec<Vec<u64>>,
    /// The recorded schedule.
    pub switches: Vec<Switch>,
    /// The run's events, if the plan asked for them.
    pub steps_taken: Vec<Step>,
    /// Where a replay could not be followed.
    pub diverged: Option<(u64, ThreadId)>,
    /// Words that turned out to be hand-made locks.
    pub lock_words: Vec<u64>,
    /// What the user should know.
    pub notices: Vec<Notice>,
    /// How the program's own process ended, if that was seen.
    pub ended: Option<Of<Ended>>,
    /// How its child processes ended, as far as they were followed.
    pub children: Vec<Of<Ended>>,
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
    /// Ids of the processes.
    ids: Vec<u32>,
    threads: HashSet<(usize, ThreadId)>,
    /// By process, number and step: where it is.
    meetings: HashMap<(usize, u32, u64), usize>,
    /// The modules by number.
    modules: BTreeMap<u16, Module>,
}

impl Seen {
    /// The process that began last with this id.
    fn latest(&self, id: u32) -> Option<usize> {
        self.ids.iter().rposition(|known| *known == id)
    }
}

impl Records {
    /// Reads a record file, of whose (sparse) size only the committed part is looked at. `known`: the modules that it
    /// began with.
    pub fn read(file: &File, known: &[Module]) -> std::io::Result<Records> {
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
        for (process, record) in records {
            sorted.add(process, record, &mut seen);
        }
        sorted.number_modules(known, seen.modules);
        // Each is written when both its accesses are made, which is not the order of the meetings.
        sorted.meetings.sort_by_key(|m| m.number);
        sorted.forget_false_locks();
        if sorted.processes.len() > 1 {
            // Each process has a schedule of its own, and the steps do not say whose they are.
            sorted.switches.clear();
            sorted.steps_taken.clear();
        }
        Ok(sorted)
    }

    /// The modules in the order of their numbers. A process may have died with a number whose record it did not write.
    fn number_modules(&mut self, known: &[Module], mut seen: BTreeMap<u16, Module>) {
        for number in 0..=u16::MAX {
            let before = known.get(usize::from(number)).cloned();
            let Some(module) = seen.remove(&number).or(before) else {
                break;
            };
            self.modules.push(module);
        }
    }

    /// Adds one record of a process. Of several processes, the first that started is the program's own.
    fn add(&mut self, id: u32, record: Record, seen: &mut Seen) {
        if let Record::Started(s) = &record {
            let parent = s.parent.and_then(|parent| seen.latest(parent));
            seen.ids.push(id);
            self.processes.push(Process {
                parent,
                ..Process::default()
            });
        }
        let process = seen.latest(id).unwrap_or(0);
        // What a process says that never came to begin is nobody's.
        let mut nobody = Process::default();
        let own = self.processes.get_mut(process).unwrap_or(&mut nobody);
        match record {
            Record::Started(s) => {
                self.started.get_or_insert(s);
            }
            Record::Module(number, m) => {
                if !own.modules.contains(&(number, m.bias)) {
                    own.modules.push((number, m.bias));
                }
                seen.modules.entry(number).or_insert(m);
            }
            Record::Thread(t) => {
                if seen.threads.insert((process, t.thread)) {
                    own.threads.push(t);
                }
            }
            Record::Library { path, bias } => {
                if !own.libraries.iter().any(|have| have.0 == path && have.1 == bias) {
                    own.libraries.push((path, bias));
                }
            }
            Record::Granules(g) => merge_granules(&mut self.granules, g),
            Record::Functions(f) => self.functions.push(f),
            Record::Reached(r) => self.reached.push(r),
            Record::Pair(record) => self.pairs.push(Of { process, record }),
            Record::Objects(objects) => own.objects.extend(objects),
            Record::Steps(steps) => self.steps_taken.extend(steps),
            Record::Cycle(record) => self.cycles.push(Of { process, record }),
            Record::Meeting(record) => self.add_meeting(Of { process, record }, seen),
            Record::Unordered(record) => self.unordered.push(Of { process, record }),
            Record::Misuse(record) => self.misuses.push(Of { process, record }),
            Record::FreedUse(record) => self.freed_uses.push(Of { process, record }),
            Record::Deadlock(record) => self.deadlock = Some(Of { process, record }),
            Record::Hang(record) => self.hang = Some(Of { process, record }),
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
            Record::Ended(record) => {
                let is_own = self.started.as_ref().is_none_or(|s| s.pid == record.pid);
                let ended = Of { process, record };
                if is_own {
                    self.ended = Some(ended);
                } else {
                    self.children.push(ended);
                }
            }
        }
    }

    /// A process and those that it is a copy of, itself first.
    pub fn lineage(&self, process: usize) -> impl Iterator<Item = &Process> {
        let mut next = Some(process);
        std::iter::from_fn(move || {
            let index = next?;
            let process = self.processes.get(index)?;
            // A copy begins after what it is copied from.
            next = process.parent.filter(|parent| *parent < index);
            Some(process)
        })
    }

    /// The modules of a process: their paths, and where they were put.
    pub fn loaded(&self, process: usize) -> impl Iterator<Item = (&str, u64)> {
        let modules = self.lineage(process).flat_map(|p| &p.modules);
        modules.filter_map(|(number, bias)| Some((self.modules.get(usize::from(*number))?.path.as_str(), *bias)))
    }

    /// The libraries of a process: their paths, and where they were put.
    pub fn libraries(&self, process: usize) -> impl Iterator<Item = &(String, u64)> {
        self.lineage(process).flat_map(|p| &p.libraries)
    }

    /// A word is held as a lock from its first taking, but whether it is one shows only later, if at all.
    fn forget_false_locks(&mut self) {
        let words = &self.lock_words;
        let is_lock = |held: &Held| held.kind != ObjectKind::LockWord || words.contains(&held.object.address);
        let pairs = self.pairs.iter_mut().map(|p| &mut p.record);
        let pairs = pairs.flat_map(|p| [&mut p.first, &mut p.second]);
        let meetings = self
            .meetings
            .iter_mut()
            .flat_map(|m| [&mut m.record.arriving, &mut m.record.postponed]);
        let unordered = self.unordered.iter_mut().map(|u| &mut u.record);
        let unordered = unordered.flat_map(|u| [&mut u.first, &mut u.second]);
        for witness in pairs.chain(meetings).chain(unordered) {
            witness.held.retain(is_lock);
        }
    }

    /// A meeting may be written twice: when it happens, and again with the memory after it.
    fn add_meeting(&mut self, meeting: Of<Meeting>, seen: &mut Seen) {
        let next = self.meetings.len();
        match seen.meetings.entry((meeting.process, meeting.number, meeting.step)) {
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
    pub fn worst_end(&self) -> Option<&Of<Ended>> {
        let badly = |e: &&Of<Ended>| match e.how {
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
        let mixed = |e: &Of<Ended>| (e.schedule_hash ^ e.schedule_hash >> 29).wrapping_mul(0x9E37_79B9_7F4A_7C15);
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
    pub(crate) fn file(records: &[(u32, Record)]) -> File {
        let body: Vec<u8> = records
            .iter()
            .flat_map(|(process, record)| frame(*process, record))
            .collect();
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
        let file = file(&[
            (7, started(7, None)),
            (8, started(8, Some(7))),
            (7, ended(7, 70)),
            (8, ended(8, 80)),
        ]);
        let records = Records::read(&file, &[]).unwrap();
        assert_eq!(records.ended.as_ref().map(|e| e.pid), Some(7));
        assert_eq!(records.children.iter().map(|e| e.pid).collect::<Vec<_>>(), [8]);
        // The schedule is that of both.
        assert!(records.schedule_hash().is_some_and(|hash| hash != 70));
        assert_eq!((records.processes.len(), records.damage), (2, None));
    }

    #[test]
    fn a_run_without_an_end_is_read_to_its_last_record() {
        let file = file(&[(7, Record::Notice(Notice::Text("a".into())))]);
        let records = Records::read(&file, &[]).unwrap();
        assert_eq!((records.notices.len(), records.schedule_hash()), (1, None));
        assert!(records.started.is_none());
    }
}
