//! Misuses of synchronisation as findings: what was done, in a sentence, where, and who held the object.
//!
//! A finding is named by the kind and the two innermost places of the user's own code, so that one statement is one
//! finding, however many objects it is done to and in whichever code (plain, detecting) it was seen.

use crate::candidate::Context;
use crate::describe::{Described, Names, kind_of_object};
use crate::hash::Fnv;
use deadheat_confirm::misuse::SeenMisuse;
use deadheat_model::{Evidence, FindingKind, MisuseKind, Verdict};
use deadheat_report::finding::{Finding, Frame, Lock, Misuse};
use deadheat_wire::record;

/// Places by which a statement is named.
const PLACES: usize = 2;

impl Names<'_> {
    /// The finding of a misuse.
    pub fn misuse(&mut self, seen: &SeenMisuse) -> Finding {
        let context = Context::of(&seen.shown.run.records, seen.misuse.process);
        let misuse = self.of(&context).misuse(&seen.misuse, seen.ordinary);
        let stack = if misuse.stack.is_empty() {
            &misuse.taken
        } else {
            &misuse.stack
        };
        let mut hash = Fnv::default();
        hash.text("misuse").text(&deadheat_report::schema::name(&misuse.kind));
        for place in places(stack) {
            hash.text(&place);
        }
        Finding {
            id: String::new(),
            kind: FindingKind::SyncMisuse,
            verdict: if seen.repeated {
                Verdict::Real
            } else {
                Verdict::Suspected
            },
            evidence: seen.repeated.then_some(Evidence::Happened),
            accesses: Vec::new(),
            object: None,
            orders: Vec::new(),
            threads: Vec::new(),
            threads_left_out: 0,
            misuse: Some(misuse),
            ended_at: None,
            freed: None,
            story: None,
            harm: None,
            input: None,
            inputs: Vec::new(),
            tries: 0,
            hits: 0,
            directed_tries: 0,
            directed_hits: 0,
            probability: None,
            replay: None,
            reasons: match seen.repeated {
                true => Vec::new(),
                false => vec!["it was seen in a run whose schedule did not repeat".into()],
            },
            fingerprint: hash.hex(),
        }
    }
}

/// The innermost places of the user's own code, or of any code if none is.
fn places(stack: &[Frame]) -> Vec<String> {
    let known = || stack.iter().filter(|f| f.line > 0);
    let own = known().filter(|f| !f.of_system());
    let mut names: Vec<String> = own.take(PLACES).map(name).collect();
    if names.is_empty() {
        names.extend(known().take(PLACES).map(name));
    }
    if names.is_empty() {
        names.extend(stack.first().map(name));
    }
    names
}

fn name(frame: &Frame) -> String {
    format!("{}:{}", frame.function, frame.place())
}

impl Described<'_> {
    fn misuse(&mut self, misuse: &record::Misuse, ordinary: u32) -> Misuse {
        let stack = self.stack(&misuse.stack, false);
        let thread = self.standing(misuse.thread, &stack);
        let objects: Vec<Lock> = misuse
            .objects
            .iter()
            .map(|(kind, object)| Lock {
                kind: kind_of_object(*kind).into(),
                name: self.named(*object),
                shared: false,
            })
            .collect();
        let taken = self.stack(&misuse.taken, false);
        let other = misuse.other.map(|other| self.standing(other, &taken));
        let who = |itself: &str| match &other {
            Some(other) if other.number == thread.number => itself.to_string(),
            Some(other) if other.number == 0 => "the main thread".into(),
            Some(other) => other.label(),
            None => "nobody".into(),
        };
        Misuse {
            kind: misuse.kind,
            what: what(misuse.kind, &objects, &who),
            thread: thread.clone(),
            stack,
            object: objects.first().cloned(),
            ordinary,
            taken,
            other,
        }
    }
}

/// What the thread does.
fn what(kind: MisuseKind, objects: &[Lock], who: &dyn Fn(&str) -> String) -> String {
    let object = |n: usize| {
        let object = objects.get(n);
        object.map_or_else(String::new, |o| format!("{} {}", o.kind, o.name))
    };
    let (it, mutex) = (object(0), object(1));
    // The caller is never the one in question, unless it is told so.
    let other = who("it itself");
    let holds = match other.as_str() {
        "it itself" => "which it holds itself".to_string(),
        other => format!("which {other} holds"),
    };
    match kind {
        MisuseKind::UnlockByAnother | MisuseKind::UnlockUnlocked => format!("unlocks {it}, {holds}"),
        MisuseKind::DestroyHeld => format!("destroys {it}, {holds}"),
        MisuseKind::DestroyAwaited => format!("destroys {it}, for which {other} waits"),
        MisuseKind::UseDestroyed => format!("uses {it}, which was destroyed"),
        MisuseKind::WaitUnheld => format!("waits for {it} with {mutex}, {holds}"),
        MisuseKind::TwoMutexes => format!(
            "waits for {it} with {mutex}, while {other} waits for it with {}",
            object(2)
        ),
        MisuseKind::JoinJoined => format!("joins {other}, which was joined already"),
        MisuseKind::JoinJoining => format!("joins {other}, which another thread is joining"),
        MisuseKind::JoinDetached => format!("joins {other}, which is detached"),
        MisuseKind::DetachDetached => match other.as_str() {
            "it itself" => "detaches itself, though it is detached already".into(),
            other => format!("detaches {other}, which is detached already"),
        },
        MisuseKind::DetachJoined => format!("detaches {other}, which was joined already"),
        MisuseKind::FreeHeld => format!("frees the memory of {it}, {holds}"),
        MisuseKind::StackOfHeld => format!("ends, and with its stack goes {it}, {holds}"),
        MisuseKind::EndHolding => format!("ends and still holds {it}"),
        MisuseKind::ExitHolding => format!("still holds {it}, which other processes use, when the process ends"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(function: &str, file: &str, line: u32) -> Frame {
        Frame {
            function: function.into(),
            file: file.into(),
            line,
            column: 0,
            inlined: false,
            module: String::new(),
        }
    }

    #[test]
    fn a_statement_is_named_by_its_own_code_and_its_caller() {
        let stack = [
            frame("std::mutex::unlock", "/usr/include/c++/12/mutex", 120),
            frame("release", "a.cpp", 4),
            frame("worker", "a.cpp", 9),
            frame("main", "a.cpp", 20),
        ];
        assert_eq!(places(&stack), ["release:a.cpp:4", "worker:a.cpp:9"]);
        assert_eq!(
            places(&stack[..1]),
            ["std::mutex::unlock:/usr/include/c++/12/mutex:120"]
        );
        assert!(places(&[]).is_empty());
    }

    #[test]
    fn sentences_say_who_holds_it() {
        let mutex = [Lock {
            kind: "mutex".into(),
            name: "`m`".into(),
            shared: false,
        }];
        let another = |_: &str| "thread T2".to_string();
        let told = what(MisuseKind::UnlockByAnother, &mutex, &another);
        assert_eq!(told, "unlocks mutex `m`, which thread T2 holds");
        let itself = |word: &str| word.to_string();
        let told = what(MisuseKind::FreeHeld, &mutex, &itself);
        assert_eq!(told, "frees the memory of mutex `m`, which it holds itself");
        let nobody = |_: &str| "nobody".to_string();
        let told = what(MisuseKind::UnlockUnlocked, &mutex, &nobody);
        assert_eq!(told, "unlocks mutex `m`, which nobody holds");
    }
}
