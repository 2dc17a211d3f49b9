//! The functions of a file by its symbol tables: what is left of a file that was stripped.
//!
//! A stripped library names only what it exports. An address between two exports belongs to neither, so a symbol
//! counts within its size alone (addr2line's own table gives the nearest symbol below).

use object::{Object, ObjectSymbol, SymbolKind};
use std::path::Path;

/// Start, size and name of functions, ascending.
#[derive(Default)]
pub(super) struct Symbols(Vec<(u64, u64, String)>);

impl Symbols {
    pub(super) fn read(path: &Path) -> Symbols {
        let bytes = std::fs::read(path).unwrap_or_default();
        let Ok(file) = object::File::parse(&*bytes) else {
            return Symbols::default();
        };
        let of_code = |s: &object::Symbol<'_, '_>| s.is_definition() && s.kind() == SymbolKind::Text;
        let all = file.symbols().chain(file.dynamic_symbols()).filter(of_code);
        let mut found: Vec<(u64, u64, String)> = all
            .filter_map(|s| Some((s.address(), s.size(), s.name().ok()?.to_owned())))
            .collect();
        found.sort();
        Symbols(found)
    }

    /// The function at an address. A symbol without size, as assembly has, reaches to the next one.
    pub(super) fn at(&self, address: u64) -> Option<&str> {
        let after = self.0.partition_point(|(start, ..)| *start <= address);
        let (start, size, name) = self.0.get(after.checked_sub(1)?)?;
        (*size == 0 || address - start < *size).then_some(name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::Symbols;

    #[test]
    fn a_symbol_counts_within_its_size() {
        let symbols = Symbols(vec![(16, 8, "f".into()), (32, 0, "g".into())]);
        assert_eq!(symbols.at(15), None);
        assert_eq!(symbols.at(20), Some("f"));
        assert_eq!(symbols.at(24), None);
        assert_eq!(symbols.at(99), Some("g"));
    }
}
