//! Runs rows, several at a time, each in its own process, so that a crash affects one row only. A row's result is
//! either its figures or the reason why there are none; a process that takes too long is killed. A request to stop ends
//! the campaign at once: rows in progress count as not run.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::CampaignError;
use crate::folder::{Folder, Record};
use crate::plan::Row;

/// Interval between two checks of the processes, in wall time.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// The most characters of a reason.
const REASON_MAX: usize = 500;
/// Value of `ended` in the figures of a run that was stopped by a signal.
const STOPPED: &str = "stopped";

/// Settings for running rows.
#[derive(Clone, Copy, Debug)]
pub struct Pool<'a> {
    /// Number of processes at a time.
    pub workers: usize,
    /// Wall time after which a process is killed.
    pub limit: Duration,
    /// Set to end the campaign.
    pub stop: &'a AtomicBool,
}

/// The running process of a row.
struct Running<'a> {
    row: &'a Row,
    child: Child,
    begun: Instant,
}

/// Kills the process when the campaign ends, in whatever way.
impl Drop for Running<'_> {
    fn drop(&mut self) {
        // Errors are ignored: the process may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs rows, each with the command that `command` gives for the row and its file of figures. Each result is written to
/// `folder` and passed to `reported`; rows in progress when the campaign is stopped have none.
///
/// # Errors
/// When a process cannot be started, or a result cannot be written.
pub fn run_all(
    pool: &Pool<'_>,
    folder: &Folder,
    rows: &[&Row],
    command: impl Fn(&Row, &Path) -> Command,
    mut reported: impl FnMut(&Record),
) -> Result<(), CampaignError> {
    let mut waiting = rows.iter().copied();
    let mut running: Vec<Running<'_>> = Vec::new();
    loop {
        if pool.stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        while running.len() < pool.workers.max(1) {
            let Some(row) = waiting.next() else { break };
            running.push(start(folder, row, command(row, &folder.figures(row.row)))?);
        }
        if running.is_empty() {
            return Ok(());
        }
        std::thread::sleep(LOOK_EVERY);
        let mut remaining = Vec::with_capacity(running.len());
        for mut process in running {
            match process.ended(pool, folder) {
                None => remaining.push(process),
                Some(ProcessOutcome::Unfinished) => return Ok(()),
                Some(ProcessOutcome::Came(came)) => {
                    let record = Record::of(process.row, came);
                    folder.keep(&record)?;
                    reported(&record);
                }
            }
        }
        running = remaining;
    }
}

fn start<'a>(folder: &Folder, row: &'a Row, mut command: Command) -> Result<Running<'a>, CampaignError> {
    let path = folder.log(row.row);
    let log = std::fs::File::create(&path).map_err(|source| CampaignError::Folder { path, source })?;
    // Removes figures of an earlier attempt.
    let _ = std::fs::remove_file(folder.figures(row.row));
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn();
    let child = child.map_err(|source| CampaignError::Start { row: row.row, source })?;
    Ok(Running { row, child, begun: Instant::now() })
}

/// Outcome of a process.
enum ProcessOutcome {
    /// Figures, or the reason why there are none.
    Came(Result<BTreeMap<String, Value>, String>),
    /// Stopped together with the campaign.
    Unfinished,
}

impl Running<'_> {
    /// Its outcome, if it has ended.
    fn ended(&mut self, pool: &Pool<'_>, folder: &Folder) -> Option<ProcessOutcome> {
        let status = match self.child.try_wait() {
            Ok(None) if self.begun.elapsed() < pool.limit => return None,
            Ok(None) => {
                let reported = format!("took longer than {} s", pool.limit.as_secs_f64());
                return Some(ProcessOutcome::Came(Err(reported)));
            }
            Ok(Some(status)) => status,
            Err(error) => return Some(ProcessOutcome::Came(Err(format!("was lost: {error}")))),
        };
        if !status.success() {
            return Some(self.failed(status, pool, folder));
        }
        let figures = folder.take_figures(self.row.row);
        let is_stopped = |figures: &BTreeMap<String, Value>| figures.get("ended").is_some_and(|ended| ended == STOPPED);
        Some(match figures {
            Ok(figures) if !is_stopped(&figures) => ProcessOutcome::Came(Ok(figures)),
            Ok(_) if pool.stop.load(Ordering::Relaxed) => ProcessOutcome::Unfinished,
            Ok(_) => ProcessOutcome::Came(Err("was stopped by a signal".to_owned())),
            Err(why) => ProcessOutcome::Came(Err(format!("left no figures: {why}"))),
        })
    }

    fn failed(&self, status: ExitStatus, pool: &Pool<'_>, folder: &Folder) -> ProcessOutcome {
        if pool.stop.load(Ordering::Relaxed) {
            return ProcessOutcome::Unfinished;
        }
        let printed = std::fs::read(folder.log(self.row.row)).unwrap_or_default();
        let printed = reason(&String::from_utf8_lossy(&printed));
        ProcessOutcome::Came(Err(if printed.is_empty() { status.to_string() } else { format!("{status}: {printed}") }))
    }
}

