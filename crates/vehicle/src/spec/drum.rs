//! Bucket drums: links that are thin shells for granular soil, which can be inside them.

use garde::Validate;
use schemars::JsonSchema;
use selene_base::input::within;
use serde::Deserialize;

/// A bucket drum. Its radius, length and axis are those of its link's one collision shape, a cylinder about the axis
/// of the link's joint; it takes soil in at positive rates of that joint, and dumps it at negative ones.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct DrumSpec {
    /// The link.
    #[garde(skip)]
    pub link: String,
    /// Slices along its axis, divided by discs; 1 to 14.
    #[garde(range(min = 1, max = 14))]
    pub slices: u32,
    /// Scoops around each slice, 1 to 12.
    #[garde(range(min = 1, max = 12))]
    pub scoops: u32,
    /// Depth of the inlet channel below a scoop's lip, m: 0.005 to 1.
    #[garde(custom(within(0.005, 1.0)))]
    pub channel_m: f64,
    /// Angle by which the panel ahead overlaps below a lip, so that soil stays inside: 0 to 300 degrees.
    #[garde(custom(within(0.0, 300.0)))]
    pub overlap_deg: f64,
}
