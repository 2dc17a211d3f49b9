//! Findings in the words of the report: records and site tables in, names and places out.

use crate::bad_end;
use crate::candidate::{Candidate, Context};
use crate::site_index::SiteIndex;
use crate::statement::Statement;
use deadheat_confirm::candidate::Shown;
use deadheat_confirm::outcome::Outcome;
use deadheat_confirm::{Case, Records, Run};
use deadheat_model::{Evidence, FindingKind, LockMode, ObjectId, ObjectKind, ThreadId, Verdict, WaitReason};
use deadheat_report::finding::{
    Access, Finding, Frame, FreedBlock, Lock, Object, Order, Place, Thread, Waiting, own, value,
};
use deadheat_report::symbol::{Registers, Variable};
use deadheat_report::{Symboliser, words};
use deadheat_wire::object::{DESCRIPTOR_SIZE, DESCRIPTORS_NAME};
use deadheat_wire::record::{self, FreedUse, FreedUseKind, Held, Meeting, Memory, Notice, StackFrame, Witness};
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

/// Names for addresses and sites; modules are read once.
pub struct Names<'a> {
    sites: &'a SiteIndex,
    symbolisers: HashMap<Vec<(String, u64)>, Symboliser>,
}

/// Names for the addresses of one run.
pub struct Described<'n> {
    sites: &'n SiteIndex,
    symbols: &'n mut Symboliser,
    context: &'n Context,
    /// Heap blocks whose origin was told: once is enough.
    told: HashSet<u64>,
}

