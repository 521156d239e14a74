//! The interface of the checks for messages with a header.

use selene_ros::Message;
use selene_ros::std_msgs::Header;

use crate::kind::Kind;

/// A message with a header that can be checked.
pub(crate) trait Sample: Message {
    fn header(&self) -> &Header;

    /// Faults of the message on a topic of this kind.
    fn faults(&self, kind: Kind) -> Vec<String>;

    /// Width and height of an image, or of the images that a calibration is for.
    fn size_px(&self) -> Option<[u32; 2]> {
        None
    }

    /// Names in the message: joints, or a child frame.
    fn names(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The texts of the faults whose condition is true.
pub(crate) fn those(faults: impl IntoIterator<Item = (bool, String)>) -> Vec<String> {
    faults.into_iter().filter_map(|(is_there, what)| is_there.then_some(what)).collect()
}

/// The fault of a frame that is empty, or begins with a slash as in ROS 1.
pub(crate) fn frame_fault(header: &Header) -> (bool, String) {
    let frame = &header.frame_id;
    (frame.is_empty() || frame.starts_with('/'), format!("frame_id {frame:?}"))
}
