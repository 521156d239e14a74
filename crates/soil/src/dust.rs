//! Dust that a wheel or fast granular soil throws. A share `lofted` of the layer of soil that the wheel's skin drags
//! along leaves the ground: a mass of `lofted · ρ · width · layer` for each metre that the skin at the wheel's lowest
//! point slides on the soil. The dust leaves with the velocity of the rim, at an angle behind the wheel's lowest
//! point whose sine is uniformly distributed over `rise`, so that `rise` is also the vertical speed over the rim's
//! speed. A wheel whose rim is slower than [`LOCKED`] times the sliding speed counts as locked: dust leaves on the
//! side to which it slides. In vacuum the dust then flies along a parabola to the ground.
//!
//! Granular soil that moves at the surface sheds the same share of the same layer from its area each time that it has
//! moved by [`RENEWED_M`], as a wheel does whose contact has that length. Its dust rises by the same share of its
//! speed.
//!
//! The dust of one wheel, or of one column of granular soil, and one heartbeat is one parcel: a Gaussian cloud about a
//! flying point, which widens since the directions within it differ. Grains neither collide nor bounce. They extinguish
//! light as spheres that are large against its wavelength, without the diffracted light, which goes on in nearly the
//! same direction: a cross-section of 3/(2 ρ_s D32) for each kg.
//!
//! `rise` reproduces the heights that a DEM of a lunar wheel found (Li et al. 2011: 0.015, 0.024, 0.32, 1.2 and 3.2 m
//! at 0.5, 1, 3, 5 and 7 m/s) within a factor of two; `lofted`, `layer_m`, [`RENEWED_M`] and a parcel's first width are
//! our choice.

use std::f64::consts::{FRAC_1_SQRT_2, TAU};

use garde::Validate;
use nalgebra::{Rotation3, Unit, Vector3};
use rand_distr::{Distribution, StandardNormal};
use schemars::JsonSchema;
use selene_base::SimTime;
use selene_base::input::within;
use selene_base::random::{RngExt, Stream};
use serde::{Deserialize, Serialize};

use crate::granular::StirredSoil;
use crate::spec::positive_within;
use crate::wheel::{WheelMotion, WheelShape};

/// A parcel's initial standard deviation over the wheel's width.
const FIRST_DEVIATION: f64 = 0.125;
/// Distance by which granular soil moves while it sheds the dust of its layer once, m.
const RENEWED_M: f64 = 0.1;
/// A wheel counts as locked when its rim is slower than this times its sliding speed.
const LOCKED: f64 = 0.01;
/// Fewest steps in which a parabola is followed over level ground.
const STEPS_A_FLIGHT: f64 = 16.0;
/// Longest step along the ground, m.
const STEP_M: f64 = 0.05;
/// Shortest and longest step, s.
const STEP_MIN_S: f64 = 1e-4;
const STEP_MAX_S: f64 = 1.0;
/// Dust counts as landed after this time, s: on the Moon such a flight rises above 700 m.
const FLIGHT_MAX_S: f64 = 60.0;
/// Bisections of the step in which a parabola meets the ground.
const HALVINGS: usize = 32;
/// Micrograms in a kilogram.
const UG_PER_KG: f64 = 1e9;

/// The key `dust` of a soil file.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields, default)]
pub struct DustSpec {
    /// Share of the dragged soil that leaves the ground, 0 to 1.
    #[garde(custom(within(0.0, 1.0)))]
    pub lofted: f64,
    /// Depth of the soil that a sliding skin drags along, m: 10 µm to 0.1 m.
    #[garde(custom(positive_within(1e-5, 0.1)))]
    pub layer_m: f64,
    /// Bulk density of that soil, kg/m³, 100 to 4000.
    #[garde(custom(within(100.0, 4000.0)))]
    pub density_kg_m3: f64,
    /// Smallest and largest vertical speed over the rim's speed, 0 to 0.95.
    #[garde(inner(custom(within(0.0, 0.95))), custom(ascending))]
    pub rise: [f64; 2],
    /// Standard deviation of the directions about that of the rim, degrees, 0 to 45.
    #[garde(custom(within(0.0, 45.0)))]
    pub spread_deg: f64,
    /// Sauter mean diameter D32 of its grains, m: 0.1 µm to 1 mm.
    #[garde(custom(positive_within(1e-7, 1e-3)))]
    pub grain_m: f64,
    /// Density of its grains, kg/m³, 500 to 8000.
    #[garde(custom(within(500.0, 8000.0)))]
    pub grain_density_kg_m3: f64,
}

