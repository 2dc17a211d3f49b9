//! Source locations.

use crate::llvm::*;
use crate::module::Lowering;
use deadheat_ir::{Location, LocationId, StringId};
use llvm_sys::debuginfo::{
    LLVMDILocationGetColumn, LLVMDILocationGetInlinedAt, LLVMDILocationGetLine, LLVMDILocationGetScope,
    LLVMDISubprogramGetLine, LLVMGetSubprogram, LLVMInstructionGetDebugLoc,
};

impl Lowering {
    /// Where an instruction stands.
    pub fn location(&mut self, instruction: Value) -> Option<LocationId> {
        let at = llvm!(LLVMInstructionGetDebugLoc(instruction));
        // Outermost first: an inlined location refers to the one around it.
        let mut chain = Vec::new();
        let mut next = at;
        while !next.is_null() && !self.locations.contains_key(&next) {
            chain.push(next);
            next = llvm!(LLVMDILocationGetInlinedAt(next));
        }
        let mut around = if next.is_null() { None } else { self.locations[&next] };
        for location in chain.into_iter().rev() {
            around = self.one_location(location, around);
            self.locations.insert(location, around);
        }
        around
    }

    fn one_location(&mut self, location: Metadata, inlined_at: Option<LocationId>) -> Option<LocationId> {
        let (file, function) = self.scope(llvm!(LLVMDILocationGetScope(location)))?;
        let (line, column) = llvm!((LLVMDILocationGetLine(location), LLVMDILocationGetColumn(location)));
        Some(self.builder.location(Location {
            file,
            function,
            line,
            column,
            inlined_at,
        }))
    }

    fn scope(&mut self, scope: Metadata) -> Option<(StringId, StringId)> {
        if let Some(known) = self.scopes.get(&scope) {
            return Some(*known);
        }
        let mut raw = RawScope::NOTHING;
        if llvm!(dh_scope(scope, &mut raw)) == 0 {
            return None;
        }
        let file = self.builder.string(&text(raw.file, raw.file_length));
        let function = self.builder.string(&text(raw.function, raw.function_length));
        self.scopes.insert(scope, (file, function));
        Some((file, function))
    }

    /// Where a function is declared.
    pub fn function_location(&mut self, function: Value) -> Option<LocationId> {
        let subprogram = llvm!(LLVMGetSubprogram(function));
        if subprogram.is_null() {
            return None;
        }
        let (file, function) = self.scope(subprogram)?;
        let line = llvm!(LLVMDISubprogramGetLine(subprogram));
        Some(self.builder.location(Location {
            file,
            function,
            line,
            column: 0,
            inlined_at: None,
        }))
    }

    /// Where a variable is declared.
    pub fn variable_location(&mut self, variable: Value) -> Option<LocationId> {
        let (mut raw, mut line) = (RawScope::NOTHING, 0);
        if llvm!(dh_variable(variable, &mut raw, &mut line)) == 0 {
            return None;
        }
        let file = self.builder.string(&text(raw.file, raw.file_length));
        let function = self.builder.string("");
        Some(self.builder.location(Location {
            file,
            function,
            line,
            column: 0,
            inlined_at: None,
        }))
    }
}
