use super::scanner::Spin;
use super::{
    BeamProfile, DivergenceSpec, IntensityScale, Lidar, LidarPoint, LidarSpec, ReturnKind, ReturnMode, UniformChannels,
};
use crate::SensorSpec;
use nalgebra::{Point3, UnitQuaternion, Vector3};
use selene_base::{Pose, SimTime};
use selene_scene::kernel::echo::{ray_echo, sort};
use selene_scene::record::{EchoRecord, ReceiverRecord};
use selene_scene::{BeamReturn, Echo, Echoes, Label, kernel};
use std::f64::consts::PI;
use std::path::Path;

/// Beams are stored as f32.
const F32: f64 = 1e-6;
/// Columns of a VLP-16 at 5 Hz: one firing cycle every 55.296 µs.
const COLUMNS: usize = 3617;

fn preset(file: &str) -> LidarSpec {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/sensor").join(file);
    match SensorSpec::load(&path).expect("good") {
        SensorSpec::Lidar(spec) => spec,
        other => panic!("{other:?}"),
    }
}

fn spec() -> LidarSpec {
    preset("lidar.yaml")
}

/// The same lidar without noise, and strong enough to detect any surface.
fn exact(spec: LidarSpec) -> LidarSpec {
    let spec = LidarSpec { range_sigma_m: 0.0, azimuth_sigma_deg: 0.0, elevation_sigma_deg: 0.0, ..spec };
    LidarSpec { range_at_10_percent_m: 1e6, min_range_m: 0.0, ..spec }
}

fn met(range_m: f32, reflectance: f32, cos_incidence: f32) -> BeamReturn {
    let near_infrared = [reflectance; 2];
    BeamReturn { range_m, cos_incidence, reflectance, near_infrared, radar: None, class: 1, instance: 0 }
}

fn white_at(range_m: f32) -> BeamReturn {
    met(range_m, 1.0, 1.0)
}

fn vector(p: [f32; 3]) -> Vector3<f64> {
    Vector3::from(p.map(f64::from))
}

/// What the lidar reports of beams whose rays met these surfaces, beam by beam.
fn echoes(lidar: &Lidar, met: &[BeamReturn]) -> Vec<Echoes> {
    let receiver = ReceiverRecord::ignoring(lidar.receiver(), 0..0, 0).expect("good");
    let ray = |(met, [_, _, weight, _]): (&BeamReturn, &[f32; 4])| {
        let reflected = met.reflectance_at(lidar.spec().wavelength_nm) as f32 * met.cos_incidence;
        let is_met = met.range_m.is_finite();
        if is_met { ray_echo(&receiver, *weight, met.range_m, reflected, 1) } else { EchoRecord::NONE }
    };
    let beam = |met: &[BeamReturn]| {
        let mut rays: Vec<_> = met.iter().zip(&receiver.rays).map(ray).collect();
        sort(&mut rays);
        kernel::echo::reported(&receiver, &rays).map(|report| Echo::of(&report, Label::GROUND))
    };
    met.chunks_exact(lidar.receiver().rays.len()).map(beam).collect()
}

/// All points of a scan.
fn points(lidar: &Lidar, met: &[BeamReturn], seed: u64, index: u64) -> Vec<LidarPoint> {
    let scan = lidar.scan(SimTime::ZERO);
    scan.points(&scan.whole(), &echoes(lidar, met), seed, index)
}

/// A lidar whose beams have this many rays; its scan has at least one firing.
fn with_rays(samples: u32, profile: BeamProfile, mode: ReturnMode) -> Lidar {
    let divergence = DivergenceSpec { horizontal_mrad: 3.0, vertical_mrad: 3.0, samples, profile };
    Lidar::new(LidarSpec { divergence, returns: mode, ..exact(spec()) })
}

/// The reported returns of one beam whose rays met these surfaces.
fn reported(lidar: &Lidar, met: &[BeamReturn]) -> Vec<(ReturnKind, f32)> {
    assert_eq!(met.len(), lidar.receiver().rays.len());
    points(lidar, met, 1, 0).iter().map(|point| (point.kind, point.range_m)).collect()
}

