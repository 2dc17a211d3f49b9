//! Models of library functions: what the analysis takes a call to do instead of looking into its callee.
//!
//! They stand in TOML files; `models/README.md` documents the format for users, who add their own. A later file's
//! entry for a name replaces an earlier one's. Names may end in `*`; an exact name comes before a pattern, a long
//! pattern before a short one.
//!
//! Pure: the text is handed in.

use crate::relative_lockset::Mode;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// The models that come with the tool: set name and text.
pub const BUILT_IN: [(&str, &str); 9] = [
    ("libc", include_str!("../models/libc.toml")),
    ("pthread", include_str!("../models/pthread.toml")),
    ("c11", include_str!("../models/c11.toml")),
    ("cpp", include_str!("../models/cpp.toml")),
    ("rust", include_str!("../models/rust.toml")),
    ("glib", include_str!("../models/glib.toml")),
    ("events", include_str!("../models/events.toml")),
    ("linux", include_str!("../models/linux.toml")),
    ("rtos", include_str!("../models/rtos.toml")),
];

/// What calls of a function do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Model {
    /// Names that it is for.
    names: Vec<String>,
    /// A lock that it takes.
    pub acquires: Option<Acquisition>,
    /// A lock that it gives back.
    pub releases: Option<Operand>,
    /// A lock that it makes ready.
    pub initialises: Option<Initialisation>,
    /// Makes an attribute object say that locks are re-entrant, if the other argument has this value.
    pub makes_re_entrant: Option<ReEntrant>,
    /// A thread that it creates, or code that it has called at any time later.
    pub creates: Option<Creation>,
    /// A thread for whose end it waits.
    pub joins: Option<Handle>,
    /// Functions that it calls before it returns.
    pub calls: Vec<Callback>,
    /// Functions that whoever runs callbacks calls from now on.
    pub registers: Vec<Callback>,
    /// It calls, again and again, what was registered.
    pub runs_registered: bool,
    /// A function that it calls unless some thread has done so: after it, that call is over.
    pub once: Option<Once>,
    /// A barrier at which it waits.
    pub barrier: Option<u16>,
    /// A condition on which it waits, its lock given up and taken again.
    pub waits: Option<u16>,
    /// It waits for time to pass or for the world outside.
    pub sleeps: bool,
    /// Signals whoever waits.
    pub signals: Option<u16>,
    /// What it gives back.
    pub returns: Returned,
    /// An argument behind whose address it leaves a new object.
    pub fresh_at: Option<u16>,
    /// Arguments whose object ends.
    pub frees: Option<u16>,
    /// Arguments behind which it reads.
    pub reads: Vec<u16>,
    /// Arguments behind which it writes.
    pub writes: Vec<u16>,
    /// From this argument on it writes behind each.
    pub writes_from: Option<u16>,
    /// Arguments whose object it may make known to other threads. All of them, for a function without a model.
    pub publishes: Vec<u16>,
    /// The first argument's object is copied to the second's, as much as is known of it.
    pub copies: Option<(u16, u16)>,
    /// It does not return.
    pub no_return: bool,
}

impl Model {
    /// The model with another one's names.
    pub fn named_as(mut self, other: &Model) -> Model {
        self.names.clone_from(&other.names);
        self
    }

    /// Names of locks that are no objects.
    pub fn lock_names(&self) -> impl Iterator<Item = &str> {
        let acquired = self.acquires.as_ref().and_then(|a| a.name.as_deref());
        acquired
            .into_iter()
            .chain(self.releases.as_ref().and_then(|r| r.name.as_deref()))
    }
}

/// A lock: behind an argument, or one of the system's that has only a name.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Operand {
    /// The argument that is the lock's address.
    pub argument: Option<u16>,
    /// Its name, for locks that are no objects (interrupts off, a read section).
    pub name: Option<String>,
}

