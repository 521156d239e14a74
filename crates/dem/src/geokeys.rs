//! Coordinate systems in GeoTIFF keys (OGC 19-008), as GDAL, and with it USGS and rasterio, writes them for the Moon:
//! user-defined keys (32767) with the radius, an IAU code, or Esri's well-known text in a citation.

use crate::body::{check_radius, equirectangular, polar, unknown_projection};
use crate::crs::{Crs, MOON_RADIUS_M, Pole};
use crate::error::Refusal;
use crate::wkt::{from_code, from_text};

const MODEL_TYPE: u16 = 1024;
const RASTER_TYPE: u16 = 1025;
const CITATION: u16 = 1026;
const GEOGRAPHIC_TYPE: u16 = 2048;
const GEOGRAPHIC_CITATION: u16 = 2049;
const DATUM: u16 = 2050;
const ANGULAR_UNITS: u16 = 2054;
const ELLIPSOID: u16 = 2056;
const SEMI_MAJOR_AXIS: u16 = 2057;
const SEMI_MINOR_AXIS: u16 = 2058;
const INVERSE_FLATTENING: u16 = 2059;
const PRIME_MERIDIAN_LONGITUDE: u16 = 2061;
const PROJECTED_TYPE: u16 = 3072;
const PROJECTED_CITATION: u16 = 3073;
const PROJECTION: u16 = 3074;
const TRANSFORMATION: u16 = 3075;
const LINEAR_UNITS: u16 = 3076;
const STANDARD_PARALLEL_1: u16 = 3078;
const ORIGIN_LONGITUDE: u16 = 3080;
const ORIGIN_LATITUDE: u16 = 3081;
const FALSE_EASTING: u16 = 3082;
const FALSE_NORTHING: u16 = 3083;
const CENTER_LONGITUDE: u16 = 3088;
const CENTER_LATITUDE: u16 = 3089;
const SCALE_AT_ORIGIN: u16 = 3092;
const STRAIGHT_MERIDIAN: u16 = 3095;

const USER_DEFINED: u16 = 32767;
const POLAR_STEREOGRAPHIC: u16 = 15;
const EQUIRECTANGULAR: u16 = 17;
const SINUSOIDAL: u16 = 24;
const ORTHOGRAPHIC: u16 = 21;
/// The most that the sphere of an orthographic map may differ from the Moon's, m: it goes through a site.
const SITE_HEIGHT_MAX_M: f64 = 20_000.0;
const DEGREE: u16 = 9102;
const METRE: u16 = 9001;
const DOUBLE_PARAMS: u16 = 34736;
const ASCII_PARAMS: u16 = 34737;

/// The three TIFF tags that hold GeoTIFF keys.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct GeoKeys {
    /// Key directory, tag 34735.
    pub(super) directory: Vec<u16>,
    /// Parameters of type double, tag 34736.
    pub(super) doubles: Vec<f64>,
    /// Text parameters, tag 34737.
    pub(super) ascii: String,
}

impl GeoKeys {
    fn entry(&self, key: u16) -> Option<[u16; 4]> {
        let entries = self.directory.get(4..).unwrap_or_default().chunks_exact(4);
        let found = entries.filter(|entry| entry[0] == key).map(|entry| [entry[0], entry[1], entry[2], entry[3]]);
        found.into_iter().next()
    }

    fn short(&self, key: u16) -> Option<u16> {
        self.entry(key).filter(|[_, place, ..]| *place == 0).map(|[.., value]| value)
    }

    fn double(&self, key: u16) -> Option<f64> {
        let [_, place, _, index] = self.entry(key)?;
        if place == DOUBLE_PARAMS { self.doubles.get(usize::from(index)).copied() } else { None }
    }

    fn text(&self, key: u16) -> Option<&str> {
        let [_, place, count, index] = self.entry(key)?;
        let [from, to] = [usize::from(index), usize::from(index) + usize::from(count)];
        if place == ASCII_PARAMS {
            self.ascii.get(from..to).map(|text| text.trim_end_matches(['|', '\0']))
        } else {
            None
        }
    }

    /// Whether values refer to points: the tie point is then at the middle of a pixel.
    pub(super) fn is_point(&self) -> Result<bool, Refusal> {
        match self.short(RASTER_TYPE) {
            None | Some(1) => Ok(false),
            Some(2) => Ok(true),
            Some(other) => {
                Err(Refusal::new("GTRasterTypeGeoKey (1025)", format!("is {other}; must be 1 (area) or 2 (point)")))
            }
        }
    }