impl Default for DustSpec {
    /// Lunar soil: bulk and grain density of the Lunar Sourcebook, D32 of a lognormal with a median of 70 µm by mass.
    fn default() -> Self {
        Self {
            lofted: 0.01,
            layer_m: 0.01,
            density_kg_m3: 1500.0,
            rise: [0.1, 0.39],
            spread_deg: 15.0,
            grain_m: 25e-6,
            grain_density_kg_m3: 3100.0,
        }
    }
}

/// Validated parameters of thrown dust; SI, radians.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dust {
    /// Lofted mass per area over which the skin slides, kg/m².
    lofted_kg_m2: f64,
    rise: [f64; 2],
    spread_tan: f64,
    cross_section_m2_per_kg: f64,
}

impl From<&DustSpec> for Dust {
    fn from(spec: &DustSpec) -> Self {
        Self {
            lofted_kg_m2: spec.lofted * spec.density_kg_m3 * spec.layer_m,
            rise: spec.rise,
            spread_tan: spec.spread_deg.to_radians().tan(),
            cross_section_m2_per_kg: 1.5 / (spec.grain_density_kg_m3 * spec.grain_m),
        }
    }
}

/// A wheel that touches the soil.
#[derive(Clone, Copy, Debug)]
pub struct DustSource<'a> {
    /// Number of the rover that the wheel belongs to, and number of the wheel on it.
    pub by: [u32; 2],
    /// Shape of the wheel.
    pub wheel: &'a WheelShape,
    /// Motion of the wheel at `at`.
    pub motion: &'a WheelMotion,
    /// Unit normal of the ground under it.
    pub normal: Vector3<f64>,
    /// How long it slid like this, s.
    pub duration_s: f64,
    /// When the dust leaves.
    pub at: SimTime,
}

/// Soil that leaves the ground at one place.
struct Lofted {
    by: [u32; 2],
    at: SimTime,
    mass_kg: f64,
    place_m: Vector3<f64>,
    velocity_m_s: Vector3<f64>,
    deviation_m: f64,
}

/// Dust in flight: a Gaussian cloud about a point on a parabola.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DustParcel {
    /// Number of the rover that threw it, and number of the wheel on it; of granular soil `u32::MAX` less the index of
    /// its window, and the number of its column of cells.
    pub by: [u32; 2],
    /// When it left the ground.
    pub from: SimTime,
    /// When it meets the ground again.
    pub until: SimTime,
    /// Centre of the cloud at `from`, map frame, m.
    pub place_m: Vector3<f64>,
    /// Velocity of the centre at `from`, map frame, m/s.
    pub velocity_m_s: Vector3<f64>,
    /// Its mass, µg.
    pub mass_ug: u64,
    /// Extinction cross-section of all its grains together, m².
    pub cross_section_m2: f64,
    /// Standard deviation of its mass along any axis at `from`, m.
    pub deviation_m: f64,
    /// Standard deviation of the speeds within it along any axis, m/s.
    pub spreading_m_s: f64,
}

/// The largest mass of a valid parcel, µg: a thousand tonnes.
const MASS_MAX_UG: u64 = 1_000_000_000_000_000;

impl DustParcel {
    /// Centre of the cloud at a time, map frame, m.
    #[must_use]
    pub fn place_at_m(&self, time: SimTime, gravity_m_s2: f64) -> Vector3<f64> {
        self.place_after_m((time - self.from).secs_f64(), gravity_m_s2)
    }

    /// Standard deviation of its mass along any axis at a time, m.
    #[must_use]
    pub fn deviation_at_m(&self, time: SimTime) -> f64 {
        self.deviation_m.hypot(self.spreading_m_s * (time - self.from).secs_f64())
    }

    /// Whether it is in flight at a time.
    #[must_use]
    pub fn flies_at(&self, time: SimTime) -> bool {
        self.from <= time && time < self.until
    }

