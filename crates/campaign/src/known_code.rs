//! Whether all code that a program runs was compiled here and was looked into, so that its threads may be exchanged in user
//! space (the runtime's `switching`): a system call that is hidden in other code would be made for another thread.

use crate::describe::unordered_proves;
use crate::site_index::SiteIndex;
use deadheat_confirm::Records;
use deadheat_confirm::Stage;

/// Has further runs exchange threads in user space if, by its files and the records of an ordinary run, that is safe.
pub fn exchange_threads(stage: &mut Stage, ordinary: &Records) {
    let Some(started) = &ordinary.started else { return };
    let paths: Vec<String> = ordinary.modules.iter().map(|module| module.path.clone()).collect();
    let Some(program) = paths.first().cloned() else { return };
    let calls = ordinary.modules.iter().any(|module| module.calls);
    if !calls && unordered_proves(&started.opaque_libraries, &SiteIndex::of_paths(&paths)) {
        stage.exchange_threads(program);
    }
}
