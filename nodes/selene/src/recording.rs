//! The bag of a run: begun before it, ended after it however it went. A recording
//! that broke off makes the command fail, since what was asked for is not there.

use std::path::Path;

use selene_ros::BagRecorder;
use selene_ros::bag::{BagCompression, BagSummary, MetadataVersion, RecordOptions, TopicFilter};

use crate::args::{CompressionArg, MetadataArg, RecordingArgs};
use crate::fault::Fault;
use crate::summary::Summary;

/// Begins a recording, if one was asked for.
pub(crate) fn begin(folder: Option<&Path>, args: &RecordingArgs) -> Result<Option<BagRecorder>, Fault> {
    let recorder = folder.map(|folder| BagRecorder::create(folder, options(args)));
    recorder.transpose().map_err(|error| Fault::input(format!("--record {error}")))
}

/// Refuses a folder that a recording would not begin in.
pub(crate) fn check(folder: Option<&Path>) -> Result<(), Fault> {
    match folder.filter(|folder| folder.exists()) {
        Some(folder) => {
            Err(Fault::input(format!("--record {}: exists already and is left as it is", folder.display())))
        }
        None => Ok(()),
    }
}

fn options(args: &RecordingArgs) -> RecordOptions {
    RecordOptions {
        topics: TopicFilter {
            include: args.record_topics.clone(),
            exclude: args.record_exclude.clone(),
            internal: args.record_internal,
        },
        max_bytes: args.record_max_size,
        max_span: args.record_max_duration,
        compression: match args.record_compression.unwrap_or(CompressionArg::ZstdFast) {
            CompressionArg::None => BagCompression::None,
            CompressionArg::Zstd => BagCompression::Zstd,
            CompressionArg::ZstdFast => BagCompression::ZstdFast,
            CompressionArg::ZstdMax => BagCompression::ZstdMax,
        },
        metadata: match args.record_metadata.unwrap_or(MetadataArg::Humble) {
            MetadataArg::Humble => MetadataVersion::Humble,
            MetadataArg::Current => MetadataVersion::Current,
        },
        ros_distro: std::env::var("ROS_DISTRO").unwrap_or_default(),
    }
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

/// Refuses a recording that broke off.
pub(crate) fn whole(bag: &BagSummary) -> Result<(), Fault> {
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
