//! The commands and their options.

use super::duration;
use clap::{Args, Parser, Subcommand};
use deadheat_campaign::report::Format;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

const EXAMPLES: &str = "\
Build a program with deadheat's compiler, hunt, and see a bug happen again:

  deadheat cc -g -O1 -pthread bank.c -o bank
  deadheat hunt -- ./bank 100
  deadheat replay F1

Rust: deadheat rustc -g bank.rs; in a package, cargo deadheat hunt and
cargo deadheat test (see cargo deadheat --help).

Whole builds: CC=\"deadheat cc\" CXX=\"deadheat c++\" make, or deadheat build -- make -j4.

Exit status: 0 nothing real found, 1 at least one real finding, 2 wrong usage,
3 deadheat could not do the job (what it did find is still written).";

const HUNT_EXAMPLES: &str = "\
Examples:

  deadheat hunt -- ./bank 100                 the usual hunt, at most a minute
  deadheat hunt --budget 5m -- ./server-test  more time
  deadheat hunt --runs 50 -j 8 -- ./bank      the same result every time, at any -j
  deadheat hunt --setup 'rm -f out.db' -- ./app
  deadheat hunt --with 'redis-benchmark -p 7000 -n 1000' --ready 7000 -- ./redis-server --port 7000
  deadheat hunt --format sarif --output races.sarif -- ./app < input.txt
  deadheat hunt --suppressions tsan.supp --exit-code 66 -- ./app   as for TSan

What it does: a few ordinary runs; detection under several schedules;
then, for each suspicious pair of statements, runs directed at making both
happen at the same moment. What it shows it has seen happen, twice.
Results are kept in .deadheat/ beside the program; the next hunt goes on
from there.

Calls that POSIX leaves undefined (a mutex given back by another thread, destroyed
while held, a thread joined twice) are real once a run showed them and repeated.

Verdicts: suspected (predicted only), real (made to happen), harmful (made to
happen, one order ends badly and the other does not).";

const DETECT_EXAMPLES: &str = "\
Examples:

  deadheat detect -- ./bank 100               what one run makes suspicious
  deadheat detect --seed 7 --stdin input.txt -- ./app";

const EXPLORE_EXAMPLES: &str = "\
Examples:

  deadheat explore -- ./server-test 8         inputs like this one, and others
  deadheat explore --budget 5m -- ./parser < sample.txt
  deadheat hunt --explore -- ./bank 100       and prove what they show
  deadheat hunt --input i1a2b3c4d -- ./bank   hunt with an input that was found

The program's arguments, standard input, environment, random numbers and time
are input. It is compiled again from the bitcode that it holds, with the
computation of expressions added, and run under one deterministic schedule; a
solver finds the input that takes a branch the other way. Bad ends that an
input causes (crashes, failed assertions, hangs) are findings of their own.";

const SELECT_EXAMPLES: &str = "\
Examples:

  deadheat select --inputs tests.txt -- ./server-test    which inputs and functions
  deadheat select --inputs corpus/ -- ./parser @@        each file is an input
  deadheat hunt --inputs tests.txt -- ./server-test      detect and confirm there only

A line of the list is one input: words that are added to the arguments, after any
of stdin=FILE env=NAME=VALUE cwd=DIR files=DIR. # begins a comment.

Each input runs once, with nothing watched but where functions begin and end and
how threads wait for one another. Two functions are concurrent if neither a lock
nor such waiting keeps them apart. What was measured is kept in the store.

Exit status: 0 done, 2 wrong usage, 3 an input or all could not be measured.";

const CONFIRM_EXAMPLES: &str = "\
Examples:

  deadheat confirm -- ./bank 100              try all stored suspicions
  deadheat confirm F3 F5 --budget 5m -- ./bank 100

The program and its arguments are those of the detection.";

const REPORT_EXAMPLES: &str = "\
Examples:

  deadheat report --suspected
  deadheat report --store build/.deadheat --format json
  deadheat report --program ./bank --format sarif --output bank.sarif

For a person: all programs and arguments in the store, the latest first. The other
formats have one program in a file: that of --program, or the latest, and they say
in their notices which others there are.";