    /// Whether its values are valid: finite, with mass and width, and landing after it left.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let flight_ns = self.until.nanos().checked_sub(self.from.nanos());
        let sizes = [self.cross_section_m2, self.deviation_m, self.spreading_m_s];
        let numbers = self.place_m.iter().chain(self.velocity_m_s.iter()).chain(&sizes);
        numbers.copied().all(f64::is_finite)
            && flight_ns.is_some_and(|ns| ns >= 0)
            && self.mass_ug > 0
            && self.mass_ug <= MASS_MAX_UG
            && self.deviation_m > 0.0
            && self.cross_section_m2 >= 0.0
            && self.spreading_m_s >= 0.0
    }

    /// Key by which lists of parcels are sorted: when it was thrown, then by whom.
    #[must_use]
    pub fn order(&self) -> (SimTime, [u32; 2]) {
        (self.from, self.by)
    }

    fn place_after_m(&self, t_s: f64, gravity_m_s2: f64) -> Vector3<f64> {
        self.place_m + self.velocity_m_s * t_s - Vector3::z() * (0.5 * gravity_m_s2 * t_s * t_s)
    }

    /// Sets the time at which its parabola meets the ground; `ground_m` gives the ground's height at x and y, m.
    /// Returns false, and changes nothing, where the parabola reaches a place without a height.
    pub fn land(&mut self, gravity_m_s2: f64, ground_m: impl Fn(f64, f64) -> Option<f64>) -> bool {
        let Some(flight_s) = self.flight_s(gravity_m_s2, ground_m) else { return false };
        self.until = self.from + SimTime::from_secs_f64(flight_s);
        true
    }

    fn flight_s(&self, gravity_m_s2: f64, ground_m: impl Fn(f64, f64) -> Option<f64>) -> Option<f64> {
        let is_above = |t_s: f64| {
            let at_m = self.place_after_m(t_s, gravity_m_s2);
            Some(at_m.z > ground_m(at_m.x, at_m.y)?)
        };
        let step_s = self.step_s(gravity_m_s2);
        let mut above_s = 0.0;
        while is_above(above_s + step_s)? {
            above_s += step_s;
            if above_s >= FLIGHT_MAX_S {
                return Some(above_s);
            }
        }
        let mut below_s = above_s + step_s;
        for _ in 0..HALVINGS {
            let middle_s = 0.5 * (above_s + below_s);
            if is_above(middle_s)? { above_s = middle_s } else { below_s = middle_s }
        }
        Some(below_s)
    }

    fn step_s(&self, gravity_m_s2: f64) -> f64 {
        let level_s = 2.0 * self.velocity_m_s.z / gravity_m_s2;
        let along_m_s = self.velocity_m_s.xy().norm();
        (level_s / STEPS_A_FLIGHT).min(STEP_M / along_m_s).clamp(STEP_MIN_S, STEP_MAX_S)
    }
}

impl DustSource<'_> {
    /// Velocity along the ground of the wheel's lowest point, which is `down` from its centre, m/s.
    fn sliding_m_s(&self, down: &Vector3<f64>) -> Vector3<f64> {
        let Self { wheel, motion, normal, .. } = self;
        let skin_m_s = motion.linear_m_s + motion.angular_rad_s.cross(&(down * wheel.radius_m));
        skin_m_s - normal * skin_m_s.dot(normal)
    }
}

