//! A selection as one self-contained page: the growth curve, what each input adds, what detection looks into.

use crate::html::{HEAD, escape};
use crate::selection::{FunctionName, SelectionReport};
use std::fmt::Write;

/// Size of the curve's area, in the units of the drawing.
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 200.0;
/// Room for the numbers at its left and below it.
const LEFT: f64 = 64.0;
const BELOW: f64 = 24.0;
/// Points that are marked one by one.
const MARKED: usize = 100;

/// The page.
pub fn text(report: &SelectionReport) -> String {
    let mut out = String::from(HEAD);
    let _ = write(&mut out, report);
    out
}

fn write(out: &mut String, report: &SelectionReport) -> std::fmt::Result {
    let (file, args) = (escape(&report.program.file), escape(&report.program.args.join(" ")));
    writeln!(out, "<p>{file} {args}</p><pre>{}</pre>", escape(&report.summary()))?;
    writeln!(out, "<h2>Pairs of the first inputs together</h2>")?;
    curve(out, report)?;
    writeln!(
        out,
        "<h2>Inputs</h2><table><thead><tr><th>input</th><th>pairs</th><th>new</th><th>alone</th><th>seconds</th><th>detection in</th><th>arguments</th></tr></thead><tbody>"
    )?;
    for input in &report.inputs {
        let class = if input.chosen.is_some() { "" } else { " class=\"dim\"" };
        writeln!(
            out,
            "<tr{class}><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{:.3}</td><td>{}</td><td>{}</td></tr>",
            escape(&input.id),
            input.pairs,
            input.new,
            input.alone,
            input.seconds,
            escape(&input.detection()),
            escape(&input.args.join(" "))
        )?;
        for notice in &input.notices {
            writeln!(out, "<tr><td></td><td colspan=\"6\">note: {}</td></tr>", escape(notice))?;
        }
    }
    writeln!(out, "</tbody></table>")?;
    for input in report.inputs.iter().filter(|i| i.chosen.is_some()) {
        let names = input.watched.iter().filter_map(|f| report.functions.get(*f as usize));
        details(
            out,
            &format!("{}: functions that detection looks into", input.id),
            names.map(full),
        )?;
    }
    let unmeasured = report.unmeasured.functions.iter();
    details(out, "Functions that need no measuring", unmeasured.map(|f| f.told()))?;
    if let Some(difference) = &report.against {
        let pair = |(a, b): &(FunctionName, FunctionName)| format!("{} | {}", full(a), full(b));
        details(
            out,
            "Pairs that the earlier selection does not have",
            difference.new.iter().map(pair),
        )?;
        details(
            out,
            "Pairs that only the earlier selection has",
            difference.gone.iter().map(pair),
        )?;
    }
    for notice in &report.notices {
        writeln!(out, "<p>note: {}</p>", escape(notice))?;
    }
    writeln!(
        out,
        "<p class=\"dim\">{} runs, {:.1} s</p></body></html>",
        report.runs, report.seconds
    )
}

fn full(function: &FunctionName) -> String {
    match function.line {
        0 => function.name.clone(),
        line => format!("{} ({}:{line})", function.name, function.file),
    }
}

/// A list that opens when it is asked for; none if it is empty.
fn details(out: &mut String, title: &str, items: impl Iterator<Item = String>) -> std::fmt::Result {
    let items: Vec<String> = items.collect();
    if items.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "<details><summary>{} ({})</summary><ul>",
        escape(title),
        items.len()
    )?;
    for item in &items {
        writeln!(out, "<li>{}</li>", escape(item))?;
    }
    writeln!(out, "</ul></details>")
}

/// The growth curve, beginning at no input and no pair.
fn curve(out: &mut String, report: &SelectionReport) -> std::fmt::Result {
    let values: Vec<u64> = std::iter::once(0).chain(report.growth.iter().copied()).collect();
    let top = values.iter().copied().max().unwrap_or(0).max(1);
    let last = values.len() - 1;
    let x = |n: usize| LEFT + WIDTH * n as f64 / last.max(1) as f64;
    let y = |value: u64| 10.0 + HEIGHT * (1.0 - value as f64 / top as f64);
    let (right, bottom) = (LEFT + WIDTH, 10.0 + HEIGHT);
    writeln!(
        out,
        "<svg viewBox=\"0 0 {} {}\" width=\"100%\" style=\"max-width:46em\" role=\"img\" font-size=\"12\" fill=\"currentColor\"><title>{} pairs of {last} inputs</title>",
        right + 16.0,
        bottom + BELOW,
        values[last]
    )?;
    writeln!(
        out,
        "<path d=\"M{LEFT} 10V{bottom}H{right}\" fill=\"none\" stroke=\"var(--line)\"/><text x=\"{}\" y=\"14\" text-anchor=\"end\">{top}</text><text x=\"{}\" y=\"{bottom}\" text-anchor=\"end\">0</text><text x=\"{right}\" y=\"{}\" text-anchor=\"end\">{last} inputs</text>",
        LEFT - 8.0,
        LEFT - 8.0,
        bottom + 18.0
    )?;
    let points: Vec<String> = (0..=last).map(|n| format!("{:.1},{:.1}", x(n), y(values[n]))).collect();
    writeln!(
        out,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"var(--blue)\" stroke-width=\"2\"/>",
        points.join(" ")
    )?;
    for (n, input) in report.inputs.iter().enumerate().filter(|_| last <= MARKED) {
        writeln!(
            out,
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\" fill=\"var({})\"><title>{}: {} pairs, {} new</title></circle>",
            x(n + 1),
            y(values.get(n + 1).copied().unwrap_or(0)),
            if input.chosen.is_some() { "--red" } else { "--blue" },
            escape(&input.id),
            input.pairs,
            input.new
        )?;
    }
    writeln!(
        out,
        "</svg><p class=\"dim\">Red: inputs that are chosen for detection.</p>"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::selection::{SelectedInput, Unmeasured};

    #[test]
    fn the_page_has_the_curve_and_hides_nothing() {
        let input = |id: &str, pairs, new, chosen| SelectedInput {
            id: id.into(),
            pairs,
            new,
            chosen,
            measured: true,
            args: vec!["<a>".into()],
            ..SelectedInput::default()
        };
        let mut report = SelectionReport {
            inputs: vec![input("i1", 4, 4, Some(1)), input("i2", 3, 0, None)],
            growth: vec![4, 4],
            notices: vec!["a & b".into()],
            ..SelectionReport::default()
        };
        report.unmeasured.functions.push(Unmeasured {
            function: FunctionName {
                name: "daxpy".into(),
                ..FunctionName::default()
            },
            reason: "inherits".into(),
            from: vec![FunctionName {
                name: "lu0".into(),
                ..FunctionName::default()
            }],
        });
        let page = text(&report);
        assert!(page.contains("points=\"64.0,210.0 384.0,10.0 704.0,10.0\""), "{page}");
        assert_eq!(page.matches("<circle").count(), 2);
        assert!(
            page.contains("&lt;a&gt;") && page.contains("a &amp; b") && !page.contains("<a>"),
            "{page}"
        );
        assert!(page.contains("<li>daxpy: as lu0</li>"), "{page}");
        // None at all is a page too.
        assert!(text(&SelectionReport::default()).contains("0 pairs of 0 inputs"));
    }
}
