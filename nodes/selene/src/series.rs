//! A series of bounded length over a run of unknown length. It keeps every n-th entry; when it is full it drops every
//! second one and doubles n, so that the rest is always evenly spread over the whole run. It also keeps the newest
//! entry.

/// At most `capacity` evenly spread entries, and the newest.
#[derive(Clone, Debug)]
pub(crate) struct Series<T> {
    kept: Vec<T>,
    newest: Option<T>,
    capacity: usize,
    stride: u64,
    seen: u64,
}

impl<T> Series<T> {
    /// An empty series of at most `capacity` (at least 2) entries and the newest.
    pub(crate) fn new(capacity: usize) -> Self {
        Self { kept: Vec::new(), newest: None, capacity: capacity.max(2), stride: 1, seen: 0 }
    }

    pub(crate) fn push(&mut self, entry: T) {
        if self.is_due() && self.kept.len() == self.capacity {
            self.halve();
        }
        if self.is_due() {
            self.kept.push(entry);
            self.newest = None;
        } else {
            self.newest = Some(entry);
        }
        self.seen += 1;
    }

    pub(crate) fn extend(&mut self, entries: impl IntoIterator<Item = T>) {
        entries.into_iter().for_each(|entry| self.push(entry));
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::new(self.capacity);
    }

    /// The kept entries, oldest first; the last is the newest entry.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.kept.iter().chain(&self.newest)
    }

    fn is_due(&self) -> bool {
        self.seen.is_multiple_of(self.stride)
    }

    fn halve(&mut self) {
        let mut index = 0;
        self.kept.retain(|_| {
            index += 1;
            index % 2 == 1
        });
        self.stride *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::Series;

    #[test]
    fn a_long_run_leaves_evenly_spread_entries_and_the_newest() {
        let mut series = Series::new(8);
        (0..1000).for_each(|i| series.push(i));
        let kept: Vec<i32> = series.iter().copied().collect();
        assert!(kept.len() <= 9, "{kept:?}");
        assert_eq!((kept[0], *kept.last().unwrap()), (0, 999));
        let spread = &kept[..kept.len() - 1];
        assert!(spread.windows(2).all(|pair| pair[1] - pair[0] == 128), "{kept:?}");
    }

    #[test]
    fn a_short_run_is_kept_whole() {
        let mut series = Series::new(8);
        (0..8).for_each(|i| series.push(i));
        assert_eq!(series.iter().copied().collect::<Vec<_>>(), (0..8).collect::<Vec<_>>());
    }
}