const BUILD_EXAMPLES: &str = "\
Examples:

  deadheat build -- make -j4
  deadheat build -- sh -c './configure && make'
  deadheat build -- cmake -S . -B out && deadheat build -- cmake --build out
  deadheat build --bitcode-only -- make         for `deadheat scan` alone: no sites
  deadheat build -- sh -c 'make CC=\"$CC\" CXX=\"$CXX\"'    a makefile that sets CC itself

What it does: runs the command with CC and CXX naming deadheat's compilers, and with
cc, gcc, clang, c++, g++ and clang++ in front of PATH meaning the same. Programs that
run during the build (CC_FOR_BUILD) are left to the native compiler. The program
that comes out runs as always when it is run by itself.

At the end it says what was compiled with sites, what was linked from which
objects, and what has no sites, by name: races there are not seen. Clean
before the first build: what is up to date is not compiled again.

Exit status: the command's; 2 wrong usage, 3 a part of deadheat is missing.
DEADHEAT_NOTES=1 prints what is changed on each compiler command line.";

const DOCTOR_HELP: &str = "\
A line for each thing that deadheat needs or can use:

  ok       it is there
  limited  deadheat works without it, and says what you lose
  MISSING  deadheat cannot do its job, and says how to get it

It looks at the processor, clang 22, deadheat's own parts (DEADHEAT_LIB names another
place, DEADHEAT_CLANG another clang), room in /dev/shm, whether address
randomisation can be switched off (else replays may depend on addresses), whether
runs can be kept apart (overlays and namespaces), and gdb.

Exit status: 0 nothing is missing, 3 something is.";

const REPLAY_EXAMPLES: &str = "\
Examples:

  deadheat replay F1              the run that shows F1, the same interleaving
  deadheat replay --gdb F1        stops in gdb when both threads are at the race
  deadheat replay TOKEN -- ./bank 100

Exit status: 0 the execution repeated exactly, 3 it did not.";

const TABLE_EXAMPLES: &str = "\
Examples:

  deadheat table programs.txt                     a minute at most for each program
  deadheat table --budget 5m --plain 100 --format markdown programs.txt

A line of the list is one program: its name and arguments as shell words, after any of
stdin=FILE env=NAME=VALUE cwd=DIR. # begins a comment. Names with a slash are relative
to the list's directory.

Columns: seconds of a run without deadheat, of phase 1 (detection), of phase 2 (directed
and undirected runs, minimising); runs; predicted pairs and cycles; findings that were
shown, and those that harm; runs without deadheat that failed; and how often a directed
run shows a finding, as a mean over findings. Findings themselves: deadheat report.

Exit status: 0 nothing real, 1 a real finding in some program, 2 wrong usage, 3 some
program could not be hunted in.";

const SCAN_EXAMPLES: &str = "\
Examples:

  deadheat scan ./server                          built with deadheat cc or deadheat build
  deadheat scan ./server libplugin.so             with a library that it loads
  deadheat scan --compile-commands build/compile_commands.json
  deadheat scan module.bc                         bitcode of clang 22 or rustc
  deadheat scan --format json -o known.json ./server
  deadheat scan --baseline known.json --fail-on suspected ./server      what is new since

All that it finds is suspected. Exit status: 0 done, 1 something was found (with --fail-on
suspected), 2 wrong usage, 3 nothing could be read.";

