//! Ground truth published beside a camera's images, each part switched on in its YAML: all from the rays through the
//! pixels' centres at the middle of their row's exposure.

use garde::Validate;
use schemars::JsonSchema;
use serde::Deserialize;

/// Ground truth published beside an image. Each part is off when left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields, default)]
pub struct TruthSpec {
    /// Depth: distance along the optical axis, or along the ray for lenses that see behind them (fisheyes, panoramas).
    #[garde(skip)]
    pub depth: Option<DepthUnit>,
    /// Semantic class of each pixel.
    #[garde(skip)]
    pub segmentation: bool,
    /// Instance number of each pixel.
    #[garde(skip)]
    pub instances: bool,
    /// Surface normals in the optical frame.
    #[garde(skip)]
    pub normals: bool,
    /// Diffuse reflectance.
    #[garde(skip)]
    pub albedo: bool,
    /// Fraction of the Sun's disc that is visible from the surface point, 0 to 1.
    #[garde(skip)]
    pub sun_visibility: bool,
    /// Optical flow: displacement from each pixel to its point's position in the previous image, pixels.
    #[garde(skip)]
    pub flow: bool,
    /// Bounding boxes of visible instances in the image.
    #[garde(skip)]
    pub boxes_2d: bool,
    /// Three-dimensional boxes of visible instances in the optical frame.
    #[garde(skip)]
    pub boxes_3d: bool,
}

/// Unit and encoding of depth images.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DepthUnit {
    /// Metres, 32FC1; infinite where nothing is seen.
    Metres,
    /// Millimetres, 16UC1; 0 where nothing is seen within 65.535 m.
    Millimetres,
}

/// The kinds of truth images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TruthImage {
    /// Depth, 32FC1 or 16UC1.
    Depth(DepthUnit),
    /// Semantic classes, 16UC1.
    Segmentation,
    /// Instance numbers, 32SC1 with the bits of an unsigned number.
    Instances,
    /// Surface normals, 32FC3.
    Normals,
    /// Diffuse reflectance, 32FC1.
    Albedo,
    /// Visible fraction of the Sun's disc, 32FC1.
    SunVisibility,
    /// Optical flow, 32FC2.
    Flow,
}

impl TruthSpec {
    /// The truth images that are switched on.
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

    /// Whether the tracer must return surface properties beyond position and class.
    #[must_use]
    pub fn needs_surfaces(&self) -> bool {
        self.normals || self.albedo || self.sun_visibility
    }
}

impl TruthImage {
    /// Its topic, relative to the camera's name.
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
