use super::*;
use deadheat_model::{FindingKind, Verdict};
use deadheat_wire::plan::{Mode, Policy};
use std::os::unix::fs::PermissionsExt;

struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Place {
        let path = std::env::temp_dir().join(format!("dh-store-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Place(path)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn finding(fingerprint: &str, verdict: Verdict) -> Finding {
    Finding {
        id: "F1".into(),
        kind: FindingKind::DataRace,
        verdict,
        evidence: None,
        accesses: vec![],
        object: None,
        orders: vec![],
        threads: vec![],
        threads_left_out: 0,
        misuse: None,
        ended_at: None,
        freed: None,
        story: None,
        harm: None,
        input: None,
        inputs: Vec::new(),
        tries: 1,
        hits: 1,
        directed_tries: 0,
        directed_hits: 0,
        probability: None,
        replay: None,
        reasons: vec![],
        fingerprint: fingerprint.into(),
    }
}

fn input() -> Input {
    Input {
        chosen: Default::default(),
        file: b"/bin/x".to_vec(),
        program: u64::MAX,
        name: b"x".to_vec(),
        args: vec![],
        directory: b"/".to_vec(),
        environment: vec![],
        stdin: vec![],
        setup: None,
        client: None,
        follow: true,
    }
}

#[test]
fn labels_last_and_executions_come_back() {
    let place = Place::new("labels");
    let execution = Execution {
        program: u64::MAX,
        input: input().hash(),
        plan: Plan::new(Mode::Schedule, Policy::Fifo),
        switches: vec![],
        schedule_hash: u64::MAX - 1,
        meeting: Some(2),
    };
    {
        let store = Store::open(&place.0).unwrap();
        assert_eq!(store.label("a").unwrap(), "F1");
        assert_eq!(store.label("b").unwrap(), "F2");
        store.save_input(&input()).unwrap();
        store
            .save(&finding("b", Verdict::Real), u64::MAX, input().hash(), Some(&execution))
            .unwrap();
        store
            .save(&finding("b", Verdict::Suspected), u64::MAX, input().hash(), None)
            .unwrap();
    }
    let store = Store::open(&place.0).unwrap();
    assert_eq!(store.label("b").unwrap(), "F2");
    assert_eq!(store.execution("F2").unwrap(), Some(execution));
    assert_eq!(store.shown("F2").unwrap().map(|f| f.fingerprint), Some("b".into()));
    assert_eq!(
        store.findings(u64::MAX, input().hash()).unwrap()[0].verdict,
        Verdict::Real
    );
}

#[test]
fn a_second_writer_is_told_who_the_first_is() {
    let place = Place::new("busy");
    let _first = Store::open(&place.0).unwrap();
    let told = Store::open(&place.0).unwrap_err().to_string();
    assert!(told.contains(&std::process::id().to_string()), "{told}");
}

#[test]
fn a_damaged_store_is_set_aside() {
    let place = Place::new("damaged");
    std::fs::create_dir_all(&place.0).unwrap();
    std::fs::write(place.0.join(FILE), [0x55; 9000]).unwrap();
    let store = Store::open(&place.0).unwrap();
    assert!(store.warnings[0].contains("set aside"), "{:?}", store.warnings);
    assert!(place.0.join("store.damaged-1").exists());
    assert_eq!(store.label("a").unwrap(), "F1");
}

#[test]
fn a_store_of_another_version_is_not_touched_or_set_aside() {
    let place = Place::new("version");
    drop(Store::open(&place.0).unwrap());
    let stamp = |version: i64| {
        let connection = Connection::open(place.0.join(FILE)).unwrap();
        connection.pragma_update(None, "user_version", version).unwrap();
    };
    stamp(tables::VERSION + 1);
    assert!(matches!(Store::open(&place.0), Err(StoreError::Newer(..))));
    assert!(matches!(Store::read(&place.0), Err(StoreError::Newer(..))));
    stamp(tables::VERSION - 1);
    assert!(matches!(Store::read(&place.0), Err(StoreError::Older(..))));
    let store = Store::open(&place.0).unwrap();
    assert!(store.warnings[0].contains("earlier deadheat"), "{:?}", store.warnings);
    let aside = format!("store.version-{}-1", tables::VERSION - 1);
    assert!(place.0.join(aside).exists());
    assert_eq!(store.label("a").unwrap(), "F1");
}

#[test]
fn where_nothing_can_be_written_memory_serves() {
    let place = Place::new("unwritable");
    std::fs::create_dir_all(&place.0).unwrap();
    // A file where the directory should be: not writable for root either.
    let directory = place.0.join("file");
    std::fs::write(&directory, "").unwrap();
    std::fs::set_permissions(&directory, std::fs::Permissions::from_mode(0o400)).unwrap();
    let store = Store::open(&directory).unwrap();
    assert!(
        store.directory().is_none() && store.warnings[0].contains("memory only"),
        "{:?}",
        store.warnings
    );
}

#[test]
fn a_full_disk_is_named() {
    let place = Place::new("full");
    let store = Store::open(&place.0).unwrap();
    store.connection.pragma_update(None, "max_page_count", 20).unwrap();
    let mut big = finding("a", Verdict::Real);
    big.fingerprint = "x".repeat(1 << 20);
    let told = store.save(&big, 1, 1, None).unwrap_err().to_string();
    assert!(told.contains("disk is full"), "{told}");
}

#[test]
fn a_full_disk_is_no_damage() {
    let error = |code| rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None);
    assert!(!damaged(&error(rusqlite::ffi::SQLITE_FULL)) && !damaged(&error(rusqlite::ffi::SQLITE_READONLY)));
    assert!(damaged(&error(rusqlite::ffi::SQLITE_NOTADB)) && damaged(&error(rusqlite::ffi::SQLITE_CORRUPT)));
}

#[test]
fn what_a_stopped_hunt_tried_often_enough_is_done() {
    let tried = |tries, settled, allowed| Tried {
        tries,
        met: 0,
        hits: 0,
        settled,
        allowed,
    };
    assert!(tried(30, false, 1000).is_done(20) && !tried(30, false, 1000).is_done(40));
    assert!(tried(5, true, 20).is_done(20) && !tried(5, true, 20).is_done(30));
}

#[test]
fn a_damaged_exploration_is_told_with_what_to_do() {
    let place = Place::new("exploration");
    let store = Store::open(&place.0).unwrap();
    assert!(store.exploration(1, 2).unwrap().is_none());
    let sql = "INSERT INTO explorations (program, input, body) VALUES (1, 2, x'ff00ff')";
    store.connection.execute(sql, []).unwrap();
    let error = store.exploration(1, 2).unwrap_err().to_string();
    assert!(error.contains("cannot be read") && error.contains("--anew"), "{error}");
}
