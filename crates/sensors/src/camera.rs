//! A camera's YAML spec: a lens (see `lens`), the stages from light to pixel values (`develop`), and the truth images
//! published with it. Pixel (u, v) has its centre at (u, v), so the principal point is at ((w − 1)/2, (h − 1)/2) unless
//! the lens says otherwise.

use garde::Validate;
use schemars::JsonSchema;
use selene_base::Pose;
use selene_base::input::within;
use selene_base::random::{RngExt, stream_at};
use selene_scene::{BOUNCES_MAX, CameraView, LightSampling, PIXEL_SAMPLES_MAX, SAMPLES_MAX};
use serde::Deserialize;

use crate::SensorQos;
use crate::augment::{AugmentSpec, DataType, RegionSpec};
use crate::develop::{CompressedFormat, CompressedSpec, Curve, MeteringSpec, StageSpec, Stages};
use crate::lens::{LensSpec, covers_the_image, field_of};
use crate::mount::MountSpec;
use crate::rectification::{RectifiedSpec, shows_less_than_half_of_all};
use crate::schedule::Schedule;
use crate::shutter::{RollingShutter, exposed_by_then};
use crate::spec::{count_within, lag, pixels, rate, ros_name, schedule};
use crate::truth::TruthSpec;

/// A camera of a rover.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct CameraSpec {
    /// Prefix of its topics and name of its random streams.
    #[garde(custom(ros_name))]
    pub name: String,
    /// The optical frame: z forward, x right, y down; with `mount`, the link that carries it.
    #[garde(custom(ros_name))]
    pub link: String,
    /// Where it sits on that link, for a camera without a link of its own.
    #[serde(default)]
    #[garde(dive)]
    pub mount: Option<Box<MountSpec>>,
    /// Columns of the image.
    #[garde(custom(pixels))]
    pub width: u32,
    /// Rows of the image.
    #[garde(custom(pixels))]
    pub height: u32,
    /// Angle from the left to the right edge of the image through its middle, degrees; left out where the lens has
    /// `fx_px` and `fy_px`.
    #[serde(default)]
    #[garde(custom(field_of(&self.lens)))]
    pub horizontal_fov_deg: Option<f64>,
    /// The lens; a pinhole when left out.
    #[serde(default)]
    #[garde(dive, custom(covers_the_image(self)))]
    pub lens: LensSpec,
    /// Frame rate, Hz.
    #[garde(custom(rate))]
    pub rate_hz: f64,
    /// Delay from the stamp to publication, s.
    #[garde(custom(lag), custom(exposed_by_then(self)))]
    pub lag_s: f64,
    /// Quality of service of its topics.
    #[garde(skip)]
    pub qos: SensorQos,
    /// The device that traces its images: `cpu`, `gpu` (the best), `gpu:1` (by number) or a part of an adapter's
    /// name; left out, the device of the program's options.
    #[serde(default)]
    #[garde(inner(length(min = 1)))]
    pub device: Option<String>,
    /// Whether each frame's exposure time is metered, with `exposure_s` as the longest.
    #[garde(skip)]
    pub auto_exposure: bool,
    /// How `auto_exposure` meters; may be left out.
    #[serde(default)]
    #[garde(dive, custom(reached_by(self)))]
    pub metering: MeteringSpec,
    /// Exposure time, s; with `auto_exposure` the longest.
    #[garde(custom(within(EXPOSURE_MIN_S, EXPOSURE_MAX_S)))]
    pub exposure_s: f64,
    /// F-number: focal length divided by aperture.
    #[garde(custom(within(0.5, 64.0)))]
    pub f_number: f64,
    /// Pixel pitch: edge of a pixel, m.
    #[garde(custom(within(1e-7, 1e-3)))]
    pub pixel_pitch_m: f64,
    /// Stages from irradiance to pixel values, in order.
    #[garde(dive, custom(fit_the_lens(self)), custom(fit_the_image(self)))]
    pub stages: Stages,
    /// The format of `image_raw/compressed`; left out, there is no such topic.
    #[serde(default)]
    #[garde(dive, custom(fits(&self.stages)))]
    pub compressed: Option<CompressedSpec>,
    /// Publishes rectified images beside the raw ones, alone or as one of a stereo pair; none when left out.
    #[serde(default)]
    #[garde(dive, custom(shows_less_than_half_of_all(self)))]
    pub rectified: Option<RectifiedSpec>,
    /// Rays per pixel for light, spread over the pixel and its exposure; a single ray goes through the pixel's
    /// centre. May be left out.
    #[serde(default = "one_sample")]
    #[garde(custom(pixel_samples_allowed))]
    pub samples: u32,
    /// Whether motion within the exposure blurs the image; needs several `samples`. May be left out.
    #[serde(default)]
    #[garde(skip)]
    pub motion_blur: bool,
    /// Readout row by row; left out, all rows are exposed at once.
    #[serde(default)]
    #[garde(dive)]
    pub rolling_shutter: Option<RollingShutter>,
    /// Truth published beside the images; none when left out.
    #[serde(default)]
    #[garde(dive)]
    pub truth: TruthSpec,
    /// For the right camera of a stereo pair: distance from the left one, m; otherwise 0.
    #[garde(custom(within(0.0, 10.0)))]
    pub stereo_baseline_m: f64,
    /// Numbers of rays that sample its light; may be left out.
    #[serde(default)]
    #[garde(dive)]
    pub light: LightSpec,
}

