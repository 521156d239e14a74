use super::{Content, Fluctuation, Radar, RadarReturn, RadarSpec, RadarSurfaceSpec, SlopeLaw, SurfacesSpec};
use crate::lidar::SelfHits;
use crate::{Sample, SensorQos};
use nalgebra::Vector3;
use selene_base::random::stream_at;
use selene_base::{Pose, SimTime};
use selene_scene::{Beam, BeamReturn, Class};
use std::f64::consts::{FRAC_PI_2, PI};

/// A quantity of a return.
type Quantity = fn(&RadarReturn) -> f64;

const SEED: u64 = 3;

const DULL: RadarSurfaceSpec = RadarSurfaceSpec {
    quasi_specular: 0.0,
    slope: 0.5,
    slopes: SlopeLaw::Hagfors,
    diffuse: 0.06,
    diffuse_exponent: 1.0,
};

/// A radar whose range, angles and speed have no noise.
fn spec() -> RadarSpec {
    RadarSpec {
        name: "radar".into(),
        link: "base_link".into(),
        rate_hz: 10.0,
        lag_s: 0.0,
        qos: SensorQos::SensorData,
        stages: crate::Augments::default(),
        mount: None,
        frequency_ghz: 76.5,
        eirp_dbm: 35.0,
        receive_gain_dbi: 20.0,
        half_power_deg: [360.0, 360.0],
        noise_figure_db: 15.0,
        losses_db: 6.0,
        coherent_s: 0.01,
        threshold_db: 12.0,
        fluctuation: Fluctuation::Steady,
        horizontal_fov_deg: 60.0,
        vertical_fov_deg: 10.0,
        rays: [60, 10],
        min_range_m: 0.5,
        max_range_m: 200.0,
        range_resolution_m: 0.5,
        azimuth_resolution_deg: 3.0,
        elevation_resolution_deg: None,
        speed_resolution_m_s: 0.1,
        speed_limits_m_s: [-50.0, 50.0],
        range_sigma_m: 0.0,
        azimuth_sigma_deg: 0.0,
        elevation_sigma_deg: 0.0,
        speed_sigma_m_s: 0.0,
        false_alarms: 0.0,
        returns_max: 10_000,
        surfaces: SurfacesSpec { ground: DULL, rock: DULL, rover: DULL, object: DULL },
        self_hits: SelfHits::Keep,
        cloud: false,
        truth: true,
    }
}

fn sample(index: u64) -> Sample {
    Sample { index, instant: SimTime::ZERO }
}

fn met(range_m: f64, cos_incidence: f64) -> BeamReturn {
    BeamReturn {
        range_m: range_m as f32,
        cos_incidence: cos_incidence as f32,
        reflectance: 0.1,
        near_infrared: [0.1; 2],
        radar: None,
        class: 4,
        instance: 0,
    }
}

/// The return of a single ray of the solid angle in `spec`, without noise.
fn one_ray(spec: &RadarSpec, range_m: f64) -> Option<RadarReturn> {
    let one = RadarSpec { rays: [1, 1], ..spec.clone() };
    Radar::new(one).read(&[met(range_m, 1.0)], |_| 0.0, SEED, sample(0)).truth.first().copied()
}

/// Cross-section over πa² of a sphere of this surface: ∫ σ⁰(θ) 2 sin θ dθ.
fn of_sphere(surface: &RadarSurfaceSpec) -> f64 {
    const STEPS: u32 = 200_000;
    let step = FRAC_PI_2 / f64::from(STEPS);
    let at = |i: u32| (f64::from(i) + 0.5) * step;
    (0..STEPS).map(|i| surface.sigma0(at(i).cos()) * 2.0 * at(i).sin() * step).sum()
}