/// The last error message in a process's output: all lines from its mark on, or else the last line.
fn reason(printed: &str) -> String {
    let lines: Vec<&str> = printed.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let is_message = |line: &&str| line.starts_with("× ") || line.starts_with("x ") || line.starts_with("Error");
    let first = lines.iter().rposition(is_message).unwrap_or(lines.len().saturating_sub(1));
    let message = lines[first.min(lines.len())..].iter().map(|line| line.trim_start_matches(['×', '│', '|']).trim());
    message.collect::<Vec<_>>().join(" ").chars().take(REASON_MAX).collect()
}

#[cfg(all(test, unix))]
mod tests {
    use super::{Pool, Record, reason, run_all};
    use crate::folder::{Folder, Status};
    use crate::plan::Row;
    use std::path::{Path, PathBuf};
    use std::process::Command;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    fn folder(name: &str) -> (PathBuf, Folder) {
        let path = std::env::temp_dir().join(format!("selene-pool-{}-{name}", std::process::id()));
        (path.clone(), Folder::open(&path).expect("made"))
    }

    fn rows(count: usize) -> Vec<Row> {
        let row = |row| Row { row, scenario: "a".to_owned(), seed: None, set: Default::default() };
        (0..count).map(row).collect()
    }

    fn shell(script: &str, row: &Row, figures: &Path) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]).env("ROW", row.row.to_string()).env("FIGURES", figures);
        command
    }

    #[test]
    fn rows_end_as_their_processes_do() {
        let (path, folder) = folder("ends");
        let script = "case $ROW in 1) kill -9 $$;; 2) echo '  × no such soil' >&2; exit 2;; 3) sleep 60;; 4) exit 0;; \
                      *) echo \"{\\\"ended\\\": \\\"duration\\\", \\\"distance_m\\\": $ROW.5}\" > $FIGURES;; esac";
        let (rows, stop) = (rows(6), AtomicBool::new(false));
        let pool = Pool { workers: 3, limit: Duration::from_secs(3), stop: &stop };
        let mut records: Vec<Record> = Vec::new();
        let reported = |record: &Record| records.push(record.clone());
        run_all(&pool, &folder, &rows.iter().collect::<Vec<_>>(), |row, file| shell(script, row, file), reported)
            .expect("run");
        records.sort_by_key(|record| record.row);
        let reasons: Vec<_> = records.iter().map(|record| record.reason.clone().unwrap_or_default()).collect();
        assert_eq!(records.len(), 6);
        assert!(reasons[1].contains('9') && reasons[2].ends_with("no such soil"), "{reasons:?}");
        assert!(reasons[3].contains("longer than 3 s") && reasons[4].contains("left no figures"), "{reasons:?}");
        for row in [0, 5] {
            assert_eq!(
                (records[row].status, &records[row].figures["distance_m"]),
                (Status::Done, &(row as f64 + 0.5).into())
            );
        }
        let kept = folder.record(&rows[1]).expect("readable").expect("kept");
        assert_eq!(kept, records[1]);
        std::fs::remove_dir_all(&path).expect("removed");
    }

    #[test]
    fn a_campaign_that_is_stopped_ends_at_once_and_keeps_what_was_done() {
        let (path, folder) = folder("stop");
        let script = "if [ $ROW = 0 ]; then echo '{\"ended\": \"duration\"}' > $FIGURES; else sleep 60; fi";
        let (rows, stop) = (rows(3), AtomicBool::new(false));
        let pool = Pool { workers: 2, limit: Duration::from_secs(50), stop: &stop };
        let reported = |_: &Record| stop.store(true, Ordering::Relaxed);
        let begun = std::time::Instant::now();
        run_all(&pool, &folder, &rows.iter().collect::<Vec<_>>(), |row, file| shell(script, row, file), reported)
            .expect("run");
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
        let kept = rows.iter().map(|row| folder.record(row).expect("readable").is_some()).collect::<Vec<_>>();
        assert_eq!(kept, [true, false, false]);
        std::fs::remove_dir_all(&path).expect("removed");
    }

    #[test]
    fn the_reason_is_the_last_message() {
        assert_eq!(reason("a line\n  × file: bad\n  │ value 3\n\n"), "file: bad value 3");
        assert_eq!(reason("one\ntwo\n"), "two");
        assert_eq!(reason(""), "");
    }
}