/// The shortest exposure allowed, s.
pub(crate) const EXPOSURE_MIN_S: f64 = 1e-6;
/// The longest exposure allowed, s.
pub(crate) const EXPOSURE_MAX_S: f64 = 10.0;
/// Approximate number of pixels of a view that serves only for metering.
const METERING_PIXELS: f64 = 8192.0;

/// The most rays per four pixels for scattered light.
const BOUNCE_RAYS_MAX: usize = 256;

/// Sampling of a camera's light, as in `selene_scene::LightSampling`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields, default)]
pub struct LightSpec {
    /// Rays to the Sun's disc in its penumbra, 1 to 32; 1 treats the Sun as a point.
    #[garde(custom(samples_allowed))]
    pub sun_samples: u32,
    /// Rays from every four pixels for light scattered by lit ground, 0 to 256; 0 leaves scattered light out.
    #[garde(custom(rays_allowed))]
    pub bounce_rays: u32,
    /// Number of successive surfaces that scatter light, 1 to 8.
    #[garde(custom(bounces_allowed(self.bounce_rays)))]
    pub bounces: u32,
    /// Rays to the Earth's disc in its penumbra, 1 to 32; 1 treats the Earth as a point and does not scatter its light.
    #[garde(custom(samples_allowed))]
    pub earth_samples: u32,
}

impl Default for LightSpec {
    fn default() -> Self {
        let LightSampling { sun_samples, bounce_rays, bounces, earth_samples, .. } = LightSampling::default();
        Self { sun_samples, bounce_rays, bounces, earth_samples }
    }
}

fn one_sample() -> u32 {
    1
}

fn pixel_samples_allowed(count: &u32, (): &()) -> garde::Result {
    count_within(1, PIXEL_SAMPLES_MAX as usize, *count as usize)
}

fn samples_allowed(count: &u32, (): &()) -> garde::Result {
    count_within(1, SAMPLES_MAX as usize, *count as usize)
}

fn rays_allowed(count: &u32, (): &()) -> garde::Result {
    count_within(0, BOUNCE_RAYS_MAX, *count as usize)
}

/// Refuses too many bounces, and several bounces without bounce rays.
fn bounces_allowed(bounce_rays: u32) -> impl FnOnce(&u32, &()) -> garde::Result {
    move |bounces, ()| {
        count_within(1, BOUNCES_MAX as usize, *bounces as usize)?;
        if *bounces == 1 || bounce_rays > 0 {
            return Ok(());
        }
        Err(garde::Error::new(format!("value {bounces} is not allowed with bounce_rays 0: must be 1, or give rays")))
    }
}