#[test]
fn a_large_sphere_has_the_cross_section_that_its_surface_says() {
    for exponent in [1.0, 1.5, 2.0] {
        let diffuse = RadarSurfaceSpec { diffuse_exponent: exponent, ..DULL };
        assert!((of_sphere(&diffuse) / 0.06 - 1.0).abs() < 1e-3, "{exponent}: {}", of_sphere(&diffuse));
    }
    for slopes in [SlopeLaw::Hagfors, SlopeLaw::Gaussian] {
        let facets = RadarSurfaceSpec { quasi_specular: 0.8, slope: 0.1, slopes, diffuse: 0.0, ..DULL };
        assert!((of_sphere(&facets) / 0.8 - 1.0).abs() < 0.01, "{slopes:?}: {}", of_sphere(&facets));
        // Straight down: q/2s² and q/s².
        let peak = if slopes == SlopeLaw::Hagfors { 40.0 } else { 80.0 };
        assert!((facets.sigma0(1.0) - peak).abs() < 1e-9, "{slopes:?}: {}", facets.sigma0(1.0));
    }
}

#[test]
fn a_target_of_a_known_cross_section_has_the_power_of_the_radar_equation() {
    // 35 dBm, 20 dBi, 10 ms, 21 dB: written out once more.
    let wavelength_m = 299_792_458.0 / 76.5e9;
    let noise = 1.380_649e-23 * 290.0 * 10.0_f64.powf(2.1) / 0.01;
    let expected = 10.0_f64.powf(0.5) * 100.0 * wavelength_m * wavelength_m * 10.0 / ((4.0 * PI).powi(3) * noise);
    let snr = |range_m: f64| spec().snr(10.0, range_m);
    assert!((snr(1.0) / expected - 1.0).abs() < 1e-12, "{} and not {expected}", snr(1.0));
    for range_m in [10.0, 50.0, 200.0] {
        assert!((snr(range_m) * range_m.powi(4) / snr(1.0) - 1.0).abs() < 1e-12);
    }
}

#[test]
fn a_surface_that_fills_a_ray_falls_with_the_square_and_one_that_does_not_with_the_fourth_power() {
    let spec = RadarSpec { horizontal_fov_deg: 1.0, vertical_fov_deg: 1.0, ..spec() };
    let [near, far] = [5.0, 10.0].map(|range_m| one_ray(&spec, range_m).expect("seen").snr);
    assert!((near / far - 4.0).abs() < 1e-5, "{}", near / far);
    // A plate of 1° at 5 m fills a quarter of the rays at 10 m.
    let four = Radar::new(RadarSpec { rays: [2, 2], azimuth_resolution_deg: 10.0, ..spec.clone() });
    let quarter = [met(10.0, 1.0), BeamReturn::NONE, BeamReturn::NONE, BeamReturn::NONE];
    let far = four.read(&quarter, |_| 0.0, SEED, sample(0)).truth[0].snr;
    // Each of the four rays has a quarter of the solid angle, apart from the cosine of its elevation.
    assert!((near / far - 16.0).abs() < 0.01, "{}", near / far);
    // At 60° twice the area is illuminated, with half σ⁰ where that is proportional to the cosine.
    let slant = Radar::new(RadarSpec { rays: [1, 1], ..spec });
    let slant = slant.read(&[met(5.0, 0.5)], |_| 0.0, SEED, sample(0)).truth[0].snr;
    assert!((slant / near - 1.0).abs() < 1e-5, "{slant} and not {near}");
}

