//! Joins modules into a program, by symbol name, as a linker does.
//!
//! First each name's definition is chosen: a strong one over a weak one, else the first; a second strong definition
//! is reported and left out. Then each module's tables are translated into the program's, whose rows stay unique, so
//! that a struct that every module declares is one struct if its layout is the same everywhere. Uses of aliases
//! become uses of what they stand for. Cost: linear in the modules.

mod symbols;
mod translation;

use crate::ids::SymbolId;
use crate::module::{Module, ModuleBuilder};
use crate::symbol::{Linkage, SymbolKind};
use rustc_hash::FxHashMap;
use symbols::Resolution;

/// Modules that have been joined.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The joined tables.
    pub module: Module,
    /// What linking met.
    pub report: LinkReport,
    names: FxHashMap<Box<str>, SymbolId>,
}

/// What linking met.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkReport {
    /// Names with more than one strong definition.
    pub duplicates: Vec<Duplicate>,
    /// Names used but defined nowhere, llvm's own left out.
    pub undefined: usize,
    /// Weak definitions for which another one stands.
    pub superseded: usize,
    /// Aliases that lead in a circle or to nothing.
    pub broken_aliases: usize,
}

/// A name that two modules define.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Duplicate {
    /// The name.
    pub name: String,
    /// The unit whose definition stands, of [`Module::units`].
    pub kept: usize,
    /// The unit whose definition was left out.
    pub dropped: usize,
}

impl Program {
    /// Joins modules; their order decides where two definitions are equally good.
    pub fn link(modules: Vec<Module>) -> Program {
        let mut builder = ModuleBuilder::default();
        let mut resolution = Resolution::of(&modules);
        let mut report = std::mem::take(&mut resolution.report);
        for (n, module) in modules.into_iter().enumerate() {
            translation::add(&mut builder, &resolution, n, module);
        }
        let module = builder.module;
        let mut names = FxHashMap::default();
        for (id, symbol) in module.symbols() {
            if symbol.linkage == Linkage::Internal {
                continue;
            }
            names.insert(Box::from(&module[symbol.name]), id);
            let intrinsic = module[symbol.name].starts_with("llvm.");
            report.undefined += usize::from(!symbol.is_defined() && !intrinsic);
        }
        Program { module, report, names }
    }

    /// The symbol that other modules see under this name; aliases are followed.
    pub fn symbol(&self, name: &str) -> Option<SymbolId> {
        let mut id = *self.names.get(name)?;
        // Linking left only aliases that end.
        while let SymbolKind::Alias {
            target: Some((target, 0)),
        } = self.module[id].kind
        {
            id = target;
        }
        Some(id)
    }
}

#[cfg(test)]
mod tests;