/// Refuses a metering target that the response reaches at no exposure.
fn reached_by(camera: &CameraSpec) -> impl FnOnce(&MeteringSpec, &()) -> garde::Result + '_ {
    |metering, ()| {
        let target = metering.target;
        if !camera.auto_exposure || camera.gives(target) {
            return Ok(());
        }
        Err(garde::Error::new(format!("target {target} is not allowed: must be a signal that the response gives")))
    }
}

/// Refuses a focus distance that no lens of this focal length can have.
fn fit_the_lens(camera: &CameraSpec) -> impl FnOnce(&Stages, &()) -> garde::Result + '_ {
    |stages, ()| {
        let focus = stages.0.iter().find_map(|stage| match stage {
            StageSpec::Defocus(defocus) => camera.focuses(defocus.focus_m).err(),
            _ => None,
        });
        focus.map_or(Ok(()), |why| Err(garde::Error::new(why)))
    }
}

/// Refuses stages that do not fit the developed image, or the topics published beside it.
fn fit_the_image(camera: &CameraSpec) -> impl FnOnce(&Stages, &()) -> garde::Result + '_ {
    |stages, ()| {
        // The validation of the stages reports a wrong order.
        let Ok(encoding) = stages.encoding() else { return Ok(()) };
        let row = stages.augments();
        let first = stages.0.len() - row.0.len();
        row.check(DataType::Image(encoding.name()), camera.rate_hz, first).map_err(garde::Error::new)?;
        let beside = [("compressed", camera.compressed.is_some()), ("rectified", camera.rectified.is_some())];
        let changing = row.0.iter().find(|stage| stage.changes_content());
        if let (Some(stage), Some((beside, _))) = (changing, beside.iter().find(|(_, is_there)| *is_there)) {
            let what = format!("{} is not allowed beside {beside}, which is made of the image before it", stage.key());
            return Err(garde::Error::new(what));
        }
        crops_fit(&row.0, [camera.width, camera.height], encoding.is_mosaic())
    }
}

/// Refuses rectangles that exceed what earlier crops left of the image, or that change a mosaic's pattern.
fn crops_fit(row: &[AugmentSpec], mut size: [u32; 2], is_mosaic: bool) -> garde::Result {
    let regions =
        row.iter().filter_map(|stage| if let AugmentSpec::Crop(crop) = stage { crop.region_px } else { None });
    for region in regions {
        let [width, height] = size;
        let (right, bottom) =
            (region.x_offset.saturating_add(region.width), region.y_offset.saturating_add(region.height));
        if right > width || bottom > height {
            let RegionSpec { x_offset, y_offset, width: columns, height: rows } = region;
            let value = format!("{{x_offset: {x_offset}, y_offset: {y_offset}, width: {columns}, height: {rows}}}");
            let what =
                format!("crop: region_px: value {value} is not allowed: must be within {width} x {height} pixels");
            return Err(garde::Error::new(what));
        }
        if is_mosaic && !(region.x_offset.is_multiple_of(2) && region.y_offset.is_multiple_of(2)) {
            return Err(garde::Error::new(
                "crop: region_px: offsets must be even of a mosaic, or its pattern is another",
            ));
        }
        size = [region.width, region.height];
    }
    Ok(())
}

/// Refuses a compressed format that cannot hold the images.
fn fits(stages: &Stages) -> impl FnOnce(&Option<CompressedSpec>, &()) -> garde::Result + '_ {
    |compressed, ()| {
        let jpeg = compressed.is_some_and(|spec| spec.format == CompressedFormat::Jpeg);
        match stages.quantise() {
            Some(quantise) if jpeg && quantise.bits > 8 => Err(garde::Error::new(format!(
                "format jpeg is not allowed with {} bits: must be png, or 8 bits",
                quantise.bits
            ))),
            _ => Ok(()),
        }
    }
}

