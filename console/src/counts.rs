//! Counts of what the console refused, for each reason.

use std::sync::atomic::{AtomicU64, Ordering};

/// Why something was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RefusalReason {
    /// A connection or client beyond the greatest number allowed.
    Crowd,
    /// A request whose host is neither localhost nor an IP address, as in DNS rebinding.
    Host,
    /// A request by a page of another site.
    Origin,
    /// A request with a body.
    Body,
    /// A request for an unknown address, or by another method than GET.
    Address,
    /// A frame or message that breaks the protocol or is too long.
    Message,
    /// Messages or open requests beyond the limits for one client.
    Flood,
    /// A wrong token, or an order without the token.
    Token,
    /// A connection that was used and then carried no byte in either direction for too long.
    Silence,
}

impl RefusalReason {
    /// All reasons, in the order of their declaration.
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

    /// The reason as one lower-case word, such as `crowd`.
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

/// The number of refusals for each reason.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    of: [AtomicU64; RefusalReason::ALL.len()],
}

impl Counts {
    /// Counts one refusal.
    pub(crate) fn add(&self, refusal: RefusalReason) {
        self.of[refusal as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// The number of refusals for this reason.
    pub(crate) fn of(&self, refusal: RefusalReason) -> u64 {
        self.of[refusal as usize].load(Ordering::Relaxed)
    }

    /// The reasons that occurred, with their counts.
    pub(crate) fn reported(&self) -> Vec<(RefusalReason, u64)> {
        RefusalReason::ALL
            .map(|refusal| (refusal, self.of(refusal)))
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Counts, RefusalReason};

    #[test]
    fn each_reason_has_a_count_of_its_own() {
        let counts = Counts::default();
        for (times, refusal) in RefusalReason::ALL.into_iter().enumerate() {
            (0..times).for_each(|_| counts.add(refusal));
        }
        assert_eq!(RefusalReason::ALL.map(|refusal| counts.of(refusal)), std::array::from_fn(|times| times as u64));
        assert_eq!(counts.reported().len(), RefusalReason::ALL.len() - 1);
    }
}
