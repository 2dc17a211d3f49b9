//! Lowered modules, kept under the hash of what they were lowered from and how.
//!
//! A file holds a checksum and the module. One that is damaged, or that another version wrote, counts as absent. Files
//! are put in place by renaming, so that several scans may share a directory.

use deadheat_ir::Module;
use deadheat_wire::lowering::{self, Settings};
use std::path::{Path, PathBuf};

/// What a module is kept under.
pub type Key = [u8; 16];

/// A directory of lowered modules; may be none.
#[derive(Clone, Debug)]
pub struct Cache {
    directory: Option<PathBuf>,
    /// Hash of what all keys depend on.
    base: [u8; 32],
}

/// Raised whenever the same bitcode is lowered to something else, the representation itself being as it was.
const LOWERING: u32 = 2;

/// Length of the checksum in front of a module.
const CHECKSUM: usize = 16;

impl Cache {
    /// Opens a cache for modules lowered in this way. A directory that cannot be made is no cache.
    pub fn open(directory: Option<&Path>, settings: &Settings) -> Cache {
        let directory = directory
            .map(Path::to_owned)
            .filter(|path| std::fs::create_dir_all(path).is_ok());
        let mut hasher = blake3::Hasher::new();
        hasher.update(&lowering::VERSION.to_le_bytes());
        hasher.update(&LOWERING.to_le_bytes());
        hasher.update(env!("CARGO_PKG_VERSION").as_bytes());
        hasher.update(&postcard::to_stdvec(settings).unwrap_or_default());
        Cache {
            directory,
            base: *hasher.finalize().as_bytes(),
        }
    }

    /// The key of bitcode.
    pub fn key(&self, bitcode: &[u8]) -> Key {
        let mut hasher = blake3::Hasher::new_keyed(&self.base);
        hasher.update(bitcode);
        short(&hasher.finalize())
    }

    /// Where an entry is kept, if anything is.
    pub fn path(&self, key: &Key, extension: &str) -> Option<PathBuf> {
        let name: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
        Some(self.directory.as_ref()?.join(format!("{name}.{extension}")))
    }

    /// The module kept under a key.
    pub fn module(&self, key: &Key) -> Option<Module> {
        decode(&self.entry(key, "ir")?)
    }

    /// Keeps a module in postcard's form. That it cannot be kept costs time only.
    pub fn keep_module(&self, key: &Key, module: &[u8]) {
        self.keep(key, "ir", module);
    }

    /// The entry of another kind under a key.
    pub fn entry(&self, key: &Key, extension: &str) -> Option<Vec<u8>> {
        let bytes = std::fs::read(self.path(key, extension)?).ok()?;
        let (checksum, rest) = bytes.split_at_checked(CHECKSUM)?;
        (checksum == short(&blake3::hash(rest))).then(|| rest.to_vec())
    }

    /// Keeps an entry of another kind.
    pub fn keep(&self, key: &Key, extension: &str, content: &[u8]) {
        let (Some(path), Some(directory)) = (self.path(key, extension), &self.directory) else {
            return;
        };
        let write = || -> std::io::Result<()> {
            let mut file = tempfile::NamedTempFile::new_in(directory)?;
            std::io::Write::write_all(&mut file, &short(&blake3::hash(content)))?;
            std::io::Write::write_all(&mut file, content)?;
            file.persist(&path)?;
            Ok(())
        };
        let _ = write();
    }
}

impl Cache {
    /// Leaves entries of at most so many bytes together: those that were written last.
    pub fn trim(&self, most: u64) {
        let listed = self.directory.as_ref().and_then(|d| std::fs::read_dir(d).ok());
        let entry = |entry: std::io::Result<std::fs::DirEntry>| {
            let entry = entry.ok()?;
            let data = entry.metadata().ok().filter(std::fs::Metadata::is_file)?;
            Some((data.modified().ok()?, data.len(), entry.path()))
        };
        let mut all: Vec<_> = listed.into_iter().flatten().filter_map(entry).collect();
        all.sort_unstable();
        let mut bytes = 0;
        for (_, length, path) in all.into_iter().rev() {
            bytes += length;
            if bytes > most {
                let _ = std::fs::remove_file(path);
            }
        }
    }
}

/// A module from postcard's form.
pub fn decode(bytes: &[u8]) -> Option<Module> {
    postcard::from_bytes(bytes).ok()
}

fn short(hash: &blake3::Hash) -> Key {
    let mut key = Key::default();
    key.copy_from_slice(&hash.as_bytes()[..16]);
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_found_and_damage_is_absence() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::open(Some(directory.path()), &Settings::default());
        let module = deadheat_ir::parse("module \"a.c\"\nglobal @x 4\n").unwrap();
        let key = cache.key(b"bitcode");
        assert_eq!(cache.module(&key), None);
        cache.keep_module(&key, &postcard::to_stdvec(&module).unwrap());
        assert_eq!(cache.module(&key), Some(module));
        let path = cache.path(&key, "ir").unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(cache.module(&key), None);
    }

    #[test]
    fn the_oldest_entries_go_first() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::open(Some(directory.path()), &Settings::default());
        for n in 0..4_u8 {
            let key = cache.key(&[n]);
            cache.keep(&key, "kind", &[n; 84]);
            let time = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(u64::from(n) + 1);
            let file = std::fs::File::open(cache.path(&key, "kind").unwrap()).unwrap();
            file.set_modified(time).unwrap();
        }
        cache.trim(250);
        let left: Vec<bool> = (0..4_u8)
            .map(|n| cache.entry(&cache.key(&[n]), "kind").is_some())
            .collect();
        assert_eq!(left, [false, false, true, true]);
    }

    #[test]
    fn keys_depend_on_bitcode_and_settings() {
        let plain = Cache::open(None, &Settings::default());
        let verbatim = Cache::open(
            None,
            &Settings {
                verbatim: true,
                ..Settings::default()
            },
        );
        assert_ne!(plain.key(b"a"), plain.key(b"b"));
        assert_ne!(plain.key(b"a"), verbatim.key(b"a"));
        assert_eq!(plain.key(b"a"), plain.key(b"a"));
    }
}