/// Focal lengths and principal point of a camera, pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Intrinsics {
    /// Focal length along a row (x), in pixel widths.
    pub fx_px: f64,
    /// Focal length along a column (y), in pixel heights.
    pub fy_px: f64,
    /// Column of the principal point; 0 is the centre of the first column.
    pub cx_px: f64,
    /// Row of the principal point; 0 is the centre of the first row.
    pub cy_px: f64,
}

impl Intrinsics {
    /// The matrix K of `sensor_msgs/CameraInfo`, row by row.
    #[must_use]
    pub fn k(&self) -> [f64; 9] {
        [self.fx_px, 0.0, self.cx_px, 0.0, self.fy_px, self.cy_px, 0.0, 0.0, 1.0]
    }

    /// The matrix P of `sensor_msgs/CameraInfo`, row by row; P\[3\] = −fx B for the
    /// right camera of a pair `baseline_m` apart.
    #[must_use]
    pub fn p(&self, baseline_m: f64) -> [f64; 12] {
        let [fx, _, cx, _, fy, cy, ..] = self.k();
        // 0 − x, so that a left camera has 0 and not −0.
        [fx, 0.0, cx, 0.0 - fx * baseline_m, 0.0, fy, cy, 0.0, 0.0, 0.0, 1.0, 0.0]
    }
}

impl CameraSpec {
    /// Sampling schedule, from the start of the scenario.
    #[must_use]
    pub fn schedule(&self) -> Schedule {
        schedule(self.rate_hz, self.lag_s + self.stages.augments().lag_s())
    }

    /// Focal lengths and principal point, as they are in the middle of the lens.
    #[must_use]
    pub fn intrinsics(&self) -> Intrinsics {
        self.lens.intrinsics([self.width, self.height], self.horizontal_fov_deg)
    }

    /// The view to trace from this pose of the optical frame; its light has seed 0.
    #[must_use]
    pub fn view(&self, world_from_optical: Pose) -> CameraView {
        let Intrinsics { fx_px, fy_px, cx_px, cy_px } = self.intrinsics();
        let LightSpec { sun_samples, bounce_rays, bounces, earth_samples } = self.light;
        let light = LightSampling { sun_samples, bounce_rays, bounces, earth_samples, seed: 0 };
        let (width, height) = (self.width, self.height);
        let lens = self.lens.lens(self.horizontal_fov_deg);
        CameraView {
            world_from_optical,
            width,
            height,
            fx_px,
            fy_px,
            cx_px,
            cy_px,
            lens,
            sweep: None,
            samples: self.samples,
            light,
        }
    }

    /// As `view`, with the light's random seed of frame `index` of a scenario with this seed.
    #[must_use]
    pub fn frame_view(&self, world_from_optical: Pose, seed: u64, index: u64) -> CameraView {
        let mut view = self.view(world_from_optical);
        view.light.seed = stream_at(seed, &format!("{}/light", self.name), index).random();
        view
    }

    /// A coarse copy of a view, a few thousand pixels of one ray each at the stamp's instant: enough to meter the
    /// exposure time before the image is traced.
    #[must_use]
    pub fn metering_view(&self, view: &CameraView) -> CameraView {
        let pixels = f64::from(view.width) * f64::from(view.height);
        let coarser = (pixels / METERING_PIXELS).sqrt().ceil().max(1.0);
        // The coarse pixel's centre is the middle of its block of pixels.
        let middle = |px: f64| (px - 0.5 * (coarser - 1.0)) / coarser;
        let count = |pixels: u32| (f64::from(pixels) / coarser).floor().max(1.0) as u32;
        CameraView {
            width: count(view.width),
            height: count(view.height),
            fx_px: view.fx_px / coarser,
            fy_px: view.fy_px / coarser,
            cx_px: middle(view.cx_px),
            cy_px: middle(view.cy_px),
            samples: 1,
            sweep: None,
            ..*view
        }
    }

    /// Whether the exposure time must be metered before the image is traced, because motion blur depends on it.
    #[must_use]
    pub fn meters_before_tracing(&self) -> bool {
        self.auto_exposure && self.motion_blur
    }

