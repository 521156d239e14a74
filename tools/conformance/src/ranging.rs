//! Checks of radar scans and of single-beam distances (REP-117).

use selene_ros::radar_msgs::{RadarReturn, RadarScan};
use selene_ros::sensor_msgs::Range;
use selene_ros::std_msgs::Header;

use crate::kind::Kind;
use crate::sample::{Sample, frame_fault, those};

impl Sample for RadarScan {
    fn header(&self) -> &Header {
        &self.header
    }

    fn faults(&self, _: Kind) -> Vec<String> {
        let bad = self.returns.iter().filter(|reported| !is_return(reported)).count();
        those([
            frame_fault(&self.header),
            (bad > 0, format!("{bad} returns with a range below 0 or numbers that are not finite")),
        ])
    }
}

impl Sample for Range {
    fn header(&self) -> &Header {
        &self.header
    }

    fn faults(&self, _: Kind) -> Vec<String> {
        let Self { radiation_type, field_of_view, min_range, max_range, range, variance, .. } = self;
        let is_known = [Self::ULTRASOUND, Self::INFRARED].contains(radiation_type);
        let are_limits = *min_range >= 0.0 && max_range >= min_range && max_range.is_finite();
        let is_reported = range.is_infinite() || (min_range..=max_range).contains(&range);
        let is_cone = field_of_view.is_finite() && *field_of_view >= 0.0;
        let is_variance = variance.is_finite() && *variance >= 0.0;
        those([
            frame_fault(&self.header),
            (!is_known, format!("radiation_type {radiation_type}")),
            (!is_cone, format!("field_of_view {field_of_view}")),
            (!are_limits, format!("limits {min_range} to {max_range}")),
            (!is_reported, format!("range {range} beyond its limits")),
            (!is_variance, format!("variance {variance}")),
        ])
    }
}

fn is_return(reported: &RadarReturn) -> bool {
    let RadarReturn { range, azimuth, elevation, doppler_velocity, amplitude } = reported;
    *range >= 0.0 && [range, azimuth, elevation, doppler_velocity, amplitude].iter().all(|value| value.is_finite())
}

#[cfg(test)]
mod tests {
    use crate::kind::Kind;
    use crate::sample::Sample;
    use selene_base::SimTime;
    use selene_ros::radar_msgs::{RadarReturn, RadarScan};
    use selene_ros::sensor_msgs::Range;
    use selene_ros::std_msgs::Header;

    fn range() -> Range {
        Range {
            header: Header::new(SimTime::ZERO, "altimeter"),
            radiation_type: 1,
            field_of_view: 0.01,
            min_range: 0.1,
            max_range: 40.0,
            range: 1.5,
            variance: 0.001,
        }
    }

    #[test]
    fn distances_are_within_their_limits_or_infinite() {
        for good in [1.5, f32::INFINITY, f32::NEG_INFINITY] {
            assert!(Range { range: good, ..range() }.faults(Kind::Range).is_empty(), "{good}");
        }
        for (bad, part) in [
            (Range { range: 41.0, ..range() }, "range 41"),
            (Range { range: f32::NAN, ..range() }, "range NaN"),
            (Range { radiation_type: 7, ..range() }, "radiation_type 7"),
            (Range { max_range: 0.05, ..range() }, "limits 0.1 to 0.05"),
            (Range { variance: -1.0, ..range() }, "variance -1"),
        ] {
            let faults = bad.faults(Kind::Range).join("; ");
            assert!(faults.contains(part), "{faults}");
        }
    }

    #[test]
    fn returns_of_radars_have_finite_numbers() {
        let reported =
            RadarReturn { range: 9.0, azimuth: 0.1, elevation: 0.0, doppler_velocity: -0.2, amplitude: 14.0 };
        let scan =
            |reported: RadarReturn| RadarScan { header: Header::new(SimTime::ZERO, "radar"), returns: vec![reported] };
        assert!(scan(reported).faults(Kind::RadarScan).is_empty());
        for bad in [RadarReturn { range: -1.0, ..reported }, RadarReturn { azimuth: f32::NAN, ..reported }] {
            assert!(scan(bad).faults(Kind::RadarScan)[0].contains("1 returns"));
        }
    }
}