/// Finds, proves, explains and replays concurrency bugs in C, C++ and Rust programs.
#[derive(Debug, Parser)]
#[command(name = "deadheat", version, after_help = EXAMPLES, max_term_width = 100)]
pub struct Deadheat {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Detect, confirm, report: the main job
    #[command(after_help = HUNT_EXAMPLES)]
    #[command(override_usage = "deadheat hunt [OPTIONS] -- PROGRAM [ARGS]...")]
    Hunt(Hunt),
    /// Find further inputs by symbolic execution, detect on each
    #[command(after_help = EXPLORE_EXAMPLES)]
    #[command(override_usage = "deadheat explore [OPTIONS] -- PROGRAM [ARGS]...")]
    Explore(Explore),
    /// Choose few of many inputs, and few functions, that cover what can run at the same time
    #[command(after_help = SELECT_EXAMPLES)]
    #[command(override_usage = "deadheat select [OPTIONS] -- PROGRAM [ARGS]...")]
    Select(Select),
    /// Predict racing statements from one run, prove nothing
    #[command(after_help = DETECT_EXAMPLES)]
    #[command(override_usage = "deadheat detect [OPTIONS] -- PROGRAM [ARGS]...")]
    Detect(Detect),
    /// Try to prove suspicions that `detect` or `hunt` has stored
    #[command(after_help = CONFIRM_EXAMPLES)]
    Confirm(Confirm),
    /// Run a stored execution again, with the same interleaving
    #[command(after_help = REPLAY_EXAMPLES)]
    Replay(Replay),
    /// Print what the store knows
    #[command(after_help = REPORT_EXAMPLES)]
    Report(Report),
    /// Hunt in each program of a list and print a table: times, potential, real and harmful findings
    #[command(after_help = TABLE_EXAMPLES)]
    Table(Table),
    /// Analyse a program's bitcode, without running it
    #[command(after_help = SCAN_EXAMPLES)]
    Scan(Scan),
    /// Say what on this machine is missing and how to get it
    #[command(after_help = DOCTOR_HELP)]
    Doctor,
    /// Compile C: takes clang's command line
    #[command(disable_help_flag = true)]
    Cc {
        /// Compiler arguments
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Compile C++: takes clang++'s command line
    #[command(name = "c++", disable_help_flag = true)]
    Cxx {
        /// Compiler arguments
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Compile Rust: takes rustc's command line
    #[command(disable_help_flag = true)]
    Rustc {
        /// Compiler arguments
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Build, run, hunt and test with cargo; also called as cargo deadheat
    #[command(disable_help_flag = true)]
    Cargo {
        /// A command of cargo deadheat and its arguments
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Run a build with deadheat's compilers in the place of the usual ones: build -- make -j4.
    /// With --bitcode-only first: only bitcode is kept, for scan; no sites, no runtime
    #[command(after_help = BUILD_EXAMPLES)]
    Build {
        /// The build command
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
}

/// Arguments of `hunt`.
#[derive(Debug, Args)]
pub struct Hunt {
    /// Most time, for example 30s or 5m
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = duration::parse, default_value = "60s")]
    pub budget: Duration,
    /// Find further inputs by symbolic execution, and hunt with those that bring something
    #[arg(long)]
    pub explore: bool,
    /// Scan the program's bitcode first (its time comes before the budget), and try what that warns of beyond what runs
    /// predict
    #[arg(long, conflicts_with_all = ["explore", "inputs"])]
    pub scan: bool,
    #[command(flatten)]
    pub oracles: Oracles,
    #[command(flatten)]
    pub many: Many,
    #[command(flatten)]
    pub search: Searching,
    #[command(flatten)]
    pub runs: Runs,
    #[command(flatten)]
    pub output: Output,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}

/// Arguments of `table`.
#[derive(Debug, Args)]
pub struct Table {
    /// Most time for each program, for example 30s or 5m
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = duration::parse, default_value = "60s")]
    pub budget: Duration,
    /// Runs of each program without deadheat, to see how often it fails by itself
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub plain: u32,
    /// human, json or markdown
    #[arg(long, value_name = "FORMAT", default_value = "human", value_parser = ["human", "json", "markdown"])]
    pub format: String,
    /// Write the table to a file
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// No progress line
    #[arg(short, long)]
    pub quiet: bool,
    #[command(flatten)]
    pub runs: Runs,
    /// The list of programs
    #[arg(value_name = "LIST")]
    pub list: PathBuf,
}

/// Arguments of `explore`.
#[derive(Debug, Args)]
pub struct Explore {
    /// Most time, for example 30s or 5m
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = duration::parse, default_value = "60s")]
    pub budget: Duration,
    #[command(flatten)]
    pub search: Searching,
    #[command(flatten)]
    pub runs: Runs,
    #[command(flatten)]
    pub output: Output,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}

/// What a good run is, beside one that ends well. Of an oracle that ordinary runs do not satisfy nothing is said.
#[derive(Debug, Args)]
pub struct Oracles {
    /// Harm is also a standard output or an exit status that differs from that of the first ordinary run
    #[arg(long, value_name = "same", value_parser = ["same"], conflicts_with_all = ["explore", "inputs"])]
    pub expect_output: Option<String>,
    /// Harm is also a run whose output this shell command rejects: it reads it from its standard input (and the exit
    /// status from DEADHEAT_STATUS) and fails
    #[arg(long, value_name = "CMD", conflicts_with_all = ["explore", "inputs"])]
    pub check: Option<String>,
}

