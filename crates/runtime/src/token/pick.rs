//! Who runs next: lists who could, waits for the world outside as long as nobody can, asks the policy, and
//! hands the token over.

use super::Scheduler;
use crate::inside::{self, Reach};
use crate::intercept::unmodelled;
use crate::peer::{self, Idle};
use crate::thread::{NEVER, Thread};
use crate::wait::{Outcome, Wait};
use crate::{clock, descriptors, family, lock_order, observe, signals, stuck, switching, timers};
use deadheat_model::{Access, Operation};
use deadheat_schedule::{Answer, AnyPolicy, Cause, Enabled, Met, Policy, Question};
use deadheat_wire::plan::Switch;
use deadheat_wire::record::{Notice, Record};

/// Nanoseconds of real time after which a program with a client looks whether that has ended.
const PEER_WAIT: u64 = 2_000_000;
/// A timed wait that has longer than this to go, in nanoseconds, is *far*: it does not run out while others can run or
/// idle. Whoever waits so long waits for work to be done, however slow the machine (a watchdog, a test that waits for a
/// result), and nobody is kept from running for so long.
const FAR: u64 = 2_000_000_000;
/// The same of a sleep, which waits for nobody.
const FAR_SLEEP: u64 = 5_000_000_000;

/// Whether what a thread waits for is, seen from this moment, far.
fn is_far(t: &Thread, moment: u64) -> bool {
    let far = if t.wait == Wait::Sleep { FAR_SLEEP } else { FAR };
    t.deadline.saturating_sub(moment) > far
}

impl Scheduler {
    /// Whether the policy lets the running thread go on without a look at the others.
    #[inline]
    pub(super) fn stays(&mut self, next: &Operation) -> bool {
        let picks = self.picks.wrapping_add(u32::from(self.restless));
        if self.restless && picks.is_multiple_of(self.poll_every) {
            return false;
        }
        let stays = self.policy.as_mut().is_some_and(|policy| policy.stays(self.step, next));
        if stays {
            self.picks = picks;
        }
        stays
    }

    /// Whether another thread stands before a target whose access conflicts with this one.
    #[inline]
    pub(super) fn meets(&self, own: &Thread, access: &Access) -> bool {
        let conflicts = |t: &Thread| matches!(&t.next, Operation::Access(other) if access.conflicts(other));
        self.standing > 0 && self.threads.iter().any(|t| t.id != own.id && conflicts(t))
    }

    /// Finds who runs next, gives it the token, returns with it.
    pub(super) fn hand_over(&mut self, t: &mut Thread, cause: Cause) {
        let (to, met) = self.ask(t, cause);
        if let Some(met) = met {
            crate::targets::met(&met, self.step);
        }
        if to.id == t.id {
            return;
        }
        if cause == Cause::Point {
            self.stamp += 1;
            t.stamp = self.stamp;
        }
        let stands = u32::from(matches!(t.next, Operation::Access(_)));
        self.standing += stands;
        self.trail.turned(t.id, self.step);
        switching::pass(t, to);
        self.standing -= stands;
        self.resumed(t);
    }

    /// The thread has its turn again.
    pub(super) fn resumed(&mut self, t: &Thread) {
        if let Some(gone) = self.leaving.take().and_then(|id| self.threads.get(id)) {
            switching::await_gone(gone);
        }
        observe::switched(t.id);
        crate::processor::look();
    }

    /// Earliest deadline, and whether somebody waits for the outside.
    pub(super) fn outlook(&self) -> (u64, bool) {
        let mut deadline = timers::signal_deadline();
        let mut external = false;
        let mut timer = false;
        for t in self.threads.iter() {
            deadline = deadline.min(t.deadline);
            let signal = signals::may_come() || self.others && signals::handled(libc::SIGCHLD);
            let polls = t.wait == Wait::Descriptors;
            timer |= polls;
            let outside = t.waits_outside() && !(polls && timers::only(&t.descriptors));
            external |= outside || signal && matches!(t.wait, Wait::Semaphore(_));
        }
        if timer {
            deadline = deadline.min(timers::descriptor_deadline());
        }
        (deadline, external)
    }

    /// Lists who could run, and, if asked, those too who only could by letting their time run out, which is not far.
    fn list(&mut self, timeouts: bool) -> bool {
        self.list_from(clock::now(), timeouts)
    }

