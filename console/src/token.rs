//! The token that control needs: 128 random bits of the operating system, in hexadecimal. It is compared in a time that
//! does not depend on how much of it is right.

/// Random bytes of a token.
const BYTES: usize = 16;

/// A token.
#[derive(Clone)]
pub(crate) struct Token(String);

impl Token {
    /// A new one; refused where the machine has no randomness.
    pub(crate) fn random() -> Result<Self, String> {
        let mut bytes = [0; BYTES];
        getrandom::fill(&mut bytes).map_err(|error| format!("no randomness for a token: {error}"))?;
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