/// Many inputs.
#[derive(Debug, Args)]
pub struct Many {
    /// Inputs: a list of command lines, a directory of files (for @@ or standard input), a store, ctest:DIR (a build
    /// directory's tests of this program), or cargo (a Rust test program's tests). Detection looks only under few of
    /// them and in few functions, which together cover what can run at the same time
    #[arg(long, value_name = "FILE")]
    pub inputs: Option<PathBuf>,
    /// With --inputs: detect under every input and in all functions
    #[arg(long, requires = "inputs")]
    pub no_select: bool,
    #[command(flatten)]
    pub measuring: Measuring,
}

/// Which functions are measured.
#[derive(Debug, Args)]
pub struct Measuring {
    /// With --inputs: do not take it that a loop goes round at least once, when it is decided which functions have the pairs
    /// of their callers
    #[arg(long, requires = "inputs")]
    pub no_loop_assumption: bool,
    /// With --inputs: measure every function, also those that need not be by the program's bitcode
    #[arg(long, requires = "inputs")]
    pub measure_all: bool,
    /// With --inputs: choose by pairs of functions alone, as in the paper; parts of functions that only inputs which are not
    /// chosen come to are not looked at
    #[arg(long, requires = "inputs")]
    pub pairs_only: bool,
}

/// Arguments of `select`.
#[derive(Debug, Args)]
pub struct Select {
    /// Inputs: a list of command lines, a directory of files (for @@ or standard input), a store, ctest:DIR (a build
    /// directory's tests of this program), or cargo (a Rust test program's tests)
    #[arg(long, value_name = "FILE")]
    pub inputs: PathBuf,
    /// List the functions that detection looks into, those that need no measuring, and all pairs
    #[arg(long)]
    pub all: bool,
    #[command(flatten)]
    pub measuring: Measuring,
    /// Say what is new since this selection (a file written with --format json)
    #[arg(long, value_name = "FILE")]
    pub against: Option<PathBuf>,
    /// human, json or html (a page with the growth curve)
    #[arg(long, value_name = "FORMAT", default_value = "human", value_parser = ["human", "json", "html"])]
    pub format: String,
    /// Write the result to a file
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Measuring runs at the same time; as many as there are cores if not given
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub jobs: Option<u32>,
    /// Shell command that prepares each run
    #[arg(long, value_name = "CMD")]
    pub setup: Option<String>,
    #[command(flatten)]
    pub serving: Serving,
    /// Let runs share the real files
    #[arg(long)]
    pub no_isolation: bool,
    /// Wall-clock limit of a run
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = duration::parse)]
    pub timeout: Option<Duration>,
    /// Directory of the store; .deadheat beside the program if not given
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
    /// No progress line
    #[arg(short, long)]
    pub quiet: bool,
    /// The program and the arguments that all inputs share
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}

/// How inputs are searched for.
#[derive(Debug, Args)]
pub struct Searching {
    /// generational (by promise) or depth-first (every path, each once)
    #[arg(long, value_name = "ORDER", default_value = "generational", value_parser = order)]
    pub search: deadheat_campaign::explore::Order,
    /// Leave out turns of paths that other paths stand for: off, branch (may miss races) or race-safe
    #[arg(long, value_name = "MODE", default_value = "off", value_parser = prune)]
    pub prune: deadheat_campaign::explore::Prune,
    /// Most inputs that are made
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub most_inputs: Option<u64>,
    /// Ask the solver for inputs alone: change none by chance
    #[arg(long)]
    pub no_mutation: bool,
    /// Turns towards one side of one branch, at most
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..))]
    pub per_side: u32,
    /// Begin anew where the store holds an exploration of the program and input that could go on
    #[arg(long)]
    pub anew: bool,
    /// Print which branches of each source file went which way
    #[arg(long)]
    pub coverage: bool,
    /// Write branch coverage in lcov's format
    #[arg(long, value_name = "FILE")]
    pub lcov: Option<PathBuf>,
    /// Write the stored inputs as plain files into this directory, with a shell script each that runs the program with
    /// it, without deadheat
    #[arg(long, value_name = "DIR")]
    pub export: Option<PathBuf>,
    /// Bytes by which an argument, a variable or standard input may grow
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = clap::value_parser!(u32).range(..4096))]
    pub room: u32,
}

