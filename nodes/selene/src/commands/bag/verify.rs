//! `selene bag verify` checks that every message decodes as its type, stamps do not go back, images have their
//! camera_info, transforms form one tree, and indexes, counts and metadata agree with the contents. All messages are
//! read once and passed to each check, which keeps only stamps and names of them.

mod cameras;
mod decoding;
mod frames;
mod metadata;
mod stamps;

use selene_ros::bag::{BagContents, BagMessage, BagReader};

use super::info::ending_fault;
use super::open;
use crate::args::BagVerifyArgs;
use crate::fault::Fault;
use crate::output::print_line;

/// Prints the faults of a bag; fails if there are any.
pub(super) fn verify(args: &BagVerifyArgs) -> Result<(), Fault> {
    let bag = open(&args.bag)?;
    let (contents, faults) = look(&bag);
    faults.iter().for_each(print_line);
    if !faults.is_empty() {
        return Err(Fault::run(format!("{}: {} faults", args.bag.display(), faults.len())));
    }
    let (messages, topics, files) = (contents.messages(), contents.topics().len(), contents.files.len());
    print_line(format_args!("sound: {messages} messages on {topics} topics in {files} files"));
    Ok(())
}

/// Reads a whole bag. Returns its contents and all its faults.
fn look(bag: &BagReader) -> (BagContents, Vec<String>) {
    let mut faults = bag.faults().to_vec();
    let (mut checks, mut messages) = (Checks::default(), bag.messages());
    for read in &mut messages {
        match read {
            Ok(message) => checks.take(&message),
            Err(damage) => faults.push(damage.to_string()),
        }
    }
    let contents = messages.into_contents();
    for file in &contents.files {
        let endings = ending_fault(file.ending).map(str::to_owned);
        let of_file = endings.into_iter().chain(file.faults.iter().cloned());
        faults.extend(of_file.map(|fault| format!("{}: {fault}", file.path.display())));
    }
    faults.extend(bag.metadata().map(|reported| metadata::differences(reported, &contents)).unwrap_or_default());
    faults.extend(checks.end());
    (contents, faults)
}

/// The checks that examine each message.
#[derive(Default)]
struct Checks {
    decoding: decoding::Decoding,
    stamps: stamps::Stamps,
    cameras: cameras::Cameras,
    frames: frames::Frames,
}

impl Checks {
    fn take(&mut self, message: &BagMessage) {
        self.decoding.take(message);
        self.stamps.take(message);
        self.cameras.take(message);
        self.frames.take(message);
    }

    fn end(self) -> Vec<String> {
        [self.decoding.end(), self.stamps.end(), self.cameras.end(), self.frames.end()].concat()
    }
}

#[cfg(test)]
mod tests;
