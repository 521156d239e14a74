//! A GPU that is lost in the middle of a run: every image and scan still arrives, those after the loss are the CPU's,
//! and each node logs one warning.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use selene_base::SimTime;
use selene_camera as camera;
use selene_gpu::{GpuTracer, OffSwitch};
use selene_lidar as lidar;
use selene_observe::Device;
use selene_ros::in_process::InProcess;
use selene_ros::transport::{Subscription, subscribe};
use selene_ros::{Qos, sensor_msgs};
use selene_scene::{
    Beam, BeamReturn, CameraFrame, CameraView, CpuTracer, Echoes, Receiver, Scene, TraceError, Tracer, TruthFrame,
    WideBeam,
};
use selene_sensors::{RectifiedSpec, SensorSpec};
use selene_sim::Model;
use selene_simulation::RunStart;
use selene_tests::{context, model, options, skip_peer};

use crate::agree;

/// Long enough for three images of either camera and six scans.
const SIMULATED: SimTime = SimTime::from_nanos(1_250_000_000);
const IMAGES: [&str; 5] = [
    "/navcam_left/image_raw",
    "/navcam_left/depth/image_rect_raw",
    "/navcam_left/normals/image",
    "/navcam_right/image_raw",
    "/navcam_left/image_rect",
];
const POINTS: &str = "/lidar/points";
/// The left camera's second image is still traced, but not its normals: the calls before are left, normals, right,
/// left.
const CALLS_OF_CAMERAS: usize = 4;
/// The GPU is lost in the first slice of the fourth scan; a scan of 200 ms has 20 slices.
const SCANS_BEFORE: usize = 3;
const SLICES: usize = 20;
const CALLS_OF_LIDAR: usize = SCANS_BEFORE * SLICES;
/// Largest difference of 8-bit images, from rounding of values that differ in their last digit.
const ROUNDED: u8 = 1;

/// A GPU that is turned off after a number of calls.
struct FailingGpu {
    gpu: GpuTracer,
    off: OffSwitch,
    calls_left: usize,
}

impl FailingGpu {
    fn open(calls_left: usize) -> Option<Self> {
        match GpuTracer::open(true) {
            Ok(gpu) => gpu.map(|gpu| Self { off: gpu.off_switch(), gpu, calls_left }),
            Err(error) => panic!("{error}"),
        }
    }

    fn count(&mut self) {
        match self.calls_left.checked_sub(1) {
            Some(left) => self.calls_left = left,
            None => self.off.turn_off(),
        }
    }
}

impl Tracer for FailingGpu {
    fn device(&self) -> String {
        self.gpu.device()
    }

    fn camera(&mut self, scene: &Scene, view: &CameraView, frame: &mut CameraFrame) -> Result<(), TraceError> {
        self.count();
        self.gpu.camera(scene, view, frame)
    }

    fn truth(&mut self, scene: &Scene, view: &CameraView, frame: &mut TruthFrame) -> Result<(), TraceError> {
        self.count();
        self.gpu.truth(scene, view, frame)
    }

    fn beams(&mut self, scene: &Scene, beams: &[Beam], out: &mut Vec<BeamReturn>) -> Result<(), TraceError> {
        self.count();
        self.gpu.beams(scene, beams, out)
    }

    fn echoes(
        &mut self,
        scene: &Scene,
        beams: &[WideBeam],
        receiver: &Receiver,
        out: &mut Vec<Echoes>,
    ) -> Result<(), TraceError> {
        self.count();
        self.gpu.echoes(scene, beams, receiver, out)
    }
}

/// Collects the log of a thread.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("lock").write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Log {
    fn keep<T>(&self, of: impl FnOnce() -> T) -> T {
        let log = self.clone();
        let subscriber = tracing_subscriber::fmt().with_writer(move || log.clone()).with_ansi(false).finish();
        tracing::subscriber::with_default(subscriber, of)
    }

    fn lines(&self) -> Vec<String> {
        String::from_utf8_lossy(&self.0.lock().expect("lock")).lines().map(str::to_owned).collect()
    }
}

/// Stamp and data of every message, by topic.
type ReceivedData = BTreeMap<String, Vec<(SimTime, Vec<u8>)>>;

fn listen(bus: &InProcess, received: &Arc<Mutex<ReceivedData>>) -> Vec<Subscription> {
    let keep = |topic: &str| {
        let (received, topic) = (Arc::clone(received), topic.to_owned());
        move |stamp, data| received.lock().expect("lock").entry(topic.clone()).or_default().push((stamp, data))
    };
    let mut subscriptions = Vec::new();
    for topic in IMAGES {
        let keep = keep(topic);
        let received = move |m: sensor_msgs::Image| keep(m.header.stamp.into(), m.data);
        subscriptions.push(subscribe(bus, topic, Qos::sensor_data(), received).expect("images"));
    }
    let keep = keep(POINTS);
    let received = move |m: sensor_msgs::PointCloud2| keep(m.header.stamp.into(), m.data);
    subscriptions.push(subscribe(bus, POINTS, Qos::sensor_data(), received).expect("points"));
    subscriptions
}