    /// Reads the coordinate system.
    pub(super) fn crs(&self) -> Result<Crs, Refusal> {
        let texts = [CITATION, GEOGRAPHIC_CITATION, PROJECTED_CITATION];
        for key in texts {
            if let Some((_, wkt)) = self.text(key).and_then(|text| text.split_once("ESRI PE String = ")) {
                return from_text(&format!("GeoKey {key}"), wkt);
            }
        }
        match self.short(MODEL_TYPE) {
            Some(1) => self.projected(),
            Some(2) => self.sphere().map(|()| Crs::Geographic),
            other => {
                let is = other.map_or("is missing".to_owned(), |value| format!("is {value}"));
                Err(Refusal::new("GTModelTypeGeoKey (1024)", format!("{is}; must be 1 (projected) or 2 (geographic)")))
            }
        }
    }

    /// Refuses a sphere other than the Moon's.
    fn sphere(&self) -> Result<(), Refusal> {
        for (key, name) in [(GEOGRAPHIC_TYPE, "GeographicTypeGeoKey (2048)"), (ELLIPSOID, "GeogEllipsoidGeoKey (2056)")]
        {
            match self.short(key) {
                Some(30100) => return Ok(()),
                Some(code) if code != USER_DEFINED && self.double(SEMI_MAJOR_AXIS).is_none() => {
                    let earth = "an ellipsoid of the Earth by EPSG's numbers; must be 30100 or user-defined (32767) with the radius";
                    return Err(Refusal::new(name, format!("is {code}, {earth} 1737400")));
                }
                _ => {}
            }
        }
        let field = "GeogSemiMajorAxisGeoKey (2057)";
        let radius_m = self
            .double(SEMI_MAJOR_AXIS)
            .ok_or_else(|| Refusal::new(field, "is missing; must be the Moon's radius, 1737400"))?;
        check_radius(field, radius_m)?;
        if let Some(radius_m) = self.double(SEMI_MINOR_AXIS) {
            check_radius("GeogSemiMinorAxisGeoKey (2058)", radius_m)?;
        }
        let zero = [
            (INVERSE_FLATTENING, "GeogInvFlatteningGeoKey (2059)"),
            (PRIME_MERIDIAN_LONGITUDE, "GeogPrimeMeridianLongGeoKey (2061)"),
        ];
        for (key, name) in zero {
            if let Some(value) = self.double(key).filter(|value| *value != 0.0) {
                return Err(Refusal::new(name, format!("is {value}; must be 0")));
            }
        }
        self.unit(ANGULAR_UNITS, "GeogAngularUnitsGeoKey (2054)", DEGREE)
    }

    fn unit(&self, key: u16, name: &str, wanted: u16) -> Result<(), Refusal> {
        match self.short(key) {
            Some(unit) if unit != wanted => Err(Refusal::new(name, format!("is {unit}; must be {wanted}"))),
            _ => Ok(()),
        }
    }

    fn projected(&self) -> Result<Crs, Refusal> {
        if let Some(code) = self.short(PROJECTED_TYPE).filter(|code| *code != USER_DEFINED) {
            return from_code("ProjectedCSTypeGeoKey (3072)", u32::from(code));
        }
        if self.short(TRANSFORMATION) == Some(ORTHOGRAPHIC) {
            return self.orthographic();
        }
        self.sphere()?;
        self.unit(LINEAR_UNITS, "ProjLinearUnitsGeoKey (3076)", METRE)?;
        let any = |keys: &[u16]| keys.iter().find_map(|key| self.double(*key));
        let origin_m = [any(&[FALSE_EASTING]), any(&[FALSE_NORTHING])].map(|value| value.unwrap_or(0.0));
        let meridian_deg = any(&[STRAIGHT_MERIDIAN, CENTER_LONGITUDE, ORIGIN_LONGITUDE]).unwrap_or(0.0);
        let field = "ProjCoordTransGeoKey (3075)";
        match self.short(TRANSFORMATION) {
            Some(POLAR_STEREOGRAPHIC) => {
                let missing = || {
                    Refusal::new(
                        "ProjNatOriginLatGeoKey (3081)",
                        "is missing; must be the pole or the latitude of true scale",
                    )
                };
                let latitude_deg = any(&[ORIGIN_LATITUDE]).ok_or_else(missing)?;
                polar(field, latitude_deg, meridian_deg, any(&[SCALE_AT_ORIGIN]).unwrap_or(1.0), origin_m)
            }
            Some(EQUIRECTANGULAR) => {
                let origin_deg = any(&[CENTER_LATITUDE, ORIGIN_LATITUDE]).unwrap_or(0.0);
                if origin_deg != 0.0 {
                    return Err(Refusal::new("ProjCenterLatGeoKey (3089)", format!("is {origin_deg}; must be 0")));
                }
                equirectangular(field, any(&[STANDARD_PARALLEL_1]).unwrap_or(0.0), meridian_deg, origin_m)
            }
            Some(SINUSOIDAL) => {
                Ok(Crs::Sinusoidal { central_meridian_rad: meridian_deg.to_radians(), false_origin_m: origin_m })
            }
            other => Err(unknown_projection(
                field,
                &other.map_or("missing".to_owned(), |code| format!("transformation {code}")),
            )),
        }
    }

