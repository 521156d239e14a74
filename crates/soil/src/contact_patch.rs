//! The contact of a wheel with a surface: a cylinder cut into discs across its width, each
//! touching the surface with its rim. Points along the rim give their depth below the
//! surface; a disc's depth is their smooth maximum ℓ ln Σ exp(depth/ℓ) (ℓ = `BLEND_M`), and
//! its force acts at the points in proportion to their terms of the sum. That force is the
//! gradient of one energy, so neither a second point coming into contact nor rolling over
//! posts jolts the wheel or gives it energy. It works at any attitude: for a tipped wheel the
//! points go all around the rims.
//!
//! Assumption: the surface is smooth over the distance between the points of a rim,
//! which equals the spacing of the ground's posts where `SIDE_POINTS_MAX` allows.

use std::f64::consts::PI;
use std::sync::LazyLock;

use arrayvec::ArrayVec;
use fearless_simd::{Level, dispatch};
use nalgebra::Vector3;
use selene_base::Wrench;

use crate::surface::{CachedSurface, Surface};
use crate::wheel::{WheelMotion, WheelShape};

/// Discs across the width.
pub(crate) const DISCS: usize = 5;
/// Difference of depth within which points share a disc's force, m: a tenth of a wheel's
/// sinkage on rigid ground.
const BLEND_M: f64 = 5e-5;
/// Angle to each side of the lowest point up to which a rim has points, rad.
const REACH_RAD: f64 = 0.8;
/// More than the sine of that angle.
const REACH_SINE: f64 = 0.72;
/// Sine of 30°: a wheel whose axle is within 30° of the normal is tipped.
const TIPPED_SINE: f64 = 0.5;
/// Widens the spacing of the discs so that the outer ones are the end caps: a tipped wheel stands on their edge.
const WIDEN: f64 = DISCS as f64 / (DISCS as f64 - 1.0);
/// Distance, in wheel radii, over which the normal is smoothed to each side.
const NORMAL_REACH: f64 = 0.5;
/// Height above the deepest point, in lengths ℓ, from which on a point adds less to a disc than rounding does.
const SHARELESS: f64 = -40.0;
/// Fewest and most points of a rim to each side of the lowest one.
const SIDE_POINTS_MIN: f64 = 4.0;
const SIDE_POINTS_MAX: f64 = 24.0;
const POINTS_MAX: usize = 2 * SIDE_POINTS_MAX as usize + 1;

/// A disc on the surface.
#[derive(Clone, Copy, Debug, Default)]
struct Disc {
    /// Vertical depth below the surface, m; zero or negative without contact.
    depth_m: f64,
    /// Point where its force acts, map frame, m.
    point_m: Vector3<f64>,
    /// Direction of its force, scaled to z = 1.
    up: Vector3<f64>,
}

/// The discs of a wheel over the surface.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ContactPatch {
    discs: [Disc; DISCS],
    /// Unit normal of the terrain, smoothed over the wheel's size.
    pub(crate) normal: Vector3<f64>,
}

/// The normal force on the wheel and where it acts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NormalReaction {
    /// Force and torque about the wheel's centre; the torque about the axle is zero.
    pub(crate) wrench: Wrench,
    /// Direction of the force.
    pub(crate) normal: Vector3<f64>,
    /// Magnitude of the force, N.
    pub(crate) normal_n: f64,
    /// From the wheel's centre to the point where the force acts, m.
    pub(crate) arm_m: Vector3<f64>,
    /// Depth of the deepest disc along the normal, m.
    pub(crate) depth_m: f64,
    /// Rate at which that depth grows, m/s.
    pub(crate) closing_m_s: f64,
    /// Number of discs that carry.
    pub(crate) discs: u32,
}

impl ContactPatch {
    /// The discs of a wheel over the surface; none off the detailed ground.
    pub(crate) fn find(surface: &Surface, wheel: &WheelShape, motion: &WheelMotion) -> Option<Self> {
        // With the processor's widest vectors: the same operations, and the same bits.
        dispatch!(Level::new(), _ => Self::find_inline(surface, wheel, motion))
    }

