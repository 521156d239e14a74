//! What is asked of every message that has a header.

use selene_ros::Message;
use selene_ros::std_msgs::Header;

use crate::kind::Kind;

/// A message with a header, which can tell what is wrong with it.
pub(crate) trait Sample: Message {
    fn header(&self) -> &Header;

    /// What is wrong with it on a topic of this kind.
    fn faults(&self, kind: Kind) -> Vec<String>;

    /// Width and height of an image, or of the images that a calibration is for.
    fn size_px(&self) -> Option<[u32; 2]> {
        None
    }

    /// What it names: joints, a child frame.
    fn names(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The faults that are there.
pub(crate) fn those(faults: impl IntoIterator<Item = (bool, String)>) -> Vec<String> {
    faults.into_iter().filter_map(|(is_there, what)| is_there.then_some(what)).collect()
}

/// A frame is named, and not as in ROS 1.
pub(crate) fn frame_fault(header: &Header) -> (bool, String) {
    let frame = &header.frame_id;
    (frame.is_empty() || frame.starts_with('/'), format!("frame_id {frame:?}"))
}