    /// The orthographic map of a site, on the sphere through it.
    fn orthographic(&self) -> Result<Crs, Refusal> {
        self.unit(LINEAR_UNITS, "ProjLinearUnitsGeoKey (3076)", METRE)?;
        self.unit(ANGULAR_UNITS, "GeogAngularUnitsGeoKey (2054)", DEGREE)?;
        let field = "GeogSemiMajorAxisGeoKey (2057)";
        let radius_m = self.double(SEMI_MAJOR_AXIS).unwrap_or(f64::NAN);
        let is_moons = (radius_m - MOON_RADIUS_M).abs() <= SITE_HEIGHT_MAX_M;
        if !is_moons {
            let what = format!("is {radius_m}; must be within {SITE_HEIGHT_MAX_M} m of the Moon's {MOON_RADIUS_M}");
            return Err(Refusal::new(field, what));
        }
        let offsets = [FALSE_EASTING, FALSE_NORTHING].map(|key| self.double(key).unwrap_or(0.0));
        let angle = |keys: [u16; 2]| keys.iter().find_map(|key| self.double(*key)).unwrap_or(f64::NAN);
        let [latitude_deg, longitude_deg] =
            [angle([CENTER_LATITUDE, ORIGIN_LATITUDE]), angle([CENTER_LONGITUDE, ORIGIN_LONGITUDE])];
        let is_place = latitude_deg.abs() <= 90.0 && longitude_deg.abs() <= 720.0;
        if !is_place || offsets != [0.0; 2] {
            let what = format!(
                "touches at latitude {latitude_deg}°, longitude {longitude_deg}°, offset {offsets:?}; must be a place and no offset"
            );
            return Err(Refusal::new("ProjCenterLatGeoKey (3089)", what));
        }
        let [latitude_rad, longitude_rad] = [latitude_deg, longitude_deg].map(f64::to_radians);
        Ok(Crs::Orthographic { latitude_rad, longitude_rad, radius_m })
    }

    /// The keys of a coordinate system; `None` for a local one.
    pub(super) fn of(crs: &Crs) -> Option<Self> {
        let mut keys = Builder::default();
        let is_geographic = *crs == Crs::Geographic;
        keys.short(MODEL_TYPE, if is_geographic { 2 } else { 1 });
        keys.short(RASTER_TYPE, 1);
        keys.text(CITATION, &format!("Moon (2015) - Sphere, {}", crs.to_string().replace('°', " deg")));
        keys.short(GEOGRAPHIC_TYPE, USER_DEFINED);
        keys.text(GEOGRAPHIC_CITATION, "GCS Name = Moon (2015) - Sphere / Ocentric|Datum = Moon (2015) - Sphere|Ellipsoid = Moon (2015) - Sphere|Primem = Reference Meridian");
        keys.short(DATUM, USER_DEFINED);
        keys.short(ANGULAR_UNITS, DEGREE);
        keys.short(ELLIPSOID, USER_DEFINED);
        let radius_m = if let Crs::Orthographic { radius_m, .. } = *crs { radius_m } else { MOON_RADIUS_M };
        keys.double(SEMI_MAJOR_AXIS, radius_m);
        keys.double(SEMI_MINOR_AXIS, radius_m);
        keys.double(PRIME_MERIDIAN_LONGITUDE, 0.0);
        let (transformation, parameters, [east_m, north_m]) = match *crs {
            Crs::Geographic => return Some(keys.finish()),
            Crs::Local => return None,
            Crs::Equirectangular { standard_parallel_rad, central_meridian_rad, false_origin_m } => {
                let [parallel, meridian] = [standard_parallel_rad, central_meridian_rad].map(f64::to_degrees);
                let parameters =
                    vec![(STANDARD_PARALLEL_1, parallel), (CENTER_LONGITUDE, meridian), (CENTER_LATITUDE, 0.0)];
                (EQUIRECTANGULAR, parameters, false_origin_m)
            }
            Crs::Sinusoidal { central_meridian_rad, false_origin_m } => {
                (SINUSOIDAL, vec![(CENTER_LONGITUDE, central_meridian_rad.to_degrees())], false_origin_m)
            }
            Crs::Orthographic { latitude_rad, longitude_rad, .. } => {
                let [latitude, longitude] = [latitude_rad, longitude_rad].map(f64::to_degrees);
                (ORTHOGRAPHIC, vec![(CENTER_LONGITUDE, longitude), (CENTER_LATITUDE, latitude)], [0.0; 2])
            }
            Crs::PolarStereographic { pole, central_meridian_rad, scale, false_origin_m } => {
                let latitude = if pole == Pole::North { 90.0 } else { -90.0 };
                let meridian = central_meridian_rad.to_degrees();
                let parameters =
                    vec![(ORIGIN_LATITUDE, latitude), (SCALE_AT_ORIGIN, scale), (STRAIGHT_MERIDIAN, meridian)];
                (POLAR_STEREOGRAPHIC, parameters, false_origin_m)
            }
        };
        for (key, value) in [
            (PROJECTED_TYPE, USER_DEFINED),
            (PROJECTION, USER_DEFINED),
            (TRANSFORMATION, transformation),
            (LINEAR_UNITS, METRE),
        ] {
            keys.short(key, value);
        }
        parameters.into_iter().for_each(|(key, value)| keys.double(key, value));
        keys.double(FALSE_EASTING, east_m);
        keys.double(FALSE_NORTHING, north_m);
        Some(keys.finish())
    }
}

