//! Replay tokens: an execution as a line of text that can be sent to someone with the same program.

use deadheat_wire::plan::{Plan, PlanError};
use serde::{Deserialize, Serialize};

/// First characters of a token.
const PREFIX: &str = "dh1.";
const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// What a token names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    /// Hash of the program's file.
    pub program: u64,
    /// Hash of the input.
    pub input: u64,
    /// The plan: policy, seed, targets.
    pub plan: Vec<u8>,
    /// Hash of the schedule.
    pub schedule_hash: u64,
}

/// Why a text is no token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// Not a token at all.
    #[error("not a replay token (tokens start with `{PREFIX}`)")]
    Form,
    /// Cut or changed.
    #[error("the replay token is damaged")]
    Damaged,
    /// The plan in it is of another version.
    #[error("the replay token was made by another version of deadheat: {0}")]
    Plan(PlanError),
}

impl Token {
    /// The token of an execution.
    pub fn new(program: u64, input: u64, plan: &Plan, schedule_hash: u64) -> Token {
        Token {
            program,
            input,
            plan: plan.encode(),
            schedule_hash,
        }
    }

    /// As text.
    pub fn encode(&self) -> String {
        let bytes = postcard::to_allocvec(self).unwrap_or_default();
        let check = crate::hash::Fnv::default().bytes(&bytes).number() as u16;
        let mut text = String::from(PREFIX);
        let all: Vec<u8> = check.to_le_bytes().into_iter().chain(bytes).collect();
        for chunk in all.chunks(3) {
            let word = chunk
                .iter()
                .enumerate()
                .fold(0u32, |w, (n, b)| w | u32::from(*b) << (16 - 8 * n));
            for n in 0..=chunk.len() {
                text.push(char::from(DIGITS[(word >> (18 - 6 * n)) as usize & 63]));
            }
        }
        text
    }

    /// From text.
    pub fn decode(text: &str) -> Result<Token, TokenError> {
        let body = text.trim().strip_prefix(PREFIX).ok_or(TokenError::Form)?;
        let mut bytes = Vec::new();
        for chunk in body.as_bytes().chunks(4) {
            let mut word = 0u32;
            for (n, c) in chunk.iter().enumerate() {
                let digit = DIGITS.iter().position(|d| d == c).ok_or(TokenError::Damaged)?;
                word |= (digit as u32) << (18 - 6 * n);
            }
            bytes.extend((1..chunk.len()).map(|n| (word >> (24 - 8 * n)) as u8));
        }
        let (check, body) = bytes.split_at_checked(2).ok_or(TokenError::Damaged)?;
        if (crate::hash::Fnv::default().bytes(body).number() as u16).to_le_bytes() != check {
            return Err(TokenError::Damaged);
        }
        postcard::from_bytes(body).map_err(|_| TokenError::Damaged)
    }

    /// The plan in it.
    pub fn plan(&self) -> Result<Plan, TokenError> {
        Plan::decode(&self.plan).map_err(TokenError::Plan)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deadheat_wire::plan::{Mode, Policy};

    #[test]
    fn a_token_comes_back_and_damage_is_seen() {
        let plan = Plan::new(Mode::Schedule, Policy::Random { seed: 7, switch: 205 });
        let token = Token::new(1, 2, &plan, 3);
        let text = token.encode();
        let back = Token::decode(&text).unwrap();
        assert_eq!((back.clone(), back.plan().unwrap()), (token, plan));
        for at in 0..text.len() {
            assert!(Token::decode(&text[..at]).is_err());
        }
    }
}
