//! Which cases are run, at which levels, with which seeds.

use std::path::PathBuf;

use super::annotation::{Case, Expect};
use super::stage::{Level, Stage};

/// What the command line asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Everything instead of the default choice.
    pub full: bool,
    /// Only cases whose name contains this.
    pub filter: String,
    /// Only this level, for all cases.
    pub level: Option<Level>,
    /// Number of seeds, from 0, if it was said.
    pub seeds: Option<u64>,
    /// Jobs at once.
    pub parallel: usize,
    /// The tool, if it is not the one in `dist`.
    pub tool: Option<PathBuf>,
    /// This stage alone.
    pub stage: Option<Stage>,
}

/// Seeds of the default choice.
const FEW_SEEDS: u64 = 2;
/// Seeds of the full choice: 0 to 8.
const ALL_SEEDS: u64 = 9;
/// Most seeds of a case that is explored, by choice: an exploration is long, and the same with each.
const EXPLORED: [u64; 2] = [1, 3];

/// A case at a level, with a front end.
#[derive(Clone, Debug)]
pub struct Job<'a> {
    /// The case.
    pub case: &'a Case,
    /// The level.
    pub level: Level,
    /// The compiler whose own instrumentation takes the place of the pass, if one does.
    pub frontend: Option<&'a str>,
    /// It is hunted with each seed below this.
    pub seeds: u64,
    /// Most undirected runs of a hunt, if there is such a bound.
    pub walks: Option<u32>,
}

/// Most undirected runs of a hunt whose directed runs show what is expected. The time that such a run may take says
/// nothing here: the budget of all cases is long, and who gives much of it wants as many runs as there is time for.
const WALKS: u32 = 40;

impl Job<'_> {
    /// What tells it apart from other jobs of its case: `O1`, `O1-gcc`.
    pub fn variant(&self) -> String {
        let level = self.level.flag().trim_start_matches('-');
        self.frontend.map_or(level.into(), |name| format!("{level}-{name}"))
    }
}

impl Options {
    /// Reads the command line.
    pub fn parse(arguments: &[String]) -> Result<Options, String> {
        let mut options = Options {
            full: false,
            filter: String::new(),
            level: None,
            seeds: None,
            parallel: std::thread::available_parallelism().map_or(1, usize::from),
            tool: None,
            stage: None,
        };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let mut value = || rest.next().ok_or_else(|| format!("{argument} wants a value"));
            let number = |text: &String| match text.parse::<u64>() {
                Ok(n) if n > 0 => Ok(n),
                _ => Err(format!("{argument} wants a number above 0, not `{text}`")),
            };
            match argument.as_str() {
                "--full" => options.full = true,
                "--filter" => options.filter = value()?.clone(),
                "--level" => options.level = Some(value()?.parse()?),
                "--seeds" => options.seeds = Some(number(value()?)?),
                "-j" => options.parallel = number(value()?)? as usize,
                "--stage" => options.stage = Some(value()?.parse()?),
                "--tool" => options.tool = Some(value()?.into()),
                other => return Err(format!("unknown argument `{other}`")),
            }
        }
        Ok(options)
    }

    /// Seeds of a case.
    fn seeds(&self, case: &Case) -> u64 {
        let all = if self.full { ALL_SEEDS } else { FEW_SEEDS };
        let explored = case.stages.contains(&Stage::Explore);
        let most = if explored {
            EXPLORED[usize::from(self.full)]
        } else {
            all
        };
        self.seeds.unwrap_or(most)
    }

    /// See [`Job::walks`].
    fn walks(case: &Case) -> Option<u32> {
        let pointed_at = |e: &Expect| matches!(e, Expect::None | Expect::Real | Expect::Harmful(_));
        case.expect.iter().all(pointed_at).then_some(WALKS)
    }
}

/// The jobs that the options ask for, in order of the cases' names.
pub fn jobs<'a>(cases: &'a [Case], options: &Options) -> Vec<Job<'a>> {
    let mut jobs = Vec::new();
    for case in cases.iter().filter(|c| c.name.contains(&options.filter)) {
        for level in Level::ALL {
            let chosen = match options.level {
                Some(only) => level == only,
                None => {
                    let third = in_the_third(&case.name) && !case.stages.contains(&Stage::Explore);
                    options.full || level == Level::O1 || third
                }
            };
            // A case that does not hold at -O1 is run where it does.
            let stands_in = options.level.is_none() && !case.levels.contains(&Level::O1);
            if (chosen || stands_in) && case.levels.contains(&level) {
                let job = Job {
                    case,
                    level,
                    frontend: None,
                    seeds: options.seeds(case),
                    walks: Options::walks(case),
                };
                let frontends = case.frontends.iter().map(|name| Job {
                    frontend: Some(name),
                    ..job.clone()
                });
                jobs.extend(frontends);
                if case.frontends.is_empty() {
                    jobs.push(job);
                }
            }
        }
    }
    jobs
}

/// Whether the name belongs to the third that is run at every level: FNV-1a, which will not change.
fn in_the_third(name: &str) -> bool {
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| {
        (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3)
    });
    hash % 3 == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn options(words: &[&str]) -> Result<Options, String> {
        Options::parse(&words.iter().map(|w| w.to_string()).collect::<Vec<_>>())
    }

    #[test]
    fn reads_options() {
        let all = options(&["--full", "--filter", "fence", "--level", "O2", "-j", "3"]).unwrap();
        assert!(all.full && all.filter == "fence" && all.level == Some(Level::O2) && all.parallel == 3);
        assert_eq!(options(&["--seeds", "4"]).unwrap().seeds, Some(4));
        assert!(options(&["--seeds", "0"]).is_err());
        assert!(options(&["--level"]).is_err());
        assert!(options(&["--level", "O7"]).is_err());
        assert!(options(&["what"]).is_err());
    }

    #[test]
    fn chooses_levels() {
        let case = |name: &str, head: &str| Case::parse(Path::new(name), name, head).unwrap();
        let text = "//@ expect: none\n";
        let cases: Vec<Case> = (0..300).map(|i| case(&format!("c/t/{i}.c"), text)).collect();
        let default = jobs(&cases, &options(&[]).unwrap()).len();
        assert!((450..550).contains(&default), "{default}");
        assert_eq!(jobs(&cases, &options(&["--full"]).unwrap()).len(), 900);
        assert_eq!(
            jobs(&cases, &options(&["--filter", "/17.c", "--level", "O0"]).unwrap()).len(),
            1
        );
        let only = [case("c/t/a.c", "//@ expect: none\n//@ levels: O0 merged above\n")];
        assert_eq!(jobs(&only, &options(&[]).unwrap()).len(), 1);
    }
}
