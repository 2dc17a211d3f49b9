//! Tests of a CTest build directory, each an input: what `ctest --show-only=json-v1` says of those that run the program.
//!
//! A test's arguments, working directory and environment (`ENVIRONMENT`, `ENVIRONMENT_MODIFICATION`) are its input.
//! Tests that are disabled, that run another program or run this one through another (a shell, a script) are left out
//! and counted.

use super::{InputsError, List};
use deadheat_confirm::Program;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Names of other programs that a message tells.
const TOLD: usize = 5;

/// What CTest says, as far as it is of use here.
#[derive(Deserialize)]
struct Shown {
    kind: String,
    version: Version,
    tests: Vec<Test>,
}

#[derive(Deserialize)]
struct Version {
    major: u32,
}

#[derive(Deserialize)]
struct Test {
    name: String,
    /// None where the program was not built.
    #[serde(default)]
    command: Vec<String>,
    #[serde(default)]
    properties: Vec<Property>,
}

#[derive(Deserialize)]
struct Property {
    name: String,
    value: serde_json::Value,
}

/// The tests of a build directory that run this program.
pub fn read(directory: &Path, program: &Program) -> Result<List, InputsError> {
    let error = |why: String| InputsError::Tests(directory.into(), why);
    let mut ctest = Command::new("ctest");
    ctest
        .arg("--show-only=json-v1")
        .current_dir(directory)
        .stdin(Stdio::null());
    let output = ctest.output().map_err(|e| match directory.is_dir() {
        true => error(format!("ctest cannot be started: {e}; it is a part of CMake")),
        false => InputsError::Read(directory.into(), e),
    })?;
    if !output.status.success() {
        let told = String::from_utf8_lossy(&output.stderr);
        return Err(error(format!(
            "ctest failed: {}",
            told.lines().next().unwrap_or_default()
        )));
    }
    parse(&output.stdout, directory, program).map_err(error)
}

fn parse(json: &[u8], directory: &Path, program: &Program) -> Result<List, String> {
    let shown: Shown = serde_json::from_slice(json).map_err(|e| format!("ctest's answer: {e}"))?;
    if shown.kind != "ctestInfo" || shown.version.major != 1 {
        return Err("ctest's answer is in no form that is known here (json-v1 is, of CMake 3.14 and later)".into());
    }
    let mut list = List::default();
    let mut others: BTreeMap<String, usize> = BTreeMap::new();
    let (mut disabled, mut unbuilt) = (0, 0);
    for test in &shown.tests {
        let Some((file, arguments)) = test.command.split_first() else {
            unbuilt += 1;
            continue;
        };
        if test.property("DISABLED").is_some_and(|v| v.as_bool() == Some(true)) {
            disabled += 1;
        } else if same(&directory.join(file), &program.file) {
            list.programs.push(test.input(arguments, directory, program)?);
        } else {
            *others.entry(file.clone()).or_default() += 1;
        }
    }
    let mut left_out = Vec::new();
    if !others.is_empty() {
        let mut names: Vec<(&String, &usize)> = others.iter().collect();
        names.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let told: Vec<&str> = names.iter().take(TOLD).map(|(name, _)| name.as_str()).collect();
        let more = if names.len() > TOLD { ", …" } else { "" };
        left_out.push(format!(
            "{} run other programs ({}{more})",
            others.values().sum::<usize>(),
            told.join(", ")
        ));
    }
    if disabled > 0 {
        left_out.push(format!("{disabled} are disabled"));
    }
    if unbuilt > 0 {
        left_out.push(format!("the programs of {unbuilt} are not built"));
    }
    let told = format!("of {} tests {}", shown.tests.len(), left_out.join(", "));
    match (list.programs.is_empty(), left_out.is_empty()) {
        (true, true) => Err("there is no test in it".into()),
        (true, false) => Err(format!("no test runs {}: {told}", program.file.display())),
        (false, true) => Ok(list),
        (false, false) => {
            list.notices.push(told);
            Ok(list)
        }
    }
}

fn same(a: &Path, b: &Path) -> bool {
    match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => a == b,
    }
}

impl Test {
    fn property(&self, name: &str) -> Option<&serde_json::Value> {
        self.properties.iter().find(|p| p.name == name).map(|p| &p.value)
    }

    /// The texts of a property that is a list.
    fn texts(&self, name: &str) -> Vec<&str> {
        let value = self.property(name);
        let list = value.and_then(|v| v.as_array()).into_iter().flatten();
        list.filter_map(|v| v.as_str()).collect()
    }