impl Dust {
    /// The parcel that a wheel throws, its landing still unknown (`until` is `from`); none where the wheel neither
    /// slides nor turns, or for less than a microgram. `ground_m` gives the ground's height at x and y, m: where the
    /// rim is below it, dust starts on the ground.
    #[must_use]
    pub fn thrown(
        &self,
        throw: &DustSource<'_>,
        ground_m: impl Fn(f64, f64) -> Option<f64>,
        rng: &mut Stream,
    ) -> Option<DustParcel> {
        let DustSource { by, at, wheel, motion, .. } = *throw;
        let axle = Unit::new_normalize(motion.world_from_wheel.rotation * Vector3::y());
        let down = (axle.dot(&throw.normal) * *axle - throw.normal).try_normalize(1e-9)?;
        let sliding_m_s = throw.sliding_m_s(&down);
        let sense = sense(throw, &axle, &down, &sliding_m_s)?;
        let rise = self.rise(rng);
        let behind = Rotation3::from_axis_angle(&axle, (rise * sense).asin());
        let rim_m = behind * down * wheel.radius_m;
        let beside_m = *axle * (wheel.width_m * (rng.random::<f64>() - 0.5));
        let place_m = motion.world_from_wheel.translation.vector + rim_m + beside_m;
        let velocity_m_s = motion.linear_m_s + motion.angular_rad_s.cross(&rim_m);
        let mass_kg = self.lofted_kg_m2 * wheel.width_m * sliding_m_s.norm() * throw.duration_s;
        let deviation_m = FIRST_DEVIATION * wheel.width_m;
        self.parcel(Lofted { by, at, mass_kg, place_m, velocity_m_s, deviation_m }, ground_m, rng)
    }

    /// The parcel that granular soil sheds in `duration_s` until `at`, its landing still unknown (`until` is `from`);
    /// none for less than a microgram. `by` is reported as the thrower, and `ground_m` is as for [`Self::thrown`].
    #[must_use]
    pub fn shed(
        &self,
        soil: &StirredSoil,
        (by, at, duration_s): ([u32; 2], SimTime, f64),
        ground_m: impl Fn(f64, f64) -> Option<f64>,
        rng: &mut Stream,
    ) -> Option<DustParcel> {
        let StirredSoil { place_m, mut velocity_m_s, speed_area_m3_s, deviation_m, .. } = *soil;
        velocity_m_s.z = velocity_m_s.z.max(self.rise(rng) * velocity_m_s.norm());
        let mass_kg = self.lofted_kg_m2 * speed_area_m3_s * duration_s / RENEWED_M;
        self.parcel(Lofted { by, at, mass_kg, place_m, velocity_m_s, deviation_m }, ground_m, rng)
    }

    /// A vertical speed over that of the soil.
    fn rise(&self, rng: &mut Stream) -> f64 {
        self.rise[0] + (self.rise[1] - self.rise[0]) * rng.random::<f64>()
    }

    /// A parcel of soil that left the ground, its landing still unknown; none for less than a microgram.
    fn parcel(
        &self,
        mut lofted: Lofted,
        ground_m: impl Fn(f64, f64) -> Option<f64>,
        rng: &mut Stream,
    ) -> Option<DustParcel> {
        let mass_ug = (lofted.mass_kg * UG_PER_KG).floor();
        if mass_ug < 1.0 {
            return None;
        }
        if let Some(height_m) = ground_m(lofted.place_m.x, lofted.place_m.y) {
            lofted.place_m.z = lofted.place_m.z.max(height_m);
        }
        // Half of the variance is between parcels and half within each.
        let spread_tan = self.spread_tan * FRAC_1_SQRT_2;
        let velocity_m_s = turned(lofted.velocity_m_s, spread_tan, rng);
        Some(DustParcel {
            by: lofted.by,
            from: lofted.at,
            until: lofted.at,
            place_m: lofted.place_m,
            velocity_m_s,
            mass_ug: mass_ug as u64,
            cross_section_m2: self.cross_section_m2_per_kg * mass_ug / UG_PER_KG,
            deviation_m: lofted.deviation_m,
            spreading_m_s: velocity_m_s.norm() * spread_tan,
        })
    }
}

/// Side of the lowest point on which dust leaves, about the axle: 1 behind a wheel that turns forward, −1 ahead of one
/// that turns backward. For a locked wheel, the share of its sliding along its heading; none where it does not slide.
fn sense(throw: &DustSource<'_>, axle: &Vector3<f64>, down: &Vector3<f64>, sliding_m_s: &Vector3<f64>) -> Option<f64> {
    let rim_m_s = throw.motion.angular_rad_s.dot(axle) * throw.wheel.radius_m;
    let speed_m_s = sliding_m_s.norm();
    if rim_m_s.abs() > LOCKED * speed_m_s {
        return Some(rim_m_s.signum());
    }
    (speed_m_s > 0.0).then(|| (-sliding_m_s.dot(&down.cross(axle)) / speed_m_s).clamp(-1.0, 1.0))
}

