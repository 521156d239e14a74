//! The darkroom on the default site with a rover that drives: what stands beside an image,
//! and when an image can be made.

use std::path::Path;
use std::sync::Arc;

use selene_base::SimTime;
use selene_camera::{Darkroom, Exposure};
use selene_coherence::Interval;
use selene_scene::CpuTracer;
use selene_sensors::{CameraSpec, DepthUnit, Pipeline, RollingShutter, Sample, SensorSpec, TruthSpec};
use selene_sim::{LoadOptions, Scenario, World, WorldState};

/// A blurred image takes the camera's way over 40 ms as even, though the rover has just begun
/// to drive: its pitch then is some 1e-5 rad off, which moves ground seen at a grazing angle.
const RELATIVE_DEPTH: f32 = 2e-3;

/// Share of pixels that see ground at a more grazing angle, or pass an edge on the other side.
const EDGE_SHARE: f64 = 0.01;

const SIZE: [u32; 2] = [160, 90];

/// The default scenario with a small first camera, changed by `change`, that has all truth.
fn scenario_with(change: impl Fn(&mut CameraSpec)) -> (Arc<Scenario>, CameraSpec) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/scenario/polar.yaml");
    let mut scenario = Scenario::load(&path, &LoadOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let found = scenario.sensors.iter_mut().find_map(|sensor| match sensor {
        SensorSpec::Camera(spec) => Some(spec),
        _ => None,
    });
    let spec = found.expect("a camera");
    [spec.width, spec.height] = SIZE;
    spec.truth = TruthSpec {
        depth: Some(DepthUnit::Metres),
        segmentation: true,
        instances: true,
        normals: true,
        albedo: true,
        sun_visibility: true,
        flow: true,
        boxes_2d: true,
        boxes_3d: true,
    };
    change(spec);
    let spec = spec.clone();
    (Arc::new(scenario), spec)
}

/// A world and the darkroom that watches it.
struct Run {
    world: World,
    darkroom: Darkroom,
    previous: WorldState,
}

impl Run {
    fn new(scenario: &Arc<Scenario>) -> Self {
        let ground = scenario.generate_ground().expect("ground");
        let mut world = World::new(Arc::clone(scenario), ground.clone()).expect("world");
        let darkroom = Darkroom::new(scenario, &ground, Box::new(CpuTracer)).expect("darkroom");
        let previous = world.first_snapshot();
        Self { world, darkroom, previous }
    }

    fn until(&mut self, time: SimTime) {
        while self.previous.time < time {
            let next = self.world.heartbeat().expect("heartbeat");
            let interval = Interval { previous: self.previous.clone(), edits: next.edits.clone(), next };
            self.darkroom.take(&interval);
            self.previous = interval.next;
        }
    }
}

fn floats(data: &[u8]) -> Vec<f32> {
    data.chunks_exact(4).map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]])).collect()
}

fn assert_like_depth(a: &Exposure, b: &Exposure) {
    let [a, b] = [floats(&a.truth[0].data), floats(&b.truth[0].data)];
    let differs = |(a, b): &(&f32, &f32)| a.is_finite() != b.is_finite() || (*a - *b).abs() > RELATIVE_DEPTH * a.abs();
    let count = a.iter().zip(&b).filter(differs).count();
    assert!(count as f64 <= EDGE_SHARE * a.len() as f64, "{count} of {} pixels", a.len());
}

#[test]
fn all_truth_stands_beside_an_image_with_its_stamp_size_and_frame() {
    let (scenario, spec) = scenario_with(|_| {});
    let link = scenario.link_index(&spec.link);
    let mut run = Run::new(&scenario);
    let pipeline = Pipeline::new(&spec, scenario.seed).expect("stages");
    let mut expose = |index, time| {
        let sample = Sample { index, instant: SimTime::from_secs_f64(time) };
        run.until(sample.instant);
        run.darkroom.expose(&pipeline, link, sample).expect("an image")
    };
    let (first, second) = (expose(0, 0.45), expose(1, 0.5));
    let encodings: Vec<_> = second.truth.iter().map(|image| image.encoding.as_str()).collect();
    assert_eq!(encodings, ["32FC1", "16UC1", "16UC1", "32FC3", "32FC1", "32FC1", "32FC2"]);
    for image in &second.truth {
        assert_eq!(image.header, second.image.header);
        assert_eq!([image.width, image.height], SIZE);
        assert_eq!(image.data.len(), image.step as usize * image.height as usize);
    }
    assert!(floats(&first.truth[6].data).iter().all(|px| px.is_nan()), "nothing was before the first image");
    let flow = floats(&second.truth[6].data);
    let known: Vec<_> = flow.chunks_exact(2).filter(|way| !way[0].is_nan()).collect();
    // It drives at 0.2 m/s at most: 1 cm in 50 ms.
    assert!(known.len() > 3000 && known.iter().all(|way| way[0].hypot(way[1]) < 3.0), "{}", known.len());
    assert!(known.iter().any(|way| way[0].hypot(way[1]) > 0.01), "it drives");
    let [flat, solid] =
        [second.boxes_2d.expect("asked for").detections.len(), second.boxes_3d.expect("asked for").detections.len()];
    assert!(flat > 0 && flat == solid, "{flat} boxes in the image, {solid} in space");
}

#[test]
fn an_image_waits_for_its_last_row_and_truth_is_that_of_the_stamp() {
    let (scenario, rolling) = scenario_with(|spec| {
        spec.auto_exposure = false;
        spec.exposure_s = 0.04;
        spec.samples = 4;
        spec.motion_blur = true;
        spec.rolling_shutter = Some(RollingShutter { line_time_s: 5e-4 });
    });
    let global = CameraSpec { rolling_shutter: None, ..rolling.clone() };
    let still = CameraSpec { motion_blur: false, ..global.clone() };
    let link = scenario.link_index(&rolling.link);
    let mut run = Run::new(&scenario);
    let sample = Sample { index: 0, instant: SimTime::from_secs_f64(0.5) };
    assert_eq!(run.darkroom.exposed_at(&still, sample), sample.instant);
    assert_eq!(run.darkroom.exposed_at(&global, sample), SimTime::from_secs_f64(0.52));
    let last_row = SimTime::from_secs_f64(0.52 + 89.0 * 5e-4);
    assert_eq!(run.darkroom.exposed_at(&rolling, sample), last_row);
    run.until(last_row);
    let mut expose = |spec: &CameraSpec| {
        let pipeline = Pipeline::new(spec, scenario.seed).expect("stages");
        run.darkroom.expose(&pipeline, link, sample).expect("an image")
    };
    let [sharp, blurred, rolled] = [expose(&still), expose(&global), expose(&rolling)];
    assert!(blurred.image.data != sharp.image.data);
    assert_like_depth(&sharp, &blurred);
    let row = |exposure: &Exposure, row: usize| floats(&exposure.truth[0].data)[row * 160..(row + 1) * 160].to_vec();
    let apart = |at: usize| {
        let pairs: Vec<_> = row(&sharp, at).into_iter().zip(row(&rolled, at)).collect();
        pairs.iter().map(|(a, b)| (a - b).abs()).filter(|d| d.is_finite()).sum::<f32>() / pairs.len() as f32
    };
    // The last row is 45 ms later, and up to a centimetre on.
    assert!(apart(89) > 1e-4, "{}", apart(89));
}
