//! Holds the crates' dependencies against the table in ARCHITECTURE.md.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use crate::{layout, process};

/// Crate → crates that it may use, in the order of the table.
fn table() -> Vec<(String, BTreeSet<String>)> {
    let text = fs::read_to_string(layout::root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    let mut rows: Vec<(String, BTreeSet<String>)> = Vec::new();
    for line in text.lines() {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [name, _, uses] = cells[..] else { continue };
        let Some(name) = name.strip_prefix('`').and_then(|n| n.strip_suffix('`')) else {
            continue;
        };
        let allowed = match uses.strip_prefix("all above") {
            Some(rest) => {
                let not = rest.strip_prefix(" but ").unwrap_or_default().replace(" and ", ", ");
                let not: BTreeSet<&str> = not.split(", ").collect();
                rows.iter()
                    .map(|(above, _)| above.clone())
                    .filter(|above| !not.contains(above.as_str()))
                    .collect()
            }
            None => uses.split(", ").filter(|u| *u != "–").map(str::to_owned).collect(),
        };
        rows.push((name.to_owned(), allowed));
    }
    rows
}

/// Crate → crates of this workspace that it depends on, by `cargo metadata`. Tests may use more.
fn edges() -> BTreeMap<String, BTreeSet<String>> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    cargo
        .current_dir(layout::root())
        .args(["metadata", "--no-deps", "--format-version", "1"]);
    let metadata: serde_json::Value = serde_json::from_str(&process::output(&mut cargo).unwrap()).unwrap();
    let short = |name: &str| name.strip_prefix("deadheat-").unwrap_or(name).to_owned();
    let packages = metadata["packages"].as_array().unwrap();
    let uses = |package: &serde_json::Value| {
        let dependencies = package["dependencies"].as_array().unwrap();
        let inner = dependencies
            .iter()
            .filter(|d| d["path"].is_string() && d["kind"] != "dev");
        inner.map(|d| short(d["name"].as_str().unwrap())).collect()
    };
    packages
        .iter()
        .map(|package| (short(package["name"].as_str().unwrap()), uses(package)))
        .collect()
}

#[test]
fn dependencies_go_down_the_table() {
    let (table, edges) = (table(), edges());
    let known: BTreeSet<&String> = table.iter().map(|(name, _)| name).collect();
    assert_eq!(
        known,
        edges.keys().collect(),
        "ARCHITECTURE.md lists the workspace's crates"
    );
    for (name, allowed) in &table {
        let extra: Vec<_> = edges[name].difference(allowed).collect();
        assert!(extra.is_empty(), "{name} uses {extra:?}; the table allows {allowed:?}");
    }
}
