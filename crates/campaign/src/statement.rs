//! A statement: what the copies of a site (inlined, instantiated, unrolled) have in common.

use crate::hash::Fnv;
use deadheat_model::SiteKind;
use deadheat_wire::sites::Site;

/// A statement of the source that touches memory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Statement {
    /// File as the compiler was given it; the symbol of the function if there is no debug information.
    pub file: String,
    /// Line; 0 unknown.
    pub line: u32,
    /// Column; 0 unknown.
    pub column: u32,
    /// Function without template arguments, demangled.
    pub function: String,
    /// What it does.
    pub kind: SiteKind,
    /// The site's ordinal in its function, only where there is no line.
    pub ordinal: u32,
    /// Directory in which the file was compiled; no part of the name that lasts.
    pub directory: String,
}

impl Statement {
    /// The statement that a site is a copy of.
    pub fn of(site: &Site) -> Statement {
        let (kind, symbol) = (site.desc.kind, deadheat_report::symbol::demangle(&site.function));
        match site.location.as_ref().filter(|l| l.line > 0) {
            Some(l) => {
                let function = if l.function.is_empty() {
                    symbol
                } else {
                    deadheat_report::symbol::demangle(&l.function)
                };
                Statement {
                    file: l.file.clone(),
                    line: l.line,
                    column: l.column,
                    function: base_name(&function).into(),
                    kind,
                    ordinal: 0,
                    directory: l.directory.clone(),
                }
            }
            None => Statement {
                file: String::new(),
                line: 0,
                column: 0,
                function: base_name(&symbol).into(),
                kind,
                ordinal: site.desc.ordinal,
                directory: String::new(),
            },
        }
    }

    /// Mixes the lasting name in: everything but the directory.
    pub fn mix(&self, hash: &mut Fnv) {
        hash.text(&self.file)
            .text(&self.function)
            .text(&format!("{:?}", self.kind));
        hash.text(&format!("{}:{}:{}", self.line, self.column, self.ordinal));
    }
}

/// A function's name without arguments and template arguments.
fn base_name(name: &str) -> &str {
    let operator = name.find("operator").map_or(0, |at| at + "operator".len());
    let end = name
        .char_indices()
        .skip_while(|(at, _)| *at <= operator && operator > 0)
        .find(|(_, c)| matches!(c, '<' | '('));
    match end {
        Some((at, _)) if at > 0 => &name[..at],
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::base_name;

    #[test]
    fn template_copies_have_one_name() {
        assert_eq!(base_name("pool::push<int>(int)"), "pool::push");
        assert_eq!(base_name("main"), "main");
        assert_eq!(base_name("(anonymous namespace)::f"), "(anonymous namespace)::f");
    }
}
