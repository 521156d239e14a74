//! A position fix: latitude, longitude and altitude on the 1 737 400 m sphere, from the
//! map position at the site's anchor, with white noise. The map is the plane tangent to
//! the sphere at the anchor (x east, y north, z up), so altitude grows with the square
//! of the distance from it (0.29 m at 1 km), as a straight line does over a round Moon.

use garde::Validate;
use nalgebra::{Rotation3, Vector3};
use selene_base::input::non_negative;
use selene_base::random::stream_at;
use selene_sky::{MOON_RADIUS_M, moon_from_enu};
use serde::Deserialize;

use crate::noise::gaussian;
use crate::spec::{lag, rate, ros_name};
use crate::{Qos, Sample};

/// A receiver of position fixes.
#[derive(Clone, Debug, PartialEq, Deserialize, Validate)]
#[serde(deny_unknown_fields)]
pub struct PositionSpec {
    /// Topic prefix and stream name.
    #[garde(custom(ros_name))]
    pub name: String,
    /// The frame whose origin is the antenna.
    #[garde(custom(ros_name))]
    pub link: String,
    /// Fixes a second.
    #[garde(custom(rate))]
    pub rate_hz: f64,
    /// From measurement to hand-over, s.
    #[garde(custom(lag))]
    pub lag_s: f64,
    /// How the topic is offered.
    #[garde(skip)]
    pub qos: Qos,
    /// Standard deviation to the east, and to the north, m.
    #[garde(custom(non_negative))]
    pub horizontal_sigma_m: f64,
    /// Standard deviation upward, m.
    #[garde(custom(non_negative))]
    pub vertical_sigma_m: f64,
}

/// A position fix as `sensor_msgs/NavSatFix` wants it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fix {
    /// Degrees north.
    pub latitude_deg: f64,
    /// Degrees east, −180 to 180.
    pub longitude_deg: f64,
    /// Above the sphere, m.
    pub altitude_m: f64,
    /// East, north, up, row by row, m².
    pub covariance_m2: [f64; 9],
}

/// Where the map frame's origin is on the Moon.
#[derive(Clone, Copy, Debug)]
pub struct Anchor {
    moon_from_enu: Rotation3<f64>,
    radius_m: f64,
}

impl Anchor {
    /// The map's origin at degrees north and east, `height_m` above the sphere.
    #[must_use]
    pub fn new(latitude_deg: f64, longitude_deg: f64, height_m: f64) -> Self {
        Self { moon_from_enu: moon_from_enu(latitude_deg, longitude_deg), radius_m: MOON_RADIUS_M + height_m }
    }

    /// Latitude and longitude in degrees and altitude in m of a map position.
    #[must_use]
    pub fn geographic(&self, map_m: Vector3<f64>) -> [f64; 3] {
        let p = self.moon_from_enu * (map_m + Vector3::z() * self.radius_m);
        let latitude = p.z.atan2(p.x.hypot(p.y));
        [latitude.to_degrees(), p.y.atan2(p.x).to_degrees(), p.norm() - MOON_RADIUS_M]
    }

    /// The map position of latitude and longitude in degrees and altitude in m.
    #[must_use]
    pub fn map(&self, [latitude_deg, longitude_deg, altitude_m]: [f64; 3]) -> Vector3<f64> {
        let up = moon_from_enu(latitude_deg, longitude_deg) * Vector3::z();
        self.moon_from_enu.inverse() * up * (MOON_RADIUS_M + altitude_m) - Vector3::z() * self.radius_m
    }
}

impl PositionSpec {
    /// The fix of `sample` with the antenna at `map_m`; `seed` is the scenario's.
    #[must_use]
    pub fn fix(&self, anchor: &Anchor, map_m: Vector3<f64>, seed: u64, sample: Sample) -> Fix {
        let mut rng = stream_at(seed, &self.name, sample.index);
        let sigma = [self.horizontal_sigma_m, self.horizontal_sigma_m, self.vertical_sigma_m];
        let noise = Vector3::from(sigma.map(|sigma_m| sigma_m * gaussian(&mut rng)));
        let [latitude_deg, longitude_deg, altitude_m] = anchor.geographic(map_m + noise);
        let [e, n, u] = sigma.map(|sigma_m| sigma_m * sigma_m);
        Fix { latitude_deg, longitude_deg, altitude_m, covariance_m2: [e, 0.0, 0.0, 0.0, n, 0.0, 0.0, 0.0, u] }
    }
}

#[cfg(test)]
mod tests {
    use super::{Anchor, PositionSpec};
    use crate::{Qos, Sample};
    use nalgebra::Vector3;
    use selene_base::SimTime;
    use selene_sky::MOON_RADIUS_M;

    fn receiver(horizontal_sigma_m: f64, vertical_sigma_m: f64) -> PositionSpec {
        PositionSpec {
            name: "gps".into(),
            link: "gps_link".into(),
            rate_hz: 5.0,
            lag_s: 0.0,
            qos: Qos::Reliable,
            horizontal_sigma_m,
            vertical_sigma_m,
        }
    }

    #[test]
    fn map_to_sphere_and_back_is_the_same_place_to_a_millimetre() {
        for (latitude, longitude) in [(0.0, 0.0), (26.1, 3.6), (-85.4, 31.7), (-89.99, -170.0), (89.999, 10.0)] {
            let anchor = Anchor::new(latitude, longitude, -1500.0);
            for place in [Vector3::zeros(), Vector3::new(12.3, -45.6, 1.8), Vector3::new(-9000.0, 7000.0, -300.0)] {
                let back = anchor.map(anchor.geographic(place));
                assert!((back - place).norm() < 1e-3, "{place} came back as {back}");
            }
        }
    }

    #[test]
    fn a_kilometre_north_is_a_known_arc_and_a_little_higher() {
        let anchor = Anchor::new(26.0, 3.0, 0.0);
        let [latitude, longitude, altitude] = anchor.geographic(Vector3::y() * 1000.0);
        let arc_deg = (1000.0 / MOON_RADIUS_M).atan().to_degrees();
        assert!((latitude - 26.0 - arc_deg).abs() < 1e-10 && (longitude - 3.0).abs() < 1e-10);
        assert!((altitude - 1000.0_f64.powi(2) / (2.0 * MOON_RADIUS_M)).abs() < 1e-3);
    }

    #[test]
    fn fixes_scatter_as_their_covariance_says() {
        const TOLERANCE: f64 = 0.1; // of the variance, from 4000 fixes: one sigma is 2.2 %
        let (gps, anchor, place) = (receiver(0.5, 1.5), Anchor::new(-85.0, 31.0, 0.0), Vector3::new(5.0, 6.0, 7.0));
        let n = 4000;
        let mut squares = Vector3::zeros();
        let mut covariance = [0.0; 9];
        for index in 0..n {
            let fix = gps.fix(&anchor, place, 1, Sample { index, instant: SimTime::ZERO });
            let error = anchor.map([fix.latitude_deg, fix.longitude_deg, fix.altitude_m]) - place;
            squares += error.component_mul(&error) / n as f64;
            covariance = fix.covariance_m2;
        }
        for axis in 0..3 {
            assert!((squares[axis] / covariance[4 * axis] - 1.0).abs() < TOLERANCE, "axis {axis}: {squares}");
        }
    }
}
