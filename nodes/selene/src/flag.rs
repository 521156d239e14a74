//! A guard that sets a flag at the end of its scope, also on a panic: threads that wait for the flag then end too.

use std::sync::atomic::{AtomicBool, Ordering};

/// Sets its flag when dropped, unless it was disarmed.
pub(crate) struct SetOnDrop<'a> {
    flag: &'a AtomicBool,
    armed: bool,
}

impl<'a> SetOnDrop<'a> {
    /// A guard that sets `flag`.
    pub(crate) fn new(flag: &'a AtomicBool) -> Self {
        Self { flag, armed: true }
    }

    /// Drops the guard without setting the flag.
    pub(crate) fn disarm(mut self) {
        self.armed = false;
    }
}

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        if self.armed {
            self.flag.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SetOnDrop;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn a_panic_sets_the_flag_and_a_disarmed_guard_does_not() {
        let flag = AtomicBool::new(false);
        SetOnDrop::new(&flag).disarm();
        assert!(!flag.load(Ordering::Relaxed));
        let panicked = std::panic::catch_unwind(|| {
            let _set = SetOnDrop::new(&flag);
            panic!("on purpose");
        });
        assert!(panicked.is_err() && flag.load(Ordering::Relaxed));
    }
}