/// A vector turned from its direction by an angle whose tangent is Rayleigh-distributed with scale `spread_tan`.
fn turned(vector: Vector3<f64>, spread_tan: f64, rng: &mut Stream) -> Vector3<f64> {
    let around_rad = TAU * rng.random::<f64>();
    let (first, second): (f64, f64) = (StandardNormal.sample(rng), StandardNormal.sample(rng));
    let length = vector.norm();
    let Some(along) = Unit::try_new(vector, f64::MIN_POSITIVE) else { return vector };
    let other = if along.z.abs() < 0.9 { Vector3::z() } else { Vector3::x() };
    let side = along.cross(&other).normalize();
    let aside = Rotation3::from_axis_angle(&along, around_rad) * side * (first.hypot(second) * spread_tan);
    (*along + aside).normalize() * length
}

fn ascending([least, greatest]: &[f64; 2], (): &()) -> garde::Result {
    if least <= greatest {
        return Ok(());
    }
    Err(garde::Error::new(format!("value [{least}, {greatest}] is not allowed: the first must be at most the second")))
}

#[cfg(test)]
mod tests {
    use super::{Dust, DustParcel, DustSource, DustSpec, FIRST_DEVIATION};
    use crate::granular::StirredSoil;
    use crate::wheel::{WheelMotion, WheelShape};
    use nalgebra::{UnitQuaternion, Vector3};
    use selene_base::random::stream_at;
    use selene_base::{Pose, SimTime};

    const GRAVITY_M_S2: f64 = 1.62;
    const WIDTH_M: f64 = 0.2;
    const RADIUS_M: f64 = 0.25;

    fn wheel() -> WheelShape {
        WheelShape::plain(RADIUS_M, WIDTH_M)
    }

    /// A wheel on level ground at zero that rolls with a rim at `rim_m_s` and a slip, heading along `yaw_rad`.
    fn motion(rim_m_s: f64, slip: f64, yaw_rad: f64) -> WheelMotion {
        let heading = UnitQuaternion::from_euler_angles(0.0, 0.0, yaw_rad);
        WheelMotion {
            world_from_wheel: Pose::from_parts(Vector3::new(0.0, 0.0, RADIUS_M).into(), heading),
            linear_m_s: heading * Vector3::x() * (rim_m_s * (1.0 - slip)),
            angular_rad_s: heading * Vector3::y() * (rim_m_s / RADIUS_M),
        }
    }

    /// What the wheel throws in 10 ms.
    fn thrown(spec: &DustSpec, motion: &WheelMotion, number: u64) -> Option<DustParcel> {
        let throw = DustSource {
            by: [1, 0],
            wheel: &wheel(),
            motion,
            normal: Vector3::z(),
            duration_s: 0.01,
            at: SimTime::from_nanos(7),
        };
        Dust::from(spec).thrown(&throw, |_, _| Some(0.0), &mut stream_at(1, "dust", number))
    }

    fn parcel(velocity_m_s: Vector3<f64>) -> DustParcel {
        let from = SimTime::from_nanos(1_000_000_000);
        DustParcel {
            by: [1, 0],
            from,
            until: from,
            place_m: Vector3::new(3.0, -2.0, 0.0),
            velocity_m_s,
            mass_ug: 1,
            cross_section_m2: 1e-6,
            deviation_m: 0.03,
            spreading_m_s: 0.04,
        }
    }

    #[test]
    fn a_parabola_meets_level_and_sloping_ground_where_its_closed_form_does() {
        // Instants are whole nanoseconds.
        const NS: f64 = 2e-9;
        let velocity_m_s = Vector3::new(0.4, -0.3, 0.8);
        for slope in [0.0, 0.2, -0.3] {
            let mut parcel = parcel(velocity_m_s);
            assert!(parcel.land(GRAVITY_M_S2, |x, _| Some(slope * (x - 3.0))));
            // vz t − g t²/2 = slope · vx t.
            let expected_s = 2.0 * (velocity_m_s.z - slope * velocity_m_s.x) / GRAVITY_M_S2;
            let flight_s = (parcel.until - parcel.from).secs_f64();
            assert!((flight_s - expected_s).abs() < NS, "{slope}: {flight_s} s and not {expected_s} s");
            let at_m = parcel.place_at_m(parcel.until, GRAVITY_M_S2);
            let expected_m = Vector3::new(3.0 + 0.4 * expected_s, -2.0 - 0.3 * expected_s, slope * 0.4 * expected_s);
            assert!((at_m - expected_m).norm() < 1e-8, "{slope}: {at_m}");
        }
    }

