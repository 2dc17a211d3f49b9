//! Names for people: of locks, objects and places, in the source's words as far as the program tells them.

use crate::access_path::{Path, Root, Step};
use crate::guard::{Guard, GuardName};
use crate::subject::Subject;
use crate::warning::ObjectKey;
use deadheat_ir::{LocationId, Module, StructId, SymbolKind};
use std::fmt::Write;

/// `list.lock`, `conns[…]`, `head->+16`.
pub fn path(subject: &Subject<'_>, path: &Path) -> String {
    let (mut name, structure) = match path.root {
        Root::Global(number) => match subject.symbol(number) {
            Some(symbol) => {
                let structure = match subject.module[symbol].kind {
                    SymbolKind::Variable { structure, .. } => structure,
                    _ => None,
                };
                (subject.module.name(symbol).to_owned(), structure)
            }
            None => (subject.lock_name(number).unwrap_or("?").to_owned(), None),
        },
        Root::Local(_) => ("a local variable".into(), None),
        Root::Fresh(_) => ("a new object".into(), None),
        Root::Formal(n) => (format!("argument {}", n + 1), None),
        Root::Opaque(_) | Root::Instance(_) => ("an object".into(), None),
        Root::Thread(_) => ("a thread".into(), None),
    };
    for (number, each) in path.steps.iter().enumerate() {
        if number > 0 {
            name.push_str("->");
        }
        let structure = structure.filter(|_| number == 0);
        step(subject.module, &mut name, each, structure, number > 0);
    }
    name
}

fn step(module: &Module, name: &mut String, step: &Step, structure: Option<StructId>, after_load: bool) {
    if step.index.is_some() {
        name.push_str("[…]");
    }
    match structure.and_then(|s| field(module, s, step.offset)) {
        Some(field) => name.push_str(&field),
        None if step.offset != 0 || after_load => {
            let _ = write!(name, "{:+}", step.offset);
        }
        None => {}
    }
}

/// `.a.b`: the field at an offset of a struct, or of an array of it.
fn field(module: &Module, structure: StructId, offset: i64) -> Option<String> {
    let layout = &module[structure];
    let offset = u64::try_from(offset).ok()?;
    let inside = if layout.size > 0 { offset % layout.size } else { offset };
    let field = layout
        .fields
        .iter()
        .find(|f| f.offset <= inside && inside < f.offset + f.size.max(1))?;
    let mut name = format!(".{}", &module[field.name?]);
    if let Some(nested) = field.nested {
        name.push_str(&self::field(module, nested, (inside - field.offset) as i64).unwrap_or_default());
    }
    Some(name)
}

/// The lock that guards an access.
pub fn guard(subject: &Subject<'_>, guard: &Guard) -> String {
    match &guard.name {
        GuardName::Absolute(lock) | GuardName::SomeOf(lock) => path(subject, lock),
        GuardName::Relative(steps) => {
            let mut name = String::from("the lock beside it, ");
            for each in steps {
                let _ = write!(name, "{:+}", each.offset);
            }
            name
        }
        GuardName::Element(lock, _) => path(subject, lock),
    }
}

/// What a warning is about: kind and name, as reports have them.
pub fn object(subject: &Subject<'_>, key: ObjectKey, first: Option<&Path>) -> (&'static str, Option<String>) {
    let module = subject.module;
    match key {
        ObjectKey::Object(Root::Global(_)) => ("global", first.map(|p| path(subject, p))),
        ObjectKey::Object(Root::Local(_)) => ("stack", None),
        ObjectKey::Object(_) => ("heap", None),
        ObjectKey::Field(tag) => ("field", Some(module.describe_tag(tag))),
        ObjectKey::Class(..) | ObjectKey::Outside => ("unknown", None),
    }
}

/// The places of a location: itself, then where its function was inlined, and so on.
pub fn chain(module: &Module, location: Option<LocationId>) -> impl Iterator<Item = LocationId> + '_ {
    std::iter::successors(location, |l| module[*l].inlined_at)
}