    #[inline(always)]
    fn find_inline(surface: &Surface, wheel: &WheelShape, motion: &WheelMotion) -> Option<Self> {
        let centre_m = motion.world_from_wheel.translation.vector;
        let axle = motion.world_from_wheel.rotation * Vector3::y();
        let surface = &surface.nearby([centre_m.x, centre_m.y], reach_m(wheel, &axle));
        let normal = smooth_normal(surface, &centre_m, NORMAL_REACH * wheel.radius_m)?;
        let rim = Rim::new(surface, &centre_m, &axle, &normal, wheel.radius_m);
        let place = |i: usize| ((i as f64 + 0.5) / DISCS as f64 - 0.5) * wheel.width_m;
        let mut discs = [Disc::default(); DISCS];
        for (i, disc) in discs.iter_mut().enumerate() {
            *disc = rim.disc(surface, centre_m + axle * (place(i) * WIDEN));
        }
        Some(Self { discs, normal })
    }

    /// Depth of the deepest disc along the normal, m; zero when the wheel does not touch.
    pub(crate) fn depth_m(&self) -> f64 {
        self.discs.iter().fold(0.0, |deepest, disc| f64::max(deepest, disc.depth_m)) * self.normal.z
    }

    /// The wheel's normal force and torque; none where no disc carries. `force_n` gives the
    /// normal force of a disc, N, from its depth, m, and the rate at which that grows, m/s, both
    /// along the normal.
    pub(crate) fn stand(&self, motion: &WheelMotion, force_n: impl Fn(f64, f64) -> f64) -> Option<NormalReaction> {
        let centre_m = motion.world_from_wheel.translation.vector;
        let axle = motion.world_from_wheel.rotation * Vector3::y();
        let cosine = self.normal.z;
        let (mut wrench, mut moment, mut sum_n) = (Wrench::default(), Vector3::zeros(), 0.0);
        let (mut depth_m, mut fastest_m_s, mut discs) = (0.0, 0.0, 0);
        for disc in self.discs.iter().filter(|disc| disc.depth_m > 0.0) {
            let arm_m = disc.point_m - centre_m;
            let closing_m_s = -point_velocity(motion, &axle, &arm_m).dot(&disc.up) * cosine;
            if disc.depth_m * cosine > depth_m {
                (depth_m, fastest_m_s) = (disc.depth_m * cosine, closing_m_s);
            }
            let disc_n = force_n(disc.depth_m * cosine, closing_m_s);
            if disc_n > 0.0 {
                wrench.add_force_at(disc.up * (disc_n * cosine), arm_m);
                moment += arm_m * disc_n;
                sum_n += disc_n;
                discs += 1;
            }
        }
        let normal_n = wrench.force.norm();
        let normal = wrench.force.try_normalize(0.0)?;
        // Normal forces on a smooth cylinder have no torque about its axle.
        wrench.torque -= axle * wrench.torque.dot(&axle);
        Some(NormalReaction {
            wrench,
            normal,
            normal_n,
            arm_m: moment / sum_n,
            depth_m,
            closing_m_s: fastest_m_s,
            discs,
        })
    }
}

/// Velocity of a point fixed to the wheel's carrier, m/s, without the wheel's spin.
pub(crate) fn point_velocity(motion: &WheelMotion, axle: &Vector3<f64>, arm_m: &Vector3<f64>) -> Vector3<f64> {
    let carrier = motion.angular_rad_s - axle * motion.angular_rad_s.dot(axle);
    motion.linear_m_s + carrier.cross(arm_m)
}

/// Distance along x and y within which an upright wheel reads the surface, m.
#[inline(always)]
fn reach_m(wheel: &WheelShape, axle: &Vector3<f64>) -> [f64; 2] {
    let (ahead_m, aside_m) = (REACH_RAD.sin() * wheel.radius_m, 0.5 * wheel.width_m);
    let along = |ahead: f64, aside: f64| ahead.abs() * ahead_m + aside.abs() * aside_m;
    [along(axle.y, axle.x), along(axle.x, axle.y)].map(|reach_m| reach_m.max(NORMAL_REACH * wheel.radius_m))
}

#[inline(always)]
fn smooth_normal(surface: &CachedSurface, at: &Vector3<f64>, reach_m: f64) -> Option<Vector3<f64>> {
    let height_m = |dx: f64, dy: f64| surface.at(at.x + dx, at.y + dy).map(|place| place.height_m);
    let rise_x = height_m(reach_m, 0.0)? - height_m(-reach_m, 0.0)?;
    let rise_y = height_m(0.0, reach_m)? - height_m(0.0, -reach_m)?;
    Vector3::new(-rise_x, -rise_y, 2.0 * reach_m).try_normalize(0.0)
}

