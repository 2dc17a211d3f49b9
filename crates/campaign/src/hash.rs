//! A stable 64-bit hash (FNV-1a), for names that last across builds, machines and versions.

/// A hash in the making.
#[derive(Clone, Copy, Debug)]
pub struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    /// Mixes bytes in.
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Fnv {
        for b in bytes {
            self.0 = (self.0 ^ u64::from(*b)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        self
    }

    /// Mixes a text in, with an end mark so that parts cannot run together.
    pub fn text(&mut self, text: &str) -> &mut Fnv {
        self.bytes(text.as_bytes()).bytes(&[0xff])
    }

    /// The hash as a number.
    pub fn number(&self) -> u64 {
        self.0
    }

    /// The hash as 16 hexadecimal digits.
    pub fn hex(&self) -> String {
        format!("{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::Fnv;

    #[test]
    fn published_value_and_no_running_together() {
        assert_eq!(Fnv::default().bytes(b"foobar").number(), 0x85944171f73967e8);
        assert_ne!(
            Fnv::default().text("ab").text("c").number(),
            Fnv::default().text("a").text("bc").number()
        );
    }
}
