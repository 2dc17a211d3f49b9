//! One self-contained page: the text report, with its colours, in a frame that a browser shows.

use crate::finding::Report;
use crate::format::Options;
use crate::{terminal, words};
use std::fmt::Write;

const HEAD: &str = r#"<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>deadheat</title><style>
body{font:16px/1.5 system-ui,sans-serif;max-width:64em;margin:2em auto;padding:0 1em;color:#222}
pre{background:#f6f6f4;padding:1em;overflow-x:auto;line-height:1.35}
table{border-collapse:collapse}td,th{text-align:left;padding:.2em 1em .2em 0;vertical-align:top}
.bold{font-weight:bold}.dim{color:#777}.red{color:#b00020}.yellow{color:#8a6d00}.cyan{color:#006a78}.blue{color:#1a4fa0}
</style></head><body><h1>deadheat</h1>
"#;

/// The report as a page.
pub fn text(report: &Report, options: &Options) -> String {
    let mut out = String::from(HEAD);
    let _ = writeln!(
        out,
        "<p>{} {}</p><table>",
        escape(&report.program.file),
        escape(&report.program.args.join(" "))
    );
    for f in &report.findings {
        let (verdict, told) = (words::verdict(f.verdict), escape(&words::summary(f)));
        let _ = writeln!(
            out,
            "<tr><th>{}</th><td>{verdict}</td><td>{told}</td></tr>",
            escape(&f.id)
        );
    }
    let body = terminal::text(report, options);
    let _ = writeln!(out, "</table><pre>{}</pre></body></html>", spans(&body));
    out
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// ANSI sequences to spans; only those that the text report uses.
fn spans(text: &str) -> String {
    let mut out = String::new();
    let mut open = 0;
    for (n, piece) in text.split('\u{1b}').enumerate() {
        let (code, rest) = match piece.strip_prefix('[').and_then(|p| p.split_once('m')) {
            Some(parts) if n > 0 => parts,
            _ => ("", piece),
        };
        let class = match code {
            "1" => Some("bold"),
            "2" => Some("dim"),
            "31" => Some("red"),
            "33" => Some("yellow"),
            "34" => Some("blue"),
            "36" => Some("cyan"),
            _ => None,
        };
        if let Some(class) = class {
            out += &format!("<span class=\"{class}\">");
            open += 1;
        } else if code == "0" {
            out += &"</span>".repeat(open);
            open = 0;
        }
        out += &escape(rest);
    }
    out + &"</span>".repeat(open)
}
