//! How probable it is that a run directed at a finding shows it: the score interval of a proportion.
//!
//! Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927). Unlike the
//! estimate plus or minus two standard errors it keeps its coverage near 0 and 1 and for few tries, where hits
//! mostly lie here. The tries of a finding are taken as independent draws; seeds differ, the stopping rule of the
//! judge (which ends early once a finding is settled) is not corrected for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The normal distribution's quantile of 0.975: two-sided, 95 %.
const QUANTILE: f64 = 1.959_963_984_540_054;

/// A 95 % confidence interval of a probability.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// Lower bound, from 0 to 1.
    pub low: f64,
    /// Upper bound, from 0 to 1.
    pub high: f64,
}

impl Interval {
    /// The Wilson score interval of `hits` of `tries`, to four decimals; none without tries.
    ///
    /// ```
    /// use deadheat_report::interval::Interval;
    /// let of = |hits, tries| Interval::wilson(hits, tries).unwrap();
    /// assert_eq!(of(19, 20).percent(), "76 to 99 %");
    /// assert_eq!(of(0, 20).percent(), "0 to 16 %");
    /// assert_eq!(Interval::wilson(0, 0), None);
    /// ```
    pub fn wilson(hits: u32, tries: u32) -> Option<Interval> {
        if tries == 0 {
            return None;
        }
        let n = f64::from(tries);
        let p = f64::from(hits.min(tries)) / n;
        let square = QUANTILE * QUANTILE;
        let scale = 1.0 + square / n;
        let centre = (p + square / (2.0 * n)) / scale;
        let half = QUANTILE / scale * (p * (1.0 - p) / n + square / (4.0 * n * n)).sqrt();
        // At the ends the bound is exact; rounding would leave a trace of it.
        let low = if hits == 0 { 0.0 } else { (centre - half).max(0.0) };
        let high = if hits >= tries { 1.0 } else { (centre + half).min(1.0) };
        let rounded = |bound: f64| (bound * 1e4).round() / 1e4;
        Some(Interval {
            low: rounded(low),
            high: rounded(high),
        })
    }

    /// `76 to 99 %`, rounded to whole per cent.
    pub fn percent(self) -> String {
        format!("{:.0} to {:.0} %", self.low * 100.0, self.high * 100.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_values() {
        // Newcombe, Statistics in Medicine 17 (1998), table I, method 3.
        for (hits, tries, low, high) in [
            (81, 263, 0.2553, 0.3662),
            (15, 148, 0.0624, 0.1605),
            (0, 20, 0.0, 0.1611),
            (1, 29, 0.0061, 0.1718),
        ] {
            let interval = Interval::wilson(hits, tries).unwrap();
            let near = |a: f64, b: f64| (a - b).abs() < 0.000_06;
            assert!(near(interval.low, low) && near(interval.high, high), "{interval:?}");
        }
    }

    #[test]
    fn it_holds_the_estimate_and_is_symmetric() {
        for tries in 1..200 {
            for hits in 0..=tries {
                let it = Interval::wilson(hits, tries).unwrap();
                let p = f64::from(hits) / f64::from(tries);
                assert!(
                    0.0 <= it.low && it.low <= p && p <= it.high && it.high <= 1.0,
                    "{hits}/{tries}: {it:?}"
                );
                let other = Interval::wilson(tries - hits, tries).unwrap();
                assert!((it.low - (1.0 - other.high)).abs() < 1e-9, "{hits}/{tries}");
            }
        }
    }
}