#[test]
fn every_beam_leaves_along_its_closed_form_direction() {
    let spec = spec();
    let beams = Lidar::new(spec.clone()).beams(SimTime::ZERO, |_| Some(Pose::identity())).expect("known");
    assert_eq!(beams.len(), 16 * COLUMNS);
    for (i, beam) in beams.iter().enumerate() {
        let (column, channel) = (i / 16, (i % 16) as f64);
        let after_s = column as f64 * 55.296e-6 + channel * 2.304e-6;
        // Instants are whole nanoseconds, angles are not rounded.
        let azimuth = PI - 2.0 * PI * after_s * spec.rate_hz;
        // The VLP-16's firing order in closed form: even channels −15 + channel, odd ones their number.
        let elevation = (if channel % 2.0 == 0.0 { channel - 15.0 } else { channel }).to_radians();
        let expected = Vector3::new(elevation.cos() * azimuth.cos(), elevation.cos() * azimuth.sin(), elevation.sin());
        assert!((vector(beam.axis) - expected).norm() < F32, "beam {i}");
        let sideways = Vector3::new(-azimuth.sin(), azimuth.cos(), 0.0);
        assert!((vector(beam.along_azimuth) - sideways).norm() < F32, "beam {i}");
    }
}

#[test]
fn firing_tables_are_the_makers() {
    // Rate, whole columns of the first turn, channels, time between firings in a column and between columns, ns;
    // lowest and highest elevation, degrees.
    for (file, rate_hz, columns, channels, firing_ns, column_ns, elevations_deg) in [
        ("lidar/vlp16.yaml", 10.0, 1808, 16, 2304, 55_296, [-15.0, 15.0]),
        ("lidar.yaml", 5.0, 3617, 16, 2304, 55_296, [-15.0, 15.0]),
        ("lidar/hdl32e.yaml", 10.0, 2170, 32, 1152, 46_080, [-30.67, 10.67]),
        ("lidar/os1_32.yaml", 10.0, 1024, 32, 0, 97_656, [-22.5, 22.5]),
        ("lidar/os1_64.yaml", 10.0, 1024, 64, 0, 97_656, [-16.6, 16.6]),
        ("lidar/os1_128.yaml", 10.0, 2048, 128, 0, 48_828, [-22.5, 22.5]),
        ("lidar/os2_128.yaml", 10.0, 2048, 128, 0, 48_828, [-11.25, 11.25]),
    ] {
        let lidar = Lidar::new(preset(file));
        assert_eq!(lidar.spec().rate_hz, rate_hz, "{file}");
        let scan = lidar.scan(SimTime::ZERO);
        // At most some firings of the column in which the seam falls.
        let (firings, begun) = scan.firings().split_at(channels * columns);
        assert!(begun.len() < channels && begun.iter().all(|firing| firing.column as usize == columns), "{file}");
        let by_clock = lidar.spec().scanner.spinning.as_ref().is_some_and(|spinning| spinning.cycle_s.is_some());
        let [rows, most] = lidar.grid().expect("it spins");
        assert!(rows == channels && (columns..=columns + 2 * usize::from(by_clock)).contains(&most), "{file}: {most}");
        let after_ns = |firing: usize| firings[firing].after_start.nanos();
        assert_eq!((after_ns(1), after_ns(channels)), (firing_ns, column_ns), "{file}");
        let last = (columns - 1) as f64 * column_ns as f64 + (channels - 1) as f64 * firing_ns as f64;
        // Columns fired by an encoder are not a whole number of nanoseconds apart.
        assert!((after_ns(firings.len() - 1) as f64 - last).abs() < columns as f64, "{file}");
        assert!(lidar.scan_duration() <= SimTime::period(rate_hz), "{file}");
        assert!(firings.is_sorted_by_key(|firing| firing.after_start), "{file}");
        let of_ring = |ring: usize| firings.iter().find(|firing| usize::from(firing.ring) == ring).expect("a ring");
        for (ring, elevation_deg) in [0, channels - 1].into_iter().zip(elevations_deg) {
            assert!((of_ring(ring).elevation_rad.to_degrees() - elevation_deg).abs() < 1e-9, "{file} ring {ring}");
        }
    }
}