impl<'a> Names<'a> {
    /// For sites of these tables.
    pub fn new(sites: &'a SiteIndex) -> Names<'a> {
        Names {
            sites,
            symbolisers: HashMap::new(),
        }
    }

    /// Names for the addresses of a run.
    pub fn of<'n>(&'n mut self, context: &'n Context) -> Described<'n> {
        // Modules come first: thread-local variables are looked for in the executable.
        let mut key: Vec<(String, u64)> = context.loaded().map(|(_, path, bias)| (path.into(), bias)).collect();
        let libraries = context.libraries.iter().filter(|l| !key.contains(l)).cloned();
        let libraries: Vec<(String, u64)> = libraries.collect();
        key.extend(libraries);
        let modules = key
            .iter()
            .map(|(path, bias)| (PathBuf::from(path), *bias))
            .collect::<Vec<_>>();
        let symbols = self.symbolisers.entry(key).or_insert_with(|| Symboliser::new(modules));
        Described {
            sites: self.sites,
            symbols,
            context,
            told: HashSet::new(),
        }
    }

    /// The finding of a candidate after what its case has shown.
    pub fn race(&mut self, candidate: &Candidate, case: &Case) -> Finding {
        let verdict = match (&case.shown, &case.harm) {
            (Some(_), Some(_)) => Verdict::Harmful,
            (Some(_), None) => Verdict::Real,
            _ => Verdict::Suspected,
        };
        let mut finding = Finding {
            id: String::new(),
            kind: FindingKind::DataRace,
            verdict,
            evidence: case.shown.as_ref().map(|s| s.evidence),
            accesses: Vec::new(),
            object: None,
            orders: Vec::new(),
            threads: Vec::new(),
            threads_left_out: 0,
            misuse: None,
            ended_at: None,
            freed: None,
            story: None,
            harm: case.harm.clone(),
            input: None,
            inputs: Vec::new(),
            tries: case.tries,
            hits: case.hits,
            directed_tries: case.directed,
            directed_hits: case.directed_hits,
            probability: None,
            replay: None,
            reasons: Vec::new(),
            fingerprint: candidate.fingerprint(),
        };
        match &case.shown {
            Some(shown) => {
                self.shown_race(candidate, case, shown, &mut finding);
                finding.story = crate::story::of(self, shown);
            }
            None => {
                let pair = &candidate.pair;
                let mut described = self.of(&candidate.context);
                finding.accesses = described.accesses(candidate, &pair.first, &pair.second);
                finding.object = Some(described.object(&pair.memory, &pair.first, &pair.second));
            }
        }
        finding
    }

    fn shown_race(&mut self, candidate: &Candidate, case: &Case, shown: &Shown, finding: &mut Finding) {
        let records = &shown.run.records;
        let of_pair = |n| deadheat_confirm::candidate::meetings(&case.targets, &shown.run).find(|m| m.number == n);
        let meeting = shown.meeting.and_then(of_pair);
        let unordered = case.unordered(&shown.run);
        let process = meeting.map(|m| m.process).or(unordered.map(|u| u.process));
        let context = Context::of(records, process.unwrap_or(0));
        let mut described = self.of(&context);
        if let Some(m) = meeting {
            finding.accesses = described.accesses(candidate, &m.arriving, &m.postponed);
            finding.object = Some(described.object(&m.memory, &m.arriving, &m.postponed));
            let arriving = &finding.accesses;
            let role = |w: &Witness| {
                let same = arriving.iter().find(|a| a.thread.number == w.access.thread.0);
                same.map_or_else(String::new, |a| a.role.clone())
            };
            finding.orders.push(order(m, &shown.run, &role));
            if let Some(other) = &shown.other
                && let Some(turned) = other
                    .records
                    .meetings
                    .iter()
                    .find(|o| (o.process, o.number) == (m.process, m.number))
            {
                finding.orders.push(order(turned, other, &role));
            }
        } else if let Some(u) = unordered {
            finding.accesses = described.accesses(candidate, &u.first, &u.second);
            finding.object = Some(described.object(&u.memory, &u.first, &u.second));
        }
        debug_assert!(!finding.accesses.is_empty(), "what is shown has two accesses");
        if finding.harm.is_some() {
            finding.ended_at = self.end(&shown.run);
            finding.freed = self.freed(records);
            if let Some(stuck) = &records.deadlock {
                let context = Context::of(records, stuck.process);
                let mut described = self.of(&context);
                (finding.threads, finding.threads_left_out) = bad_end::waiting(&mut described, &stuck.threads);
            }
        }
    }

    /// Where a bad run's process ended.
    pub fn end(&mut self, run: &Run) -> Option<Place> {
        let ended = run.records.worst_end()?;
        let (thread, stack) = ended.at.as_ref()?;
        let context = Context::of(&run.records, ended.process);
        let mut described = self.of(&context);
        let stack = described.stack(stack, true);
        let thread = described.standing(*thread, &stack);
        Some(Place { thread, stack })
    }

    /// The freed block that a run uses, if it does.
    pub fn freed(&mut self, records: &Records) -> Option<FreedBlock> {
        let freed_use = records.freed_uses.first()?;
        let context = Context::of(records, freed_use.process);
        Some(self.of(&context).freed_use(freed_use))
    }
}

/// What one order of a meeting led to.
fn order(m: &Meeting, run: &Run, role: &dyn Fn(&Witness) -> String) -> Order {
    let (first, second) = if m.arriving_first {
        (&m.arriving, &m.postponed)
    } else {
        (&m.postponed, &m.arriving)
    };
    let size = first.access.bytes.len.min(second.access.bytes.len);
    let same_start = first.access.bytes.start == second.access.bytes.start;
    Order {
        first: role(first),
        before: value(&first.before, size).filter(|_| same_start),
        after: value(&m.after, size).filter(|_| same_start),
        outcome: if m.torn {
            format!("between the other's read and its write: {}", ending(run))
        } else {
            ending(run)
        },
    }
}

/// How a run ended, for people.
pub fn ending(run: &Run) -> String {
    let outcome = Outcome::of(run);
    match (&outcome, outcome.as_harm()) {
        (Outcome::Exit(status), _) => format!("the program exits with status {status}"),
        (_, Some(harm)) => format!("{}: {}", words::harm(harm.kind), harm.detail),
        _ => "the run was stopped".into(),
    }
}

impl Described<'_> {
    /// The two accesses, in the order of the candidate's statements.
    fn accesses(&mut self, candidate: &Candidate, a: &Witness, b: &Witness) -> Vec<Access> {
        let of_a = self.sites.statement(a.access.site);
        let swap = of_a != Some(&candidate.first);
        let (first, second) = if swap { (b, a) } else { (a, b) };
        vec![
            self.access(first, "first", &candidate.first),
            self.access(second, "second", &candidate.second),
        ]
    }