fn order(name: &str) -> Result<deadheat_campaign::explore::Order, String> {
    use deadheat_campaign::explore::Order;
    match name {
        "generational" => Ok(Order::Generational),
        "depth-first" => Ok(Order::DepthFirst),
        _ => Err("generational or depth-first".into()),
    }
}

fn prune(name: &str) -> Result<deadheat_campaign::explore::Prune, String> {
    use deadheat_campaign::explore::Prune;
    match name {
        "off" => Ok(Prune::Off),
        "branch" => Ok(Prune::Branch),
        "race-safe" => Ok(Prune::RaceSafe),
        _ => Err("off, branch or race-safe".into()),
    }
}

/// Arguments of `detect`.
#[derive(Debug, Args)]
pub struct Detect {
    #[command(flatten)]
    pub many: Many,
    #[command(flatten)]
    pub runs: Runs,
    #[command(flatten)]
    pub output: Output,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}

/// Arguments of `confirm`.
#[derive(Debug, Args)]
pub struct Confirm {
    /// Labels of stored suspicions, such as F3; all if none
    #[arg(value_name = "ID")]
    pub ids: Vec<String>,
    /// Most time, for example 30s or 5m
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = duration::parse, default_value = "60s")]
    pub budget: Duration,
    #[command(flatten)]
    pub runs: Runs,
    #[command(flatten)]
    pub output: Output,
    /// The program and its arguments, after `--`
    #[arg(required = true, last = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}

/// Arguments of `replay`.
#[derive(Debug, Args)]
pub struct Replay {
    /// A finding's label, such as F3, or a replay token
    pub id: String,
    /// Stop in gdb with both threads at the race, or at the call that misuses something (the program then works on your files, not on copies of them)
    #[arg(long)]
    pub gdb: bool,
    /// Directory of the store
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
    /// Let the run work on the real files
    #[arg(long)]
    pub no_isolation: bool,
    /// Wall-clock limit of a run
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = duration::parse)]
    pub timeout: Option<Duration>,
    /// File for the program's standard input, with a token
    #[arg(long, value_name = "FILE")]
    pub stdin: Option<PathBuf>,
    /// Shell command that prepares the run, with a token of a hunt that had one
    #[arg(long, value_name = "CMD")]
    pub setup: Option<String>,
    #[command(flatten)]
    pub serving: Serving,
    /// The program and its arguments, with a token
    #[arg(last = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}

/// Arguments of `report`.
#[derive(Debug, Args)]
pub struct Report {
    /// Directory of the store
    #[arg(long, value_name = "DIR", default_value = ".deadheat")]
    pub store: PathBuf,
    /// Tell of this program only: its file, or the file's name
    #[arg(long, value_name = "FILE")]
    pub program: Option<PathBuf>,
    #[command(flatten)]
    pub output: Output,
}

/// Arguments of `scan`.
#[derive(Debug, Args)]
pub struct Scan {
    /// Programs, shared objects, archives, object and bitcode files, directories of these
    #[arg(value_name = "FILE")]
    pub inputs: Vec<PathBuf>,
    /// Compile what a compile database lists, for its bitcode
    #[arg(long, value_name = "FILE")]
    pub compile_commands: Vec<PathBuf>,
    /// Modules read at the same time; as many as there are cores if not given
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub jobs: Option<u32>,
    /// Directory of modules read before; .deadheat/modules if not given
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,
    /// Read everything again and keep nothing
    #[arg(long)]
    pub no_cache: bool,
    /// Print the intermediate representation and analyse nothing
    #[arg(long)]
    pub print_ir: bool,
    /// Say how much was read and analyse nothing
    #[arg(long)]
    pub sizes: bool,
    /// A function that any thread may call at any time; NAME* stands for all whose names begin so
    #[arg(long, value_name = "FUNCTION")]
    pub entry: Vec<String>,
    /// Models of library functions, beside those that come with deadheat
    #[arg(long, value_name = "FILE")]
    pub models: Vec<PathBuf>,
    /// Take all threads to run beside each other: creation, join and barriers are not looked at
    #[arg(long)]
    pub always_parallel: bool,
    /// Drop what the four filters of RELAY drop
    #[arg(long)]
    pub relay_filters: bool,
    /// List only what an earlier report (--format json) does not have
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    #[command(flatten)]
    pub output: Output,
}