#[test]
fn an_hdl_32e_fires_from_its_lower_and_its_upper_half_in_turns() {
    let lidar = Lidar::new(preset("lidar/hdl32e.yaml"));
    let scan = lidar.scan(SimTime::ZERO);
    for (channel, firing) in scan.firings()[..32].iter().enumerate() {
        let expected_deg = -92.0 / 3.0 + 4.0 / 3.0 * (channel / 2 + 16 * (channel % 2)) as f64;
        assert!((firing.elevation_rad.to_degrees() - expected_deg).abs() < 0.0051, "channel {channel}");
        assert_eq!(usize::from(firing.ring), channel / 2 + 16 * (channel % 2));
    }
}

#[test]
fn rows_of_an_ouster_fire_at_once_and_look_beside_one_another() {
    let lidar = Lidar::new(preset("lidar/os1_64.yaml"));
    let scan = lidar.scan(SimTime::ZERO);
    let column = &scan.firings()[64..128];
    assert!(column.iter().all(|firing| firing.after_start == column[0].after_start && firing.column == 1));
    let beside_deg = |row: usize| (column[row].azimuth_rad - column[0].azimuth_rad).to_degrees();
    let expected = [0.0, -2.109, -4.219, -6.328, 0.0];
    for (row, expected_deg) in expected.into_iter().enumerate() {
        assert!((beside_deg(row) - expected_deg).abs() < 1e-9, "row {row}: {}", beside_deg(row));
    }
}

#[test]
fn rasters_go_row_by_row_and_flashes_fire_at_once() {
    let raster = Lidar::new(preset("lidar/raster.yaml"));
    let scan = raster.scan(SimTime::ZERO);
    let firings = scan.firings();
    assert_eq!(firings.len(), 400 * 100);
    let near = |rad: f64, degrees: f64| (rad.to_degrees() - degrees).abs() < 1e-9;
    // Points are in the middles of cells of 60/400 by 20/100 degrees.
    assert!(near(firings[0].azimuth_rad, 29.925) && near(firings[0].elevation_rad, 9.9) && firings[0].ring == 99);
    assert!(near(firings[401].azimuth_rad, 29.775) && near(firings[401].elevation_rad, 9.7) && firings[401].ring == 98);
    assert_eq!(firings[401].after_start, SimTime::from_secs_f64(401.0 * 0.09 / 40_000.0));
    let flash = Lidar::new(preset("lidar/flash.yaml"));
    assert_eq!((flash.scan_duration(), flash.grid()), (SimTime::ZERO, Some([128, 128])));
    assert_eq!(flash.scan(SimTime::ZERO).slices().len(), 1);
}

#[test]
fn a_rosette_fills_its_field_of_view_and_goes_on_from_scan_to_scan() {
    let lidar = Lidar::new(preset("lidar/livox_like.yaml"));
    let (first, second) = (lidar.scan(SimTime::ZERO), lidar.scan(SimTime::from_secs_f64(0.1)));
    assert_eq!(first.firings().len(), 10_000);
    let off_axis_deg =
        |firing: &super::Firing| (firing.azimuth_rad.cos() * firing.elevation_rad.cos()).acos().to_degrees();
    assert!(first.firings().iter().all(|firing| off_axis_deg(firing) < 19.2 + 1e-6));
    let beyond = first.firings().iter().filter(|firing| off_axis_deg(firing) > 19.0).count();
    assert!(beyond > 100, "{beyond} near the edge");
    // The two prisms have the same angle at the beginning, but not a tenth of a second later.
    assert!((off_axis_deg(&first.firings()[0]) - 19.2).abs() < 1e-6);
    let [a, b] = [121.57, -77.73].map(|hz: f64| 2.0 * PI * (hz * 0.1));
    let expected_deg = 0.5 * 19.2 * (a.cos() + b.cos()).hypot(a.sin() + b.sin());
    assert!((off_axis_deg(&second.firings()[0]) - expected_deg).abs() < 1e-6);
}