/// Directions from a disc's centre to the points of its rim.
struct Rim {
    /// From the middle one outward, to both sides in turn.
    points: ArrayVec<Vector3<f64>, POINTS_MAX>,
    bowl: Option<Bowl>,
}

/// An upright rim over a plane that the surface nowhere exceeds and that is square to the normal. The direction ahead is
/// along the plane, so the middle point is the lowest above it, and to each side the points rise steadily.
struct Bowl {
    /// Slope of the plane along x and y.
    slope: [f64; 2],
    /// A place on the plane, m.
    on_plane_m: Vector3<f64>,
    /// Distance along x and y within which all points are, m.
    reach_m: [f64; 2],
}

impl Bowl {
    /// The bowl of a wheel at `centre_m`; none where posts are not copied. `down` and `ahead` are the directions to the
    /// rim's middle point and to the point a quarter of a turn further.
    #[inline(always)]
    fn new(
        surface: &CachedSurface,
        centre_m: &Vector3<f64>,
        [down, ahead]: [&Vector3<f64>; 2],
        normal: &Vector3<f64>,
        radius_m: f64,
    ) -> Option<Self> {
        let slope = [-normal.x / normal.z, -normal.y / normal.z];
        let plane_m = surface.plane_above_m([centre_m.x, centre_m.y], slope)?;
        let reach_m = |down: f64, ahead: f64| radius_m * (down.abs() + ahead.abs() * REACH_SINE);
        Some(Self {
            slope,
            on_plane_m: Vector3::new(centre_m.x, centre_m.y, plane_m),
            reach_m: [reach_m(down.x, ahead.x), reach_m(down.y, ahead.y)],
        })
    }
}

/// How much a way rises over a plane of this slope.
#[inline(always)]
fn rise(way: &Vector3<f64>, slope: [f64; 2]) -> f64 {
    way.z - slope[0] * way.x - slope[1] * way.y
}

/// A point of a rim over the surface.
#[derive(Clone, Copy)]
struct RimDepth {
    /// From the disc's centre, m.
    point: Vector3<f64>,
    depth_m: f64,
    /// Slope of the surface there along x and y.
    slope: [f64; 2],
}

impl Rim {
    /// The rims of a wheel at `centre_m`, with an axle and a normal of the surface under it.
    #[inline(always)]
    fn new(
        surface: &CachedSurface,
        centre_m: &Vector3<f64>,
        axle: &Vector3<f64>,
        normal: &Vector3<f64>,
        radius_m: f64,
    ) -> Self {
        let outward = axle * normal.dot(axle) - normal;
        let sine = outward.norm();
        let any = || axle.cross(&if axle.x.abs() < 0.7 { Vector3::x() } else { Vector3::y() }).normalize();
        let down = outward.try_normalize(1e-9).unwrap_or_else(any);
        let ahead = down.cross(axle);
        let is_tipped = sine < TIPPED_SINE;
        let reach = if is_tipped { PI } else { REACH_RAD };
        let sides = (reach * radius_m / surface.spacing_m()).ceil().clamp(SIDE_POINTS_MIN, SIDE_POINTS_MAX);
        // Around the whole rim, the first point follows the last at the same spacing.
        let reach = if is_tipped { PI * 2.0 * sides / (2.0 * sides + 1.0) } else { reach };
        let count = 2 * sides as usize + 1;
        let mut points = ArrayVec::new();
        let mut add = |(sin, cos): (f64, f64)| points.push((down * cos + ahead * sin) * radius_m);
        if count == FEWEST && !is_tipped {
            FEWEST_TURNS.iter().for_each(|turn| add(*turn));
        } else {
            (0..count).for_each(|i| add(turn(i, sides, reach)));
        }
        let bowl = if is_tipped { None } else { Bowl::new(surface, centre_m, [&down, &ahead], normal, radius_m) };
        Self { points, bowl }
    }

    #[inline(always)]
    fn disc(&self, surface: &CachedSurface, centre_m: Vector3<f64>) -> Disc {
        let mut looked = ArrayVec::new();
        let deepest_m = self.look(surface, &centre_m, &mut looked);
        if deepest_m <= -BLEND_M {
            return Disc::default();
        }
        let (mut total, mut arm_m, mut up) = (0.0, Vector3::zeros(), Vector3::zeros());
        for RimDepth { point, depth_m, slope } in &looked {
            let lengths = (depth_m - deepest_m) / BLEND_M;
            if lengths < SHARELESS {
                continue;
            }
            // Most discs stand on one point: e⁰ and ln 1 are exact.
            let share = if lengths == 0.0 { 1.0 } else { lengths.exp() };
            total += share;
            arm_m += point * share;
            up += Vector3::new(-slope[0], -slope[1], 1.0) * share;
        }
        if total == 1.0 {
            return Disc { depth_m: deepest_m, point_m: centre_m + arm_m, up };
        }
        let depth_m = deepest_m + BLEND_M * f64::ln(total);
        Disc { depth_m, point_m: centre_m + arm_m / total, up: up / total }
    }

