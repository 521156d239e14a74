//! Dead sectors: windows of azimuth and elevation in which a lidar measures nothing, for instance behind a mast.

use garde::Validate;
use schemars::JsonSchema;
use selene_base::input::within;
use serde::Deserialize;

/// A window in which nothing is measured.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct DeadSector {
    /// Counter-clockwise from the first azimuth to the second, degrees from x toward y, −180 to 180; [170, −170] is the
    /// sector straight behind.
    #[garde(custom(azimuths))]
    pub azimuth_deg: [f64; 2],
    /// Lowest and highest elevation, degrees, −90 to 90.
    #[garde(custom(elevations))]
    pub elevation_deg: [f64; 2],
}

impl DeadSector {
    /// Whether a direction is in it; both angles in rad.
    pub(super) fn holds(&self, azimuth_rad: f64, elevation_rad: f64) -> bool {
        let [from_deg, to_deg] = self.azimuth_deg;
        let [lowest_deg, highest_deg] = self.elevation_deg;
        let width_deg = if from_deg <= to_deg { to_deg - from_deg } else { to_deg - from_deg + 360.0 };
        let in_azimuth = (azimuth_rad.to_degrees() - from_deg).rem_euclid(360.0) <= width_deg;
        in_azimuth && (lowest_deg..=highest_deg).contains(&elevation_rad.to_degrees())
    }
}

fn azimuths(window_deg: &[f64; 2], (): &()) -> garde::Result {
    window_deg.iter().try_for_each(|azimuth_deg| within(-180.0, 180.0)(azimuth_deg, &()))
}

fn elevations([lowest_deg, highest_deg]: &[f64; 2], (): &()) -> garde::Result {
    within(-90.0, 90.0)(lowest_deg, &())?;
    within(*lowest_deg, 90.0)(highest_deg, &())
}

#[cfg(test)]
mod tests {
    use super::DeadSector;

    #[test]
    fn a_window_goes_counter_clockwise_across_what_is_behind() {
        let behind = DeadSector { azimuth_deg: [170.0, -170.0], elevation_deg: [-90.0, 0.0] };
        let holds =
            |azimuth_deg: f64, elevation_deg: f64| behind.holds(azimuth_deg.to_radians(), elevation_deg.to_radians());
        assert!(holds(175.0, -1.0) && holds(-175.0, -1.0) && holds(180.0, -80.0) && holds(-185.0, -1.0));
        assert!(!holds(175.0, 1.0) && !holds(165.0, -1.0) && !holds(0.0, -1.0));
        let ahead = DeadSector { azimuth_deg: [-10.0, 20.0], ..behind };
        let ahead = |azimuth_deg: f64| ahead.holds(azimuth_deg.to_radians(), -0.1);
        assert!(ahead(0.0) && ahead(-9.0) && ahead(19.0) && !ahead(21.0) && !ahead(-11.0) && !ahead(180.0));
    }
}