/// Each cycle of 55.296 µs is fired once, whichever scan its firings fall into, at the head's angle at that instant.
#[test]
fn a_device_that_fires_by_its_clock_goes_on_over_the_seam() {
    for rate_hz in [10.0, 7.0] {
        let lidar = Lidar::new(LidarSpec { rate_hz, ..preset("lidar/vlp16.yaml") });
        let [_, most] = lidar.grid().expect("it spins");
        let mut number = 0_u64;
        let mut in_parts = 0;
        for sample in lidar.schedule().measured_in(SimTime::from_nanos(-1), SimTime::from_secs_f64(2.0)) {
            let scan = lidar.scan(sample.instant);
            for firing in scan.firings() {
                let (cycle, channel) = (number / 16, number % 16);
                let at_s = cycle as f64 * 55.296e-6 + channel as f64 * 2.304e-6;
                assert_eq!(sample.instant + firing.after_start, SimTime::from_secs_f64(at_s), "firing {number}");
                let turns = (at_s - sample.instant.secs_f64()) * rate_hz;
                assert!((-1e-6..=1.0 + 1e-6).contains(&turns), "firing {number}: {turns} turns");
                assert!((firing.azimuth_rad - PI * (1.0 - 2.0 * turns)).abs() < 1e-6, "firing {number}");
                assert!((firing.column as usize) < most, "column {} of {most}", firing.column);
                number += 1;
            }
            assert!(scan.firings().iter().all(|firing| firing.after_start <= lidar.scan_duration()));
            in_parts += u32::from(!number.is_multiple_of(16));
        }
        assert!(in_parts > 5, "{in_parts} seams fall into a cycle");
    }
}

#[test]
fn times_rise_strictly_within_the_scan_and_each_ring_has_one_point_a_column() {
    let lidar = Lidar::new(exact(spec()));
    let points = points(&lidar, &vec![white_at(10.0); 16 * COLUMNS], 1, 0);
    assert!(points.windows(2).all(|pair| pair[0].after_start < pair[1].after_start));
    for ring in 0..16 {
        assert_eq!(points.iter().filter(|p| p.ring == ring).count(), COLUMNS);
    }
    assert!(points.iter().filter(|p| p.ring == 0).all(|p| p.position_m[2] < -2.5));
    assert!(points.iter().filter(|p| p.ring == 15).all(|p| p.position_m[2] > 2.5));
}

#[test]
fn beams_leave_from_where_the_sensor_is_at_their_own_instant() {
    // 20 m/s forward while turning: the origin of a beam is speed × its own time.
    let lidar = Lidar::new(exact(spec()));
    let (start, speed, yaw_rate) = (SimTime::from_secs_f64(3.0), 20.0, 0.5);
    let pose_at = |t: SimTime| {
        let turned = UnitQuaternion::from_axis_angle(&Vector3::z_axis(), yaw_rate * t.secs_f64());
        Pose::from_parts(Vector3::new(speed * t.secs_f64(), 0.0, 2.0).into(), turned)
    };
    let beams = lidar.beams(start, |time| Some(pose_at(time))).expect("known");
    let scan = lidar.scan(start);
    let echoes = echoes(&lidar, &vec![white_at(10.0); beams.len()]);
    let points = scan.points(&scan.whole(), &echoes, 1, 0);
    assert_eq!(points.len(), beams.len());
    for (beam, point) in beams.iter().zip(&points) {
        let expected = pose_at(start + point.after_start) * Point3::from(vector(point.position_m));
        let hit = Vector3::from(beam.origin_m) + vector(beam.axis) * 10.0;
        assert!((expected.coords - hit).norm() < 1e-5, "{expected} and {hit}");
    }
    assert!(lidar.beams(start, |_| None).is_none());
}