    #[test]
    fn a_parcel_widens_as_its_speeds_part_and_flies_until_it_lands() {
        let mut parcel = parcel(Vector3::z());
        assert!(parcel.land(GRAVITY_M_S2, |_, _| Some(0.0)));
        let later = parcel.from + SimTime::from_nanos(1_000_000_000);
        assert!((parcel.deviation_at_m(later) - 0.05).abs() < 1e-12, "3-4-5");
        assert!(parcel.flies_at(parcel.from) && parcel.flies_at(later) && !parcel.flies_at(parcel.until));
    }

    #[test]
    fn ground_that_ends_leaves_a_parcel_as_it_was() {
        let mut parcel = parcel(Vector3::new(1.0, 0.0, 1.0));
        assert!(!parcel.land(GRAVITY_M_S2, |x, _| (x < 3.5).then_some(0.0)));
        assert_eq!(parcel.until, parcel.from);
    }

    #[test]
    fn mass_is_that_of_the_dragged_layer_and_none_of_a_wheel_that_does_not_slide_or_turn() {
        let spec = DustSpec::default();
        let parcel = thrown(&spec, &motion(0.5, 0.2, 0.3), 0).expect("it slides");
        // 1 % of 1500 kg/m³ · 0.2 m · 0.01 m · 1 mm.
        assert!((29_999..=30_000).contains(&parcel.mass_ug), "{} µg", parcel.mass_ug);
        let expected_m2 = 1.5 / (3100.0 * 25e-6) * 1e-9 * parcel.mass_ug as f64;
        assert!((parcel.cross_section_m2 / expected_m2 - 1.0).abs() < 1e-12);
        assert_eq!(parcel.deviation_m, FIRST_DEVIATION * WIDTH_M);
        assert_eq!(thrown(&spec, &motion(0.5, 0.0, 0.0), 0), None);
        assert_eq!(thrown(&spec, &motion(0.0, 0.0, 0.0), 0), None);
    }

    #[test]
    fn without_spread_dust_leaves_with_the_rim_behind_the_wheel_whichever_way_it_rolls() {
        let spec = DustSpec { rise: [0.3, 0.3], spread_deg: 0.0, ..DustSpec::default() };
        for (rim_m_s, yaw_rad) in [(0.5, 0.0), (0.5, 2.0), (-0.5, 0.7)] {
            let motion = motion(rim_m_s, 0.2, yaw_rad);
            let parcel = thrown(&spec, &motion, 3).expect("it slides");
            let in_wheel = motion.world_from_wheel.rotation.inverse() * parcel.velocity_m_s;
            let cos = (1.0_f64 - 0.09).sqrt();
            let expected = Vector3::new(rim_m_s * (0.8 - cos), 0.0, 0.3 * rim_m_s.abs());
            assert!((in_wheel - expected).norm() < 1e-12, "{rim_m_s} m/s: {in_wheel}");
            let place_m = motion.world_from_wheel.inverse_transform_point(&parcel.place_m.into());
            assert!((place_m.x + RADIUS_M * 0.3 * rim_m_s.signum()).abs() < 1e-12, "{place_m}");
            assert!(place_m.y.abs() <= 0.5 * WIDTH_M);
        }
    }

