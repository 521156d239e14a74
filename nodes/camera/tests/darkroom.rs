//! The darkroom on the default site with a rover that drives: what stands beside an image,
//! when an image can be made, and of which instants its rows and its light are.

use std::path::Path;
use std::sync::Arc;

use selene_base::SimTime;
use selene_camera::{Darkroom, Exposure};
use selene_coherence::Interval;
use selene_scene::CpuTracer;
use selene_sensors::{
    CameraSpec, DepthUnit, LensName, LensSpec, Pipeline, RectifiedSpec, RollingShutter, Sample, SensorSpec, TruthSpec,
};
use selene_sim::{LoadOptions, Scenario, World, WorldState};

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
fn a_rectified_image_has_the_raw_ones_header_and_camera_info_says_how_it_is_projected() {
    let barrel = LensSpec {
        model: LensName::PlumbBob,
        coefficients: vec![-0.2, 0.05, 0.001, -0.001, 0.0],
        ..LensSpec::default()
    };
    let (scenario, bent) = scenario_with(|spec| {
        spec.lens = barrel.clone();
        spec.rectified = Some(RectifiedSpec::default());
    });
    let mut run = Run::new(&scenario);
    let instant = SimTime::from_secs_f64(0.1);
    run.until(instant);
    let exposure = expose(&mut run, &scenario, &bent, instant);
    let rectified = exposure.rectified.expect("asked for");
    assert_eq!((rectified.header, rectified.encoding.as_str()), (exposure.image.header, "mono8"));
    assert_eq!([rectified.width, rectified.height], SIZE);
    assert!(rectified.data.len() == exposure.image.data.len() && rectified.data != exposure.image.data);
    let k = exposure.info.k;
    assert_eq!(exposure.info.d, barrel.coefficients);
    assert_eq!(exposure.info.p, [k[0], 0.0, k[2], 0.0, 0.0, k[4], k[5], 0.0, 0.0, 0.0, 1.0, 0.0]);
    let (scenario, bent) = scenario_with(|spec| spec.lens = barrel.clone());
    let mut run = Run::new(&scenario);
    run.until(instant);
    assert!(expose(&mut run, &scenario, &bent, instant).rectified.is_none(), "not asked for");
}

/// The rover is on its way by then, and the detailed ground beneath it.
const STAMP: SimTime = SimTime::from_nanos(3_000_000_000);
const EXPOSURE_S: f64 = 0.2;
const LINE_TIME_S: f64 = 2e-3;

/// Mean relative depths where the pose is the world's own: `f32`.
const EXACT: f64 = 1e-6;
/// And where it is taken as even between the span's ends though the rover pitches a little.
const UNEVEN: f64 = 3e-4;
/// Their mean relative brightness: shadows' edges shift by parts of a pixel.
const UNEVEN_LIGHT: f64 = 0.05;
/// Of 16 instants a pixel instead of all, over an image.
const BLUR_TOLERANCE: f64 = 0.1;

/// A camera whose image takes as long as the rover needs for centimetres.
fn slow(spec: &mut CameraSpec) {
    spec.auto_exposure = false;
    spec.exposure_s = EXPOSURE_S;
    // No pixel is full, so that numbers are as linear as light.
    spec.f_number = 64.0;
    spec.pixel_pitch_m = 1.5e-6;
    spec.samples = 16;
    spec.motion_blur = true;
    spec.rolling_shutter = Some(RollingShutter { line_time_s: LINE_TIME_S });
}

/// When a row is in the middle of its exposure.
fn row_at(row: usize) -> SimTime {
    STAMP + SimTime::from_secs_f64(LINE_TIME_S * row as f64)
}

/// Exposes a camera as frame 0, so that noise and light are drawn alike.
fn expose(run: &mut Run, scenario: &Scenario, spec: &CameraSpec, instant: SimTime) -> Exposure {
    let pipeline = Pipeline::new(spec, scenario.seed).expect("stages");
    let link = scenario.link_index(&spec.link);
    run.darkroom.expose(&pipeline, link, Sample { index: 0, instant }).expect("an image")
}

#[test]
fn an_image_waits_for_its_last_row() {
    let (scenario, rolling) = scenario_with(slow);
    let global = CameraSpec { rolling_shutter: None, ..rolling.clone() };
    let still = CameraSpec { motion_blur: false, ..global.clone() };
    let run = Run::new(&scenario);
    let sample = Sample { index: 0, instant: STAMP };
    assert_eq!(run.darkroom.exposed_at(&still, sample), STAMP);
    let half = SimTime::from_secs_f64(0.5 * EXPOSURE_S);
    assert_eq!(run.darkroom.exposed_at(&global, sample), STAMP + half);
    assert_eq!(run.darkroom.exposed_at(&rolling, sample), row_at(89) + half);
}

fn depths(exposure: &Exposure, row: usize) -> Vec<f32> {
    floats(&exposure.truth[0].data)[row * 160..(row + 1) * 160].to_vec()
}