/// How a lock is taken.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Acquisition {
    /// The argument that is the lock's address.
    pub argument: Option<u16>,
    /// Its name, for locks that are no objects.
    pub name: Option<String>,
    /// Held with others.
    #[serde(default)]
    pub shared: bool,
    /// The value with which it says that the lock is held; none: it always is.
    pub when: Option<Outcome>,
    /// Failing is usual (a trylock, a time-out): the caller must look at the value.
    #[serde(default)]
    pub may_fail: bool,
    /// The lock may be taken again by its holder.
    #[serde(default)]
    pub re_entrant: bool,
}

impl Acquisition {
    /// The mode.
    pub fn mode(&self) -> Mode {
        if self.shared { Mode::Shared } else { Mode::Exclusive }
    }
}

/// A class of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// 0, false, null.
    Zero,
    /// Anything else.
    NonZero,
    /// Below 0.
    Negative,
    /// 0 or above.
    NotNegative,
}

/// A lock that is made ready.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Initialisation {
    /// The argument that is the lock's address.
    pub argument: u16,
    /// The argument that is the address of its attributes.
    pub attributes: Option<u16>,
    /// The argument that holds its kind, and the value (or bit) that stands for re-entrant.
    pub kind: Option<(u16, i64)>,
    /// It is re-entrant.
    #[serde(default)]
    pub re_entrant: bool,
}

/// Attributes that make locks re-entrant.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ReEntrant {
    /// The argument that is the attributes' address.
    pub argument: u16,
    /// The argument that holds the kind.
    pub kind: u16,
    /// Its value for re-entrant.
    pub value: i64,
}

/// Code that runs at the same time as its creator from here on.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Creation {
    /// The argument that is the function.
    pub function: Option<u16>,
    /// The argument behind which the function's address stands, at these offsets, each but the last one loaded.
    pub function_at: Option<(u16, Vec<i64>)>,
    /// The argument that the function gets.
    pub argument: Option<u16>,
    /// The argument that holds the address of what the function gets.
    pub argument_at: Option<u16>,
    /// Where the handle is found: an argument behind which it is written.
    pub handle_at: Option<u16>,
    /// It is what the call gives back.
    #[serde(default)]
    pub handle_returned: bool,
    /// What kind of code.
    #[serde(default)]
    pub kind: RootKind,
    /// It may run several times at once, from one creation.
    #[serde(default)]
    pub many: bool,
}

impl Creation {
    /// Whether somebody gets a handle of it, by which he can wait for its end.
    pub fn has_handle(&self) -> bool {
        self.handle_at.is_some() || self.handle_returned
    }

    /// A function that code gets which is not seen: nothing is known of when it is called, and with what.
    pub fn handed() -> Creation {
        Creation {
            function: None,
            function_at: None,
            argument: None,
            argument_at: None,
            handle_at: None,
            handle_returned: false,
            kind: RootKind::Handed,
            many: false,
        }
    }
}

/// What kind of code runs at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RootKind {
    /// A thread.
    #[default]
    Thread,
    /// A signal's or interrupt's handler.
    Handler,
    /// Work that some thread of a pool does.
    Work,
    /// Handed to code that is not seen and of which nothing is known: it may call it at any time.
    Handed,
}

/// A thread's handle.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Handle {
    /// The argument that is the handle.
    pub argument: Option<u16>,
    /// The argument behind which the handle stands.
    pub behind: Option<u16>,
}

/// A function that is called before the call returns.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Callback {
    /// The argument that is the function.
    pub function: u16,
    /// What it gets: arguments of the call, by number; -1 for something unknown.
    #[serde(default)]
    pub arguments: Vec<i16>,
}

/// Code that runs once.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Once {
    /// The argument that is the control's address.
    pub control: u16,
    /// The argument that is the function.
    pub function: u16,
}

/// What a call gives back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Returned {
    /// Nothing known.
    #[default]
    Unknown,
    /// A new object, or null.
    Fresh,
    /// An argument.
    Argument(u16),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    version: u32,
    #[serde(default)]
    function: Vec<Model>,
}