#[test]
fn a_material_sends_back_its_own_shares_with_the_slopes_of_its_class() {
    let facets = RadarSurfaceSpec { quasi_specular: 0.2, slope: 0.1, slopes: SlopeLaw::Gaussian, ..DULL };
    let surfaces = SurfacesSpec { ground: DULL, rock: DULL, rover: facets, object: DULL };
    let radar = Radar::new(RadarSpec { rays: [1, 1], threshold_db: -200.0, surfaces, ..spec() });
    let snr = |cos, radar_shares| {
        let met = BeamReturn { class: Class::Rover as u16, radar: radar_shares, ..met(10.0, cos) };
        radar.read(&[met], |_| 0.0, SEED, sample(0)).truth[0].snr
    };
    // Pairs of the material's values and σ⁰ written out: q s⁻² sec⁴θ exp(−tan²θ/s²) + d cos θ.
    for cos in [1.0_f64, 0.98, 0.5] {
        let tan2 = 1.0 / (cos * cos) - 1.0;
        let sigma0 = |q: f64, d: f64| q * 100.0 / cos.powi(4) * (-tan2 * 100.0).exp() + d * cos;
        let usual = snr(cos, None) / sigma0(0.2, 0.06);
        for [q, d] in [[1.0_f32, 0.01], [0.04, 0.3], [0.0, 2.0]] {
            let expected = usual * sigma0(f64::from(q), f64::from(d));
            let reported = snr(cos, Some([q, d]));
            assert!((reported / expected - 1.0).abs() < 1e-4, "{cos} [{q}, {d}]: {reported} and not {expected}");
        }
    }
}

#[test]
fn a_target_is_lost_where_its_power_falls_below_the_threshold() {
    let spec = RadarSpec { horizontal_fov_deg: 0.5, vertical_fov_deg: 0.5, max_range_m: 1e4, ..spec() };
    // The ray illuminates r² Ω, so that σ = σ⁰ r² Ω: the power falls as r⁻² down to the threshold.
    let solid_angle = 0.5_f64.to_radians() * 2.0 * 0.25_f64.to_radians().sin();
    let cross_section_at_1_m = 0.06 * solid_angle;
    let lost_m = (spec.snr(cross_section_at_1_m, 1.0) / 10.0_f64.powf(1.2)).sqrt();
    assert!(one_ray(&spec, lost_m * 0.999).is_some() && one_ray(&spec, lost_m * 1.001).is_none(), "{lost_m}");
    // For a target of fixed cross-section the range grows with its fourth root.
    let (near, far) = (spec.detection_range_m(1.0), spec.detection_range_m(16.0));
    assert!((far / near - 2.0).abs() < 1e-12 && (spec.snr(1.0, near) / spec.threshold() - 1.0).abs() < 1e-12);
}

#[test]
fn a_wall_that_is_approached_comes_nearer_by_the_cosine_and_a_receding_one_goes() {
    let radar = Radar::new(RadarSpec { rays: [120, 1], azimuth_resolution_deg: 0.5, ..spec() });
    let beams = radar.beams(&Pose::identity());
    let to_wall = |beam: &Beam| met(8.0 / f64::from(beam.direction[0]), f64::from(beam.direction[0]));
    let met: Vec<BeamReturn> = beams.iter().map(to_wall).collect();
    for (of_wall, of_radar) in [(0.0, 1.5), (-1.5, 0.0), (2.0, 0.5), (3.0, 3.0)] {
        let along = |speed: f64| Vector3::new(speed, 0.0, 0.0);
        let rate = |i: usize| Radar::range_rate_m_s(&beams[i], &along(of_wall), &along(of_radar));
        let truth = radar.read(&met, rate, SEED, sample(0)).truth;
        assert!(truth.len() >= 60, "{} cells", truth.len());
        for reported in truth {
            let expected = (of_wall - of_radar) * reported.azimuth_rad.cos();
            assert!((reported.speed_m_s - expected).abs() < 1e-6, "{} and not {expected}", reported.speed_m_s);
        }
    }
}

#[test]
fn speeds_beyond_the_limits_are_reported_as_others() {
    let spec = RadarSpec { speed_limits_m_s: [-10.0, 5.0], ..spec() };
    for (rate, reported) in [(0.0, 0.0), (-9.9, -9.9), (6.0, -9.0), (-12.0, 3.0), (20.0, -10.0)] {
        assert!((spec.folded_m_s(rate) - reported).abs() < 1e-12, "{rate}: {}", spec.folded_m_s(rate));
    }
}

