//! What an observer of all machines sees, and the laws that it checks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use fastrand::Rng;
use tool_runtime::Message;

/// A protection that is removed, to show that the simulation notices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mutation {
    None,
    /// The store grants each lease and accepts each write.
    NoEpoch,
    /// Saved runs do not mark the calls that they are about to start.
    NoMark,
    /// The queue does not record which jobs have begun.
    NoBegin,
    /// The queue forgets the jobs that it has deleted.
    NoTombstone,
}

impl Mutation {
    pub const ALL: [Self; 4] = [Self::NoEpoch, Self::NoMark, Self::NoBegin, Self::NoTombstone];
}

/// What may happen at a point at which a process waits.
pub enum Fault {
    Delay(Duration),
    Freeze(Duration),
    Crash,
}

/// Where a call executes, and whether it may be repeated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kind {
    pub is_remote: bool,
    pub is_repeatable: bool,
}

/// What happened in histories, so that a test can show that nothing was left out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Summary {
    pub crashes: u32,
    pub freezes: u32,
    /// Calls with a result of their tool.
    pub ended: u32,
    /// Calls of this process whose end is unknown.
    pub unknown_here: u32,
    /// Calls that were lost with their worker.
    pub unknown_remote: u32,
    /// Calls that had their effect more than once, as they may.
    pub repeated: u32,
    /// Calls whose job was requested again, and had begun only once.
    pub taken_over: u32,
}

impl Summary {
    pub fn add(&mut self, other: Self) {
        self.crashes += other.crashes;
        self.freezes += other.freezes;
        self.ended += other.ended;
        self.unknown_here += other.unknown_here;
        self.unknown_remote += other.unknown_remote;
        self.repeated += other.repeated;
        self.taken_over += other.taken_over;
    }

    /// Returns whether each of these things happened.
    pub fn has_everything(&self) -> bool {
        let Self { crashes, freezes, ended, unknown_here, unknown_remote, repeated, taken_over } =
            *self;
        [crashes, freezes, ended, unknown_here, unknown_remote, repeated, taken_over]
            .iter()
            .all(|count| *count > 0)
    }
}

/// The record of all machines. Clones share it.
#[derive(Clone)]
pub struct World {
    pub mutation: Mutation,
    state: Arc<Mutex<Record>>,
}

struct Record {
    rng: Rng,
    faults_left: u32,
    kinds: BTreeMap<u64, Kind>,
    /// The number of effects of each call.
    effects: BTreeMap<u64, u32>,
    /// The calls that a saved run has marked as started.
    marked: BTreeSet<u64>,
    /// The calls whose job was lost with its worker.
    lost: BTreeSet<u64>,
    newest_epoch: u64,
    violation: Option<String>,
    summary: Summary,
}

impl World {
    pub fn new(rng: Rng, mutation: Mutation) -> Self {
        let record = Record {
            rng,
            faults_left: 0,
            kinds: BTreeMap::new(),
            effects: BTreeMap::new(),
            marked: BTreeSet::new(),
            lost: BTreeSet::new(),
            newest_epoch: 0,
            violation: None,
            summary: Summary::default(),
        };
        Self { mutation, state: Arc::new(Mutex::new(record)) }
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        self.state.lock().unwrap()
    }

    pub fn below(&self, limit: u64) -> u64 {
        self.record().rng.u64(..limit)
    }

    pub fn millis(&self, limit: u64) -> Duration {
        Duration::from_millis(self.below(limit))
    }

    /// Returns what happens at the next point, which is mostly nothing.
    pub fn fault(&self) -> Option<Fault> {
        let mut record = self.record();
        if record.rng.u8(..6) != 0 {
            return None;
        }
        let delay = Duration::from_millis(record.rng.u64(..400));
        if record.faults_left == 0 || record.rng.bool() {
            return Some(Fault::Delay(delay));
        }
        record.faults_left -= 1;
        let span = Duration::from_millis(record.rng.u64(500..12_000));
        if record.rng.bool() {
            record.summary.crashes += 1;
            return Some(Fault::Crash);
        }
        record.summary.freezes += 1;
        Some(Fault::Freeze(span))
    }

