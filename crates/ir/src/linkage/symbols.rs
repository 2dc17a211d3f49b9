//! Chooses the definition of each name.

use super::{Duplicate, LinkReport};
use crate::ids::SymbolId;
use crate::module::Module;
use crate::symbol::{Linkage, Symbol, SymbolKind};
use rustc_hash::FxHashMap;

/// Which symbol of which module stands for which symbol of the program.
pub(super) struct Resolution {
    /// For each module, for each of its symbols, the program's symbol.
    pub(super) ids: Vec<Vec<SymbolId>>,
    /// For each of the program's symbols, the module and symbol that it is taken from.
    pub(super) chosen: Vec<(usize, usize)>,
    /// For each of the program's symbols, what it is when aliases are followed.
    pub(super) meant: Vec<(SymbolId, i64)>,
    /// For each of the program's symbols, whether some module takes its address.
    pub(super) address_taken: Vec<bool>,
    /// For each of the program's symbols, the largest size that a module gives it (common symbols).
    pub(super) size: Vec<u64>,
    pub(super) report: LinkReport,
}

/// How good a definition is.
#[derive(PartialEq, Eq, PartialOrd, Ord, Clone, Copy)]
enum Rank {
    Declared,
    Weak,
    Strong,
}

fn rank(symbol: &Symbol) -> Rank {
    match (symbol.is_defined(), symbol.linkage) {
        (false, _) => Rank::Declared,
        (true, Linkage::Weak) => Rank::Weak,
        (true, _) => Rank::Strong,
    }
}

fn size(symbol: &Symbol) -> u64 {
    match symbol.kind {
        SymbolKind::Variable { size, .. } => size,
        _ => 0,
    }
}

impl Resolution {
    pub(super) fn of(modules: &[Module]) -> Resolution {
        let mut resolution = Resolution {
            ids: Vec::with_capacity(modules.len()),
            chosen: Vec::new(),
            meant: Vec::new(),
            address_taken: Vec::new(),
            size: Vec::new(),
            report: LinkReport::default(),
        };
        let mut names: FxHashMap<&str, SymbolId> = FxHashMap::default();
        // The program's units are the modules' units, one after another.
        let mut units = Vec::with_capacity(modules.len());
        let mut unit = 0;
        for module in modules {
            units.push(unit);
            unit += module.units.len();
        }
        for (m, module) in modules.iter().enumerate() {
            let ids = module.symbols.iter().enumerate().map(|(n, symbol)| {
                let name = &module[symbol.name];
                let known = match symbol.linkage {
                    Linkage::Internal => None,
                    _ => names.get(name).copied(),
                };
                let id = match known {
                    Some(id) => {
                        resolution.meet(modules, &units, id, (m, n));
                        id
                    }
                    None => {
                        let id = SymbolId::new(resolution.chosen.len() as u32);
                        resolution.chosen.push((m, n));
                        resolution.address_taken.push(false);
                        resolution.size.push(0);
                        if symbol.linkage != Linkage::Internal {
                            names.insert(name, id);
                        }
                        id
                    }
                };
                resolution.address_taken[id.index()] |= symbol.address_taken;
                let largest = &mut resolution.size[id.index()];
                *largest = size(symbol).max(*largest);
                id
            });
            let ids = ids.collect();
            resolution.ids.push(ids);
        }
        resolution.follow_aliases(modules);
        resolution
    }

    /// A name that is known comes again.
    fn meet(&mut self, modules: &[Module], units: &[usize], id: SymbolId, (m, n): (usize, usize)) {
        let (old_m, old_n) = self.chosen[id.index()];
        let (old, new) = (&modules[old_m].symbols[old_n], &modules[m].symbols[n]);
        match (rank(old), rank(new)) {
            (Rank::Strong, Rank::Strong) => self.report.duplicates.push(Duplicate {
                name: modules[m][new.name].to_owned(),
                kept: units[old_m],
                dropped: units[m],
            }),
            (old, new) => {
                self.report.superseded += usize::from(old != Rank::Declared && new != Rank::Declared);
                if new > old {
                    self.chosen[id.index()] = (m, n);
                }
            }
        }
    }

    fn follow_aliases(&mut self, modules: &[Module]) {
        // An alias's target may be an alias: longer chains than this are circles.
        const LONGEST: usize = 64;
        for n in 0..self.chosen.len() {
            let own = SymbolId::new(n as u32);
            let (mut id, mut offset) = (own, 0i64);
            let mut steps = 0;
            let meant = loop {
                let (m, s) = self.chosen[id.index()];
                match modules[m].symbols[s].kind {
                    SymbolKind::Alias {
                        target: Some((target, by)),
                    } if steps < LONGEST => {
                        id = self.ids[m][target.index()];
                        offset = offset.wrapping_add(by);
                        steps += 1;
                    }
                    SymbolKind::Alias { .. } => {
                        self.report.broken_aliases += 1;
                        break (own, 0);
                    }
                    _ => break (id, offset),
                }
            };
            self.meant.push(meant);
        }
    }
}