/// A device that opens this tracer, once.
fn device_of(tracer: FailingGpu) -> Device {
    let tracer = Mutex::new(Some(tracer));
    Device::new(move || match tracer.lock().expect("lock").take() {
        Some(tracer) => Box::new(tracer),
        None => Box::new(CpuTracer),
    })
}

/// Runs the nodes on devices for the cameras and the lidar; returns the messages received and the log of each node.
fn run(model: &Arc<Model>, [eye, beam]: [Device; 2]) -> (ReceivedData, [Vec<String>; 2]) {
    let (bus, stop) = (InProcess::new(), AtomicBool::new(false));
    let (received, logs) = (Arc::new(Mutex::new(ReceivedData::default())), [Log::default(), Log::default()]);
    let _subscriptions = listen(&bus, &received);
    let options = options(SIMULATED, &[camera::PARTICIPANT, lidar::PARTICIPANT]);
    let context = context(Arc::new(bus), model);
    std::thread::scope(|scope| {
        let [of_camera, of_lidar] = &logs;
        let (context, stop) = (&context, &stop);
        scope.spawn(move || of_camera.keep(|| camera::run(context, eye, stop)).expect("camera"));
        scope.spawn(move || of_lidar.keep(|| lidar::run(context, beam, stop)).expect("lidar"));
        selene_simulation::run(context, RunStart::Start(None), &options, stop).expect("simulation");
    });
    let received = std::mem::take(&mut *received.lock().expect("lock"));
    (received, logs.map(|log| log.lines()))
}

/// The default scenario with normals and a rectified image for its left camera.
fn world_with_normals() -> Arc<Model> {
    let mut scenario = selene_tests::scenario("polar", None);
    let sensors = &mut scenario.rovers[0].sensors;
    let left = sensors.iter_mut().find(|sensor| sensor.spec.header().name == "navcam_left").expect("a camera");
    let SensorSpec::Camera(left) = &mut left.spec else { panic!("no camera") };
    left.truth.normals = true;
    left.rectified = Some(RectifiedSpec::default());
    model(scenario)
}

fn stamps(of: &[(SimTime, Vec<u8>)]) -> Vec<SimTime> {
    of.iter().map(|(stamp, _)| *stamp).collect()
}

#[test]
fn a_lost_device_costs_no_image_and_no_scan_and_is_reported_once() {
    let [Some(eye), Some(beam)] = [CALLS_OF_CAMERAS, CALLS_OF_LIDAR].map(FailingGpu::open) else {
        return skip_peer("no Vulkan device");
    };
    let device = eye.device();
    let model = world_with_normals();
    let (expected, silent) = run(&model, [Device::cpu(), Device::cpu()]);
    assert_eq!(silent, [vec![], vec![]] as [Vec<String>; 2]);
    let (received, [of_camera, of_lidar]) = run(&model, [eye, beam].map(device_of));

    let left = &received[IMAGES[0]];
    assert!(left.len() >= 3 && received[POINTS].len() >= 5, "{} images, {} scans", left.len(), received[POINTS].len());
    assert!(left == &received[IMAGES[4]], "the rectified image of a pinhole is its raw one");
    let lost_at = left[1].0;
    for topic in IMAGES {
        assert_eq!(stamps(&received[topic]), stamps(&expected[topic]), "{topic}");
        for ((stamp, ours), (_, theirs)) in received[topic].iter().zip(&expected[topic]) {
            // The right camera's first image is rendered before the left one's second.
            assert!(*stamp < lost_at || ours == theirs, "{topic} at {stamp} is not the CPU's");
        }
    }
    let ([before, ..], [as_cpu, ..]) = (&left[..], &expected[IMAGES[0]][..]) else { panic!("no image") };
    assert!(agree(&before.1, &as_cpu.1, ROUNDED), "the image before the loss is another one");
    assert_ne!(received[IMAGES[2]][0].1, expected[IMAGES[2]][0].1, "the first normals are the GPU's own");

    assert_eq!(stamps(&received[POINTS]), stamps(&expected[POINTS]));
    let scans = received[POINTS].iter().zip(&expected[POINTS]).skip(SCANS_BEFORE);
    scans.for_each(|((stamp, ours), (_, theirs))| assert!(ours == theirs, "the scan at {stamp} is not the CPU's"));

    let scan_lost_at = received[POINTS][SCANS_BEFORE].0;
    for (log, what) in [
        (of_camera, format!("the image of navcam_left at {lost_at}")),
        (of_lidar, format!("the scan of lidar at {scan_lost_at}")),
    ] {
        println!("{log:?}");
        let [line] = &log[..] else { panic!("one warning is wanted: {log:?}") };
        assert!(line.contains("WARN") && line.contains(&device) && line.contains("lost"), "{line}");
        assert!(line.contains(&format!("from {what} on traced on: CPU")), "{line}");
    }
}