/// Collects keys, and writes their directory in ascending order.
#[derive(Default)]
struct Builder {
    entries: Vec<[u16; 4]>,
    doubles: Vec<f64>,
    ascii: String,
}

impl Builder {
    fn short(&mut self, key: u16, value: u16) {
        self.entries.push([key, 0, 1, value]);
    }

    fn double(&mut self, key: u16, value: f64) {
        self.entries.push([key, DOUBLE_PARAMS, 1, self.doubles.len() as u16]);
        self.doubles.push(value);
    }

    fn text(&mut self, key: u16, text: &str) {
        self.entries.push([key, ASCII_PARAMS, text.len() as u16 + 1, self.ascii.len() as u16]);
        self.ascii.push_str(text);
        self.ascii.push('|');
    }

    fn finish(mut self) -> GeoKeys {
        self.entries.sort_unstable();
        let mut directory = vec![1, 1, 0, self.entries.len() as u16];
        directory.extend(self.entries.iter().flatten());
        GeoKeys { directory, doubles: self.doubles, ascii: self.ascii }
    }
}

#[cfg(test)]
mod tests {
    use super::GeoKeys;
    use crate::Crs;

    #[test]
    fn every_system_survives_its_keys() {
        for code in ["30100", "30110", "30115", "30120", "30130", "30135"] {
            let crs = Crs::parse(code).unwrap();
            assert_eq!(GeoKeys::of(&crs).unwrap().crs(), Ok(crs), "{code}");
        }
        let [latitude_rad, longitude_rad] = [-85.4, 31.6].map(f64::to_radians);
        let site = Crs::Orthographic { latitude_rad, longitude_rad, radius_m: 1_742_800.0 };
        assert_eq!(GeoKeys::of(&site).unwrap().crs(), Ok(site));
        let mars = Crs::Orthographic { latitude_rad, longitude_rad, radius_m: 3_396_190.0 };
        assert!(GeoKeys::of(&mars).unwrap().crs().unwrap_err().field.contains("2057"));
        assert_eq!(GeoKeys::of(&Crs::Local), None);
    }

    #[test]
    fn a_missing_or_foreign_key_is_refused_by_its_name() {
        let good = GeoKeys::of(&Crs::parse("30135").unwrap()).unwrap();
        let place = |key: u16| good.directory.iter().position(|k| *k == key).unwrap();
        let with = |key: u16, value: u16| {
            let mut keys = good.clone();
            let at = place(key);
            keys.directory[at + 3] = value;
            keys.crs().unwrap_err()
        };
        assert!(with(1024, 3).field.contains("1024"));
        assert!(with(3075, 1).field.contains("3075"));
        assert!(with(3076, 9002).field.contains("3076"));
        assert!(with(3072, 49910).what.contains("Mars"));
        let mut mars = good.clone();
        mars.doubles[0] = 3_396_190.0;
        assert!(mars.crs().unwrap_err().what.contains("Mars"));
        let earth = GeoKeys { directory: vec![1, 1, 0, 2, 1024, 0, 1, 2, 2048, 0, 1, 4326], ..GeoKeys::default() };
        assert!(earth.crs().unwrap_err().what.contains("Earth"));
        assert!(GeoKeys::default().crs().unwrap_err().field.contains("1024"));
    }
}