#[test]
fn what_is_in_one_cell_is_one_return_and_what_differs_in_range_azimuth_or_speed_is_two() {
    let radar = Radar::new(RadarSpec { rays: [60, 1], ..spec() });
    let count = |rays: [usize; 2], ranges_m: [f64; 2], speeds_m_s: [f64; 2]| {
        let mut all = vec![BeamReturn::NONE; 60];
        let mut speeds = vec![0.0; 60];
        for ((ray, range_m), speed) in rays.into_iter().zip(ranges_m).zip(speeds_m_s) {
            all[ray] = met(range_m, 1.0);
            speeds[ray] = speed;
        }
        radar.read(&all, |i| speeds[i], SEED, sample(0)).truth
    };
    // Cells of 3° have three rays.
    let one = count([30, 31], [10.1, 10.3], [0.02, 0.06]);
    assert_eq!(one.len(), 1);
    let weights = [10.1_f64.powi(-2), 10.3_f64.powi(-2)];
    let mean_m = (weights[0] * 10.1 + weights[1] * 10.3) / (weights[0] + weights[1]);
    assert!((one[0].range_m - mean_m).abs() < 1e-5 && one[0].speed_m_s > 0.02 && one[0].speed_m_s < 0.06);
    assert_eq!(count([30, 31], [10.1, 10.6], [0.02, 0.06]).len(), 2, "range");
    assert_eq!(count([30, 33], [10.1, 10.3], [0.02, 0.06]).len(), 2, "azimuth");
    assert_eq!(count([30, 31], [10.1, 10.3], [0.02, 0.16]).len(), 2, "speed");
}

/// Measured powers of a cell of this mean signal-to-noise ratio.
fn powers(fluctuation: Fluctuation, snr: f64, samples: u64) -> Vec<f64> {
    let radar = Radar::new(RadarSpec { fluctuation, ..spec() });
    let mut content = Content::default();
    content.add(&RadarReturn { range_m: 10.0, azimuth_rad: 0.1, elevation_rad: 0.0, speed_m_s: 1.0, snr });
    let power = |index| radar.measured(&content, &mut stream_at(SEED, "radar", index)).expect("some").snr;
    (0..samples).map(power).collect()
}

#[test]
fn fluctuating_targets_are_detected_as_often_as_swerling_has_it_and_noise_as_often_as_rayleigh() {
    const SAMPLES: u64 = 20_000;
    let threshold = 10.0_f64.powf(1.2);
    let detected = |powers: Vec<f64>, threshold: f64| {
        powers.iter().filter(|power| **power >= threshold).count() as f64 / SAMPLES as f64
    };
    for snr in [5.0, 20.0, 100.0] {
        let expected = (-threshold / (1.0 + snr)).exp();
        let got = detected(powers(Fluctuation::Swerling1, snr, SAMPLES), threshold);
        // √(p (1 − p)/20 000) is 0.0035 at most.
        assert!((got - expected).abs() < 0.015, "{snr}: {got} and not {expected}");
    }
    // A steady target of mean S has mean power S + 1 and variance 2 S + 1.
    let steady = powers(Fluctuation::Steady, 30.0, SAMPLES);
    let mean = steady.iter().sum::<f64>() / SAMPLES as f64;
    let variance = steady.iter().map(|power| (power - mean).powi(2)).sum::<f64>() / SAMPLES as f64;
    assert!((mean - 31.0).abs() < 0.25 && (variance / 61.0 - 1.0).abs() < 0.05, "{mean}, {variance}");
    // Almost no target: noise alone exceeds 3 with probability e^−3.
    let alone = detected(powers(Fluctuation::Steady, 1e-12, SAMPLES), 3.0);
    assert!((alone - (-3.0_f64).exp()).abs() < 0.007, "{alone}");
}

