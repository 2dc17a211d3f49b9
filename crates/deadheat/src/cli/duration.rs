//! Durations as a user writes them: `500ms`, `8s`, `2m`, `1h`.

use std::time::Duration;

/// Reads a duration; the unit must be there.
pub fn parse(text: &str) -> Result<Duration, String> {
    let digits = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: f64 = number.parse().map_err(|_| hint(text))?;
    let seconds = match unit.trim() {
        "ms" => number / 1000.0,
        "s" => number,
        "m" | "min" => number * 60.0,
        "h" => number * 3600.0,
        _ => return Err(hint(text)),
    };
    Duration::try_from_secs_f64(seconds).map_err(|_| hint(text))
}

fn hint(text: &str) -> String {
    format!("`{text}` is not a duration; write for example 500ms, 8s, 2m")
}

#[cfg(test)]
mod tests {
    use super::parse;
    use std::time::Duration;

    #[test]
    fn units_count() {
        assert_eq!(parse("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse("8s"), Ok(Duration::from_secs(8)));
        assert_eq!(parse("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(parse("1.5s"), Ok(Duration::from_millis(1500)));
        for wrong in ["", "8", "s", "8 parsecs", "-1s", "1e400s"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