#[test]
fn slices_are_all_of_a_scan_and_give_the_same_points_as_the_whole() {
    let lidar = Lidar::new(spec());
    let start = SimTime::from_secs_f64(0.4);
    let scan = lidar.scan(start);
    let slices = scan.slices();
    assert_eq!(slices.len(), 20, "of 10 ms in 200 ms");
    let met = echoes(&lidar, &vec![white_at(20.0); 16 * COLUMNS]);
    let mut sliced = Vec::new();
    let mut next = 0;
    for slice in &slices {
        assert_eq!(slice.firings.start, next);
        next = slice.firings.end;
        let beams = scan.beams(slice, |_| Some(Pose::identity())).expect("known");
        let shares: Vec<f32> = beams.iter().map(|beam| beam.share).collect();
        assert!(shares[0] == 0.0 && shares[shares.len() - 1] == 1.0 && shares.is_sorted());
        sliced.extend(scan.points(slice, &met[slice.firings.clone()], 1, 7));
    }
    assert_eq!(next, met.len());
    assert!(sliced == scan.points(&scan.whole(), &met, 1, 7));
}

#[test]
fn the_same_points_for_any_number_of_threads() {
    let lidar = Lidar::new(spec());
    let met: Vec<BeamReturn> = (0..16 * COLUMNS).map(|i| white_at(5.0 + (i % 91) as f32)).collect();
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        pool.install(|| (points(&lidar, &met, 3, 5), lidar.beams(SimTime::ZERO, |_| Some(Pose::identity()))))
    };
    assert!(on(1) == on(3));
}

#[test]
fn a_scan_begins_behind_and_turns_as_configured() {
    let quarter = |spin| {
        let mut spec = preset("obstacle_lidar.yaml");
        let spinning = spec.scanner.spinning.as_mut().expect("it spins");
        (spinning.spin, spinning.columns) = (spin, Some(4));
        let beam = Lidar::new(spec).beams(SimTime::ZERO, |_| Some(Pose::identity())).expect("known")[8];
        vector(beam.axis).y
    };
    assert!(quarter(Spin::Clockwise) > 0.9, "clockwise from behind, the left side comes first");
    assert!(quarter(Spin::CounterClockwise) < -0.9);
}

#[test]
fn noise_is_on_range_angles_and_intensity_as_configured() {
    const TOLERANCE: f64 = 0.02; // 57 872 samples: one sigma of a standard deviation is 0.3 %
    let noisy = LidarSpec {
        range_sigma_m: 0.05,
        azimuth_sigma_deg: 0.1,
        elevation_sigma_deg: 0.2,
        intensity_sigma: 0.03,
        intensity: IntensityScale::Raw,
        ..exact(spec())
    };
    let clean = LidarSpec { intensity: IntensityScale::Raw, ..exact(spec()) };
    let (noisy, clean) = (Lidar::new(noisy), Lidar::new(clean));
    let returns = vec![white_at(50.0); 16 * COLUMNS];
    let (a, b) = (points(&noisy, &returns, 1, 0), points(&clean, &returns, 1, 0));
    let (mut sums, mut bias_m) = ([0.0; 4], 0.0);
    for (p, q) in a.iter().zip(&b) {
        let ([px, py, pz], [qx, qy, qz]) = (p.position_m.map(f64::from), q.position_m.map(f64::from));
        bias_m += f64::from(p.range_m) - 50.0;
        sums[0] += (f64::from(p.range_m) - 50.0).powi(2);
        sums[1] += (px * qy - py * qx).atan2(px * qx + py * qy).to_degrees().powi(2);
        sums[2] += (pz.atan2(px.hypot(py)) - qz.atan2(qx.hypot(qy))).to_degrees().powi(2);
        sums[3] += (f64::from(p.intensity) / f64::from(q.intensity) - 1.0).powi(2);
        assert!((vector(p.position_m).norm() - f64::from(p.range_m)).abs() < 1e-4, "angles leave the range alone");
    }
    let count = a.len() as f64;
    for (sum, sigma) in sums.into_iter().zip([0.05, 0.1, 0.2, 0.03]) {
        let got = (sum / count).sqrt();
        assert!((got / sigma - 1.0).abs() < TOLERANCE, "{got} and not {sigma}");
    }
    // Four sigma of the mean.
    assert!((bias_m / count).abs() < 4.0 * 0.05 / count.sqrt(), "{bias_m}");
    assert_eq!(a, points(&noisy, &returns, 1, 0));
    assert_ne!(a, points(&noisy, &returns, 1, 1));
}

