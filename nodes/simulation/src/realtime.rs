//! Real-time priority (POSIX `SCHED_FIFO`) for the thread that keeps the pace, so that other programs do not delay its
//! heartbeats. The system must allow it: root, the capability CAP_SYS_NICE, or a limit `rtprio`.
//!
//! A real-time thread that never sleeps occupies a core alone. The simulation usually sleeps until each heartbeat, but
//! not while it is behind its clock; Linux bounds that by `sched_rt_runtime_us` (0.95 s of each second by default).

use std::str::FromStr;

use selene_coherence::NodeError;

/// A `SCHED_FIFO` priority: 1 is the lowest, 99 the highest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RealtimePriority(u8);

impl RealtimePriority {
    /// Below the interrupt threads of Linux with PREEMPT_RT, which have priority 50.
    pub const USUAL: Self = Self(40);

    /// Makes the calling thread a real-time thread for the rest of its life. Threads that it starts later inherit the
    /// priority; therefore rayon's pool is started first, whose threads trace rays and build ground, and can wait.
    ///
    /// # Errors
    /// When the system refuses it or has no real-time threads.
    #[cfg(unix)]
    pub fn take(self) -> Result<(), NodeError> {
        use thread_priority::{
            RealtimeThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy, set_thread_priority_and_policy,
            thread_native_id,
        };
        rayon::current_num_threads();
        let refused =
            |error: &dyn std::fmt::Display| NodeError::Realtime { priority: self.0, error: error.to_string() };
        let value = self.0.try_into().map_err(|error: String| refused(&error))?;
        let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
        set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Crossplatform(value), policy)
            .map_err(|error| refused(&error))
    }

    #[cfg(not(unix))]
    pub fn take(self) -> Result<(), NodeError> {
        Err(NodeError::Realtime { priority: self.0, error: "this system has no SCHED_FIFO".to_owned() })
    }
}

impl FromStr for RealtimePriority {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().ok().filter(|priority| (1..=99).contains(priority)).map(Self).ok_or("must be from 1 to 99")
    }
}

#[cfg(test)]
mod tests {
    use super::RealtimePriority;

    #[test]
    fn priorities_go_from_1_to_99() {
        assert!(["1", "40", "99"].iter().all(|text| text.parse::<RealtimePriority>().is_ok()));
        for bad in ["", "0", "100", "-1", "high"] {
            assert!(bad.parse::<RealtimePriority>().is_err_and(|reported| reported.contains("1 to 99")), "{bad}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_thread_is_one_of_real_time_or_is_reported_why_not() {
        let reported = std::thread::spawn(|| {
            let taken = RealtimePriority::USUAL.take();
            (taken, std::fs::read_to_string("/proc/thread-self/sched").unwrap_or_default())
        });
        let (taken, sched) = reported.join().expect("the thread");
        match taken {
            // SCHED_FIFO is 1; the kernel counts real-time priorities down from 99.
            Ok(()) if !sched.is_empty() => {
                let number = |key: &str| {
                    sched
                        .lines()
                        .find_map(|line| line.strip_prefix(key)?.split_once(':'))
                        .map(|(_, is)| is.trim().to_owned())
                };
                assert_eq!(
                    [number("policy"), number("prio")],
                    [Some("1".to_owned()), Some("59".to_owned())],
                    "{sched}"
                );
            }
            Ok(()) => {}
            Err(error) => assert!(error.to_string().contains("rtprio"), "{error}"),
        }
    }
}
