//! Words of a line of the text form.

/// What was not understood, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct ParseError {
    /// Line, from 1.
    pub line: usize,
    /// What was wrong.
    pub what: String,
}

/// A line being read from left to right.
pub struct Line<'a> {
    rest: &'a str,
    number: usize,
}

impl<'a> Line<'a> {
    /// The non-empty lines of a text, comments (`;` to the end) left out.
    pub fn all(text: &'a str) -> Vec<Line<'a>> {
        let line = |(n, line): (usize, &'a str)| Line {
            rest: uncommented(line).trim(),
            number: n + 1,
        };
        text.lines()
            .enumerate()
            .map(line)
            .filter(|line| !line.rest.is_empty())
            .collect()
    }

    /// A reader from here on, that leaves this one where it is.
    pub fn fork(&self) -> Line<'a> {
        Line {
            rest: self.rest,
            number: self.number,
        }
    }

    /// An error here.
    pub fn error(&self, what: &str) -> ParseError {
        ParseError {
            line: self.number,
            what: format!("{what} at `{}`", self.rest),
        }
    }

    /// Is the line read?
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Nothing follows.
    pub fn end(&self) -> Result<(), ParseError> {
        if self.is_empty() {
            Ok(())
        } else {
            Err(self.error("nothing more expected"))
        }
    }

    fn advance(&mut self, bytes: usize) -> &'a str {
        let (token, rest) = self.rest.split_at(bytes);
        self.rest = rest.trim_start();
        token
    }

    /// Takes `text` if it comes next; a word only if it ends there.
    pub fn take(&mut self, text: &str) -> bool {
        let Some(rest) = self.rest.strip_prefix(text) else {
            return false;
        };
        if text.ends_with(word_char) && rest.starts_with(word_char) {
            return false;
        }
        self.rest = rest.trim_start();
        true
    }

    /// `text` comes next.
    pub fn expect(&mut self, text: &str) -> Result<(), ParseError> {
        if self.take(text) {
            Ok(())
        } else {
            Err(self.error(&format!("`{text}` expected")))
        }
    }

    /// Does `text` come next?
    pub fn at(&self, text: &str) -> bool {
        self.fork().take(text)
    }

    /// A word of letters, digits, `_`, `.`, `$`, `-`.
    pub fn word(&mut self) -> Result<&'a str, ParseError> {
        let length = self.rest.find(|c| !word_char(c)).unwrap_or(self.rest.len());
        if length == 0 {
            Err(self.error("word expected"))
        } else {
            Ok(self.advance(length))
        }
    }

    /// A quoted string, `\"`, `\\`, `\n` and `\u{…}` in it resolved.
    pub fn string(&mut self) -> Result<String, ParseError> {
        let mut text = String::new();
        let mut chars = self.rest.char_indices();
        if chars.next().map(|(_, c)| c) != Some('"') {
            return Err(self.error("string expected"));
        }
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.advance(at + 1);
                    return Ok(text);
                }
                '\\' => match chars.next() {
                    Some((_, 'n')) => text.push('\n'),
                    Some((_, 't')) => text.push('\t'),
                    Some((_, 'r')) => text.push('\r'),
                    Some((_, '0')) => text.push('\0'),
                    Some((_, 'u')) => {
                        let digits: String = chars
                            .by_ref()
                            .map(|(_, c)| c)
                            .take_while(|c| *c != '}')
                            .filter(|c| *c != '{')
                            .collect();
                        let code = u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32);
                        text.push(code.ok_or_else(|| self.error("no such character"))?);
                    }
                    Some((_, c)) => text.push(c),
                    None => break,
                },
                c => text.push(c),
            }
        }
        Err(self.error("string does not end"))
    }

    /// A name: a word or a quoted string, with `#N` after it where names are not unique.
    pub fn name(&mut self) -> Result<String, ParseError> {
        let mut name = if self.rest.starts_with('"') {
            self.string()?
        } else {
            self.word()?.to_owned()
        };
        if self.rest.starts_with('#') {
            self.advance(1);
            name = format!("{name}#{}", self.word()?);
        }
        Ok(name)
    }

    /// A decimal number.
    pub fn number<T: std::str::FromStr>(&mut self) -> Result<T, ParseError> {
        let digits = |c: char| c.is_ascii_digit() || c == '-';
        let length = self.rest.find(|c| !digits(c)).unwrap_or(self.rest.len());
        let number = self.rest[..length].parse().map_err(|_| self.error("number expected"))?;
        self.advance(length);
        Ok(number)
    }

    /// `+N` or `-N` without a blank, or 0 where neither follows.
    pub fn moved(&mut self) -> Result<i64, ParseError> {
        let digit = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
        match self.rest.split_at_checked(1) {
            Some(("+", rest)) if digit(rest) => {
                self.advance(1);
                self.number()
            }
            Some(("-", rest)) if digit(rest) => self.number(),
            _ => Ok(0),
        }
    }

    /// `item, item, …` up to `close`, which is taken.
    pub fn list<T>(
        &mut self,
        close: &str,
        mut item: impl FnMut(&mut Self) -> Result<T, ParseError>,
    ) -> Result<Box<[T]>, ParseError> {
        let mut items = Vec::new();
        while !self.take(close) {
            if !items.is_empty() {
                self.expect(",")?;
            }
            items.push(item(self)?);
        }
        Ok(items.into())
    }
}

/// May this stand in a name without quotes?
pub fn word_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$')
}

fn uncommented(line: &str) -> &str {
    let mut quoted = false;
    let mut escaped = false;
    for (at, c) in line.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            ';' if !quoted => return &line[..at],
            _ => {}
        }
    }
    line
}
