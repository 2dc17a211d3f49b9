//! Functions that measuring leaves out, decided on the bitcode that the program keeps.

use crate::hash::Fnv;
use crate::linked_code::{self, LinkedCode};
use crate::scan::{ReadOptions, ReadSettings};
use crate::store::MeasuredInput;
use deadheat_confirm::Records;
use deadheat_ir::{Module, Program as Code};
use deadheat_model::SiteId;
use deadheat_pairs::{Reason, inherited, unmeasured};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

pub use deadheat_pairs::Assumptions;

/// How the bitcode is read, and what is assumed.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The worker that lowers bitcode.
    pub worker: PathBuf,
    /// Workers at the same time.
    pub jobs: usize,
    /// Where lowered modules are kept.
    pub cache: Option<PathBuf>,
    /// What is assumed of loops.
    pub assumptions: Assumptions,
}

/// The functions of a program's file that are left out, by the index of their entry.
#[derive(Clone, Debug, Default)]
pub struct LeftOut {
    /// Ascending by index; sources are indexes too.
    pub functions: BTreeMap<u32, Reason>,
    /// Functions that measuring could look at.
    pub measurable: usize,
    /// Whether loops are taken to go round.
    pub loops: bool,
    /// What kept it from being decided.
    pub notices: Vec<String>,
}

/// Bytes of one stored module: far above any compiler's output.
const LARGEST: u64 = 1 << 30;

/// Decides for a program's file. What cannot be read leaves nothing out.
pub fn decide(file: &Path, reading: &Reading) -> LeftOut {
    let mut left_out = LeftOut {
        loops: reading.assumptions.loops,
        ..LeftOut::default()
    };
    match read(file, reading, &mut left_out.notices) {
        Ok((code, linked)) => left_out.fill(&code, &linked, reading.assumptions),
        Err(why) => left_out.notices.push(format!("every function is measured: {why}")),
    }
    left_out
}

fn read(file: &Path, reading: &Reading, notices: &mut Vec<String>) -> Result<(Code, LinkedCode), String> {
    let linked = linked_code::read(file).map_err(|why| format!("the program's file: {why}"))?;
    let options = ReadOptions {
        worker: reading.worker.clone(),
        jobs: reading.jobs,
        settings: ReadSettings {
            // A call in the source stays one.
            keep: vec!["*".into()],
            ..ReadSettings::default()
        },
        cache: reading.cache.clone(),
        clang: PathBuf::new(),
        largest: LARGEST,
    };
    let read =
        deadheat_bitcode::read(&[file.to_owned()], &[], &options).map_err(|e| format!("the program's bitcode: {e}"))?;
    if !read.skipped.is_empty() {
        notices.push(format!(
            "{} parts of the program's bitcode could not be read: what they call is measured",
            read.skipped.len()
        ));
    }
    let modules: Vec<Module> = read.inputs.into_iter().flat_map(|input| input.modules).collect();
    if modules.is_empty() {
        return Err("the program keeps no bitcode".into());
    }
    Ok((Code::link(modules), linked))
}

impl LeftOut {
    fn fill(&mut self, code: &Code, linked: &LinkedCode, assumptions: Assumptions) {
        self.measurable = linked.functions.iter().filter(|f| f.measurable).count();
        let entry = |place: u32| linked.entries[place as usize];
        for (place, reason) in (0u32..).zip(unmeasured(code, &linked.functions, assumptions)) {
            let (Some(reason), Some(own)) = (reason, entry(place)) else {
                continue;
            };
            let reason = match reason {
                Reason::Inherits(from) => Reason::Inherits(from.into_iter().filter_map(entry).collect()),
                reason => reason,
            };
            self.functions.insert(own, reason);
        }
    }

    /// Their entries in a run in which the program's file is this module, ascending.
    pub fn sites(&self, module: u16) -> Vec<SiteId> {
        self.functions
            .keys()
            .map(|index| SiteId { module, index: *index })
            .collect()
    }

    /// What the name of a measurement depends on beside its input.
    pub fn salt(&self, name: u64) -> u64 {
        if self.functions.is_empty() {
            return name;
        }
        let mut hash = Fnv::default();
        hash.bytes(&name.to_le_bytes());
        for (index, reason) in &self.functions {
            hash.bytes(&index.to_le_bytes());
            for from in reason.sources() {
                hash.bytes(&from.to_le_bytes());
            }
            hash.bytes(&[0xff]);
        }
        hash.number()
    }

    /// Gives functions that a run left out the pairs of those that they have them from. What the run measured all the
    /// same stands as it is. The number of functions left out.
    pub fn inherit(&self, module: u16, records: &Records, measured: &mut MeasuredInput) -> u32 {
        let seen: BTreeSet<SiteId> = records
            .functions
            .iter()
            .flat_map(|p| p.entries.iter().copied())
            .collect();
        let out = |index: &u32| !seen.contains(&SiteId { module, index: *index });
        let left: BTreeMap<u32, &[u32]> = self
            .functions
            .iter()
            .filter(|(index, _)| out(index))
            .map(|(index, reason)| (*index, reason.sources()))
            .collect();
        let mut numbers: HashMap<SiteId, u32> = measured.functions.iter().copied().zip(0..).collect();
        // Who has its pairs from one that ran, ran.
        let mut heirs: Vec<u32> = Vec::new();
        let mut before = usize::MAX;
        while heirs.len() != before {
            before = heirs.len();
            for (index, from) in &left {
                let ran = |index: &u32| numbers.contains_key(&SiteId { module, index: *index });
                if !ran(index) && from.iter().any(ran) {
                    numbers.insert(SiteId { module, index: *index }, measured.functions.len() as u32);
                    measured.functions.push(SiteId { module, index: *index });
                    heirs.push(*index);
                }
            }
        }
        let number = |index: &u32| numbers.get(&SiteId { module, index: *index }).copied();
        let sources = heirs.iter().filter_map(|heir| {
            let from = left[heir].iter().filter_map(number).collect();
            Some((number(heir)?, from))
        });
        measured.pairs = inherited(&measured.pairs, &sources.collect());
        left.len() as u32
    }
}