#[test]
fn range_azimuth_elevation_and_speed_scatter_as_configured() {
    const SAMPLES: usize = 4000;
    let noisy = RadarSpec {
        range_sigma_m: 0.1,
        azimuth_sigma_deg: 0.3,
        elevation_sigma_deg: 0.5,
        speed_sigma_m_s: 0.03,
        elevation_resolution_deg: Some(10.0),
        ..spec()
    };
    let radar = Radar::new(RadarSpec { rays: [1, 1], ..noisy });
    let reported = |index| radar.read(&[met(20.0, 1.0)], |_| 2.0, SEED, sample(index)).returns[0];
    let reported: Vec<RadarReturn> = (0..SAMPLES as u64).map(reported).collect();
    let quantities: [(Quantity, f64, f64); 4] = [
        (|reported| reported.range_m, 20.0, 0.1),
        (|reported| reported.azimuth_rad.to_degrees(), 0.0, 0.3),
        (|reported| reported.elevation_rad.to_degrees(), 0.0, 0.5),
        (|reported| reported.speed_m_s, 2.0, 0.03),
    ];
    for (of, mean, sigma) in quantities {
        let values: Vec<f64> = reported.iter().map(of).collect();
        let got = values.iter().sum::<f64>() / SAMPLES as f64;
        let variance = values.iter().map(|value| (value - got).powi(2)).sum::<f64>() / SAMPLES as f64;
        // The mean of 4000 values has a standard deviation of 0.016 sigma, their variance one of 2.2 %.
        assert!((got - mean).abs() < 0.08 * sigma && (variance / (sigma * sigma) - 1.0).abs() < 0.1, "{got}");
    }
}

#[test]
fn what_noise_takes_over_the_limits_is_reported_as_another_speed_or_not_at_all() {
    let limits = RadarSpec { speed_limits_m_s: [-2.0, 2.0], min_range_m: 9.0, max_range_m: 10.0, ..spec() };
    let noisy = Radar::new(RadarSpec { rays: [1, 1], range_sigma_m: 0.5, speed_sigma_m_s: 1.0, ..limits });
    let read = |index| noisy.read(&[met(9.9, 1.0)], |_| 1.9, SEED, sample(index)).returns;
    let reported: Vec<RadarReturn> = (0..1000).flat_map(read).collect();
    assert!(
        reported
            .iter()
            .all(|reported| (9.0..=10.0).contains(&reported.range_m) && (-2.0..=2.0).contains(&reported.speed_m_s))
    );
    // Ranges stay within the limits, −1.8 to 0.2 sigma, with probability 0.543; speeds exceed their limit, by more than
    // 0.1 sigma, and fold to negative ones with probability 0.46.
    assert!((480..610).contains(&reported.len()), "{} of 1000", reported.len());
    assert!(reported.iter().filter(|reported| reported.speed_m_s < 0.0).count() > 150);
}

#[test]
fn without_noise_all_samples_are_the_truth() {
    let noisy = RadarSpec {
        fluctuation: Fluctuation::Swerling1,
        range_sigma_m: 0.1,
        azimuth_sigma_deg: 0.3,
        speed_sigma_m_s: 0.03,
        false_alarms: 5.0,
        ..spec()
    };
    let scene: Vec<BeamReturn> = (0..600).map(|i| met(5.0 + 0.01 * f64::from(i), 1.0)).collect();
    let read = |spec: &RadarSpec, index| Radar::new(spec.clone()).read(&scene, |_| 1.0, SEED, sample(index));
    assert!(read(&noisy, 0).returns != read(&noisy, 1).returns);
    let [first, second] = [0, 1].map(|index| read(&noisy.without_noise(), index));
    assert!(first.returns.len() > 20, "{} returns", first.returns.len());
    assert_eq!((&first.returns, &second.returns), (&second.returns, &first.truth));
}

