//! Clocks of the machine, and waiting until one of them reads an instant. A wait is absolute: the system wakes the
//! thread shortly before, and the rest of at most `SPIN` is spent looking at the clock, since a thread that sleeps is
//! woken some ten to a hundred microseconds late.

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use selene_coherence::NodeError;

/// Whose clock simulated time follows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ClockAuthority {
    /// The simulation's own: time that a slow machine loses stays lost.
    #[default]
    Simulation,
    /// The system's clock of UTC: simulated time catches up with it.
    Wall,
    /// The hardware clock of a network card that PTP disciplines, by its device: simulated time catches up with it.
    Ptp(PathBuf),
}

/// A clock that can be read.
#[derive(Clone, Debug, Default)]
pub(crate) enum Clock {
    /// Goes evenly, from some instant of the past on.
    #[default]
    Monotonic,
    /// UTC since 1970.
    Wall,
    /// As its hardware counts, TAI since 1970 by custom.
    #[cfg(target_os = "linux")]
    Ptp(ptp::Device),
}

impl Clock {
    /// Opens the clock of an authority and reads it once, so that one that cannot be read is refused at the start.
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
            // A clock that stands before 1970 goes from there.
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

/// The clock that threads sleep by.
pub(crate) mod monotonic {
    use std::time::Duration;

    pub(crate) use system::now;

    /// How long before an instant the thread is woken, and so how long it spins at most.
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
            // It never reads less than zero.
            Duration::try_from(clock_gettime(ClockId::Monotonic)).unwrap_or_default()
        }

        /// Sleeps until then, or until a signal comes.
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

/// Hardware clocks that Linux shows as devices.
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
            // Another program may set the wall clock back, but hardly in these milliseconds.
            assert!(clock.now().expect("read") + Duration::from_micros(50) >= due, "{authority:?}");
            // What is over is not waited for.
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