    fn input(&self, arguments: &[String], directory: &Path, program: &Program) -> Result<Program, String> {
        let mut input = program.clone();
        input.args.extend(arguments.iter().map(OsString::from));
        let working = self.property("WORKING_DIRECTORY").and_then(|v| v.as_str());
        input.directory = directory.join(working.map_or(PathBuf::new(), PathBuf::from));
        if !input.directory.is_dir() {
            let place = input.directory.display();
            return Err(format!(
                "the working directory of test {} is missing: {place}",
                self.name
            ));
        }
        for setting in self.texts("ENVIRONMENT") {
            let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
            change(&mut input, name, |_| Some(value.into()));
        }
        for modification in self.texts("ENVIRONMENT_MODIFICATION") {
            let malformed = || {
                format!(
                    "test {}: ENVIRONMENT_MODIFICATION {modification} is not known here",
                    self.name
                )
            };
            let (name, rest) = modification.split_once('=').ok_or_else(malformed)?;
            let (operation, value) = rest.split_once(':').ok_or_else(malformed)?;
            let join = |old: Option<String>, separator: &str, first: bool| match old.filter(|old| !old.is_empty()) {
                None => Some(value.into()),
                Some(old) if first => Some(format!("{value}{separator}{old}")),
                Some(old) => Some(format!("{old}{separator}{value}")),
            };
            match operation {
                "set" => change(&mut input, name, |_| Some(value.into())),
                "unset" => change(&mut input, name, |_| None),
                "reset" => {
                    let before = program.environment.iter().find(|(n, _)| n == name);
                    let before = before.map(|(_, v)| v.to_string_lossy().into_owned());
                    change(&mut input, name, |_| before);
                }
                "string_append" => change(&mut input, name, |old| join(old, "", false)),
                "string_prepend" => change(&mut input, name, |old| join(old, "", true)),
                "path_list_append" => change(&mut input, name, |old| join(old, ":", false)),
                "path_list_prepend" => change(&mut input, name, |old| join(old, ":", true)),
                "cmake_list_append" => change(&mut input, name, |old| join(old, ";", false)),
                "cmake_list_prepend" => change(&mut input, name, |old| join(old, ";", true)),
                _ => return Err(malformed()),
            }
        }
        Ok(input)
    }
}

/// Gives a variable of the environment another value, or takes it away.
fn change(program: &mut Program, name: &str, to: impl FnOnce(Option<String>) -> Option<String>) {
    let at = program.environment.iter().position(|(n, _)| n == name);
    let old = at.map(|at| program.environment.remove(at).1.to_string_lossy().into_owned());
    if let Some(new) = to(old) {
        program.environment.push((name.into(), new.into()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program() -> Program {
        Program {
            file: "/bin/true".into(),
            name: "true".into(),
            args: vec!["-v".into()],
            directory: "/".into(),
            environment: vec![("A".into(), "1".into()), ("P".into(), "/x".into())],
            stdin: Vec::new(),
            chosen: Default::default(),
        }
    }

    fn shown(tests: &str) -> Result<List, String> {
        let text = format!(
            r#"{{"kind":"ctestInfo","version":{{"major":1,"minor":0}},"backtraceGraph":{{}},"tests":[{tests}]}}"#
        );
        parse(text.as_bytes(), Path::new("/tmp"), &program())
    }

    const ONE: &str = r#"{"name":"one","command":["/bin/true","-n","3"],"properties":[
        {"name":"ENVIRONMENT","value":["A=2","B=x=y"]},
        {"name":"ENVIRONMENT_MODIFICATION","value":["P=path_list_append:/y","A=unset:"]},
        {"name":"TIMEOUT","value":5.0},{"name":"WORKING_DIRECTORY","value":"/usr"}]}"#;

    #[test]
    fn a_test_is_its_arguments_directory_and_environment() {
        let list = shown(ONE).unwrap();
        let input = &list.programs[0];
        assert_eq!(input.args, ["-v", "-n", "3"]);
        assert_eq!(input.directory, Path::new("/usr"));
        let value = |name: &str| {
            input
                .environment
                .iter()
                .find(|(n, _)| n == name)
                .map(|(_, v)| v.to_str().unwrap())
        };
        assert_eq!((value("A"), value("B"), value("P")), (None, Some("x=y"), Some("/x:/y")));
        assert!(list.notices.is_empty());
    }

    #[test]
    fn tests_of_other_programs_are_left_out_and_counted() {
        let more = r#"{"name":"two","command":["/bin/false"]},{"name":"three"},
            {"name":"four","command":["/bin/true"],"properties":[{"name":"DISABLED","value":true}]}"#;
        let list = shown(&format!("{ONE},{more}")).unwrap();
        assert_eq!(list.programs.len(), 1);
        assert_eq!(
            list.notices,
            ["of 4 tests 1 run other programs (/bin/false), 1 are disabled, the programs of 1 are not built"]
        );
        assert!(
            shown(more)
                .unwrap_err()
                .starts_with("no test runs /bin/true: of 3 tests")
        );
        assert_eq!(shown("").unwrap_err(), "there is no test in it");
    }

    #[test]
    fn what_is_not_known_is_said() {
        let odd = ONE.replace("A=unset:", "A=rot13:x");
        assert!(shown(&odd).unwrap_err().contains("A=rot13:x"));
        assert!(parse(b"Test project /tmp", Path::new("/"), &program()).is_err());
        assert!(
            shown(&ONE.replace("/usr", "/no/such/place"))
                .unwrap_err()
                .contains("/no/such/place")
        );
    }
}