/// How the program is run.
#[derive(Debug, Args)]
pub struct Runs {
    /// Tries per candidate, exactly; no time limit, so that the result is the same at any -j
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub runs: Option<u32>,
    /// Most undirected runs, which look for failures that no predicted pair points at; as many as
    /// show new orders of events if not given
    #[arg(long, value_name = "N")]
    pub walks: Option<u32>,
    /// Runs at the same time; as many as there are cores if not given
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub jobs: Option<u32>,
    /// Leave out what a suppression file in ThreadSanitizer's format names: it is neither tried nor reported, and counted
    #[arg(long, value_name = "FILE")]
    pub suppressions: Option<PathBuf>,
    /// First seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Probability of a switch at a scheduling point, from 0 to 1
    #[arg(long, value_name = "P", default_value_t = 0.2, value_parser = probability)]
    pub switch: f64,
    /// Shell command that prepares each run
    #[arg(long, value_name = "CMD")]
    pub setup: Option<String>,
    #[command(flatten)]
    pub serving: Serving,
    /// Let runs share the real files; then no exit status is laid to a schedule
    #[arg(long)]
    pub no_isolation: bool,
    /// Wall-clock limit of a run; chosen by the ordinary runs if not given
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = duration::parse)]
    pub timeout: Option<Duration>,
    /// File for the program's standard input; deadheat's own if not given
    #[arg(long, value_name = "FILE")]
    pub stdin: Option<PathBuf>,
    /// An input that an exploration stored, such as i1a2b3c4d, in the place of the given one
    #[arg(long, value_name = "ID")]
    pub input: Option<String>,
    /// Directory of the store; .deadheat beside the program if not given
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
}

/// Programs that serve, and programs of several processes.
#[derive(Debug, Args)]
pub struct Serving {
    /// Shell command that talks to the program: started when that is ready; when it ends, the program gets SIGTERM
    #[arg(long, value_name = "CMD")]
    pub with: Option<String>,
    /// When the program is ready: a TCP or UDP port, a file that exists, or a line it writes (port:N, file:PATH, line:TEXT);
    /// when it listens on any socket, if not given
    #[arg(long, value_name = "PORT|FILE|LINE", requires = "with")]
    pub ready: Option<deadheat_campaign::confirm::Ready>,
    /// Leave child processes and programs that they start alone
    #[arg(long)]
    pub no_follow: bool,
}

impl Serving {
    /// The client, if there is one.
    pub fn client(&self) -> Option<deadheat_campaign::confirm::Client> {
        let command = self.with.clone()?;
        let ready = self.ready.clone().unwrap_or_default();
        Some(deadheat_campaign::confirm::Client { command, ready })
    }
}

/// What is written where.
#[derive(Clone, Debug, Args)]
pub struct Output {
    /// human, json, sarif, junit or html
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    pub format: Format,
    /// Write the report to a file
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// List suspected findings too
    #[arg(long)]
    pub suspected: bool,
    /// Exit with status 1 from this verdict on: suspected, real or harmful
    #[arg(long, value_name = "VERDICT", default_value = "real", value_parser = verdict)]
    pub fail_on: deadheat_campaign::report::exit::Threshold,
    /// Exit with this status, not 1, if something was found (ThreadSanitizer's is 66)
    #[arg(long, value_name = "N", default_value_t = deadheat_campaign::report::exit::FOUND)]
    pub exit_code: u8,
    /// No progress line
    #[arg(short, long)]
    pub quiet: bool,
}

fn verdict(name: &str) -> Result<deadheat_campaign::report::exit::Threshold, String> {
    name.parse()
}

fn probability(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(p) if (0.0..=1.0).contains(&p) => Ok(p),
        _ => Err("write a number from 0 to 1".into()),
    }
}