    fn access(&mut self, w: &Witness, role: &str, statement: &Statement) -> Access {
        let stack = self.stack(&w.stack, true);
        let own = stack.iter().find(|f| f.line > 0 && !f.of_system());
        let foreign = statement.line == 0 || statement.file.starts_with("/usr/");
        // A place in a library's header, or none at all, says less than the caller's.
        let (file, line, column, function) = match own.filter(|_| foreign) {
            Some(f) => (&f.file, f.line, f.column, &f.function),
            None => (&statement.file, statement.line, statement.column, &statement.function),
        };
        Access {
            role: role.into(),
            file: self.sites.within(file).into(),
            directory: statement.directory.clone(),
            line,
            column,
            function: function.clone(),
            kind: w.access.access_kind(),
            atomic: w.access.kind.is_atomic(),
            size: w.access.bytes.len,
            thread: self.standing(w.access.thread, &stack),
            stack,
            locks: w.held.iter().map(|h| self.lock(h)).collect(),
        }
    }

    /// A thread by how it was created.
    pub fn thread(&mut self, id: ThreadId) -> Thread {
        let context = self.context;
        let created = context.threads.iter().find(|t| t.thread == id);
        let start = created
            .and_then(|t| self.symbols.frames(t.start, false).pop())
            .filter(|f| !deadheat_report::symbol::unnamed(f))
            .map(|f| f.function);
        Thread {
            number: id.0,
            start,
            parent: created.map(|t| t.parent.0),
            created: created.map(|t| self.stack(&t.stack, false)).unwrap_or_default(),
        }
    }

    /// A thread that stands here. One that a library's nameless function starts (`std::thread`'s) runs the outermost
    /// function of the user's.
    pub(crate) fn standing(&mut self, id: ThreadId, stack: &[Frame]) -> Thread {
        let mut thread = self.thread(id);
        if thread.parent.is_some() && thread.start.is_none() {
            let own = stack.iter().rfind(|f| f.line > 0 && !f.of_system());
            thread.start = own.map(|f| f.function.clone());
        }
        thread
    }

    /// A stack in names. The first address is a site's own or a return address like the others.
    pub fn stack(&mut self, stack: &[u64], of_site: bool) -> Vec<Frame> {
        let mut frames = Vec::new();
        for (n, address) in stack.iter().enumerate() {
            frames.extend(self.symbols.frames(*address, n > 0 || !of_site));
        }
        let unknown = |f: &Frame| {
            deadheat_report::symbol::unnamed(f)
                || f.function.starts_with("deadheat_rt::")
                || RUNTIME_FRAMES.contains(&f.function.as_str())
        };
        while frames.last().is_some_and(unknown) {
            frames.pop();
        }
        // Libraries without sites have no names here.
        frames.retain(|f| !f.file.is_empty() || !f.function.starts_with("0x"));
        for frame in &mut frames {
            frame.file = self.sites.within(&frame.file).into();
        }
        frames
    }

    fn lock(&mut self, held: &Held) -> Lock {
        Lock {
            kind: kind_of_object(held.kind).into(),
            name: self.named(held.object),
            shared: held.mode == LockMode::Read,
        }
    }

    /// The name of an object that threads take, wait for or signal.
    pub(crate) fn named(&mut self, object: ObjectId) -> String {
        let memory = self.context.objects.get(&object).unwrap_or(&Memory::Static);
        let name = self.name(object.address, memory);
        // The C++ library's own member of what its user declared.
        match name.split_once("._M_") {
            Some((declared, _)) => format!("{declared}`"),
            None => name,
        }
    }