    #[test]
    fn moving_soil_sheds_its_layer_once_a_tenth_of_a_metre_upward_from_the_ground() {
        let spec = DustSpec { rise: [0.3, 0.3], spread_deg: 0.0, ..DustSpec::default() };
        let shed = |velocity_m_s: Vector3<f64>| {
            let soil = StirredSoil {
                cell: 4,
                place_m: Vector3::new(1.0, 2.0, -0.01),
                velocity_m_s,
                speed_area_m3_s: velocity_m_s.norm() * 0.0016,
                deviation_m: 0.01,
            };
            let by_at = ([9, 4], SimTime::from_nanos(7), 0.01);
            Dust::from(&spec).shed(&soil, by_at, |_, _| Some(0.0), &mut stream_at(1, "dust", 0))
        };
        let parcel = shed(Vector3::new(0.5, 0.0, 0.0)).expect("it moves");
        // 1 % of 1500 kg/m³ · 0.01 m · 0.0016 m², as it moves 5 mm of 0.1 m.
        assert!((11_999..=12_000).contains(&parcel.mass_ug), "{} µg", parcel.mass_ug);
        assert_eq!((parcel.by, parcel.place_m), ([9, 4], Vector3::new(1.0, 2.0, 0.0)));
        assert!((parcel.velocity_m_s - Vector3::new(0.5, 0.0, 0.15)).norm() < 1e-12, "{}", parcel.velocity_m_s);
        let rising = shed(Vector3::new(0.3, 0.0, 0.4)).expect("it moves");
        assert!((rising.velocity_m_s.z - 0.4).abs() < 1e-12, "faster than by `rise` alone");
        assert_eq!(shed(Vector3::zeros()), None);
    }

    #[test]
    fn dust_of_a_locked_wheel_leaves_on_the_side_to_which_it_slides_whatever_the_sign_of_its_spin() {
        let spec = DustSpec { rise: [0.3, 0.3], spread_deg: 0.0, ..DustSpec::default() };
        for spin_rad_s in [0.0, 1e-13, -1e-13] {
            for (along_m_s, across_m_s, expected_m) in
                [(0.5, 0.0, 0.3 * RADIUS_M), (-0.5, 0.0, -0.3 * RADIUS_M), (0.0, 0.5, 0.0), (0.3, 0.4, 0.18 * RADIUS_M)]
            {
                let locked = WheelMotion {
                    linear_m_s: Vector3::new(along_m_s, across_m_s, 0.0),
                    angular_rad_s: Vector3::y() * spin_rad_s,
                    ..motion(0.0, 0.0, 0.0)
                };
                let parcel = thrown(&spec, &locked, 3).expect("it slides");
                assert!((parcel.place_m.x - expected_m).abs() < 1e-9, "{along_m_s} {across_m_s}: {parcel:?}");
                assert!((parcel.velocity_m_s - locked.linear_m_s).norm() < 1e-9, "{parcel:?}");
            }
        }
    }

    #[test]
    fn a_parcel_that_cannot_be_is_not_sound() {
        let good = parcel(Vector3::z());
        assert!(good.is_sound());
        for bad in [
            DustParcel { place_m: Vector3::new(f64::NAN, 0.0, 0.0), ..good },
            DustParcel { velocity_m_s: Vector3::z() * f64::INFINITY, ..good },
            DustParcel { mass_ug: 0, ..good },
            DustParcel { mass_ug: u64::MAX, ..good },
            DustParcel { deviation_m: 0.0, ..good },
            DustParcel { spreading_m_s: -0.1, ..good },
            DustParcel { cross_section_m2: f64::NAN, ..good },
            DustParcel { until: SimTime::ZERO, ..good },
        ] {
            assert!(!bad.is_sound(), "{bad:?}");
        }
    }

    /// Heights to which a DEM of a lunar wheel threw grains (Li et al. 2011), within a factor of two.
    #[test]
    fn heights_are_those_of_a_wheel_of_grains_within_a_factor_of_two() {
        for (rim_m_s, expected_m) in [(0.5, 0.015), (1.0, 0.024), (3.0, 0.32), (5.0, 1.20), (7.0, 3.20)] {
            let height_m = |number| {
                let parcel = thrown(&DustSpec::default(), &motion(rim_m_s, 0.1, 0.0), number).expect("it slides");
                0.5 * parcel.velocity_m_s.z.powi(2) / GRAVITY_M_S2
            };
            let mut heights_m: Vec<f64> = (0..400).map(height_m).collect();
            heights_m.sort_by(f64::total_cmp);
            // Not the very highest, since single grains reach any height.
            let ratio = heights_m[390] / expected_m;
            assert!((0.5..2.0).contains(&ratio), "{rim_m_s} m/s: {ratio} of {expected_m} m");
        }
    }
}