/// Mean difference of a row's numbers over their mean.
fn dimmer(a: &Exposure, b: &Exposure, row: usize) -> f64 {
    let [a, b] = [a, b].map(|exposure| numbers(exposure)[row * 160..(row + 1) * 160].to_vec());
    a.iter().zip(&b).map(|(a, b)| (a - b).abs()).sum::<f64>() / a.iter().sum::<f64>()
}

/// Mean difference of the finite depths of a row over their mean.
fn apart(a: &Exposure, b: &Exposure, row: usize) -> f64 {
    let [a, b] = [a, b].map(|exposure| depths(exposure, row));
    let both: Vec<_> = a.iter().zip(&b).filter(|(a, b)| a.is_finite() && b.is_finite()).collect();
    assert!(both.len() > 100, "{} pixels of row {row} show ground", both.len());
    let differences = both.iter().map(|(a, b)| f64::from((*a - *b).abs())).sum::<f64>();
    differences / both.iter().map(|(a, _)| f64::from(**a)).sum::<f64>()
}

#[test]
fn each_row_of_a_rolling_shutter_is_that_of_the_sharp_image_of_its_own_instant() {
    let (scenario, slow) = scenario_with(slow);
    let rolling = CameraSpec { motion_blur: false, samples: 1, ..slow };
    let still = CameraSpec { rolling_shutter: None, ..rolling.clone() };
    let mut run = Run::new(&scenario);
    run.until(row_at(89));
    let rolled = expose(&mut run, &scenario, &rolling, STAMP);
    let at_stamp = expose(&mut run, &scenario, &still, STAMP);
    assert_eq!(depths(&rolled, 0), depths(&at_stamp, 0), "the first row is that of the stamp");
    for row in [89, 75, 60, 45] {
        let sharp = expose(&mut run, &scenario, &still, row_at(row));
        let [own, others] = [apart(&rolled, &sharp, row), apart(&rolled, &at_stamp, row)];
        let [own_light, others_light] = [dimmer(&rolled, &sharp, row), dimmer(&rolled, &at_stamp, row)];
        assert!(own < if row == 89 { EXACT } else { UNEVEN }, "row {row} is {own} from the sharp one of its instant");
        assert!(others > 3.0 * UNEVEN, "row {row} is no more than {others} from that of the stamp");
        assert!(own_light < if row == 89 { EXACT } else { UNEVEN_LIGHT }, "row {row} is {own_light} as bright");
        assert!(others_light > 2.0 * UNEVEN_LIGHT, "row {row} is no more than {others_light} as bright");
    }
}

fn numbers(exposure: &Exposure) -> Vec<f64> {
    exposure.image.data.iter().map(|dn| f64::from(*dn)).collect()
}

#[test]
fn a_blurred_image_is_the_mean_of_sharp_ones_and_its_truth_that_of_the_stamp() {
    const INSTANTS: u32 = 8;
    let (scenario, slow) = scenario_with(slow);
    let blurring = CameraSpec { rolling_shutter: None, ..slow };
    let still = CameraSpec { motion_blur: false, ..blurring.clone() };
    let mut run = Run::new(&scenario);
    run.until(STAMP + SimTime::from_secs_f64(0.5 * EXPOSURE_S));
    let blurred = expose(&mut run, &scenario, &blurring, STAMP);
    let at_stamp = expose(&mut run, &scenario, &still, STAMP);
    let mut mean = vec![0.0; blurred.image.data.len()];
    for i in 0..INSTANTS {
        let share = (f64::from(i) + 0.5) / f64::from(INSTANTS);
        let instant = STAMP + SimTime::from_secs_f64((share - 0.5) * EXPOSURE_S);
        let sharp = numbers(&expose(&mut run, &scenario, &still, instant));
        mean.iter_mut().zip(sharp).for_each(|(mean, dn)| *mean += dn / f64::from(INSTANTS));
    }
    // How far from the sharp image to the mean of sharp ones the blurred one lies; chance in its samples
    // is on neither way.
    let [mut along, mut whole] = [0.0; 2];
    for ((blurred, sharp), mean) in numbers(&blurred).into_iter().zip(numbers(&at_stamp)).zip(mean) {
        along += (blurred - sharp) * (mean - sharp);
        whole += (mean - sharp) * (mean - sharp);
    }
    assert!((along / whole - 1.0).abs() < BLUR_TOLERANCE, "blurred by {} of the way", along / whole);
    let begin = expose(&mut run, &scenario, &still, STAMP - SimTime::from_secs_f64(0.5 * EXPOSURE_S));
    for row in [89, 75, 60, 45] {
        let [own, others] = [apart(&blurred, &at_stamp, row), apart(&blurred, &begin, row)];
        assert!(
            own < UNEVEN && others > 2.0 * UNEVEN,
            "row {row} is {own} from the stamp, {others} from the beginning"
        );
    }
}
