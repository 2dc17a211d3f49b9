//! What limits the result of many runs, each limit said once.
//!
//! Every run counts for itself what it cut and what it could not model, and the counts differ from schedule to
//! schedule. A limit is told once, with the greatest count of one run, in the order in which it was first met.
//!
//! Cost: a comparison with each limit that is known, of which there are few kinds, for each notice of a run.

use crate::describe;
use deadheat_confirm::Run;
use deadheat_wire::record::Notice;

/// Accesses without shadow in words.
const OUTSIDE: &str = "accesses to memory at unusual addresses";

/// The limits that runs have told of.
#[derive(Debug, Default)]
pub struct Limits {
    notices: Vec<Notice>,
    /// Most accesses without shadow in one run.
    outside: u64,
    /// Most records of one run that did not fit.
    lost: u64,
    /// In words.
    others: Vec<String>,
}

impl Limits {
    /// Adds those of a run.
    pub fn add(&mut self, run: &Run) {
        for notice in &run.records.notices {
            self.note(notice);
        }
        let outside = run.records.granules.as_ref().map_or(0, |g| g.outside);
        self.outside = self.outside.max(outside);
        self.lost = self.lost.max(run.records.lost);
        if let Some(damage) = run.records.damage {
            self.say(format!("a record file was cut short ({damage:?})"));
        }
    }

    /// Adds one in words.
    pub fn say(&mut self, told: String) {
        if !self.others.contains(&told) {
            self.others.push(told);
        }
    }

    fn note(&mut self, new: &Notice) {
        for known in &mut self.notices {
            match (known, new) {
                (Notice::Cut { what, count }, Notice::Cut { what: of, count: more }) if what == of => {
                    *count = (*count).max(*more);
                    return;
                }
                (Notice::NotModelled { call, count }, Notice::NotModelled { call: of, count: more }) if call == of => {
                    *count = (*count).max(*more);
                    return;
                }
                (Notice::Excused { count }, Notice::Excused { count: more }) => {
                    *count = (*count).max(*more);
                    return;
                }
                (known, new) if known == new => return,
                _ => {}
            }
        }
        self.notices.push(new.clone());
    }

    /// All of them in words.
    pub fn told(self) -> Vec<String> {
        let mut told: Vec<String> = self.notices.iter().map(describe::notice).collect();
        if self.outside > 0 {
            told.push(format!(
                "{OUTSIDE} ({} in one run): not watched, races there are not seen",
                self.outside
            ));
        }
        if self.lost > 0 {
            told.push(format!("{} records of one run did not fit", self.lost));
        }
        told.extend(self.others);
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_told_once_with_its_greatest_count() {
        let cut = |what: &str, count| Notice::Cut {
            what: what.into(),
            count,
        };
        let mut limits = Limits::default();
        for notice in [
            cut("stacks", 19),
            cut("threads", 1),
            cut("stacks", 20),
            cut("stacks", 17),
        ] {
            limits.note(&notice);
        }
        limits.say("a thing".into());
        limits.say("a thing".into());
        let told = limits.told();
        assert_eq!(told.len(), 3);
        assert!(told[0].starts_with("stacks: 20 ") && told[1].starts_with("threads: 1 "));
    }
}
