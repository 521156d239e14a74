//! Clocks of the machine, and waiting until one of them reads a given time. A wait has an absolute end: the system
//! wakes the thread shortly before it, and the thread reads the clock in a loop for the rest of at most `SPIN`, since a
//! sleeping thread is woken some ten to a hundred microseconds late.

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use selene_coherence::NodeError;

/// The clock that simulated time follows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ClockAuthority {
    /// The simulation's own clock: time that a slow machine loses stays lost.
    #[default]
    Simulation,
    /// The system's UTC clock: simulated time catches up with it.
    Wall,
    /// The hardware clock of a network card that PTP disciplines, by its device file: simulated time catches up with
    /// it.
    Ptp(PathBuf),
}

/// A clock that can be read.
#[derive(Clone, Debug, Default)]
pub(crate) enum Clock {
    /// Steady clock with an arbitrary epoch.
    #[default]
    Monotonic,
    /// UTC since 1970.
    Wall,
    /// A PTP hardware clock: by convention TAI since 1970.
    #[cfg(target_os = "linux")]
    Ptp(ptp::Device),
}

impl Clock {
    /// Opens an authority's clock and reads it once, so that an unreadable one is refused at the start.
    pub(crate) fn open(authority: &ClockAuthority) -> Result<Self, NodeError> {
        let clock = match authority {
            ClockAuthority::Simulation => Self::Monotonic,
            ClockAuthority::Wall => Self::Wall,
            #[cfg(target_os = "linux")]
            ClockAuthority::Ptp(device) => Self::Ptp(ptp::Device::open(device)?),
            #[cfg(not(target_os = "linux"))]
            ClockAuthority::Ptp(device) => {
                let error = std::io::Error::new(std::io::ErrorKind::Unsupported, "PTP clocks are read on Linux only");
                return Err(NodeError::Clock { clock: device.display().to_string(), error });
            }
        };
        clock.now().map(|_| clock)
    }

    /// Time since its epoch.
    pub(crate) fn now(&self) -> Result<Duration, NodeError> {
        match self {
            Self::Monotonic => Ok(monotonic::now()),
            // A clock that is set before 1970 reads zero.
            Self::Wall => Ok(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()),
            #[cfg(target_os = "linux")]
            Self::Ptp(device) => device.now(),
        }
    }

    /// Waits until it reads `due`.
    pub(crate) fn wait_until(&self, due: Duration) -> Result<(), NodeError> {
        let early = due.saturating_sub(self.now()?);
        monotonic::wait_until(monotonic::now() + early);
        Ok(())
    }
}

/// The system's monotonic clock and sleeping by it.
pub(crate) mod monotonic {
    use std::time::Duration;

    pub(crate) use system::now;

    /// How long before the end of a wait the thread is woken, which is also the longest time that it spins.
    const SPIN: Duration = Duration::from_micros(100);

    /// Sleeps until shortly before `due` and spins from there on.
    pub(crate) fn wait_until(due: Duration) {
        let wake = due.saturating_sub(SPIN);
        // A signal ends a sleep early.
        while now() < wake {
            system::sleep_until(wake);
        }
        while now() < due {
            std::hint::spin_loop();
        }
    }

    #[cfg(target_os = "linux")]
    mod system {
        use std::time::Duration;

        use rustix::io::Errno;
        use rustix::thread::clock_nanosleep_absolute;
        use rustix::time::{ClockId, Timespec, clock_gettime};

        pub(crate) fn now() -> Duration {
            // The monotonic clock is never negative.
            Duration::try_from(clock_gettime(ClockId::Monotonic)).unwrap_or_default()
        }

        /// Sleeps until `due`, or until a signal arrives.
        pub(super) fn sleep_until(due: Duration) {
            let slept = match Timespec::try_from(due) {
                Ok(due) => clock_nanosleep_absolute(ClockId::Monotonic, &due),
                Err(_) => Err(Errno::INVAL),
            };
            if slept.is_err_and(|error| error != Errno::INTR) {
                std::thread::sleep(due.saturating_sub(now()));
            }
        }
    }

    #[cfg(not(target_os = "linux"))]
    mod system {
        use std::sync::OnceLock;
        use std::time::{Duration, Instant};

        pub(crate) fn now() -> Duration {
            static BEGUN: OnceLock<Instant> = OnceLock::new();
            BEGUN.get_or_init(Instant::now).elapsed()
        }

        pub(super) fn sleep_until(due: Duration) {
            std::thread::sleep(due.saturating_sub(now()));
        }
    }
}

/// Clocks that Linux offers as device files.
#[cfg(target_os = "linux")]
mod ptp {
    use std::fs::File;
    use std::os::fd::AsFd;
    use std::path::Path;
    use std::sync::Arc;
    use std::time::Duration;

    use rustix::time::{DynamicClockId, clock_gettime_dynamic};
    use selene_coherence::NodeError;

    /// An open `/dev/ptp…`.
    #[derive(Clone, Debug)]
    pub(crate) struct Device {
        name: String,
        file: Arc<File>,
    }

    impl Device {
        pub(super) fn open(path: &Path) -> Result<Self, NodeError> {
            let name = path.display().to_string();
            match File::open(path) {
                Ok(file) => Ok(Self { name, file: Arc::new(file) }),
                Err(error) => Err(NodeError::Clock { clock: name, error }),
            }
        }

        pub(super) fn now(&self) -> Result<Duration, NodeError> {
            let refused = |error| NodeError::Clock { clock: self.name.clone(), error };
            let read = clock_gettime_dynamic(DynamicClockId::Dynamic(self.file.as_fd()));
            let read = read.map_err(|errno| refused(errno.into()))?;
            Duration::try_from(read).map_err(|_| refused(std::io::Error::other("it reads a time before 1970")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Clock, ClockAuthority};
    use std::path::PathBuf;
    use std::time::Duration;

    #[test]
    fn a_wait_ends_when_the_clock_reads_the_instant_and_never_before() {
        for authority in [ClockAuthority::Simulation, ClockAuthority::Wall] {
            let clock = Clock::open(&authority).expect("there is one");
            let due = clock.now().expect("read") + Duration::from_millis(3);
            clock.wait_until(due).expect("waited");
            // Another program may set the wall clock back, but hardly within these milliseconds.
            assert!(clock.now().expect("read") + Duration::from_micros(50) >= due, "{authority:?}");
            // A time in the past ends the wait at once.
            clock.wait_until(due).expect("waited");
        }
    }

    #[test]
    fn a_device_that_is_no_clock_or_not_there_is_refused_by_name() {
        for device in ["/dev/null", "/dev/no_such_ptp"] {
            let error = Clock::open(&ClockAuthority::Ptp(PathBuf::from(device))).expect_err(device).to_string();
            assert!(error.contains(device) && error.contains("clock"), "{error}");
        }
    }
}