    /// The name of what is at an address in this memory: the variable's, else the address and what it is in.
    pub(crate) fn name(&mut self, address: u64, memory: &Memory) -> String {
        let variable = match memory {
            Memory::Stack { frames, .. } => self.local(address, frames),
            Memory::ThreadLocal { offset, .. } => self.symbols.thread_local(*offset),
            Memory::Static => self.symbols.static_variable(address),
            Memory::Heap { start, len, stack, .. } => {
                let mut from = String::new();
                if self.told.insert(*start) {
                    let frames = self.stack(stack, false);
                    from = own(&frames).map_or(from, |f| format!(" allocated at {}", f.place()));
                }
                let offset = match address.wrapping_sub(*start) {
                    0 => String::new(),
                    offset => format!("offset {offset} of "),
                };
                return format!("at {address:#x} ({offset}a block of {len} bytes{from})");
            }
            Memory::Mapping { .. } => None,
        };
        match variable {
            Some(variable) => format!("`{}`", variable.name),
            None => format!("at {address:#x}"),
        }
    }

    fn object(&mut self, memory: &Memory, a: &Witness, b: &Witness) -> Object {
        let address = a.access.bytes.start.max(b.access.bytes.start);
        let mut object = Object {
            kind: "unknown".into(),
            name: None,
            size: 0,
            offset: 0,
            thread: None,
            allocated: Vec::new(),
            freed: false,
        };
        let variable = match memory {
            Memory::Heap {
                start,
                len,
                thread,
                stack,
                freed,
            } => {
                object.kind = "heap".into();
                (object.size, object.offset) = (*len, address.wrapping_sub(*start));
                (object.thread, object.freed) = (Some(thread.0), *freed);
                object.allocated = self.stack(stack, false);
                None
            }
            Memory::Stack { thread, frames } => {
                object.kind = "stack".into();
                object.thread = Some(thread.0);
                self.local(address, frames)
            }
            Memory::ThreadLocal { thread, offset } => {
                object.kind = "thread-local".into();
                object.thread = Some(thread.0);
                self.symbols.thread_local(*offset)
            }
            Memory::Mapping {
                start,
                len,
                path,
                offset,
            } => {
                object.kind = "mapping".into();
                object.name = Some(path.clone()).filter(|path| !path.is_empty());
                (object.size, object.offset) = (*len, address.wrapping_sub(*start));
                if object.name.is_some() {
                    object.offset += offset;
                }
                None
            }
            Memory::Static => match self.symbols.static_variable(address) {
                Some(table) if table.name.starts_with(DESCRIPTORS_NAME) => {
                    object.kind = "descriptor".into();
                    object.name = Some((table.offset / DESCRIPTOR_SIZE).to_string());
                    return object;
                }
                variable => variable.inspect(|_| object.kind = "global".into()),
            },
        };
        if let Some(variable) = variable {
            object.name = Some(variable.name);
            (object.size, object.offset) = (variable.size, variable.offset);
        }
        object
    }

    /// The local variable at an address, in one of these frames.
    fn local(&mut self, address: u64, frames: &[StackFrame]) -> Option<Variable> {
        frames.iter().find_map(|f| {
            let registers = Registers {
                // Return addresses name the call before them.
                pc: f.pc.wrapping_sub(1),
                frame: f.frame,
                stack: f.stack,
            };
            self.symbols.local(address, registers)
        })
    }

