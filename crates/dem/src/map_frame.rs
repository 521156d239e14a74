//! The `map` frame: x east, y north, z up, in the plane tangent to the Moon at a position. The frame is Cartesian and
//! so includes the Moon's curvature: 5 km away the sphere lies 7.2 m below the plane.

use nalgebra::Vector3;

use crate::crs::{GeoPoint, MOON_RADIUS_M};

/// The local tangent frame at a position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MapFrame {
    origin: GeoPoint,
    origin_from_middle_m: Vector3<f64>,
    east: Vector3<f64>,
    north: Vector3<f64>,
    up: Vector3<f64>,
}

impl MapFrame {
    /// The frame whose origin is at a latitude and east longitude (degrees) and at a
    /// height above the sphere of 1 737 400 m.
    #[must_use]
    pub fn new(latitude_deg: f64, longitude_deg: f64, height_m: f64) -> Self {
        let origin = GeoPoint { height_m, ..GeoPoint::from_degrees(latitude_deg, longitude_deg) };
        let up = origin.direction();
        let (sin_lon, cos_lon) = origin.longitude_rad.sin_cos();
        let east = Vector3::new(-sin_lon, cos_lon, 0.0);
        let origin_from_middle_m = up * (MOON_RADIUS_M + height_m);
        Self { origin, origin_from_middle_m, east, north: up.cross(&east), up }
    }

    /// Position of the origin.
    #[must_use]
    pub fn origin(&self) -> &GeoPoint {
        &self.origin
    }

    /// Height of the origin above the sphere, m.
    #[must_use]
    pub fn height_m(&self) -> f64 {
        self.origin.height_m
    }

    /// The position of a point (m) of the map frame.
    #[must_use]
    pub fn to_geodetic(&self, xyz_m: [f64; 3]) -> GeoPoint {
        GeoPoint::from_direction(&self.seen_from_middle_m(xyz_m))
    }

    /// The point of the map frame at a position, m.
    #[must_use]
    pub fn to_map(&self, place: &GeoPoint) -> [f64; 3] {
        let from_origin = place.direction() * (MOON_RADIUS_M + place.height_m) - self.origin_from_middle_m;
        [self.east, self.north, self.up].map(|axis| axis.dot(&from_origin))
    }

    /// A point of the map frame relative to the Moon's centre, in axes fixed to the Moon, m.
    pub(super) fn seen_from_middle_m(&self, [x, y, z]: [f64; 3]) -> Vector3<f64> {
        self.origin_from_middle_m + self.east * x + self.north * y + self.up * z
    }