    /// The same at a moment to come, where time goes if one of those is picked.
    fn list_from(&mut self, moment: u64, timeouts: bool) -> bool {
        let now = clock::now();
        self.enabled.clear();
        let mut any = false;
        for &t in &self.threads.live {
            // SAFETY: records live as long as the process; the holder alone uses them.
            let t = unsafe { &mut *t };
            if t.enabled(now) {
                any = true;
                if let Operation::Part(part) = t.next {
                    t.next = lock_order::refreshed(t, part);
                }
                self.enabled.push(Enabled {
                    place: t.place(),
                    thread: t.id,
                    next: t.next,
                    stamp: t.stamp,
                    timeout: false,
                });
            } else if timeouts && t.timed() && !is_far(t, moment) && (self.polled || !t.waits_outside()) {
                self.enabled.push(Enabled {
                    place: t.place(),
                    thread: t.id,
                    next: t.next,
                    stamp: t.deadline,
                    timeout: true,
                });
            }
        }
        if timeouts && self.hurried > 0 {
            let left = self.time_to_take();
            self.enabled
                .retain(|e| !e.timeout || e.stamp.saturating_sub(moment) <= left);
        }
        any
    }

    /// How much more time may pass before its turn, in nanoseconds, once some did: no more than a far deadline's distance
    /// altogether, and an eighth of the time that passes by itself. A loop of short sleeps is a watchdog too.
    fn time_to_take(&self) -> u64 {
        let by_itself = clock::now().saturating_sub(self.hurried);
        (FAR + by_itself / 8).saturating_sub(self.hurried)
    }

    /// Asks the policy, waiting for the world outside as long as nobody can run.
    pub(super) fn ask(&mut self, t: &mut Thread, cause: Cause) -> (&'static mut Thread, Option<Met>) {
        if let Some((_, since)) = self.ring
            && self.step.saturating_sub(since) > stuck::GRACE
            && let Some(first) = self.ring()
        {
            stuck::deadlock_of(first);
        }
        self.picks = self.picks.wrapping_add(1);
        let due = self.picks.is_multiple_of(self.poll_every);
        self.polled = core::mem::take(&mut self.told) || due;
        if self.polled {
            peer::stirred();
            descriptors::poll(0);
        }
        if due {
            descriptors::retry();
        }
        let wants = self.policy.as_ref().is_some_and(AnyPolicy::wants_timeouts);
        signals::collect();
        let mut any = self.list(wants);
        while !any {
            any = self.nobody(wants);
        }
        let question = Question {
            step: self.step,
            running: t.id,
            cause,
            enabled: &self.enabled,
        };
        let mut answer = match &mut self.policy {
            Some(policy) => policy.choose(&question),
            None => Answer::run(self.enabled[0].thread),
        };
        if let Some(starved) = self.starved.take()
            && answer.met.is_none()
            && question.entry(starved).is_some_and(|e| !e.timeout)
        {
            answer.run = starved;
        }
        let entry = question.entry(answer.run).copied().unwrap_or(self.enabled[0]);
        if answer.diverged {
            crate::report::write(&Record::Diverged {
                step: self.step,
                wanted: answer.run,
            });
        }
        let Some(to) = self.threads.get(entry.thread) else {
            stuck::lost()
        };
        if entry.timeout {
            while !family::lets_pass(to.deadline) {}
            if question.enabled.iter().all(|e| e.timeout) {
                clock::advance_to(self.outlook().0.min(to.deadline));
            }
            self.hurried += to.deadline.saturating_sub(clock::now());
            self.hurry(to.deadline);
            to.outcome = Outcome::TimedOut;
        }
        // Where a thread gives way or waits and has the turn all the same, that is no more than one of several choices.
        let chosen = cause != Cause::Point && self.enabled.len() > 1;
        if entry.thread != t.id || entry.timeout || chosen {
            t.points += self.step.saturating_sub(t.since);
            (t.since, to.since) = (self.step, self.step);
            self.trail.switch(Switch {
                step: self.step,
                to: entry.thread,
                timeout: entry.timeout,
                preempts: cause == Cause::Point && entry.thread != t.id,
                point: t.points,
                waits: cause == Cause::Blocked,
            });
        }
        family::runs();
        (to, answer.met)
    }

    /// Nobody can run: the outside, spinners, time, or the end. Whether `enabled` is worth asking about.
    fn nobody(&mut self, wants: bool) -> bool {
        descriptors::poll(0);
        self.polled = true;
        signals::collect();
        if self.list(wants) {
            return true;
        }
        let (deadline, mut external) = self.outlook();
        external |= unmodelled::may_wake();
        self.enabled.clear();
        for &t in &self.threads.live {
            // SAFETY: as in `list`.
            let t = unsafe { &mut *t };
            if matches!(t.wait, Wait::Spin(..)) {
                t.outcome = Outcome::Ready;
                self.enabled.push(Enabled {
                    place: t.place(),
                    thread: t.id,
                    next: t.next,
                    stamp: t.stamp,
                    timeout: false,
                });
            }
        }
        if !self.enabled.is_empty() {
            let spinners = core::mem::take(&mut self.enabled);
            let before = clock::now();
            self.idles(None, Cause::Yield);
            if clock::now() != before {
                return self.list(wants);
            }
            self.enabled = spinners;
            return true;
        }
        if peer::present() {
            match peer::idle() {
                Idle::Look => {
                    descriptors::poll(0);
                    descriptors::retry();
                    signals::collect();
                    return self.list(wants);
                }
                Idle::Jump if deadline != NEVER => return self.jump(deadline, wants),
                Idle::Jump | Idle::Wait if external => return self.wait_outside(deadline, wants),
                Idle::Jump | Idle::Wait => {}
            }
        }
        if external && deadline != NEVER {
            let reach = self.reach();
            if reach < Reach::Outside {
                return self.wait_inside(reach, deadline, wants);
            }
        }
        if external {
            return self.wait_outside(deadline, wants);
        }
        if deadline == NEVER {
            stuck::deadlock();
        }
        self.jump(deadline, wants)
    }