#[test]
fn returns_too_near_too_far_too_faint_or_absent_are_left_out() {
    let lidar =
        Lidar::new(LidarSpec { min_range_m: 1.0, max_range_m: 100.0, range_at_10_percent_m: 50.0, ..exact(spec()) });
    let seen = |met| points(&lidar, &[met], 1, 0).len();
    assert_eq!([seen(white_at(0.9)), seen(white_at(1.1)), seen(white_at(99.0)), seen(white_at(101.0))], [0, 1, 1, 0]);
    assert_eq!([seen(met(49.0, 0.1, 1.0)), seen(met(51.0, 0.1, 1.0)), seen(met(30.0, 0.1, 0.3))], [1, 0, 0]);
    assert_eq!(seen(BeamReturn::NONE), 0);
}

#[test]
fn intensity_is_the_signal_by_the_inverse_square_law_until_the_detector_saturates() {
    let base = LidarSpec { range_at_10_percent_m: 60.0, max_range_m: 1000.0, ..exact(spec()) };
    let raw = LidarSpec { intensity: IntensityScale::Raw, saturation: Some(40.0), ..base.clone() };
    let intensity =
        |spec: &LidarSpec, met| points(&Lidar::new(spec.clone()), &[met], 1, 0).first().map(|p| p.intensity);
    // ρ cos i / 0.1 · (60/r)²: 0.3 · 0.5 / 0.1 · 4 = 6 at 30 m.
    let close = |got: Option<f32>, expected: f32| got.is_some_and(|got| (got / expected - 1.0).abs() < 1e-5);
    assert!(close(intensity(&raw, met(30.0, 0.3, 0.5)), 6.0));
    assert!(close(intensity(&raw, met(60.0, 0.3, 0.5)), 1.5));
    assert_eq!(intensity(&raw, met(80.0, 0.3, 0.5)), None, "0.84 of the threshold");
    assert!(close(intensity(&raw, met(5.0, 0.3, 0.5)), 40.0), "216 of it");
    // Corrected for range: 100 ρ cos i, whole numbers.
    assert_eq!(intensity(&base, met(30.0, 0.3, 0.5)), Some(15.0));
    assert_eq!(intensity(&base, met(5.0, 0.3, 0.5)), Some(15.0));
    assert_eq!(intensity(&base, met(20.0, 0.874, 1.0)), Some(87.0));
    // A saturated target appears darker the nearer it is: 40 · 0.1 · (5/60)² = 0.028.
    let saturated = LidarSpec { saturation: Some(40.0), ..base };
    assert_eq!(intensity(&saturated, met(5.0, 0.3, 0.5)), Some(3.0));
}

#[test]
fn reflectance_is_that_at_the_lasers_wavelength() {
    let coloured = BeamReturn { near_infrared: [0.2, 0.4], ..met(10.0, 0.1, 1.0) };
    for (wavelength_nm, expected) in [(550.0, 10.0), (905.0, 20.0), (1227.5, 30.0), (1550.0, 40.0)] {
        let lidar = Lidar::new(LidarSpec { wavelength_nm, ..exact(spec()) });
        assert_eq!(points(&lidar, &[coloured], 1, 0)[0].intensity, expected, "{wavelength_nm} nm");
    }
}