    /// Whether it can meter its exposure.
    #[must_use]
    pub fn can_meter(&self) -> bool {
        let has_scale = self.stages.response().is_some() || self.stages.quantise().is_some();
        self.stages.aggregator().is_some() && has_scale && self.gives(self.metering.target)
    }

    /// Whether some exposure makes its response give `signal`; true without a response.
    fn gives(&self, signal: f64) -> bool {
        const ROUNDING: f64 = 1e-9;
        let gives = |curve: Curve| {
            let electrons = curve.electrons(signal);
            electrons > 0.0 && (curve.signal(electrons) - signal).abs() < ROUNDING
        };
        self.stages.response().is_none_or(|response| gives(response.curve))
    }

    /// Columns and rows of the image.
    pub(crate) fn size(&self) -> [usize; 2] {
        [self.width as usize, self.height as usize]
    }

    /// Focal length, m: focal length in pixels times the pixel pitch.
    #[must_use]
    pub fn focal_length_m(&self) -> f64 {
        self.intrinsics().fx_px * self.pixel_pitch_m
    }

    /// Refuses a focus distance within the focal length.
    pub(crate) fn focuses(&self, focus_m: f64) -> Result<(), String> {
        let focal_m = self.focal_length_m();
        if focus_m > focal_m {
            return Ok(());
        }
        Err(format!(
            "defocus: focus_m: value {focus_m} is not allowed: must be more than the focal length, {focal_m:.6} m"
        ))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::CameraSpec;
    use crate::SensorSpec;
    use nalgebra::{Point3, Vector3};
    use selene_base::Pose;
    use std::path::Path;

    /// A camera of config/sensor.
    pub(crate) fn camera(file: &str) -> CameraSpec {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/sensor").join(file);
        match SensorSpec::load(&path).expect("good") {
            SensorSpec::Camera(spec) => spec,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_point_on_the_edge_of_the_field_of_view_falls_on_the_edge_of_the_image() {
        let spec = camera("navcam_left.yaml");
        let i = spec.intrinsics();
        let edge = (spec.horizontal_fov_deg.expect("given").to_radians() / 2.0).tan();
        let right_u = i.fx_px * edge + i.cx_px;
        assert!((right_u - (f64::from(spec.width) - 0.5)).abs() < 1e-9);
        assert!((i.cx_px - i.fx_px * edge + 0.5).abs() < 1e-9);
    }

    #[test]
    fn a_known_point_projects_to_its_pixel_through_k_and_the_pose() {
        let mut spec = camera("navcam_left.yaml");
        (spec.width, spec.height, spec.horizontal_fov_deg) = (640, 480, Some(90.0));
        // fx = 320; two metres ahead, half a metre right, a quarter down of a camera at (1, 2, 3).
        let view = spec.view(Pose::translation(1.0, 2.0, 3.0));
        let p = view.world_from_optical.inverse() * Point3::new(1.5, 2.25, 5.0);
        let [u, v] = [view.fx_px * p.x / p.z + view.cx_px, view.fy_px * p.y / p.z + view.cy_px];
        assert!((u - (319.5 + 80.0)).abs() < 1e-9 && (v - (239.5 + 40.0)).abs() < 1e-9, "{u} {v}");
    }

    #[test]
    fn the_right_camera_of_a_pair_says_its_baseline_in_p3() {
        let (left, right) = (camera("navcam_left.yaml"), camera("navcam_right.yaml"));
        let (pl, pr) = (left.intrinsics().p(left.stereo_baseline_m), right.intrinsics().p(right.stereo_baseline_m));
        assert_eq!(pl[3].to_bits(), 0.0f64.to_bits());
        // A point 4 m ahead of the left camera, seen from the right one, by geometry and by P.
        let point = Vector3::new(0.3, 0.1, 4.0);
        let by_geometry = pr[0] * (point.x - right.stereo_baseline_m) / point.z + pr[2];
        let by_p = (pr[0] * point.x + pr[2] * point.z + pr[3]) / point.z;
        assert!(right.stereo_baseline_m > 0.0 && (by_geometry - by_p).abs() < 1e-9);
    }
}
