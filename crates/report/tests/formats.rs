//! What readers of each format rely on.

mod sample;

use deadheat_model::Verdict;
use deadheat_report::format::{Options, write};
use deadheat_report::{Format, Report, exit, schema};

const SCHEMA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema/findings-1.json");

fn text(format: Format, suspected: bool) -> String {
    let options = Options {
        suspected,
        store: String::new(),
        unstored: false,
        coverage: None,
    };
    write(&sample::report(), format, &options)
}

/// `DEADHEAT_UPDATE=1 cargo test -p deadheat-report` writes the schema anew.
#[test]
fn the_schema_file_is_the_formats() {
    if std::env::var_os("DEADHEAT_UPDATE").is_some() {
        std::fs::write(SCHEMA, schema::text()).expect("the schema file");
    }
    let kept = std::fs::read_to_string(SCHEMA).expect("docs/schema/findings-1.json");
    assert_eq!(
        kept,
        schema::text(),
        "the JSON format changed; if that is wanted, see this test's comment"
    );
}

/// As for findings.
#[test]
fn the_schema_file_of_selections_is_the_formats() {
    const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema/selection-1.json");
    let schema = deadheat_report::selection::SelectionReport::schema();
    if std::env::var_os("DEADHEAT_UPDATE").is_some() {
        std::fs::write(FILE, &schema).expect("the schema file");
    }
    let kept = std::fs::read_to_string(FILE).expect("docs/schema/selection-1.json");
    assert_eq!(
        kept, schema,
        "the JSON format changed; if that is wanted, see the comment above"
    );
}

/// As for findings.
#[test]
fn the_schema_file_of_tables_is_the_formats() {
    const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema/table-1.json");
    let schema = deadheat_report::table::Table::schema();
    if std::env::var_os("DEADHEAT_UPDATE").is_some() {
        std::fs::write(FILE, &schema).expect("the schema file");
    }
    let kept = std::fs::read_to_string(FILE).expect("docs/schema/table-1.json");
    assert_eq!(
        kept, schema,
        "the JSON format changed; if that is wanted, see the comment above"
    );
}

#[test]
fn json_keeps_to_the_schema_and_comes_back() {
    let json = text(Format::Json, false);
    let value: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let schema: serde_json::Value = serde_json::from_str(&schema::text()).expect("a schema");
    let validator = jsonschema::validator_for(&schema).expect("a valid schema");
    let errors: Vec<String> = validator.iter_errors(&value).map(|e| e.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let back: Report = serde_json::from_str(&json).expect("a report");
    assert_eq!(back, sample::report());
    let wrong = serde_json::json!({ "version": 1, "findings": [{ "id": "F1", "kind": "no such kind" }] });
    assert!(!validator.is_valid(&wrong));
}

#[test]
fn real_findings_come_first_and_suspected_ones_only_on_request() {
    let report = sample::report();
    let ids: Vec<&str> = report.findings.iter().map(|f| f.id.as_str()).collect();
    assert_eq!(ids, ["F2", "F3", "F1"]);
    let plain = |suspected| strip(&text(Format::Human, suspected));
    assert!(!plain(false).contains("F1 suspected") && plain(false).contains("1 suspected (--suspected lists them)"));
    assert!(plain(true).contains("F1 suspected"));
}

/// Text without ANSI sequences.
fn strip(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |out, part| {
        out + part.split_once('m').map_or("", |(_, rest)| rest)
    })
}

#[test]
fn the_text_says_what_a_reader_asks() {
    let plain = strip(&text(Format::Human, false));
    for wanted in [
        "F2 harmful data race on global `account[3].balance`",
        "bank.c:14:17",
        "thread T1 reads 4 bytes",
        "thread T2 writes 4 bytes",
        "holding mutex `audit`",
        "thread T1 (runs teller) was created by the main thread",
        "if thread T1 (read) goes first: memory held 0 before, 1 after both; the program exits with status 0",
        "failed assertion: Assertion `total == 100' failed.",
        "shown in 19 of 20 runs",
        "again: deadheat replay F2",
        "waits for mutex `b`, which thread T2 holds; holding mutex `a`",
        "2 real, of these 2 harmful",
        "note: `ptrace` is not modelled",
    ] {
        assert!(plain.contains(wanted), "missing: {wanted}\n{plain}");
    }
}