#[test]
fn an_edge_gives_both_returns_in_every_mode_with_the_lights_shares() {
    // A uniform beam, cut at 0.3 of its half-angle from the axis: a chord leaves (acos d − d √(1 − d²))/π of a disc.
    let cut = 0.3_f64;
    let beyond = (cut.acos() - cut * (1.0 - cut * cut).sqrt()) / PI;
    for (mode, expected) in [
        (ReturnMode::Strongest, vec![(ReturnKind::Strongest, 10.0)]),
        (ReturnMode::First, vec![(ReturnKind::First, 10.0)]),
        (ReturnMode::Last, vec![(ReturnKind::Last, 20.0)]),
        (ReturnMode::Dual, vec![(ReturnKind::Strongest, 10.0), (ReturnKind::Last, 20.0)]),
    ] {
        let lidar = with_rays(225, BeamProfile::Uniform, mode);
        let rays = lidar.spec().divergence.rays();
        let half = 1.5e-3_f64.tan();
        let scene: Vec<_> =
            rays.iter().map(|ray| white_at(if ray.off_axis[0] > cut * half { 20.0 } else { 10.0 })).collect();
        assert_eq!(reported(&lidar, &scene), expected, "{mode:?}");
        for point in points(&lidar, &scene, 1, 0) {
            let share = if point.range_m < 15.0 { 1.0 - beyond } else { beyond };
            let got = f64::from(point.reflectivity) / 100.0;
            assert!((got - share).abs() < 0.02, "{mode:?} at {} m: {got} and not {share}", point.range_m);
        }
    }
    // The mean is weighted by the signals: (1 − b)/10² and b/20².
    let lidar = with_rays(225, BeamProfile::Uniform, ReturnMode::Mean);
    let half = 1.5e-3_f64.tan();
    let scene: Vec<_> = lidar
        .spec()
        .divergence
        .rays()
        .iter()
        .map(|ray| white_at(if ray.off_axis[0] > cut * half { 20.0 } else { 10.0 }))
        .collect();
    let (near, far) = ((1.0 - beyond) / 100.0, beyond / 400.0);
    let expected_m = (10.0 * near + 20.0 * far) / (near + far);
    let (kind, range_m) = reported(&lidar, &scene)[0];
    assert!(kind == ReturnKind::Mean && (f64::from(range_m) - expected_m).abs() < 0.05, "{range_m} and {expected_m}");
}

#[test]
fn surfaces_closer_than_a_pulse_are_one_return_at_their_weighted_mean() {
    let lidar = with_rays(9, BeamProfile::Uniform, ReturnMode::Dual);
    let scene = |step_m: f32| [vec![white_at(10.0); 5], vec![white_at(10.0 + step_m); 4]].concat();
    // 0.45 m is the smallest step that is resolved.
    let [(kind, range_m)] = reported(&lidar, &scene(0.3))[..] else { panic!("one return") };
    let (near, far) = (5.0 / 100.0, 4.0 / 10.3_f64.powi(2));
    let expected_m = (10.0 * near + 10.3 * far) / (near + far);
    assert!(kind == ReturnKind::StrongestAndLast && (f64::from(range_m) - expected_m).abs() < 1e-5, "{range_m}");
    assert_eq!(reported(&lidar, &scene(0.6)).len(), 2);
    // If the strongest is the last, dual mode also reports the second strongest.
    let bright = [vec![met(10.0, 0.1, 1.0); 2], vec![met(12.0, 0.2, 1.0); 2], vec![white_at(14.0); 5]].concat();
    assert_eq!(reported(&lidar, &bright), [(ReturnKind::StrongestAndLast, 14.0), (ReturnKind::SecondStrongest, 12.0)]);
}

#[test]
fn a_partial_hit_is_fainter_and_may_be_too_faint() {
    let rays = |hits: usize| [vec![met(10.0, 0.1, 1.0); hits], vec![BeamReturn::NONE; 9 - hits]].concat();
    let lidar = |range_m| {
        let spec = with_rays(9, BeamProfile::Uniform, ReturnMode::Strongest).spec().clone();
        Lidar::new(LidarSpec { range_at_10_percent_m: range_m, intensity: IntensityScale::Raw, ..spec })
    };
    // A third of the beam at 10 m gives the signal of a facing target of 10 % that fills the beam at 17.3 m.
    let seen = |range_m, hits| points(&lidar(range_m), &rays(hits), 1, 0).first().map(|point| point.intensity);
    assert!(seen(20.0, 9).is_some_and(|all| (all - 4.0).abs() < 1e-5));
    assert!(seen(20.0, 3).is_some_and(|third| (third - 4.0 / 3.0).abs() < 1e-5));
    assert_eq!((seen(17.4, 3).is_some(), seen(17.2, 3).is_some()), (true, false));
}