    /// z of the sphere through the origin at (x, y), m.
    pub(super) fn sphere_z_m(&self, x: f64, y: f64) -> f64 {
        let radius_m = MOON_RADIUS_M + self.origin.height_m;
        let square = x * x + y * y;
        -square / (radius_m + (radius_m * radius_m - square).max(0.0).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::{GeoPoint, MOON_RADIUS_M, MapFrame};
    use crate::{Crs, Dem, GeoTransform};

    /// Accuracy that the frame must have over 20 km.
    const MILLIMETRE_M: f64 = 1e-3;

    fn points() -> impl Iterator<Item = [f64; 3]> {
        let steps = || (-5..=5).map(|i| f64::from(i) * 4000.0 + 0.123);
        steps().flat_map(move |x| steps().flat_map(move |y| [-3000.0, 0.0, 5000.0].map(move |z| [x, y, z])))
    }

    #[test]
    fn points_come_back_to_a_millimetre_over_20_km_anywhere() {
        for (latitude_deg, longitude_deg) in [(26.1, 3.6), (-89.67, 129.78), (90.0, 0.0), (0.0, 180.0), (-45.0, -87.1)]
        {
            let frame = MapFrame::new(latitude_deg, longitude_deg, -1924.5);
            for xyz in points() {
                let back = frame.to_map(&frame.to_geodetic(xyz));
                let apart = (0..3).map(|i| (back[i] - xyz[i]).abs()).fold(0.0, f64::max);
                assert!(apart < MILLIMETRE_M, "{xyz:?} came back as {back:?} at {latitude_deg}, {longitude_deg}");
            }
        }
    }

    #[test]
    fn places_are_where_the_sphere_says() {
        // At a distance d straight east in the plane, the height is √(R² + d²) − R and the angle around the Moon's
        // centre is atan(d/R); due north, that angle is all latitude.
        let frame = MapFrame::new(0.0, 10.0, 0.0);
        let d = 20_000.0_f64;
        let place = frame.to_geodetic([d, 0.0, 0.0]);
        assert!((place.height_m - (MOON_RADIUS_M.hypot(d) - MOON_RADIUS_M)).abs() < MILLIMETRE_M);
        let east_rad = place.longitude_rad - 10.0_f64.to_radians();
        assert!((east_rad - (d / MOON_RADIUS_M).atan()).abs() * MOON_RADIUS_M < MILLIMETRE_M);
        let north = frame.to_geodetic([0.0, d, 0.0]);
        assert!((north.latitude_rad - (d / MOON_RADIUS_M).atan()).abs() * MOON_RADIUS_M < MILLIMETRE_M);
        let [x, y, z] = frame.to_map(&GeoPoint { height_m: 7.0, ..GeoPoint::from_degrees(0.0, 10.0) });
        assert!(x.abs() < MILLIMETRE_M && y.abs() < MILLIMETRE_M && (z - 7.0).abs() < MILLIMETRE_M);
    }

    #[test]
    fn the_surface_over_a_map_point_lies_on_the_posts_surface() {
        // Polar posts 20 m apart, slopes up to 30 %.
        const TOLERANCE_M: f64 = 2e-4;
        let crs = Crs::parse("30135").unwrap();
        let height = |column: usize, row: usize| 900.0 * ((column as f64 * 0.01).sin() + (row as f64 * 0.013).cos());
        let heights = (0..2000 * 1900).map(|i| height(i % 2000, i / 2000) as f32).collect();
        let corner = crs.forward(&GeoPoint::from_degrees(-89.67, 129.78)).unwrap();
        let transform = GeoTransform::north_up(corner[0] - 20_000.0, corner[1] + 19_000.0, 20.0, 20.0);
        let dem = Dem::new([2000, 1900], transform, crs, heights).unwrap();
        let frame = MapFrame::new(-89.67, 129.78, 500.0);
        for [x, y, _] in points().map(|[x, y, z]| [x * 0.6, y * 0.6, z]) {
            let z = dem.map_height_m(&frame, x, y).unwrap();
            let place = frame.to_geodetic([x, y, z]);
            let off_m = place.height_m - dem.height_m(&place).unwrap();
            assert!(off_m.abs() < TOLERANCE_M, "{off_m} m at {x}, {y}");
        }
        assert_eq!(dem.map_height_m(&frame, 40_000.0, 0.0), None);
        let grid = dem.map_heights_m(&frame, [-100.0, -50.0], 50.0, [5, 3]);
        assert_eq!(f64::from(grid[5 + 4]), f64::from(dem.map_height_m(&frame, 100.0, 0.0).unwrap() as f32));
    }

    #[test]
    fn a_ball_without_relief_falls_away_as_the_sphere_does() {
        let flat =
            Dem::new([360, 180], GeoTransform::north_up(-180.0, 90.0, 1.0, 1.0), Crs::Geographic, vec![0.0; 64800])
                .unwrap();
        let frame = MapFrame::new(26.1, 3.6, 0.0);
        for d in [1000.0, 5000.0, 20_000.0] {
            let wanted = (MOON_RADIUS_M * MOON_RADIUS_M - d * d).sqrt() - MOON_RADIUS_M;
            let z = flat.map_height_m(&frame, d * 0.6, d * 0.8).unwrap();
            assert!((z - wanted).abs() < MILLIMETRE_M, "{z} m for {wanted} m");
        }
    }
}
