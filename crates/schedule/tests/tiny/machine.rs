//! The programs and what their statements do, one at a time.

use deadheat_model::{Access, ByteRange, SiteId, SiteKind, ThreadId};
use std::collections::BTreeSet;

/// A statement. Variables and locks are small numbers; a thread has one register, set by its reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Statement {
    Read(u8),
    Write(u8, u8),
    Increment(u8),
    AtomicLoad(u8),
    AtomicStore(u8, u8),
    Lock(u8),
    Unlock(u8),
    /// Spins until the variable has the value; no access of its own.
    Await(u8, u8),
    Sleep,
    Yield,
    /// A scheduling point that does nothing.
    Work,
    /// Jumps by so many statements unless the register has the value; no scheduling point.
    Unless(u8, i8),
    /// Jumps back by so many statements, so many times in all; no scheduling point.
    Again(u8, u8),
    /// The program fails; no scheduling point.
    Error,
}

use Statement::*;

/// A statement and its site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    pub site: u32,
    pub statement: Statement,
}

/// The threads' code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    pub threads: Vec<Vec<Line>>,
}

/// A program whose lines are numbered by the caller.
pub fn program(threads: &[&[(u32, Statement)]]) -> Program {
    let line = |&(site, statement): &(u32, Statement)| Line { site, statement };
    Program {
        threads: threads.iter().map(|t| t.iter().map(line).collect()).collect(),
    }
}

/// How far a thread is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Progress {
    line: usize,
    register: u8,
    rounds: u8,
}

/// The state of a program that runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Machine<'p> {
    program: ProgramRef<'p>,
    threads: Vec<Progress>,
    variables: [u8; 8],
    owners: [Option<u8>; 4],
    pub errors: BTreeSet<u32>,
}

#[derive(Clone, Copy, Debug)]
struct ProgramRef<'p>(&'p Program);
impl PartialEq for ProgramRef<'_> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
impl Eq for ProgramRef<'_> {}
impl std::hash::Hash for ProgramRef<'_> {
    fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
}

impl<'p> Machine<'p> {
    pub fn new(program: &'p Program) -> Machine<'p> {
        let threads = vec![Progress::default(); program.threads.len()];
        let mut machine = Machine {
            program: ProgramRef(program),
            threads,
            variables: [0; 8],
            owners: [None; 4],
            errors: BTreeSet::new(),
        };
        (0..machine.threads.len()).for_each(|t| machine.settle(t));
        machine
    }

    pub fn threads(&self) -> usize {
        self.threads.len()
    }

    /// The statement that the thread executes next; none if it has ended.
    pub fn next(&self, thread: usize) -> Option<Line> {
        self.program.0.threads[thread].get(self.threads[thread].line).copied()
    }

    /// Whether the thread's next statement can be executed (sleeping threads can: time passes).
    pub fn can_run(&self, thread: usize) -> bool {
        match self.next(thread).map(|l| l.statement) {
            Some(Lock(lock)) => self.owners[lock as usize].is_none(),
            next => next.is_some(),
        }
    }

    /// The access of the thread's next statement.
    pub fn access(&self, thread: usize) -> Option<Access> {
        let line = self.next(thread)?;
        let (variable, kind) = match line.statement {
            Read(v) => (v, SiteKind::Read),
            Write(v, _) => (v, SiteKind::Write),
            Increment(v) => (v, SiteKind::ReadWrite),
            AtomicLoad(v) => (v, SiteKind::AtomicLoad),
            AtomicStore(v, _) => (v, SiteKind::AtomicStore),
            _ => return None,
        };
        let bytes = ByteRange {
            start: 0x1000 + 8 * u64::from(variable),
            len: 4,
        };
        Some(Access {
            thread: ThreadId(thread as u32),
            site: SiteId {
                module: 0,
                index: line.site,
            },
            kind,
            bytes,
        })
    }

    /// Executes the thread's next statement. False if it was a spin loop's round in vain.
    pub fn execute(&mut self, thread: usize) -> bool {
        let Some(line) = self.next(thread) else { return true };
        let register = &mut self.threads[thread].register;
        match line.statement {
            Read(v) | AtomicLoad(v) => *register = self.variables[v as usize],
            Write(v, value) | AtomicStore(v, value) => self.variables[v as usize] = value,
            Increment(v) => self.variables[v as usize] = self.variables[v as usize].wrapping_add(1),
            Lock(lock) => self.owners[lock as usize] = Some(thread as u8),
            Unlock(lock) => self.owners[lock as usize] = None,
            Await(v, value) if self.variables[v as usize] != value => return false,
            _ => {}
        }
        self.threads[thread].line += 1;
        self.settle(thread);
        true
    }

    /// Executes the statements that are no scheduling points, up to the next that is.
    fn settle(&mut self, thread: usize) {
        while let Some(line) = self.next(thread) {
            let progress = &mut self.threads[thread];
            let jump = match line.statement {
                Unless(value, jump) if progress.register != value => isize::from(jump),
                Again(back, times) if progress.rounds < times => {
                    progress.rounds += 1;
                    -isize::from(back)
                }
                Error => {
                    self.errors.insert(line.site);
                    1
                }
                Unless(..) | Again(..) => 1,
                _ => return,
            };
            progress.line = progress.line.saturating_add_signed(jump);
        }
    }
}
