//! A clang command line, read as clang reads it: options with their values, inputs with their languages,
//! and the stage at which the work ends.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::Language;
use super::frontend::Frontend;
use super::option_table::takes_next_word;

/// Where the compiler stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// After the preprocessor (`-E`, `-M`, `-MM`).
    Preprocess,
    /// After checking (`-fsyntax-only`, `--analyze`, …): no code is made.
    Check,
    /// After making assembly text or, with `-emit-llvm`, IR text (`-S`).
    Assembly,
    /// After making object files (`-c`).
    Object,
    /// After linking.
    Link,
}

/// What an input file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// C, C++ or Objective-C: gets sites.
    Source,
    /// A header, given by itself to be precompiled: makes no code.
    Header,
    /// LLVM IR: gets sites when it is compiled.
    Ir,
    /// Assembly: gets none.
    Assembly,
    /// A language whose device code must not be touched (CUDA, HIP, OpenCL, …).
    Foreign,
    /// An object, archive, shared library or linker script.
    Linkable,
}

/// An input file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// As written; `-` is standard input.
    pub path: OsString,
    /// What it holds, by `-x` or its name.
    pub content: Content,
}

/// One option with its value, or one input, in the order of the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// An option that is one word.
    Option(OsString),
    /// An option and the next word.
    WithValue(OsString, OsString),
    /// An input file: its index in [`CommandLine::inputs`].
    Input(usize),
    /// The word `--`: only inputs follow.
    EndOfOptions,
}

impl Argument {
    /// The option's own word, if it is text.
    pub fn option(&self) -> Option<&str> {
        match self {
            Argument::Option(word) | Argument::WithValue(word, _) => word.to_str(),
            Argument::Input(_) | Argument::EndOfOptions => None,
        }
    }

    /// The value given as the next word.
    pub fn value(&self) -> Option<&OsStr> {
        match self {
            Argument::WithValue(_, value) => Some(value),
            _ => None,
        }
    }
}

/// A command line taken apart.
#[derive(Clone, Debug)]
pub struct CommandLine {
    /// The driver's language.
    pub language: Language,
    /// Everything, in order.
    pub arguments: Vec<Argument>,
    /// The input files, in order.
    pub inputs: Vec<Input>,
    /// Where the work ends.
    pub stage: Stage,
    /// Who makes the code.
    pub frontend: Frontend,
}

impl CommandLine {
    /// Takes a command line apart; response files must be expanded already.
    pub fn parse(language: Language, words: &[OsString]) -> CommandLine {
        let mut line = CommandLine {
            language,
            arguments: Vec::new(),
            inputs: Vec::new(),
            stage: Stage::Link,
            frontend: Frontend::Pass,
        };
        let mut forced: Option<Content> = None;
        let mut words = words.iter().cloned();
        while let Some(word) = words.next() {
            let bytes = word.as_bytes();
            if bytes == b"--" {
                line.arguments.push(Argument::EndOfOptions);
                for path in words.by_ref() {
                    line.push_input(path, forced);
                }
            } else if bytes == b"-" || !bytes.starts_with(b"-") {
                line.push_input(word, forced);
            } else {
                let separate = word.to_str().is_some_and(takes_next_word);
                let argument = match separate.then(|| words.next()).flatten() {
                    Some(value) => Argument::WithValue(word, value),
                    None => Argument::Option(word),
                };
                if let Some(name) = language_option(&argument) {
                    forced = (name != "none").then(|| content_of_language(name));
                }
                line.arguments.push(argument);
            }
        }
        line.stage = line.find_stage();
        line
    }

    fn push_input(&mut self, path: OsString, forced: Option<Content>) {
        let content = forced.unwrap_or_else(|| content_of_name(&path));
        self.arguments.push(Argument::Input(self.inputs.len()));
        self.inputs.push(Input { path, content });
    }

    /// The earliest stage that an option asks for, as in clang. Headers are precompiled and not linked.
    fn find_stage(&self) -> Stage {
        let precompiles = !self.inputs.is_empty() && self.inputs.iter().all(|i| i.content == Content::Header);
        let last = if precompiles { Stage::Object } else { Stage::Link };
        self.options().filter_map(stage_of).min().unwrap_or(last)
    }

    /// All options that are text.
    pub fn options(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.arguments.iter().filter_map(Argument::option)
    }

    /// Whether an option is given in exactly this spelling.
    pub fn has(&self, option: &str) -> bool {
        self.options().any(|o| o == option)
    }

    /// The last value of an option, joined to it or as the next word.
    pub fn last_value(&self, option: &str) -> Option<&OsStr> {
        self.arguments.iter().rev().find_map(|argument| match argument {
            Argument::WithValue(word, value) if word == option => Some(value.as_os_str()),
            Argument::Option(word) => word
                .as_bytes()
                .strip_prefix(option.as_bytes())
                .filter(|v| !v.is_empty())
                .map(OsStr::from_bytes),
            _ => None,
        })
    }

