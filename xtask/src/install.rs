//! `cargo xtask install PREFIX`: copies the built installation to its place.

use std::fs;
use std::path::Path;

use crate::Outcome;
use crate::layout::{self, part};

/// Copies `./dist` below the prefix.
pub fn run(arguments: &[String]) -> Outcome {
    let [prefix] = arguments else {
        return Err("usage: cargo xtask install PREFIX".into());
    };
    let dist = layout::dist();
    for needed in [
        part::TOOL,
        part::PASS,
        part::LOWERING,
        part::RUNTIME,
        part::MODULE,
        part::EXPORTS,
    ] {
        if !dist.join(needed).is_file() {
            return Err(format!("{needed} is not built: run `cargo xtask build` first").into());
        }
    }
    let prefix = std::path::absolute(prefix)?;
    let place = match std::env::var_os("DESTDIR").filter(|stage| !stage.is_empty()) {
        Some(stage) => Path::new(&stage).join(prefix.strip_prefix("/")?),
        None => prefix,
    };
    copy(&dist, &place)?;
    eprintln!(
        "installed below {}: add {}/bin to PATH",
        place.display(),
        place.display()
    );
    Ok(())
}

/// Copies a directory; a file is replaced in one step, since it may be running.
fn copy(from: &Path, to: &Path) -> Outcome {
    fs::create_dir_all(to).map_err(|error| format!("{}: {error}", to.display()))?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        // Files in the making by a build that runs or was broken off.
        if name.to_string_lossy().starts_with('.') {
            continue;
        }
        let (source, target) = (entry.path(), to.join(&name));
        if entry.file_type()?.is_dir() {
            copy(&source, &target)?;
            continue;
        }
        let near = to.join(format!(".{}.{}", name.to_string_lossy(), std::process::id()));
        if entry.file_type()?.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(&source)?, &near)?;
        } else {
            fs::copy(&source, &near)?;
        }
        fs::rename(&near, &target)?;
    }
    Ok(())
}
