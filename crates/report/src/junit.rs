//! JUnit XML: each finding is a test case; real ones fail, suspected ones are skipped.

use crate::finding::Report;
use crate::format::Options;
use crate::words;
use deadheat_model::Verdict;
use quick_junit::{NonSuccessKind, Report as Junit, TestCase, TestCaseStatus, TestSuite};

/// The report as JUnit XML.
pub fn text(report: &Report, options: &Options) -> String {
    let mut suite = TestSuite::new(report.program.file.as_str());
    for f in &report.findings {
        let status = if f.verdict > Verdict::Suspected {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_type(words::kind(f.kind)).set_message(words::summary(f));
            status.set_description(format!("deadheat replay {}{}", options.store, f.id));
            status
        } else {
            let mut status = TestCaseStatus::skipped();
            status.set_message(words::summary(f));
            status
        };
        let mut case = TestCase::new(format!("{} {}", f.id, words::kind(f.kind)), status);
        case.set_classname(f.fingerprint.as_str());
        suite.add_test_case(case);
    }
    if report.findings.is_empty() {
        suite.add_test_case(TestCase::new("nothing found", TestCaseStatus::success()));
    }
    if !report.notices.is_empty() {
        suite.set_system_out(report.notices.join("\n"));
    }
    let mut junit = Junit::new("deadheat");
    junit.add_test_suite(suite);
    junit.to_string().unwrap_or_default()
}