#[test]
fn findings_of_one_cause_are_told_in_full_once() {
    let mut report = sample::report();
    let mut again = report.findings[0].clone();
    (again.id, again.accesses[0].line) = ("F9".into(), 15);
    let mut elsewhere = again.clone();
    (elsewhere.id, elsewhere.accesses[0].function) = ("F10".into(), "withdraw".into());
    report.findings.extend([again, elsewhere]);
    let options = Options {
        suspected: false,
        store: String::new(),
        unstored: false,
        coverage: None,
    };
    let plain = strip(&write(&report, Format::Human, &options));
    assert!(
        plain.contains("likely of the same cause") && plain.contains("F9 harmful  read at bank.c:15:17"),
        "{plain}"
    );
    assert!(
        !plain.contains("F9 harmful data race") && plain.contains("F10 harmful data race"),
        "{plain}"
    );
}

#[test]
fn of_very_many_threads_and_locks_some_are_shown_and_the_rest_is_counted() {
    let mut report = sample::report();
    let deadlock = report
        .findings
        .iter_mut()
        .find(|f| !f.threads.is_empty())
        .expect("a deadlock");
    let lock = deadlock.threads[0].locks[0].clone();
    deadlock.threads[0].locks = vec![lock; 500];
    deadlock.threads = vec![deadlock.threads[0].clone(); 64];
    deadlock.threads_left_out = 1336;
    let options = Options {
        suspected: false,
        store: String::new(),
        unstored: false,
        coverage: None,
    };
    let plain = strip(&write(&report, Format::Human, &options));
    assert!(plain.lines().count() < 100, "{plain}");
    for told in ["… 1392 waiting threads more", "and 492 more", "of 1400 threads at"] {
        assert!(plain.contains(told), "missing: {told}\n{plain}");
    }
    let json: serde_json::Value = serde_json::from_str(&write(&report, Format::Json, &options)).expect("JSON");
    let all = json["findings"].as_array().expect("findings");
    assert!(all.iter().any(|f| f["threads_left_out"] == 1336));
}

#[test]
fn other_formats_are_well_formed() {
    let sarif: serde_json::Value = serde_json::from_str(&text(Format::Sarif, false)).expect("SARIF is JSON");
    let results = sarif["runs"][0]["results"].as_array().expect("results");
    assert_eq!(results.len(), 3);
    assert_eq!(
        results[0]["locations"][0]["physicalLocation"]["region"]["startLine"],
        14
    );
    let told = &sarif["runs"][0]["invocations"][0]["toolExecutionNotifications"];
    assert_eq!(told[0]["message"]["text"], "`ptrace` is not modelled");
    let junit = text(Format::Junit, false);
    assert!(junit.contains("`ptrace` is not modelled"));
    assert!(junit.contains("<failure") && junit.contains("<skipped") && junit.contains("F2 data race"));
    let html = text(Format::Html, false);
    assert!(html.contains("&lt;100&gt;") && !html.contains('\u{1b}'));
    assert_eq!(html.matches("<span").count(), html.matches("</span>").count());
}

#[test]
fn the_exit_status_follows_the_verdicts() {
    let report = sample::report();
    assert_eq!(exit::status(&report, Verdict::Real, false), 1);
    let mut calm = report.clone();
    calm.findings.retain(|f| f.verdict == Verdict::Suspected);
    assert_eq!(exit::status(&calm, Verdict::Real, false), 0);
    assert_eq!(exit::status(&calm, Verdict::Suspected, false), 1);
    assert_eq!(exit::status(&calm, Verdict::Real, true), 3);
}

#[test]
fn a_finding_says_how_often_it_is_shown_and_how_sure_that_is() {
    let human = strip(&text(Format::Human, true));
    assert!(
        human.contains("shown in 19 of 20 runs (76 to 99 % of such runs, 95 % confidence)"),
        "{human}"
    );
    assert!(
        human.contains("not shown in 20 runs (0 to 16 % of such runs, 95 % confidence)"),
        "{human}"
    );
    let json: serde_json::Value = serde_json::from_str(&text(Format::Json, true)).expect("JSON");
    let race = &json["findings"][0];
    assert_eq!(
        race["probability"],
        serde_json::json!({ "low": 0.7639, "high": 0.9911 }),
        "{race}"
    );
}
