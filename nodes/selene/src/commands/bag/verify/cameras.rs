//! Checks that each image has a camera_info with its stamp, size and frame in the same namespace. Namespaces without
//! any camera_info are not checked.

use std::collections::{BTreeMap, BTreeSet};

use selene_ros::bag::BagMessage;
use selene_ros::{Message, builtin_interfaces, decode, sensor_msgs, std_msgs};

/// What an image and its camera_info must have in common: stamp (s, ns), size (px) and frame.
type View = (i32, u32, [u32; 2], String);

/// The images and camera_infos of a bag.
#[derive(Default)]
pub(super) struct Cameras {
    /// The camera_infos of each namespace.
    infos: BTreeMap<String, BTreeSet<View>>,
    /// The images of each topic.
    images: BTreeMap<String, Vec<View>>,
}

impl Cameras {
    pub(super) fn take(&mut self, message: &BagMessage) {
        let topic = &message.topic;
        // Another check reports messages that do not decode.
        if topic.type_name == sensor_msgs::CameraInfo::TYPE_NAME {
            let Ok(info) = decode::<sensor_msgs::CameraInfo>(&message.encoded) else { return };
            if let Some((namespace, "camera_info")) = topic.name.rsplit_once('/') {
                let infos = self.infos.entry(namespace.to_owned()).or_default();
                infos.insert(view(info.header, [info.width, info.height]));
            }
        } else if topic.type_name == sensor_msgs::Image::TYPE_NAME {
            let Ok(image) = decode::<sensor_msgs::Image>(&message.encoded) else { return };
            let images = self.images.entry(topic.name.clone()).or_default();
            images.push(view(image.header, [image.width, image.height]));
        }
    }

    pub(super) fn end(self) -> Vec<String> {
        let fault = |(topic, images): (&String, &Vec<View>)| {
            let (namespace, _) = topic.rsplit_once('/')?;
            let infos = self.infos.get(namespace)?;
            let alone: Vec<_> = images.iter().filter(|image| !infos.contains(*image)).collect();
            let (sec, nanosec, [width, height], frame) = alone.first()?;
            let first = format!("the first, {width} × {height} in {frame} at {sec}.{nanosec:09} s");
            Some(format!("{topic}: {} images have no camera_info of their stamp, size and frame; {first}", alone.len()))
        };
        self.images.iter().filter_map(fault).collect()
    }
}

fn view(header: std_msgs::Header, size: [u32; 2]) -> View {
    let builtin_interfaces::Time { sec, nanosec } = header.stamp;
    (sec, nanosec, size, header.frame_id)
}
