//! The token that control needs: 128 random bits of the operating system, in hexadecimal. The time of a comparison does
//! not depend on how many digits are right.

use std::fmt::{self, Debug, Formatter};

use crate::ConsoleError;

/// Number of random bytes in a token.
const BYTES: usize = 16;

/// A token that gives control of a run. Its `Debug` output hides it, so that no log contains it.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// Draws a new token.
    ///
    /// # Errors
    /// When the operating system gives no random bytes.
    pub fn random() -> Result<Self, ConsoleError> {
        let mut bytes = [0; BYTES];
        let refused = |error| ConsoleError::Start { what: format!("no randomness for a token: {error}") };
        getrandom::fill(&mut bytes).map_err(refused)?;
        Ok(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// Its hexadecimal digits.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// Whether `given` is this token.
    pub(crate) fn is(&self, given: &str) -> bool {
        let (own, given) = (self.0.as_bytes(), given.as_bytes());
        // Compares all bytes: `black_box` keeps the optimiser from stopping at the first difference.
        let differences = own.iter().zip(given).fold(0, |all, (a, b)| std::hint::black_box(all | (a ^ b)));
        own.len() == given.len() && differences == 0
    }
}

impl Debug for Token {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::Token;

    #[test]
    fn a_token_is_itself_and_nothing_else() {
        let [one, other] = [(), ()].map(|()| Token::random().expect("randomness"));
        assert_eq!(one.text().len(), 32);
        assert!(one.is(one.text()) && !one.is(other.text()));
        assert!(!one.is("") && !one.is(&one.text()[1..]) && !one.is(&format!("{} ", one.text())));
    }
}