#[test]
fn the_finest_cells_of_the_largest_field_have_numbers_of_their_own() {
    let finest = RadarSpec {
        horizontal_fov_deg: 180.0,
        vertical_fov_deg: 170.0,
        max_range_m: 1e6,
        range_resolution_m: 1e-3,
        azimuth_resolution_deg: 1e-3,
        elevation_resolution_deg: Some(1e-3),
        speed_resolution_m_s: 1e-3,
        speed_limits_m_s: [-1e5, 1e5],
        ..spec()
    };
    let radar = Radar::new(RadarSpec { rays: [1, 1], ..finest });
    let at = |range_m: f64| {
        radar.cell(&RadarReturn { range_m, azimuth_rad: FRAC_PI_2, elevation_rad: 1.48, speed_m_s: 9e4, snr: 1.0 })
    };
    let [last, before] = [at(1e6), at(1e6 - 2.5e-3)];
    assert!(last[0] - before[0] == 3 && radar.number(&last) > radar.number(&before));
    assert!(radar.number(&last) < u128::MAX / super::CELL_WORDS);
}

#[test]
fn false_alarms_come_at_their_rate_and_the_strongest_returns_are_reported() {
    const SCANS: u64 = 3000;
    let radar = Radar::new(RadarSpec { false_alarms: 2.5, ..spec() });
    let alarms: Vec<usize> = (0..SCANS).map(|i| radar.read(&[], |_| 0.0, SEED, sample(i)).returns.len()).collect();
    let mean = alarms.iter().sum::<usize>() as f64 / SCANS as f64;
    let variance = alarms.iter().map(|count| (*count as f64 - mean).powi(2)).sum::<f64>() / SCANS as f64;
    // A mean of 3000 Poisson variates has a deviation of √(2.5/3000) = 0.029, their variance one of 0.07.
    assert!((mean - 2.5).abs() < 0.12 && (variance - 2.5).abs() < 0.3, "{mean}, {variance}");
    let reading = radar.read(&[], |_| 0.0, SEED, sample(1));
    assert!(reading.truth.is_empty());
    let few = Radar::new(RadarSpec { returns_max: 3, rays: [60, 1], ..spec() });
    let all: Vec<BeamReturn> = (0..60).map(|i| met(5.0 + f64::from(i), 1.0)).collect();
    let reported = few.read(&all, |_| 0.0, SEED, sample(0)).truth;
    let ranges: Vec<i64> = reported.iter().map(|reported| reported.range_m as i64).collect();
    assert_eq!(ranges, [5, 6, 7]);
}

#[test]
fn a_cells_noise_is_its_own_and_is_the_same_each_time() {
    let radar = Radar::new(RadarSpec { range_sigma_m: 0.1, ..spec() });
    let mut scene: Vec<BeamReturn> = vec![met(12.0, 1.0); 600];
    let read = |scene: &[BeamReturn], seed, index| radar.read(scene, |_| 0.0, seed, sample(index)).returns;
    let first = read(&scene, SEED, 5);
    assert_eq!(first, read(&scene, SEED, 5));
    assert!(first != read(&scene, SEED, 6) && first != read(&scene, SEED + 1, 5));
    // One more nearby target adds one return; the others change only by the rays that it hides.
    scene[0] = met(3.0, 1.0);
    let other = read(&scene, SEED, 5);
    let same = first.iter().filter(|reported| other.contains(reported)).count();
    assert_eq!(same, first.len() - 1);
}

#[test]
fn the_beam_has_half_its_power_twice_at_half_its_width() {
    let wide = RadarSpec { half_power_deg: [40.0, 360.0], rays: [3, 1], ..spec() };
    let radar = Radar::new(RadarSpec { horizontal_fov_deg: 60.0, ..wide });
    let snr: Vec<f64> = {
        let met = [met(10.0, 1.0); 3];
        radar.read(&met, |_| 0.0, SEED, sample(0)).truth.iter().map(|reported| reported.snr).collect()
    };
    // Rays at 20°, 0° and −20°; both antennas have half their gain at ±20°.
    assert!((snr[0] / snr[1] - 4.0).abs() < 1e-9 && (snr[1] - snr[2]).abs() < 1e-9 * snr[1], "{snr:?}");
}