    /// Lists the points of a disc that may have a share; returns the greatest of their depths, m. Points off the ground
    /// have none.
    #[inline(always)]
    fn look(
        &self,
        surface: &CachedSurface,
        centre_m: &Vector3<f64>,
        looked: &mut ArrayVec<RimDepth, POINTS_MAX>,
    ) -> f64 {
        let in_bowl = |bowl: &&Bowl| surface.holds([centre_m.x, centre_m.y], bowl.reach_m);
        if let Some(bowl) = self.bowl.as_ref().filter(in_bowl) {
            return self.look_up(bowl, surface, centre_m, looked);
        }
        let mut deepest_m = f64::NEG_INFINITY;
        for point in &self.points {
            let at = centre_m + point;
            let Some(place) = surface.at(at.x, at.y) else { continue };
            let depth_m = place.height_m - at.z;
            deepest_m = deepest_m.max(depth_m);
            looked.push(RimDepth { point: *point, depth_m, slope: place.slope });
        }
        deepest_m
    }

    /// The same for a bowl above copied posts: each side is followed from the middle point up to the first one that is
    /// too high above the plane over the surface to have a share, since the points after it are still higher. On even
    /// ground three points remain of nine.
    #[inline(always)]
    fn look_up(
        &self,
        bowl: &Bowl,
        surface: &CachedSurface,
        centre_m: &Vector3<f64>,
        looked: &mut ArrayVec<RimDepth, POINTS_MAX>,
    ) -> f64 {
        let mut deepest_m = f64::NEG_INFINITY;
        let above_m = rise(&(centre_m - bowl.on_plane_m), bowl.slope);
        // A bit for each side.
        let mut open = 0b11_u32;
        for (i, point) in self.points.iter().enumerate() {
            let side = 1 << (i & 1);
            if open & side == 0 {
                continue;
            }
            if above_m + rise(point, bowl.slope) > -deepest_m - SHARELESS * BLEND_M {
                open &= !side;
                if open == 0 {
                    break;
                }
                continue;
            }
            let at = centre_m + point;
            let place = surface.at_copied(at.x, at.y);
            let depth_m = place.height_m - at.z;
            deepest_m = deepest_m.max(depth_m);
            looked.push(RimDepth { point: *point, depth_m, slope: place.slope });
        }
        deepest_m
    }
}

/// Number of points of an upright rim with the fewest of them.
const FEWEST: usize = 2 * SIDE_POINTS_MIN as usize + 1;

/// Sines and cosines of those points' angles, for most wheels' every step.
static FEWEST_TURNS: LazyLock<[(f64, f64); FEWEST]> =
    LazyLock::new(|| std::array::from_fn(|i| turn(i, SIDE_POINTS_MIN, REACH_RAD)));

/// Sine and cosine of the angle of the `i`-th point of a rim, counted from the middle one outward.
fn turn(i: usize, sides: f64, reach_rad: f64) -> (f64, f64) {
    let steps = i.div_ceil(2) as f64;
    let place = if i % 2 == 1 { sides - steps } else { sides + steps };
    ((place / sides - 1.0) * reach_rad).sin_cos()
}

#[cfg(test)]
mod tests {
    use super::{BLEND_M, ContactPatch, Disc, NORMAL_REACH, Rim, SHARELESS, reach_m, smooth_normal};
    use crate::surface::{CachedSurface, Surface};
    use crate::wheel::{WheelMotion, WheelShape};
    use arrayvec::ArrayVec;
    use nalgebra::{UnitQuaternion, Vector3};
    use selene_base::Pose;
    use selene_terrain::{GroundPatch, Level};

    const WHEEL: WheelShape = WheelShape::plain(0.25, 0.2);
    /// Neighbouring points of a rim add a part of the blend length.
    const DEPTH_TOLERANCE_M: f64 = 5e-5;

