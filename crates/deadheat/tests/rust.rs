//! Rust programs and packages, from source to finding.

mod programs;

use programs::{Place, text};
use std::process::{Command, Stdio};

/// A program of the installation, to be run in this directory. Only those know each other by name.
fn installed(place: &Place, program: &str, arguments: &[&str]) -> (i32, String) {
    let mut command = Command::new(programs::dist().join("bin").join(program));
    command.args(arguments).current_dir(place.join("")).stdin(Stdio::null());
    command.env_remove("RUSTFLAGS").env("RUST_BACKTRACE", "0");
    let output = command.output().expect("it starts");
    (output.status.code().unwrap_or(-1), text(&output))
}

const RACY: &str = "
static mut COUNT: u32 = 0;
fn count() {
    unsafe { COUNT += 1 }
}
fn main() {
    let other = std::thread::spawn(count);
    count();
    other.join().unwrap();
    std::process::exit(unsafe { (COUNT == 0) as i32 });
}
";

#[test]
fn a_race_in_a_file_is_shown_with_its_functions_name() {
    let place = Place::new("rust-file");
    place.write("racy.rs", RACY);
    let (status, told) = installed(&place, "deadheat", &["rustc", "--edition", "2024", "racy.rs"]);
    assert_eq!(status, 0, "{told}");
    let (status, told) = installed(&place, "deadheat", &["hunt", "--runs", "4", "--", "./racy"]);
    assert_eq!(status, 1, "{told}");
    assert!(told.contains("racy.rs:4:") && told.contains("racy::count"), "{told}");
    assert!(!told.contains("code without sites"), "{told}");
}

#[test]
fn what_cannot_be_watched_is_refused_with_a_way_out() {
    let place = Place::new("rust-refused");
    place.write("a.rs", RACY);
    for (option, told_of) in [
        ("--target=wasm32-wasip1", "x86_64"),
        ("-Ctarget-feature=+crt-static", "Leave it out"),
    ] {
        let (status, told) = installed(&place, "deadheat-rustc", &["--edition", "2024", option, "a.rs"]);
        assert_eq!(status, 1, "{told}");
        assert!(told.contains(told_of), "{told}");
    }
}

#[test]
fn build_scripts_are_told_the_compilers_version_as_it_is() {
    let place = Place::new("rust-version");
    let (_, told) = installed(&place, "deadheat-rustc", &["rustc", "--version"]);
    assert!(told.starts_with("rustc 1.") && told.lines().count() == 1, "{told}");
    let (_, told) = installed(&place, "deadheat-rustc", &["rustc", "-vV"]);
    assert!(told.lines().any(|line| line.starts_with("deadheat: ")), "{told}");
}

#[test]
fn each_test_of_a_package_is_hunted_in_by_itself() {
    let place = Place::new("rust-package");
    std::fs::create_dir(place.join("src")).unwrap();
    place.write(
        "Cargo.toml",
        "[package]\nname = \"counts\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n",
    );
    place.write(
        "src/lib.rs",
        "//! ```\n//! panic!(\"a documentation test\");\n//! ```
#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    static mut BARE: u32 = 0;
    static ATOMIC: AtomicU32 = AtomicU32::new(0);
    #[test]
    fn bare() {
        std::thread::scope(|s| {
            s.spawn(|| unsafe { BARE += 1 });
            s.spawn(|| unsafe { BARE += 1 });
        });
        assert!(unsafe { BARE } > 0);
    }
    #[test]
    fn atomic() {
        std::thread::scope(|s| {
            s.spawn(|| ATOMIC.fetch_add(1, Relaxed));
            s.spawn(|| ATOMIC.fetch_add(1, Relaxed));
        });
        assert_eq!(ATOMIC.load(Relaxed), 2);
    }
    #[test]
    #[ignore]
    fn left_alone() {
        panic!();
    }
}
",
    );
    let (status, told) = installed(&place, "cargo-deadheat", &["deadheat", "test", "--runs", "4"]);
    assert_eq!(status, 1, "{told}");
    assert!(told.contains("test tests::atomic ... nothing real"), "{told}");
    assert!(
        told.contains("test tests::bare ... ") && told.contains(" REAL, "),
        "{told}"
    );
    assert!(told.contains("2 tests hunted in, 1 with findings"), "{told}");
    let (status, told) = installed(&place, "cargo-deadheat", &["deadheat", "test", "--runs", "4", "atomic"]);
    assert_eq!(status, 0, "{told}");
    let (status, told) = installed(&place, "cargo-deadheat", &["deadheat", "replay", "F1"]);
    assert_eq!(status, 0, "{told}");
    let (status, told) = installed(&place, "cargo-deadheat", &["deadheat", "hnt"]);
    assert_eq!(status, 2, "{told}");
}