    /// Where a run's end came from, if it was seen.
    /// A freed block and what is done with it.
    pub fn freed_use(&mut self, freed_use: &FreedUse) -> FreedBlock {
        let exact = matches!(freed_use.kind, FreedUseKind::Use | FreedUseKind::Fault);
        let does = match freed_use.kind {
            FreedUseKind::Use => "uses the freed block",
            FreedUseKind::Synchronisation => "uses a lock or the like in the freed block",
            FreedUseKind::Fault => "faults at an address in or from the freed block",
            FreedUseKind::Free => "frees the block again",
            FreedUseKind::Resize => "changes the freed block's size",
        };
        let mut place = |(thread, stack): &(ThreadId, Vec<u64>), exact| {
            let stack = self.stack(stack, exact);
            let thread = self.standing(*thread, &stack);
            Place { thread, stack }
        };
        FreedBlock {
            size: freed_use.len,
            does: does.into(),
            used: place(&(freed_use.thread, freed_use.stack.clone()), exact),
            freed: freed_use.freed.as_ref().map(|at| place(at, false)),
            allocated: freed_use.allocated.as_ref().map(|at| place(at, false)),
        }
    }

    /// The threads of a deadlock or hang.
    pub fn waiting(&mut self, threads: &[record::Waiting]) -> Vec<Waiting> {
        let one = |w: &record::Waiting| {
            let stack = self.stack(&w.stack, false);
            Waiting {
                thread: self.standing(w.thread, &stack),
                wants: self.wants(&w.reason),
                holder: w.holder.map(|h| h.0),
                locks: w.held.iter().map(|h| self.lock(h)).collect(),
                stack,
            }
        };
        threads.iter().map(one).collect()
    }

    fn wants(&mut self, reason: &WaitReason) -> String {
        match reason {
            WaitReason::Object(kind, object) => {
                format!("{} {}", kind_of_object(*kind), self.named(*object))
            }
            WaitReason::Join(thread) => format!("the end of thread T{}", thread.0),
            WaitReason::Sleep => "time to pass".into(),
            WaitReason::External => "the world outside".into(),
            WaitReason::Spin(address) => format!("a change of {}", self.name(*address, &Memory::Static)),
        }
    }
}

/// Frames below a program's own code that say nothing to its author.
const RUNTIME_FRAMES: [&str; 5] = ["_start", "start_thread", "__libc_start_main", "clone", "clone3"];

pub(crate) fn kind_of_object(kind: ObjectKind) -> &'static str {
    match kind {
        ObjectKind::Mutex => "mutex",
        ObjectKind::RwLock => "read-write lock",
        ObjectKind::SpinLock => "spin lock",
        ObjectKind::Condition => "condition variable",
        ObjectKind::Barrier => "barrier",
        ObjectKind::Semaphore => "semaphore",
        ObjectKind::Once => "once flag",
        ObjectKind::Futex => "futex",
        ObjectKind::Thread => "thread",
        ObjectKind::Atomic => "atomic variable",
        ObjectKind::LockWord => "hand-made lock",
        ObjectKind::Descriptor => "file descriptor",
    }
}

/// A runtime's notice in words.
pub fn notice(notice: &Notice) -> String {
    match notice {
        Notice::NotModelled { call, count } => {
            format!("`{call}` is not modelled (called {count} times): schedules around it are not controlled")
        }
        Notice::NotReplayable { reason } => format!("runs may not repeat: {reason}"),
        Notice::NotInterposed { call } => format!("`{call}` does not reach deadheat's runtime"),
        Notice::Cut { what, count } => format!("{what}: {count} left out for want of room"),
        Notice::NotPatched { site } => format!(
            "a statement could not be watched (module {}, site {})",
            site.module, site.index
        ),
        Notice::Excused { count } => {
            format!("annotations in the program excuse accesses ({count} in one run): races of theirs are not told")
        }
        Notice::Text(text) => text.clone(),
        Notice::Unwatched { library, why } => {
            format!("{library} is not watched, races in it are not seen: {why}")
        }
    }
}

/// Whether the evidence of a case holds: `unordered` proves nothing where code without sites may have
/// synchronised unseen.
pub fn unordered_proves(opaque_libraries: &[String], sites: &SiteIndex) -> bool {
    opaque_libraries.is_empty() && !sites.opaque_code()
}

/// Evidence, for the store.
pub fn evidence_name(evidence: Evidence) -> String {
    deadheat_report::schema::name(&evidence)
}
