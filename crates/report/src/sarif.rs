//! SARIF 2.1.0: for code hosts and editors that show results at source lines.

use crate::finding::{Finding, Frame, Report};
use crate::{freed_block, schema, words};
use deadheat_model::Verdict;
use serde_json::{Value, json};

/// The report as SARIF.
pub fn text(report: &Report) -> String {
    let mut kinds: Vec<String> = report.findings.iter().map(|f| schema::name(&f.kind)).collect();
    kinds.sort();
    kinds.dedup();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "deadheat",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": kinds.iter().map(|k| json!({ "id": k })).collect::<Vec<_>>(),
            }},
            "invocations": [{
                "executionSuccessful": true,
                "toolExecutionNotifications": report.notices.iter().map(notification).collect::<Vec<_>>(),
            }],
            "results": report.findings.iter().map(result).collect::<Vec<_>>(),
        }],
    });
    serde_json::to_string_pretty(&log).unwrap_or_default() + "\n"
}

/// What limits the results.
fn notification(notice: &String) -> Value {
    json!({ "level": "note", "message": { "text": notice } })
}

fn level(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Harmful => "error",
        Verdict::Real => "warning",
        Verdict::Suspected => "note",
    }
}

fn location(file: &str, line: u32, column: u32, message: &str) -> Value {
    let region = match (line, column) {
        (0, _) => Value::Null,
        (line, 0) => json!({ "startLine": line }),
        (line, column) => json!({ "startLine": line, "startColumn": column }),
    };
    if file.is_empty() {
        return json!({ "message": { "text": message } });
    }
    let mut physical = json!({ "artifactLocation": { "uri": file } });
    if !region.is_null() {
        physical["region"] = region;
    }
    json!({ "physicalLocation": physical, "message": { "text": message } })
}

fn result(f: &Finding) -> Value {
    let mut places: Vec<Value> = f
        .accesses
        .iter()
        .map(|a| {
            location(
                &a.file,
                a.line,
                a.column,
                &format!("{} {}", a.thread.label(), words::act(a)),
            )
        })
        .collect();
    let known = |frames: &[Frame]| frames.iter().find(|f| f.line > 0).cloned();
    for waiting in &f.threads {
        let message = format!("{} waits for {}", waiting.thread.label(), waiting.wants);
        places.extend(known(&waiting.stack).map(|at| location(&at.file, at.line, at.column, &message)));
    }
    if let Some(m) = &f.misuse {
        let message = format!("{} {}", m.thread.label(), m.what);
        places.extend(known(&m.stack).map(|at| location(&at.file, at.line, at.column, &message)));
        let part = m
            .other
            .as_ref()
            .map(|t| format!("{} {}", t.label(), words::part(m.kind)));
        let message = part.unwrap_or_default();
        places.extend(known(&m.taken).map(|at| location(&at.file, at.line, at.column, &message)));
    }
    let ended = f.ended_at.as_ref().and_then(|p| known(&p.stack));
    places.extend(ended.map(|at| location(&at.file, at.line, at.column, "the program ended here")));
    for (told, place) in f.freed.iter().flat_map(freed_block::steps) {
        let message = format!("{} {told}", place.thread.label());
        places.extend(known(&place.stack).map(|at| location(&at.file, at.line, at.column, &message)));
    }
    let related: Vec<Value> = places.iter().skip(1).cloned().collect();
    json!({
        "ruleId": schema::name(&f.kind),
        "level": level(f.verdict),
        "message": { "text": format!("{}: {}", words::verdict(f.verdict), words::summary(f)) },
        "locations": places.first().map(|p| vec![p.clone()]).unwrap_or_default(),
        "relatedLocations": related,
        "partialFingerprints": { "deadheat/v1": f.fingerprint },
        "properties": { "id": f.id, "hits": f.hits, "tries": f.tries, "replay": f.replay },
    })
}
