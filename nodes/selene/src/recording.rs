//! The bag of a run: begun before it, ended after it however it went. A recording
//! that broke off makes the command fail, since what was asked for is not there.

use std::path::Path;

use selene_ros::BagRecorder;
use selene_ros::bag::BagSummary;

use crate::fault::Fault;
use crate::summary::Summary;

/// Begins a recording, if one was asked for.
pub(crate) fn begin(folder: Option<&Path>) -> Result<Option<BagRecorder>, Fault> {
    folder.map(BagRecorder::create).transpose().map_err(|error| Fault::input(format!("--record {error}")))
}

/// Ends the recording, if there is one, and tells in `summary` what it holds.
///
/// # Errors
/// When the recording broke off.
pub(crate) fn end(recorder: Option<&BagRecorder>, summary: &mut Summary) -> Result<(), Fault> {
    let Some(bag) = recorder.map(BagRecorder::finish) else { return Ok(()) };
    summary.bag(&bag);
    whole(&bag)
}

fn whole(bag: &BagSummary) -> Result<(), Fault> {
    let Some(fault) = &bag.fault else { return Ok(()) };
    Err(Fault::run(format!("the recording broke off, {} messages are not in it: {fault}", bag.lost)))
}

#[cfg(test)]
mod tests {
    use super::{BagSummary, whole};

    #[test]
    fn a_recording_that_broke_off_is_a_fault() {
        let mut bag = BagSummary::default();
        assert!(whole(&bag).is_ok());
        bag.fault = Some("no space left on device".to_owned());
        assert!(whole(&bag).is_err());
    }
}