#[test]
fn nothing_is_measured_in_a_dead_sector_and_the_rest_is_as_without_it() {
    let all = Lidar::new(spec());
    let sector = super::DeadSector { azimuth_deg: [-20.0, 30.0], elevation_deg: [-4.0, 90.0] };
    let blind = Lidar::new(LidarSpec { dead_sectors: vec![sector], ..spec() });
    let met = vec![white_at(10.0); 16 * COLUMNS];
    let (a, b) = (points(&all, &met, 1, 0), points(&blind, &met, 1, 0));
    let scan = all.scan(SimTime::ZERO);
    let outside = |(firing, _): &(&super::Firing, &LidarPoint)| {
        let [azimuth, elevation] = [firing.azimuth_rad, firing.elevation_rad].map(f64::to_degrees);
        !((-20.0..=30.0).contains(&azimuth) && elevation >= -4.0)
    };
    let expected: Vec<LidarPoint> = scan.firings().iter().zip(&a).filter(outside).map(|(_, point)| *point).collect();
    assert!(b.len() < a.len() && b == expected);
}

#[test]
fn one_lost_return_leaves_the_others_noise_alone() {
    let lidar = Lidar::new(spec());
    let all = vec![white_at(10.0); 100];
    let mut fewer = all.clone();
    fewer[50] = BeamReturn::NONE;
    let (a, b) = (points(&lidar, &all, 1, 0), points(&lidar, &fewer, 1, 0));
    assert_eq!(a[..50], b[..50]);
    assert_eq!(a[51..], b[50..]);
}

#[test]
fn uniform_channels_run_from_the_lowest_to_the_highest() {
    let channels = UniformChannels { count: 5, lowest_deg: -10.0, highest_deg: 10.0 };
    assert_eq!(channels.elevations_deg(), [-10.0, -5.0, 0.0, 5.0, 10.0]);
}

#[test]
fn a_pattern_beside_the_sensors_file_says_when_and_where_beams_go() {
    let folder = std::env::temp_dir().join(format!("selene-pattern-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let rosette = "rosette: {points_per_s: 100000, prisms_hz: [121.57, -77.73], half_angle_deg: 19.2}";
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/sensor/lidar/livox_like.yaml");
    let good = std::fs::read_to_string(file).expect("text");
    assert_eq!(good.matches(rosette).count(), 1);
    std::fs::write(folder.join("lidar.yaml"), good.replace(rosette, "pattern: {file: beams.csv}")).expect("written");
    let load = |beams: &str| {
        std::fs::write(folder.join("beams.csv"), beams).expect("written");
        SensorSpec::load(&folder.join("lidar.yaml"))
    };
    let header = "time_s,azimuth_deg,elevation_deg,channel\n";
    let loaded = load(&format!("{header}0,10,-5,2\n0.05,-20,5,1\n"));
    let refused = load(&format!("{header}0.05,10,-5,2\n0,-20,5,1\n"));
    std::fs::remove_dir_all(&folder).expect("clean");
    let SensorSpec::Lidar(spec) = loaded.expect("good") else { panic!("a lidar") };
    let lidar = Lidar::new(spec);
    let scan = lidar.scan(SimTime::ZERO);
    let [first, second] = scan.firings() else { panic!("two beams") };
    assert_eq!((first.ring, second.ring, second.after_start), (2, 1, SimTime::from_secs_f64(0.05)));
    assert!(
        (second.azimuth_rad.to_degrees() + 20.0).abs() < 1e-9 && (first.elevation_rad.to_degrees() + 5.0).abs() < 1e-9
    );
    let message = refused.expect_err("times fall").to_string();
    assert!(message.contains("beams.csv") && message.contains("line 3") && message.contains("never fall"), "{message}");
}
