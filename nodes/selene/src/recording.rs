//! Records the bag of a run: it begins before the run and ends after it, also when the run fails. A recording that
//! broke off makes the command fail, since the bag is incomplete.

use std::path::Path;

use selene_ros::BagRecorder;
use selene_ros::bag::{BagCompression, BagSummary, MetadataVersion, RecordOptions, TopicFilter};

use crate::args::{CompressionArg, MetadataArg, RecordingArgs};
use crate::fault::Fault;
use crate::summary::Summary;

/// Begins a recording, if a folder was given.
pub(crate) fn begin(folder: Option<&Path>, args: &RecordingArgs) -> Result<Option<BagRecorder>, Fault> {
    let recorder = folder.map(|folder| BagRecorder::create(folder, options(args)));
    recorder.transpose().map_err(|error| Fault::input(format!("--record {error}")))
}

/// Refuses a folder that exists already.
pub(crate) fn check(folder: Option<&Path>) -> Result<(), Fault> {
    match folder.filter(|folder| folder.exists()) {
        Some(folder) => {
            Err(Fault::input(format!("--record {}: exists already and is left as it is", folder.display())))
        }
        None => Ok(()),
    }
}

fn options(args: &RecordingArgs) -> RecordOptions {
    let ros_distro = std::env::var("ROS_DISTRO").unwrap_or_default();
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
        metadata: metadata(args.record_metadata, &ros_distro),
        ros_distro,
    }
}

/// The requested version of the metadata, else that of a ROS distribution. Distributions before Jazzy do not read its
/// version; without a distribution the bag is for any.
fn metadata(requested: Option<MetadataArg>, ros_distro: &str) -> MetadataVersion {
    match (requested, ros_distro) {
        (Some(MetadataArg::Humble), _) => MetadataVersion::Humble,
        (Some(MetadataArg::Current), _) => MetadataVersion::Current,
        (None, "" | "foxy" | "galactic" | "humble" | "iron") => MetadataVersion::Humble,
        (None, _) => MetadataVersion::Current,
    }
}

/// Ends the recording, if there is one, and adds its contents to `summary`.
///
/// # Errors
/// When the recording broke off.
pub(crate) fn end(recorder: Option<&BagRecorder>, summary: &mut Summary) -> Result<(), Fault> {
    let Some(bag) = recorder.map(BagRecorder::finish) else { return Ok(()) };
    summary.bag(&bag);
    whole(&bag)
}

/// Fails if the recording broke off.
pub(crate) fn whole(bag: &BagSummary) -> Result<(), Fault> {
    let Some(fault) = &bag.fault else { return Ok(()) };
    Err(Fault::run(format!("the recording broke off, {} messages are not in it: {fault}", bag.lost)))
}

#[cfg(test)]
mod tests {
    use super::{BagSummary, MetadataArg, MetadataVersion, metadata, whole};

    #[test]
    fn metadata_are_those_of_the_distribution_unless_a_version_is_given() {
        for (distro, expected) in
            [("", MetadataVersion::Humble), ("humble", MetadataVersion::Humble), ("jazzy", MetadataVersion::Current)]
        {
            assert_eq!(metadata(None, distro), expected, "{distro:?}");
            assert_eq!(metadata(Some(MetadataArg::Humble), distro), MetadataVersion::Humble, "{distro:?}");
            assert_eq!(metadata(Some(MetadataArg::Current), distro), MetadataVersion::Current, "{distro:?}");
        }
    }

    #[test]
    fn a_recording_that_broke_off_is_a_fault() {
        let mut bag = BagSummary::default();
        assert!(whole(&bag).is_ok());
        bag.fault = Some("no space left on device".to_owned());
        assert!(whole(&bag).is_err());
    }
}