    /// Lets processes crash and freeze so many times.
    pub fn allow_faults(&self, count: u32) {
        self.record().faults_left = count;
    }

    /// Returns how long a message is on its way.
    pub fn latency(&self) -> Duration {
        let limit = if self.below(8) == 0 { 8_000 } else { 20 };
        self.millis(limit)
    }

    pub fn add_call(&self, number: u64, kind: Kind) {
        self.record().kinds.insert(number, kind);
    }

    pub fn violate(&self, law: impl Into<String>) {
        self.record().violation.get_or_insert_with(|| law.into());
    }

    /// Records that a holder of this epoch starts a request or a call.
    pub fn start(&self, epoch: u64, action: &str) {
        let mut record = self.record();
        if epoch < record.newest_epoch {
            let newest = record.newest_epoch;
            let law = format!("epoch {epoch} starts {action} after epoch {newest} has started");
            record.violation.get_or_insert(law);
        }
        record.newest_epoch = record.newest_epoch.max(epoch);
    }

    pub fn effect(&self, number: u64) {
        *self.record().effects.entry(number).or_default() += 1;
    }

    pub fn mark(&self, numbers: impl IntoIterator<Item = u64>) {
        self.record().marked.extend(numbers);
    }

    /// Records that a job was requested which the queue has already.
    pub fn take_over(&self) {
        self.record().summary.taken_over += 1;
    }

    pub fn lose(&self, number: u64) {
        self.record().lost.insert(number);
    }

    /// Checks the laws, once the run has ended with this transcript.
    pub fn check(&self, transcript: &[Message]) -> Result<Summary, String> {
        let mut record = self.record();
        if let Some(law) = &record.violation {
            return Err(law.clone());
        }
        let mut answered = BTreeSet::new();
        for pair in transcript.windows(2) {
            let calls: Vec<_> = pair[0].calls().collect();
            let Message::Tool { results } = &pair[1] else {
                if calls.is_empty() {
                    continue;
                }
                return Err(format!("no results follow {calls:?}"));
            };
            let ids: Vec<_> = calls.iter().map(|call| &call.id).collect();
            if ids != results.iter().map(|result| &result.call).collect::<Vec<_>>() {
                return Err(format!("the results are not those of {ids:?}"));
            }
            for (call, result) in calls.iter().zip(results) {
                let number = number_of(&call.arguments.to_text());
                answered.insert(number);
                record.check_result(number, result.error.as_deref())?;
            }
        }
        if answered != record.kinds.keys().copied().collect() {
            return Err(format!("not all calls have a result: {answered:?}"));
        }
        Ok(record.summary)
    }
}

impl Record {
    fn check_result(&mut self, number: u64, error: Option<&str>) -> Result<(), String> {
        let Kind { is_remote, is_repeatable } = self.kinds[&number];
        let effects = self.effects.get(&number).copied().unwrap_or_default();
        if effects > 1 && !is_repeatable {
            return Err(format!("call {number} had {effects} effects"));
        }
        self.summary.repeated += u32::from(effects > 1);
        match error {
            None if effects == 0 => Err(format!("call {number} succeeded without an effect")),
            None => {
                self.summary.ended += 1;
                Ok(())
            }
            Some("TOOL_INDETERMINATE") if is_repeatable => {
                Err(format!("call {number} can be repeated, and was not"))
            }
            Some("TOOL_INDETERMINATE") if is_remote && !self.lost.contains(&number) => {
                Err(format!("the result of call {number} was not taken over"))
            }
            Some("TOOL_INDETERMINATE") if !is_remote && !self.marked.contains(&number) => {
                Err(format!("call {number} had not begun"))
            }
            Some("TOOL_INDETERMINATE") => {
                self.summary.unknown_here += u32::from(!is_remote);
                self.summary.unknown_remote += u32::from(is_remote);
                Ok(())
            }
            Some(code) => Err(format!("call {number} ended with {code}")),
        }
    }
}

/// Returns the number of a call, which is its only argument.
pub fn number_of(arguments: &str) -> u64 {
    let digits: String = arguments.chars().filter(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}