    /// Time goes to the earliest deadline.
    fn jump(&mut self, deadline: u64, wants: bool) -> bool {
        if !family::lets_pass(deadline) {
            descriptors::retry();
            return self.list(wants);
        }
        if deadline == timers::signal_deadline() || deadline == timers::descriptor_deadline() {
            clock::advance_to(deadline);
            descriptors::poll(0);
            signals::collect();
            return self.list(wants);
        }
        // Nobody's time runs out long before its turn.
        self.list_from(deadline, true);
        true
    }

    /// The earliest deadline that is not far.
    pub(super) fn near_deadline(&self) -> Option<u64> {
        let now = clock::now();
        let near = self.threads.iter().filter(|t| !is_far(t, now)).map(|t| t.deadline);
        let timer = timers::signal_deadline().min(timers::descriptor_deadline());
        near.chain((timer <= now.saturating_add(FAR)).then_some(timer)).min()
    }

    /// Time goes to a moment before its turn: others could run, or idle and may wait for work. That brings no far
    /// deadline nearer.
    pub(super) fn hurry(&mut self, moment: u64) {
        let now = clock::now();
        let passes = moment.saturating_sub(now);
        for t in self.threads.iter() {
            if t.timed() && is_far(t, now) {
                t.deadline = t.deadline.saturating_add(passes).min(NEVER - 1);
            }
        }
        clock::hurry(moment, FAR);
    }

    /// What may wake those who wait for more than this process's threads.
    fn reach(&self) -> Reach {
        if unmodelled::may_wake() || peer::present() {
            return Reach::Outside;
        }
        let waits = self.threads.iter().filter(|t| t.waits_outside());
        let reach = waits.map(|t| match t.wait {
            Wait::Descriptors => inside::reach(&t.descriptors),
            _ => Reach::Outside,
        });
        reach.max().unwrap_or(Reach::Run)
    }

    /// Time goes to the earliest deadline, unless something is on its way inside the kernel and comes first.
    fn wait_inside(&mut self, reach: Reach, deadline: u64, wants: bool) -> bool {
        let wait = inside::on_its_way(reach).min(deadline.saturating_sub(clock::now()));
        if wait > 0 {
            descriptors::poll(wait);
            signals::collect();
            if self.list(wants) {
                self.depends_on_time();
                return true;
            }
        }
        self.jump(deadline, wants)
    }

    /// The run hung on how fast something outside was.
    fn depends_on_time(&mut self) {
        if !core::mem::replace(&mut self.waited_outside, true) {
            let reason = "a thread waited for the world outside the process".into();
            crate::report::write(&Record::Notice(Notice::NotReplayable { reason }));
        }
    }

    /// One real wait for descriptors, signals or the nearest deadline.
    fn wait_outside(&mut self, deadline: u64, wants: bool) -> bool {
        crate::report::heartbeat(self.step);
        // Waiting for a client, with nobody waiting for time, makes no difference to the schedule.
        let harmless = peer::present() && deadline == NEVER;
        if !harmless {
            self.depends_on_time();
        }
        let mut left = if deadline == NEVER {
            NEVER
        } else {
            deadline.saturating_sub(clock::now()).max(1)
        };
        if peer::present() || unmodelled::may_wake() {
            // The client's end is told in the record file, not by a descriptor; an unseen thread writes to memory.
            left = left.min(PEER_WAIT);
        }
        family::waits_outside(deadline);
        // Others run on although the time is over.
        let overdue = family::is_overdue(deadline);
        if overdue {
            left = PEER_WAIT;
        }
        let before = clock::real_time();
        descriptors::poll(left);
        let passed = clock::real_time().saturating_sub(before);
        peer::stirred();
        if harmless {
            // Nobody waits for time.
        } else if overdue || left != NEVER && passed >= left && clock::now().saturating_add(left) >= deadline {
            if family::lets_time_out() {
                clock::advance_to(deadline);
            }
        } else {
            clock::advance_to(clock::now().saturating_add(passed.min(left.saturating_sub(1))));
        }
        signals::collect();
        self.list(wants)
    }
}