/// Why a model file is refused.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// Not the format.
    #[error("{name}: {source}")]
    Format {
        /// The file.
        name: String,
        /// What is wrong, and where.
        source: Box<toml::de::Error>,
    },
    /// Another version.
    #[error("{name}: version {version} of the format is not known; this tool reads version 1")]
    Version {
        /// The file.
        name: String,
        /// Its version.
        version: u32,
    },
    /// An entry without names.
    #[error("{name}: entry {entry} has no `names`")]
    Nameless {
        /// The file.
        name: String,
        /// Which, from 1.
        entry: usize,
    },
}

/// All models.
#[derive(Clone, Debug, Default)]
pub struct Models {
    models: Vec<Model>,
    exact: FxHashMap<String, usize>,
    /// Patterns without their star, longest first.
    patterns: Vec<(String, usize)>,
}

impl Models {
    /// The models that come with the tool.
    pub fn built_in() -> Result<Models, ModelError> {
        let mut models = Models::default();
        for (name, text) in BUILT_IN {
            models.add(name, text)?;
        }
        Ok(models)
    }

    /// Adds a file's text; `name` is for messages.
    pub fn add(&mut self, name: &str, text: &str) -> Result<(), ModelError> {
        let file: File = toml::from_str(text).map_err(|source| ModelError::Format {
            name: name.into(),
            source: Box::new(source),
        })?;
        if file.version != 1 {
            let (name, version) = (name.into(), file.version);
            return Err(ModelError::Version { name, version });
        }
        for (entry, model) in (1..).zip(file.function) {
            if model.names.is_empty() {
                let name = name.into();
                return Err(ModelError::Nameless { name, entry });
            }
            let index = self.models.len();
            for name in &model.names {
                match name.strip_suffix('*') {
                    None => drop(self.exact.insert(name.clone(), index)),
                    Some(start) => {
                        self.patterns.retain(|(known, _)| known != start);
                        self.patterns.push((start.into(), index));
                    }
                }
            }
            self.models.push(model);
        }
        self.patterns
            .sort_by(|a, b| b.0.len().cmp(&a.0.len()).then(a.0.cmp(&b.0)));
        Ok(())
    }

    /// All names that have a model, patterns with their star: functions that must stay calls.
    pub fn names(&self) -> Vec<String> {
        let patterns = self.patterns.iter().map(|(start, _)| format!("{start}*"));
        let mut names: Vec<String> = self.exact.keys().cloned().chain(patterns).collect();
        names.sort();
        names
    }

    /// The model of a function, by its linkage name.
    pub fn get(&self, name: &str) -> Option<&Model> {
        let pattern = || {
            self.patterns
                .iter()
                .find(|(start, _)| name.starts_with(start.as_str()))
                .map(|(_, n)| n)
        };
        self.exact.get(name).or_else(pattern).and_then(|&n| self.models.get(n))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_models_are_read() {
        let models = Models::built_in().unwrap();
        let lock = models.get("pthread_mutex_trylock").unwrap().acquires.clone().unwrap();
        assert!(lock.may_fail && lock.when == Some(Outcome::Zero) && lock.argument == Some(0));
        assert_eq!(models.get("malloc").unwrap().returns, Returned::Fresh);
        assert!(models.get("_raw_spin_lock_irqsave").unwrap().acquires.is_some());
        assert!(models.get("no_such_function").is_none());
    }

    #[test]
    fn a_users_entry_replaces_a_built_in_one() {
        let mut models = Models::built_in().unwrap();
        let text = "version = 1\n[[function]]\nnames = [\"malloc\", \"my_lock*\"]\nacquires = { argument = 1 }\n";
        models.add("mine", text).unwrap();
        assert_eq!(models.get("malloc").unwrap().returns, Returned::Unknown);
        assert_eq!(
            models.get("my_lock_slow").unwrap().acquires.as_ref().unwrap().argument,
            Some(1)
        );
    }

    #[test]
    fn mistakes_are_told() {
        let refused = |text: &str| Models::default().add("mine.toml", text).unwrap_err().to_string();
        assert!(refused("version = 2").contains("mine.toml: version 2"));
        assert!(refused("version = 1\n[[function]]\nreads = [1]").contains("entry 1 has no `names`"));
        assert!(refused("version = 1\n[[function]]\nnames = [\"f\"]\naquires = 1").contains("aquires"));
    }
}