    /// All options for the linker: what `-Wl,` and `-Xlinker` pass on.
    pub fn linker_options(&self) -> impl Iterator<Item = &str> {
        self.arguments.iter().flat_map(|argument| {
            let (joined, separate) = match argument {
                Argument::Option(word) => (word.to_str().and_then(|w| w.strip_prefix("-Wl,")), None),
                Argument::WithValue(word, value) if word == "-Xlinker" => (None, value.to_str()),
                _ => (None, None),
            };
            joined.into_iter().flat_map(|list| list.split(',')).chain(separate)
        })
    }

    /// Whether any input is of this kind.
    pub fn has_content(&self, content: Content) -> bool {
        self.inputs.iter().any(|input| input.content == content)
    }

    /// Whether there is anything to compile or link, rather than a question to answer (`--version`, …).
    pub fn has_work(&self) -> bool {
        let answers_only = self.options().any(|o| {
            matches!(
                o,
                "--version" | "--help" | "-help" | "--help-hidden" | "-dumpversion" | "-dumpmachine"
            ) || o.starts_with("-print-")
                || o.starts_with("--print-")
        });
        !answers_only && (!self.inputs.is_empty() || self.options().any(|o| o.starts_with("-l")))
    }

    /// Whether a configuration tool is trying out the compiler: it must then see clang's own answers.
    pub fn is_probe(&self, directory: &Path) -> bool {
        let scratch = |path: &Path| {
            path.components().any(|part| {
                let part = part.as_os_str().as_bytes();
                matches!(
                    part,
                    b"CMakeTmp" | b"CMakeScratch" | b"CompilerIdC" | b"CompilerIdCXX" | b"meson-private"
                ) || part.starts_with(b"TryCompile-")
            })
        };
        scratch(directory)
            || self.inputs.iter().any(|input| {
                let path = Path::new(&input.path);
                let stem = path.file_stem().unwrap_or_default();
                scratch(path) || ["conftest", "_configtest", "-"].iter().any(|s| stem == *s) || path == "/dev/null"
            })
    }
}

fn stage_of(option: &str) -> Option<Stage> {
    match option {
        "-E" | "--preprocess" | "-M" | "-MM" | "--dependencies" | "--user-dependencies" => Some(Stage::Preprocess),
        "-fsyntax-only" | "--syntax-only" | "--analyze" | "-emit-ast" | "--precompile" | "-module-file-info"
        | "-verify-pch" | "-extract-api" | "--migrate" | "-rewrite-objc" => Some(Stage::Check),
        "-S" | "--assemble" => Some(Stage::Assembly),
        "-c" | "--compile" => Some(Stage::Object),
        _ => None,
    }
}

/// The language that an `-x` option names.
fn language_option(argument: &Argument) -> Option<&str> {
    match argument {
        Argument::WithValue(word, value) if word == "-x" || word == "--language" => value.to_str(),
        Argument::Option(word) => {
            let word = word.to_str()?;
            word.strip_prefix("--language=")
                .or_else(|| word.strip_prefix("-x"))
                .filter(|name| !name.is_empty())
        }
        _ => None,
    }
}

fn content_of_language(name: &str) -> Content {
    match name {
        "ir" => Content::Ir,
        _ if name.ends_with("-header") || name.contains("-header-") => Content::Header,
        "assembler" | "assembler-with-cpp" => Content::Assembly,
        "cuda" | "hip" | "cl" | "clcpp" | "hlsl" | "renderscript" | "f95" | "f95-cpp-input" | "cuda-cpp-output"
        | "hip-cpp-output" | "ada" => Content::Foreign,
        _ => Content::Source,
    }
}

fn content_of_name(path: &OsStr) -> Content {
    let extension = Path::new(path).extension().unwrap_or_default();
    match extension.to_str().unwrap_or_default() {
        "c" | "i" | "C" | "cc" | "CC" | "cp" | "cpp" | "CPP" | "cxx" | "CXX" | "c++" | "C++" | "ii" | "m" | "mi"
        | "M" | "mm" | "mii" | "iim" | "pcm" | "cppm" | "ixx" | "ccm" | "cxxm" => Content::Source,
        "h" | "H" | "hh" | "hpp" | "hxx" | "hp" | "h++" | "tcc" | "tpp" => Content::Header,
        "bc" | "ll" => Content::Ir,
        "s" | "S" | "sx" | "asm" => Content::Assembly,
        "cu" | "cui" | "hip" | "cl" | "clcpp" | "hlsl" | "f" | "F" | "f90" | "F90" | "for" | "ads" | "adb" => {
            Content::Foreign
        }
        // Standard input without -x is refused by clang unless it only preprocesses.
        _ if path == "-" => Content::Source,
        _ => Content::Linkable,
    }
}
