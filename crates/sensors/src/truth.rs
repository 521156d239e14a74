//! Which truth goes beside a camera's images, each switched on in its YAML: all from the
//! rays through the pixels' centres in the middle of their row's exposure.

use garde::Validate;
use schemars::JsonSchema;
use serde::Deserialize;

/// What is published beside an image. All is off when left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields, default)]
pub struct TruthSpec {
    /// Distance along the optical axis; along the ray for lenses that see behind them.
    #[garde(skip)]
    pub depth: Option<DepthUnit>,
    /// Semantic classes.
    #[garde(skip)]
    pub segmentation: bool,
    /// Instance numbers.
    #[garde(skip)]
    pub instances: bool,
    /// Surface normals in the optical frame.
    #[garde(skip)]
    pub normals: bool,
    /// Diffuse reflectance.
    #[garde(skip)]
    pub albedo: bool,
    /// The part of the Sun's disc that is seen from there.
    #[garde(skip)]
    pub sun_visibility: bool,
    /// The way from each pixel to where its point was in the previous image.
    #[garde(skip)]
    pub flow: bool,
    /// Boxes around visible instances, in the image.
    #[garde(skip)]
    pub boxes_2d: bool,
    /// Boxes of visible instances, in the optical frame.
    #[garde(skip)]
    pub boxes_3d: bool,
}

/// How depth is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DepthUnit {
    /// 32FC1, infinite where nothing is seen.
    Metres,
    /// 16UC1, 0 where nothing is seen within 65.535 m.
    Millimetres,
}

/// The closed set of truth images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TruthImage {
    /// 32FC1 or 16UC1.
    Depth(DepthUnit),
    /// 16UC1.
    Segmentation,
    /// 32SC1: the bits of an unsigned number.
    Instances,
    /// 32FC3.
    Normals,
    /// 32FC1.
    Albedo,
    /// 32FC1.
    SunVisibility,
    /// 32FC2.
    Flow,
}

impl TruthSpec {
    /// The images that are wanted.
    #[must_use]
    pub fn images(&self) -> Vec<TruthImage> {
        let switched = [
            (self.segmentation, TruthImage::Segmentation),
            (self.instances, TruthImage::Instances),
            (self.normals, TruthImage::Normals),
            (self.albedo, TruthImage::Albedo),
            (self.sun_visibility, TruthImage::SunVisibility),
            (self.flow, TruthImage::Flow),
        ];
        let on = switched.into_iter().filter(|(wanted, _)| *wanted).map(|(_, image)| image);
        self.depth.map(TruthImage::Depth).into_iter().chain(on).collect()
    }

    /// Whether surfaces must be asked for more than where and what they are.
    #[must_use]
    pub fn asks_surfaces(&self) -> bool {
        self.normals || self.albedo || self.sun_visibility
    }
}

impl TruthImage {
    /// Its topic below the camera's name.
    #[must_use]
    pub fn topic(self) -> &'static str {
        match self {
            Self::Depth(_) => "depth/image_rect_raw",
            Self::Segmentation => "segmentation/image",
            Self::Instances => "instances/image",
            Self::Normals => "normals/image",
            Self::Albedo => "albedo/image",
            Self::SunVisibility => "sun_visibility/image",
            Self::Flow => "flow/image",
        }
    }

    /// The `encoding` of `sensor_msgs/Image`.
    #[must_use]
    pub fn encoding(self) -> &'static str {
        match self {
            Self::Depth(DepthUnit::Metres) | Self::Albedo | Self::SunVisibility => "32FC1",
            Self::Depth(DepthUnit::Millimetres) | Self::Segmentation => "16UC1",
            Self::Instances => "32SC1",
            Self::Normals => "32FC3",
            Self::Flow => "32FC2",
        }
    }

    /// Bytes of one pixel.
    #[must_use]
    pub fn bytes_per_pixel(self) -> usize {
        match self {
            Self::Depth(DepthUnit::Metres) | Self::Albedo | Self::SunVisibility | Self::Instances => 4,
            Self::Depth(DepthUnit::Millimetres) | Self::Segmentation => 2,
            Self::Normals => 12,
            Self::Flow => 8,
        }
    }
}
