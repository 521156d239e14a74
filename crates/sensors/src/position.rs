//! A position fix: latitude, longitude and altitude on the 1 737 400 m sphere, from the
//! position in the site's map frame, with white noise. The map is a plane that touches the
//! Moon (x east, y north, z up), so altitude grows with the square of the distance from
//! its origin (0.29 m at 1 km), as a straight line does over a round Moon.

use garde::Validate;
use nalgebra::Vector3;
use selene_base::input::non_negative;
use selene_base::random::stream_at;
use selene_dem::MapFrame;
use serde::Deserialize;

use crate::noise::gaussian;
use crate::spec::{lag, rate, ros_name, schedule};
use crate::{PlacementSpec, Sample, Schedule, SensorQos};

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
    /// Where it sits on that link; none: in the link's frame.
    #[serde(default)]
    #[garde(dive)]
    pub mount: Option<PlacementSpec>,
    /// Fixes a second.
    #[garde(custom(rate))]
    pub rate_hz: f64,
    /// From measurement to hand-over, s.
    #[garde(custom(lag))]
    pub lag_s: f64,
    /// How the topic is offered.
    #[garde(skip)]
    pub qos: SensorQos,
    /// Whether the truth is told beside its readings.
    #[serde(default)]
    #[garde(skip)]
    pub truth: bool,
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

impl PositionSpec {
    /// When it takes fixes, from the scenario's start on.
    #[must_use]
    pub fn schedule(&self) -> Schedule {
        schedule(self.rate_hz, self.lag_s)
    }

    /// The fix of a perfect receiver with the antenna at `map_m` of the site's map frame.
    #[must_use]
    pub fn exact(map: &MapFrame, map_m: Vector3<f64>) -> Fix {
        let place = map.to_geodetic(map_m.into());
        Fix {
            latitude_deg: place.latitude_deg(),
            longitude_deg: place.longitude_deg(),
            altitude_m: place.height_m,
            covariance_m2: [0.0; 9],
        }
    }

    /// The fix of `sample` with the antenna at `map_m` of the site's map frame; `seed` is the
    /// scenario's.
    #[must_use]
    pub fn fix(&self, map: &MapFrame, map_m: Vector3<f64>, seed: u64, sample: Sample) -> Fix {
        let mut rng = stream_at(seed, &self.name, sample.index);
        let sigma = [self.horizontal_sigma_m, self.horizontal_sigma_m, self.vertical_sigma_m];
        let noise = Vector3::from(sigma.map(|sigma_m| sigma_m * gaussian(&mut rng)));
        let [e, n, u] = sigma.map(|sigma_m| sigma_m * sigma_m);
        Fix { covariance_m2: [e, 0.0, 0.0, 0.0, n, 0.0, 0.0, 0.0, u], ..Self::exact(map, map_m + noise) }
    }
}

#[cfg(test)]
mod tests {
    use super::PositionSpec;
    use crate::{Sample, SensorQos};
    use nalgebra::Vector3;
    use selene_base::{MOON_RADIUS_M, SimTime};
    use selene_dem::{GeoPoint, MapFrame};

    fn receiver(horizontal_sigma_m: f64, vertical_sigma_m: f64) -> PositionSpec {
        PositionSpec {
            name: "gps".into(),
            link: "gps_link".into(),
            rate_hz: 5.0,
            lag_s: 0.0,
            qos: SensorQos::Reliable,
            mount: None,
            truth: false,
            horizontal_sigma_m,
            vertical_sigma_m,
        }
    }

    #[test]
    fn a_kilometre_north_is_a_known_arc_and_a_little_higher() {
        let exact = receiver(0.0, 0.0);
        let sample = Sample { index: 0, instant: SimTime::ZERO };
        let fix = exact.fix(&MapFrame::new(26.0, 3.0, 0.0), Vector3::y() * 1000.0, 1, sample);
        let arc_deg = (1000.0 / MOON_RADIUS_M).atan().to_degrees();
        assert!((fix.latitude_deg - 26.0 - arc_deg).abs() < 1e-10 && (fix.longitude_deg - 3.0).abs() < 1e-10);
        assert!((fix.altitude_m - 1000.0_f64.powi(2) / (2.0 * MOON_RADIUS_M)).abs() < 1e-3);
    }

    #[test]
    fn fixes_scatter_as_their_covariance_says() {
        const TOLERANCE: f64 = 0.1; // of the variance, from 4000 fixes: one sigma is 2.2 %
        let (gps, map, place) = (receiver(0.5, 1.5), MapFrame::new(-85.0, 31.0, 0.0), Vector3::new(5.0, 6.0, 7.0));
        let n = 4000;
        let mut squares = Vector3::zeros();
        let mut covariance = [0.0; 9];
        for index in 0..n {
            let fix = gps.fix(&map, place, 1, Sample { index, instant: SimTime::ZERO });
            let found = GeoPoint::from_degrees(fix.latitude_deg, fix.longitude_deg);
            let error = Vector3::from(map.to_map(&GeoPoint { height_m: fix.altitude_m, ..found })) - place;
            squares += error.component_mul(&error) / n as f64;
            covariance = fix.covariance_m2;
        }
        for axis in 0..3 {
            assert!((squares[axis] / covariance[4 * axis] - 1.0).abs() < TOLERANCE, "axis {axis}: {squares}");
        }
    }
}
