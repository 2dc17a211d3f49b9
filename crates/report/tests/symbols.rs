//! Symbols of a small program, compiled here with clang.

use deadheat_report::Symboliser;
use deadheat_report::symbol::Registers;
use object::{Object, ObjectSymbol};
use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCE: &str = r#"
struct money { int euros, cents; };
struct account { char name[8]; struct money balance[2]; };
struct account accounts[4];
static long total;
_Thread_local int mine[3];
int sink(void *);
__attribute__((noinline)) int deposit(int i) { int kept[4] = {i}; return sink(kept) + accounts[i].balance[1].cents; }
int sink(void *p) { total += *(int *)p; mine[1]++; return (int)total; }
int main(void) { return deposit(1); }
"#;

struct Built(PathBuf);

impl Built {
    fn new(flags: &[&str]) -> Built {
        let directory = std::env::temp_dir().join(format!("dh-symbols-{}-{}", std::process::id(), flags.len()));
        std::fs::create_dir_all(&directory).expect("a directory");
        std::fs::write(directory.join("a.c"), SOURCE).expect("a source file");
        let clang = std::env::var("DEADHEAT_CLANG").unwrap_or_else(|_| "clang-22".into());
        let mut command = Command::new(clang);
        command
            .args(flags)
            .args(["-fno-omit-frame-pointer", "a.c", "-o", "a"])
            .current_dir(&directory);
        assert!(command.status().expect("clang-22 is installed").success());
        Built(directory)
    }

    fn program(&self) -> PathBuf {
        self.0.join("a")
    }
}

impl Drop for Built {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn symbol(program: &Path, name: &str) -> u64 {
    let bytes = std::fs::read(program).expect("the program");
    let file = object::File::parse(&*bytes).expect("an ELF file");
    file.symbols()
        .find(|s| s.name() == Ok(name))
        .expect("the symbol")
        .address()
}

const BIAS: u64 = 0x5555_5555_4000;

#[test]
fn variables_have_members_and_indices() {
    let built = Built::new(&["-g", "-O0"]);
    let program = built.program();
    let mut symbols = Symboliser::new([(program.clone(), BIAS)]);
    let mut name = |address| symbols.static_variable(address).map(|v| v.name);
    let accounts = BIAS + symbol(&program, "accounts");
    assert_eq!(
        name(accounts + 24 + 20).as_deref(),
        Some("accounts[1].balance[1].cents")
    );
    assert_eq!(name(accounts).as_deref(), Some("accounts[0].name[0]"));
    assert_eq!(name(BIAS + symbol(&program, "total")).as_deref(), Some("total"));
    assert_eq!(name(BIAS + 1), None);
    // The block is 12 bytes at alignment 4, and ends at the thread pointer.
    assert_eq!(symbols.thread_local(-8).map(|v| v.name).as_deref(), Some("mine[1]"));
}

#[test]
fn functions_lines_and_locals_have_names() {
    let built = Built::new(&["-g", "-O0", "-fno-pie", "-no-pie"]);
    let program = built.program();
    let mut symbols = Symboliser::new([(program.clone(), 0)]);
    let deposit = symbol(&program, "deposit");
    let frames = symbols.frames(deposit, false);
    assert_eq!((frames[0].function.as_str(), frames[0].line), ("deposit", 8));
    assert!(frames[0].file.ends_with("a.c"), "{frames:?}");
    // The array lies below the frame pointer; each of its elements must be found at one address.
    let pointer = 0x7fff_0000_1000;
    let at = |pc| Registers {
        pc,
        frame: pointer,
        stack: 0,
    };
    let found: Vec<String> = (1..16)
        .filter_map(|n| symbols.local(pointer - 4 * n, at(deposit + 8)))
        .map(|v| v.name)
        .filter(|n| n.starts_with("kept"))
        .collect();
    assert_eq!(found, ["kept[3]", "kept[2]", "kept[1]", "kept[0]"]);
}

#[test]
fn without_debug_information_symbols_serve_and_rubbish_is_survived() {
    let built = Built::new(&["-O1"]);
    let program = built.program();
    let mut symbols = Symboliser::new([(program.clone(), BIAS), (PathBuf::from("/etc/passwd"), 0)]);
    assert_eq!(
        symbols.frames(BIAS + symbol(&program, "deposit"), false)[0].function,
        "deposit"
    );
    let name = symbols
        .static_variable(BIAS + symbol(&program, "accounts") + 4)
        .map(|v| v.name);
    assert_eq!(name.as_deref(), Some("accounts+4"));
    assert_eq!(symbols.frames(0x10, false)[0].function, "0x10");
}
