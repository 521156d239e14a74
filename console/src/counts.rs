//! What the console refused, by its reason.

use std::sync::atomic::{AtomicU64, Ordering};

/// Why something was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refusal {
    /// A connection while as many as are taken were open.
    Crowd,
    /// A request to a name that is not this machine's: DNS rebinding.
    Host,
    /// A request by another site's page.
    Origin,
    /// A request with a body.
    Body,
    /// A request for an address that there is not, or by another method than GET.
    Address,
    /// A frame or message that breaks the protocol or is too long.
    Message,
    /// Messages faster than anybody needs them.
    Flood,
    /// A wrong token, or an order without one.
    Token,
    /// A client that began to speak and then neither read nor wrote for long.
    Silence,
}

impl Refusal {
    /// All reasons.
    pub const ALL: [Self; 9] = [
        Self::Crowd,
        Self::Host,
        Self::Origin,
        Self::Body,
        Self::Address,
        Self::Message,
        Self::Flood,
        Self::Token,
        Self::Silence,
    ];

    /// The reason in a word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Crowd => "crowd",
            Self::Host => "host",
            Self::Origin => "origin",
            Self::Body => "body",
            Self::Address => "address",
            Self::Message => "message",
            Self::Flood => "flood",
            Self::Token => "token",
            Self::Silence => "silence",
        }
    }
}

/// How often each was.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    of: [AtomicU64; Refusal::ALL.len()],
}

impl Counts {
    /// Counts one.
    pub(crate) fn add(&self, refusal: Refusal) {
        self.of[refusal as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// How often it was.
    pub(crate) fn of(&self, refusal: Refusal) -> u64 {
        self.of[refusal as usize].load(Ordering::Relaxed)
    }

    /// Those that were.
    pub(crate) fn told(&self) -> Vec<(Refusal, u64)> {
        Refusal::ALL.map(|refusal| (refusal, self.of(refusal))).into_iter().filter(|(_, count)| *count > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Counts, Refusal};

    #[test]
    fn each_reason_has_a_count_of_its_own() {
        let counts = Counts::default();
        for (times, refusal) in Refusal::ALL.into_iter().enumerate() {
            (0..times).for_each(|_| counts.add(refusal));
        }
        assert_eq!(Refusal::ALL.map(|refusal| counts.of(refusal)), std::array::from_fn(|times| times as u64));
        assert_eq!(counts.told().len(), Refusal::ALL.len() - 1);
    }
}