    fn slope(deg: f64) -> GroundPatch {
        let rise = deg.to_radians().tan();
        let level = Level::sample([-1.0, -1.0], 0.02, 101, |x, _| rise * x);
        GroundPatch::of_level(level, Vec::new(), Vec::new())
    }

    fn motion(centre_m: Vector3<f64>, roll: f64, pitch: f64, yaw: f64) -> WheelMotion {
        WheelMotion {
            world_from_wheel: Pose::from_parts(centre_m.into(), UnitQuaternion::from_euler_angles(roll, pitch, yaw)),
            linear_m_s: Vector3::zeros(),
            angular_rad_s: Vector3::zeros(),
        }
    }

    #[test]
    fn a_wheel_on_a_plane_has_its_depth_whatever_its_heading() {
        for deg in [0.0_f64, 10.0, 35.0] {
            let (ground, normal) = (slope(deg), Vector3::new(-deg.to_radians().sin(), 0.0, deg.to_radians().cos()));
            let aligned = UnitQuaternion::rotation_between(&Vector3::z(), &normal).expect("not opposite");
            for yaw in [0.0, 0.7, 1.9, 4.0] {
                let mut at = motion(normal * (0.25 - 0.001), 0.0, 0.0, 0.0);
                at.world_from_wheel.rotation = aligned * UnitQuaternion::from_euler_angles(0.0, 0.0, yaw);
                let contact_patch = ContactPatch::find(&Surface::now(&ground), &WHEEL, &at).expect("on the site");
                let stand = contact_patch.stand(&at, |depth_m, _| depth_m).expect("touches");
                assert!((stand.depth_m - 0.001).abs() < DEPTH_TOLERANCE_M, "{deg} {yaw} {stand:?}");
                assert!((stand.normal - normal).norm() < 1e-4 && stand.discs == 5);
                assert!((stand.arm_m + normal * 0.249).norm() < 2e-3, "{deg} {yaw} {:?}", stand.arm_m);
                assert!(stand.wrench.torque.norm() < 1e-3 * stand.normal_n);
            }
        }
    }

    #[test]
    fn a_leaning_wheel_stands_on_its_edge_and_is_righted() {
        let ground = slope(0.0);
        let lean: f64 = 0.1;
        let at = motion(Vector3::z() * (0.25 * lean.cos() + 0.1 * lean.sin() - 0.001), lean, 0.0, 0.0);
        let contact_patch = ContactPatch::find(&Surface::now(&ground), &WHEEL, &at).expect("on the site");
        let stand = contact_patch.stand(&at, |depth_m, _| depth_m).expect("touches");
        assert!((stand.depth_m - 0.001).abs() < DEPTH_TOLERANCE_M && stand.discs == 1, "{stand:?}");
        assert!(stand.wrench.torque.x < -0.05 * stand.normal_n, "{stand:?}");
    }

    #[test]
    fn a_wheel_on_its_side_lies_on_its_rim() {
        let ground = slope(0.0);
        for roll in [std::f64::consts::FRAC_PI_2, -std::f64::consts::FRAC_PI_2] {
            let at = motion(Vector3::z() * 0.099, roll, 0.0, 0.0);
            let contact_patch = ContactPatch::find(&Surface::now(&ground), &WHEEL, &at).expect("on the site");
            let stand = contact_patch.stand(&at, |depth_m, _| depth_m).expect("touches");
            assert!((stand.depth_m - 0.001).abs() < 3e-4 && stand.wrench.torque.norm() < 1e-6, "{stand:?}");
        }
    }

    #[test]
    fn off_the_site_or_in_the_air_nothing_carries() {
        let ground = slope(0.0);
        assert!(
            ContactPatch::find(&Surface::now(&ground), &WHEEL, &motion(Vector3::x() * 5.0, 0.0, 0.0, 0.0)).is_none()
        );
        for far in [Vector3::x(), Vector3::y()].map(|axis| axis * 1e12) {
            for centre_m in [far, -far] {
                assert!(ContactPatch::find(&Surface::now(&ground), &WHEEL, &motion(centre_m, 0.0, 0.0, 0.0)).is_none());
            }
        }
        let up = motion(Vector3::z() * 0.3, 0.0, 0.0, 0.0);
        let contact_patch = ContactPatch::find(&Surface::now(&ground), &WHEEL, &up).expect("on the site");
        assert!(contact_patch.stand(&up, |depth_m, _| depth_m).is_none());
    }

