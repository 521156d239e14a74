//! The token that control needs: 128 random bits of the operating system, in hexadecimal. It is compared in a time that
//! does not depend on how much of it is right.

use std::fmt::{self, Debug, Formatter};

use crate::ConsoleError;

/// Random bytes of a token.
const BYTES: usize = 16;

/// A token. It is not told to a log.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// A new one.
    ///
    /// # Errors
    /// When the machine has no randomness.
    pub fn random() -> Result<Self, ConsoleError> {
        let mut bytes = [0; BYTES];
        let refused = |error| ConsoleError::Start { what: format!("no randomness for a token: {error}") };
        getrandom::fill(&mut bytes).map_err(refused)?;
        Ok(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// As it is printed.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// Whether it is this one.
    pub(crate) fn is(&self, said: &str) -> bool {
        let (own, said) = (self.0.as_bytes(), said.as_bytes());
        // All are compared; the optimiser may not know that one difference decides.
        let differences = own.iter().zip(said).fold(0, |all, (a, b)| std::hint::black_box(all | (a ^ b)));
        own.len() == said.len() && differences == 0
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
