//! The JSON schema: what schemars cannot derive, since the vocabulary crate knows nothing of schemas.

use crate::finding::Report;
use deadheat_model::{Evidence, FindingKind, HarmKind, MisuseKind, Verdict};
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::Serialize;

const FINDING_KINDS: [FindingKind; 8] = [
    FindingKind::DataRace,
    FindingKind::AtomicityViolation,
    FindingKind::Deadlock,
    FindingKind::LostWakeup,
    FindingKind::OrderViolation,
    FindingKind::SyncMisuse,
    FindingKind::Crash,
    FindingKind::Hang,
];
const VERDICTS: [Verdict; 3] = [Verdict::Suspected, Verdict::Real, Verdict::Harmful];
const EVIDENCE: [Evidence; 3] = [Evidence::Created, Evidence::Unordered, Evidence::Happened];
const HARM_KINDS: [HarmKind; 12] = [
    HarmKind::Signal,
    HarmKind::Assertion,
    HarmKind::Abort,
    HarmKind::UncaughtException,
    HarmKind::Panic,
    HarmKind::Deadlock,
    HarmKind::Hang,
    HarmKind::ExitStatus,
    HarmKind::Sanitizer,
    HarmKind::Check,
    HarmKind::UseAfterFree,
    HarmKind::DoubleFree,
];

const MISUSE_KINDS: [MisuseKind; 16] = [
    MisuseKind::UnlockByAnother,
    MisuseKind::UnlockUnlocked,
    MisuseKind::DestroyHeld,
    MisuseKind::DestroyAwaited,
    MisuseKind::UseDestroyed,
    MisuseKind::WaitUnheld,
    MisuseKind::TwoMutexes,
    MisuseKind::JoinJoined,
    MisuseKind::JoinJoining,
    MisuseKind::JoinDetached,
    MisuseKind::DetachDetached,
    MisuseKind::DetachJoined,
    MisuseKind::FreeHeld,
    MisuseKind::StackOfHeld,
    MisuseKind::EndHolding,
    MisuseKind::ExitHolding,
];

/// The schema of [`Report`] as JSON text, as it stands in `docs/schema/findings-1.json`.
pub fn text() -> String {
    let schema = schemars::schema_for!(Report);
    serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n"
}

fn names<T: Serialize>(all: &[T]) -> Vec<serde_json::Value> {
    all.iter().filter_map(|k| serde_json::to_value(k).ok()).collect()
}

/// The name of a kind, verdict or evidence in JSON.
pub fn name<T: Serialize>(value: &T) -> String {
    serde_json::to_value(value)
        .ok()
        .and_then(|v| v.as_str().map(String::from))
        .unwrap_or_default()
}

pub(crate) fn finding_kind(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "enum": names(&FINDING_KINDS) })
}

pub(crate) fn verdict(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "enum": names(&VERDICTS) })
}

pub(crate) fn evidence(_: &mut SchemaGenerator) -> Schema {
    let mut all = names(&EVIDENCE);
    all.push(serde_json::Value::Null);
    json_schema!({ "enum": all })
}

pub(crate) fn misuse_kind(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "enum": names(&MISUSE_KINDS) })
}

pub(crate) fn access_kind(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "enum": ["read", "write", "read-write", "free"] })
}

pub(crate) fn harm(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": ["object", "null"],
        "properties": { "kind": { "enum": names(&HARM_KINDS) }, "detail": { "type": "string" } },
        "required": ["kind", "detail"]
    })
}

/// Access kinds by the names of the JSON format.
pub(crate) mod access_kind_name {
    use deadheat_model::AccessKind;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(crate) fn serialize<S: Serializer>(kind: &AccessKind, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(crate::words::access(*kind))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<AccessKind, D::Error> {
        let name = String::deserialize(deserializer)?;
        let all = [
            AccessKind::Read,
            AccessKind::Write,
            AccessKind::ReadWrite,
            AccessKind::Free,
        ];
        all.into_iter()
            .find(|k| crate::words::access(*k) == name)
            .ok_or_else(|| D::Error::custom(name))
    }
}