    /// A disc by its definition: every point of the rim is looked at.
    fn disc_of_all_points(rim: &Rim, surface: &CachedSurface, centre_m: Vector3<f64>) -> Disc {
        let found = rim.points.iter().filter_map(|point| {
            let at = centre_m + point;
            surface.at(at.x, at.y).map(|place| (point, place.height_m - at.z, place.slope))
        });
        let found: Vec<_> = found.collect();
        let deepest_m = found.iter().fold(f64::NEG_INFINITY, |deepest, (_, depth_m, _)| deepest.max(*depth_m));
        if deepest_m <= -BLEND_M {
            return Disc::default();
        }
        let (mut total, mut arm_m, mut up) = (0.0, Vector3::zeros(), Vector3::zeros());
        for (point, depth_m, [along_x, along_y]) in found {
            let lengths = (depth_m - deepest_m) / BLEND_M;
            if lengths >= SHARELESS {
                total += lengths.exp();
                arm_m += point * lengths.exp();
                up += Vector3::new(-along_x, -along_y, 1.0) * lengths.exp();
            }
        }
        Disc { depth_m: deepest_m + BLEND_M * f64::ln(total), point_m: centre_m + arm_m / total, up: up / total }
    }

    #[test]
    fn points_that_are_not_looked_at_would_change_no_bit() {
        let mut bits = 88_172_645_463_325_252_u64;
        let mut within = |min: f64, max: f64| {
            bits ^= bits << 13;
            bits ^= bits >> 7;
            bits ^= bits << 17;
            min + (max - min) * (bits >> 11) as f64 / (1_u64 << 53) as f64
        };
        let (mut skipped, mut touching, mut several) = (0, 0, 0);
        for _ in 0..40 {
            let (waves, rise, rough_m) = (within(2.0, 30.0), within(-0.6, 0.6), within(0.0, 0.02));
            let height_m = |x: f64, y: f64| rise * x + rough_m * ((waves * x).sin() + (waves * y).cos());
            let spacing_m = [0.02, 0.05][usize::from(within(0.0, 1.0) > 0.5)];
            let level = Level::sample([-1.0, -1.0], spacing_m, (2.0 / spacing_m) as usize + 1, height_m);
            let ground = GroundPatch::of_level(level, Vec::new(), Vec::new());
            for _ in 0..100 {
                // Some hang over the border of the ground; some are tipped.
                let [x, y] = [within(-1.05, 1.05), within(-1.05, 1.05)];
                let wheel = WheelShape { radius_m: within(0.05, 0.3), width_m: within(0.04, 0.3), ..WHEEL };
                let z = height_m(x, y) + wheel.radius_m + within(-0.03, 0.005);
                let roll = if within(0.0, 1.0) < 0.2 { within(-3.1, 3.1) } else { within(-0.3, 0.3) };
                let at = motion(Vector3::new(x, y, z), roll, within(-0.3, 0.3), within(-3.1, 3.1));
                let axle = at.world_from_wheel.rotation * Vector3::y();
                let surface = &Surface::now(&ground).nearby([x, y], reach_m(&wheel, &axle));
                let middle_m = &at.world_from_wheel.translation.vector;
                let normal = smooth_normal(surface, middle_m, NORMAL_REACH * wheel.radius_m);
                let rim = Rim::new(surface, middle_m, &axle, &normal.unwrap_or_else(Vector3::z), wheel.radius_m);
                let centre_m = at.world_from_wheel.translation.vector + axle * within(-0.15, 0.15);
                let (ours, all) = (rim.disc(surface, centre_m), disc_of_all_points(&rim, surface, centre_m));
                let bits_of = |of: &Disc| {
                    [of.depth_m, of.point_m.x, of.point_m.y, of.point_m.z, of.up.x, of.up.y].map(f64::to_bits)
                };
                assert_eq!(bits_of(&ours), bits_of(&all), "{ours:?} {all:?}");
                let mut looked = ArrayVec::new();
                let deepest_m = rim.look(surface, &centre_m, &mut looked);
                let sharing = looked.iter().filter(|of| (of.depth_m - deepest_m) / BLEND_M >= SHARELESS).count();
                skipped += rim.points.len() - looked.len();
                touching += usize::from(all.depth_m > 0.0);
                several += usize::from(sharing > 1 && deepest_m.is_finite());
            }
        }
        println!("{skipped} points were not looked at; {touching} discs touch, in {several} several points share");
        assert!(skipped > 5000 && touching > 1000 && several > 300, "{skipped} {touching} {several}");
    }
}
