//! Inputs by chance: an input that was run, changed here and there. What is far from every known path (a longer text, a
//! part twice, a word of the program) takes a solver many turns and a mutation one.
//!
//! The operations are those of AFL's *havoc* stage (M. Zalewski), with the program's own words as dictionary.

/// Changes that one input gets at most, as a power of two.
const MOST_STACKED: u32 = 5;
/// Longest piece that is copied, removed or overwritten at a time.
const LONGEST_PIECE: usize = 64;
/// Numbers at which programs change their ways.
const NUMBERS: [i32; 20] = [
    -1, 0, 1, 2, 4, 7, 8, 16, 31, 32, 64, 100, 127, 128, 255, 256, 1_024, 4_096, 32_767, 65_535,
];

/// Changes inputs.
#[derive(Clone, Debug, Default)]
pub struct Mutator {
    /// Words that the program knows.
    pub words: Vec<Vec<u8>>,
}

impl Mutator {
    /// `bytes` changed, at most `longest` long; parts of `other` may get into it. `random` gives 64 random bits.
    pub fn mutate(&self, bytes: &[u8], other: &[u8], longest: usize, random: &mut dyn FnMut() -> u64) -> Vec<u8> {
        let mut dice = Dice(random);
        let mut made = bytes.to_vec();
        if !other.is_empty() && dice.below(8) == 0 {
            made.truncate(dice.below(made.len() + 1));
            made.extend_from_slice(&other[dice.below(other.len())..]);
        }
        for _ in 0..1 << dice.below(MOST_STACKED as usize + 1) {
            self.change(&mut made, other, &mut dice);
        }
        made.truncate(longest);
        made
    }

    fn change(&self, made: &mut Vec<u8>, other: &[u8], dice: &mut Dice<'_>) {
        let length = made.len();
        match dice.below(16) {
            0 if length > 0 => made[dice.below(length)] ^= 1 << dice.below(8),
            1 if length > 0 => made[dice.below(length)] = dice.byte(),
            2 if length > 0 => made[dice.below(length)] = NUMBERS[dice.below(NUMBERS.len())] as u8,
            3 if length > 0 => {
                let (at, by) = (dice.below(length), dice.below(35) as u8 + 1);
                let up = dice.below(2) == 0;
                made[at] = if up {
                    made[at].wrapping_add(by)
                } else {
                    made[at].wrapping_sub(by)
                };
            }
            4 => number(made, dice),
            5 | 6 if length > 0 => {
                let (from, to) = dice.piece(length);
                made.drain(from..to);
            }
            7 | 8 if length > 0 => {
                let (from, to) = dice.piece(length);
                let piece = made[from..to].to_vec();
                insert(made, dice.below(length + 1), &piece);
            }
            9 if length > 0 => {
                let (from, to) = dice.piece(length);
                let piece = made[from..to].to_vec();
                overwrite(made, dice.below(length), &piece);
            }
            10 => {
                let piece = vec![dice.byte(); dice.below(LONGEST_PIECE / 4) + 1];
                insert(made, dice.below(length + 1), &piece);
            }
            11 if !other.is_empty() => {
                let (from, to) = dice.piece(other.len());
                insert(made, dice.below(length + 1), &other[from..to]);
            }
            12 if !other.is_empty() && length > 0 => {
                let (from, to) = dice.piece(other.len());
                overwrite(made, dice.below(length), &other[from..to]);
            }
            13 if !self.words.is_empty() => {
                let word = &self.words[dice.below(self.words.len())];
                insert(made, dice.below(length + 1), word);
            }
            14 | 15 if !self.words.is_empty() && length > 0 => {
                let (from, to) = word_at(made, dice.below(length));
                let word = &self.words[dice.below(self.words.len())];
                made.splice(from..to, word.iter().copied());
            }
            _ => {
                let byte = dice.byte();
                insert(made, dice.below(length + 1), &[byte]);
            }
        }
    }
}

/// Writes a number of two or four bytes, in either order, over what is there.
fn number(made: &mut [u8], dice: &mut Dice<'_>) {
    let value = NUMBERS[dice.below(NUMBERS.len())];
    let mut bytes = value.to_le_bytes();
    let size = 2 << dice.below(2);
    if dice.below(2) == 0 {
        bytes[..size].reverse();
    }
    if made.len() >= size {
        let at = dice.below(made.len() - size + 1);
        made[at..at + size].copy_from_slice(&bytes[..size]);
    }
}

/// The word around a position, or what is no word there: from, to.
fn word_at(bytes: &[u8], at: usize) -> (usize, usize) {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let same = |byte: &u8| is_word(byte) == is_word(&bytes[at]);
    let from = bytes[..at]
        .iter()
        .rposition(|byte| !same(byte))
        .map_or(0, |before| before + 1);
    let to = bytes[at..].iter().position(|byte| !same(byte));
    (from, to.map_or(bytes.len(), |n| at + n))
}

fn insert(made: &mut Vec<u8>, at: usize, piece: &[u8]) {
    made.splice(at..at, piece.iter().copied());
}

/// Over what is there; what does not fit is left out.
fn overwrite(made: &mut [u8], at: usize, piece: &[u8]) {
    for (to, from) in made[at..].iter_mut().zip(piece) {
        *to = *from;
    }
}

struct Dice<'a>(&'a mut dyn FnMut() -> u64);

impl Dice<'_> {
    /// A number below `n`, which is not 0.
    fn below(&mut self, n: usize) -> usize {
        ((self.0)() % n as u64) as usize
    }

    fn byte(&mut self) -> u8 {
        (self.0)() as u8
    }

    /// A piece of something so long, not empty: from, to. Most are short.
    fn piece(&mut self, length: usize) -> (usize, usize) {
        let most = if self.below(4) == 0 { LONGEST_PIECE } else { 8 };
        let size = self.below(most.min(length)) + 1;
        let from = self.below(length - size + 1);
        (from, from + size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(seed: u64) -> impl FnMut() -> u64 {
        let mut state = seed;
        move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            state >> 20
        }
    }

    #[test]
    fn the_same_numbers_make_the_same_input_within_the_bound() {
        let mutator = Mutator {
            words: vec![b"while".to_vec()],
        };
        for seed in 0..2_000 {
            let mutate = || mutator.mutate(b"local a = 1\n", b"print(2)", 40, &mut from(seed));
            assert_eq!(mutate(), mutate());
            assert!(mutate().len() <= 40);
        }
    }

    #[test]
    fn a_word_takes_the_place_of_a_word() {
        assert_eq!(word_at(b"if a_1 == 2", 4), (3, 6));
        assert_eq!(word_at(b"if a_1 == 2", 7), (6, 10));
        assert_eq!(word_at(b"end", 1), (0, 3));
    }

    #[test]
    fn words_and_parts_of_others_get_in_and_nothing_is_asked_of_an_empty_input() {
        let mutator = Mutator {
            words: vec![b"while".to_vec()],
        };
        let made: Vec<Vec<u8>> = (0..2_000)
            .map(|seed| mutator.mutate(b"", b"print(2)", 64, &mut from(seed)))
            .collect();
        let some = |part: &[u8]| made.iter().any(|m| m.windows(part.len()).any(|w| w == part));
        assert!(some(b"while") && some(b"print"));
        let bare = Mutator::default();
        (0..2_000).for_each(|seed| drop(bare.mutate(b"", b"", 64, &mut from(seed))));
    }
}
