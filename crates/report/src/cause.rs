//! Which findings are likely to have one cause, so that a person reads it once.
//!
//! Two functions that race for an object often do so with many statements; a container that two threads change
//! races in every line of its header. The first are told by their functions and the object, the second by
//! the user's own lines that called into the header. What is grouped is still counted and named.

use crate::finding::{Access, Finding, Object};
use deadheat_model::FindingKind;

/// The findings, those with one cause together, in order of the first of each.
pub fn grouped<'f>(findings: &[&'f Finding]) -> Vec<Vec<&'f Finding>> {
    let mut groups: Vec<(Option<String>, Vec<&'f Finding>)> = Vec::new();
    for finding in findings {
        let key = key(finding);
        match groups.iter_mut().find(|(known, _)| known.is_some() && *known == key) {
            Some((_, members)) => members.push(finding),
            None => groups.push((key, vec![finding])),
        }
    }
    groups.into_iter().map(|(_, members)| members).collect()
}

/// Equal for findings with one cause; nothing for what stands for itself.
fn key(finding: &Finding) -> Option<String> {
    if finding.kind != FindingKind::DataRace || finding.accesses.is_empty() {
        return None;
    }
    let in_header = |a: &Access| a.stack.first().is_some_and(|f| f.of_system());
    let header = finding.accesses.iter().any(in_header);
    let place = |a: &Access| match header {
        true => format!("{}:{}:{}", a.file, a.line, a.function),
        false => format!("{}:{}", a.file, a.function),
    };
    let mut places: Vec<String> = finding.accesses.iter().map(place).collect();
    places.sort();
    let object = finding.object.as_ref().filter(|_| !header).map(whole);
    Some(format!("{places:?} {object:?}"))
}

/// The object without the part of it that is accessed.
fn whole(object: &Object) -> String {
    let name = object.name.as_deref().unwrap_or_default();
    let variable = name.split(['.', '[']).next().unwrap_or_default();
    let allocated = object.allocated.iter().find(|f| f.line > 0 && !f.of_system());
    let from = allocated.map(|f| f.place()).unwrap_or_default();
    format!("{} {variable} {from}", object.kind)
}
