//! Stars from a catalogue: a GeoJSON file of points with right ascension as longitude
//! (−180 to 180°), declination as latitude (J2000), `mag` in V and, where known, the
//! colour index `bv` (the files of d3-celestial). Proper motions are not in such files:
//! the fastest bright stars are off by up to 0.04° after 25 years, most by far less.

use std::path::{Path, PathBuf};

use nalgebra::Vector3;
use selene_base::InputError;
use selene_base::input::read_bytes;
use serde::Deserialize;

use crate::light::SOLAR_CONSTANT_W_M2;

/// Size limit of a catalogue, bytes; 120 000 stars to magnitude 9 have about 20 MB.
const FILE_BYTES_MAX: u64 = 64 << 20;
/// Irradiance of a star of V = 0 (Vega's zero point): 3.631e-11 W/m² per nm (Bessell,
/// Castelli and Plez 1998, A&A 333, 231) over an equivalent width of V of 88 nm (Bessell
/// 1979: 0.16 of 550 nm).
const ZERO_MAGNITUDE_V_W_M2: f64 = 3.631e-11 * 88.0;
/// The Sun's apparent V magnitude at 1 au (Willmer 2018, ApJS 236, 47).
const SUN_MAGNITUDE: f64 = -26.76;

/// A star of a catalogue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CatalogueStar {
    /// The catalogue's number (Hipparcos).
    pub id: u32,
    /// Unit vector toward the star from the barycentre of the solar system, ICRF.
    pub unit_icrf: Vector3<f64>,
    /// Visual magnitude V.
    pub magnitude: f64,
    /// Colour index B − V, if the catalogue has it.
    pub colour_index: Option<f64>,
}

/// A catalogue that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StarError {
    /// The file cannot be read.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The file is no such catalogue.
    #[error("{}: is no catalogue of stars: {what}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// Line or star, and what is allowed.
        what: String,
    },
}

impl CatalogueStar {
    /// A star at a right ascension and a declination, degrees, without a colour index.
    #[must_use]
    pub fn new(id: u32, right_ascension_deg: f64, declination_deg: f64, magnitude: f64) -> Self {
        let (sin_ra, cos_ra) = right_ascension_deg.to_radians().sin_cos();
        let (sin_dec, cos_dec) = declination_deg.to_radians().sin_cos();
        Self { id, unit_icrf: Vector3::new(cos_dec * cos_ra, cos_dec * sin_ra, sin_dec), magnitude, colour_index: None }
    }

    /// Irradiance in the V band, W/m².
    #[must_use]
    pub fn irradiance_v_w_m2(&self) -> f64 {
        ZERO_MAGNITUDE_V_W_M2 * 10.0_f64.powf(-0.4 * self.magnitude)
    }

    /// The irradiance of sunlight that is as bright to the eye, W/m²: for a camera of visible
    /// light that counts the Sun as 1361 W/m².
    #[must_use]
    pub fn sunlike_irradiance_w_m2(&self) -> f64 {
        SOLAR_CONSTANT_W_M2 * 10.0_f64.powf(-0.4 * (self.magnitude - SUN_MAGNITUDE))
    }
}

/// The GeoJSON file; its other keys are ignored.
#[derive(Deserialize)]
struct Collection {
    features: Vec<Feature>,
}

#[derive(Deserialize)]
struct Feature {
    id: u32,
    properties: Properties,
    geometry: Geometry,
}

#[derive(Deserialize)]
struct Properties {
    mag: f64,
    #[serde(default)]
    bv: Option<String>,
}

#[derive(Deserialize)]
struct Geometry {
    coordinates: [f64; 2],
}

/// Reads a catalogue, brightest first.
///
/// # Errors
/// For a file that cannot be read or is no such catalogue, and for a star whose coordinates
/// or magnitude are out of range.
pub fn stars(path: &Path) -> Result<Vec<CatalogueStar>, StarError> {
    let bytes = read_bytes(path, FILE_BYTES_MAX)?;
    let refuse = |what: String| StarError::Content { path: path.to_owned(), what };
    let catalogue: Collection = serde_json::from_slice(&bytes).map_err(|e| refuse(e.to_string()))?;
    let mut stars: Vec<_> = catalogue.features.iter().map(star).collect::<Result<_, _>>().map_err(refuse)?;
    stars.sort_by(|a, b| a.magnitude.total_cmp(&b.magnitude));
    Ok(stars)
}

fn star(feature: &Feature) -> Result<CatalogueStar, String> {
    let ([ra_deg, dec_deg], id, magnitude) = (feature.geometry.coordinates, feature.id, feature.properties.mag);
    if !((-180.0..=360.0).contains(&ra_deg) && (-90.0..=90.0).contains(&dec_deg)) {
        return Err(format!("star {id}: coordinates [{ra_deg}, {dec_deg}] must be -180 to 360 and -90 to 90 degrees"));
    }
    if !(-30.0..=30.0).contains(&magnitude) {
        return Err(format!("star {id}: mag {magnitude} must be -30 to 30"));
    }
    let colour_index = match feature.properties.bv.as_deref().map(str::trim) {
        None | Some("") => None,
        Some(text) => Some(text.parse().map_err(|_| format!("star {id}: bv '{text}' must be a number or empty"))?),
    };
    Ok(CatalogueStar { colour_index, ..CatalogueStar::new(id, ra_deg, dec_deg, magnitude) })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{CatalogueStar, SUN_MAGNITUDE, stars};
    use crate::light::SOLAR_CONSTANT_W_M2;

    fn written(name: &str, text: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("selene-stars-{name}-{}.json", std::process::id()));
        std::fs::write(&path, text).expect("written");
        path
    }

    fn catalogue(ra: &str, bv: &str, mag: &str) -> String {
        format!(
            r#"{{"type":"FeatureCollection","features":[{{"type":"Feature","id":7,"properties":{{"mag":{mag},"bv":"{bv}"}},
            "geometry":{{"type":"Point","coordinates":[{ra},-30]}}}}]}}"#
        )
    }

    #[test]
    fn a_star_is_where_its_longitude_and_latitude_are() {
        let path = written("good", &catalogue("-90", "0.5", "2.5"));
        let found = stars(&path).expect("good");
        std::fs::remove_file(path).expect("clean");
        let expected = nalgebra::Vector3::new(0.0, -(0.75_f64.sqrt()), -0.5);
        assert!((found[0].unit_icrf - expected).norm() < 1e-12);
        assert_eq!((found[0].id, found[0].magnitude, found[0].colour_index), (7, 2.5, Some(0.5)));
    }

    #[test]
    fn what_is_no_catalogue_is_refused_with_file_and_star() {
        for (name, text, part) in [
            ("text", "stars".to_owned(), "is no catalogue"),
            ("empty", "{}".to_owned(), "features"),
            ("ra", catalogue("400", "0.5", "2.5"), "star 7: coordinates [400, -30]"),
            ("mag", catalogue("40", "0.5", "99"), "star 7: mag 99"),
            ("bv", catalogue("40", "red", "2"), "star 7: bv 'red'"),
        ] {
            let path = written(name, &text);
            let reported = stars(&path).expect_err(name).to_string();
            std::fs::remove_file(&path).expect("clean");
            assert!(reported.contains(part) && reported.contains("selene-stars"), "{reported}");
        }
        assert!(
            stars(&PathBuf::from("/nonexistent.json")).expect_err("none").to_string().contains("/nonexistent.json")
        );
    }

    #[test]
    fn five_magnitudes_are_a_hundredfold_and_the_suns_own_give_its_light() {
        let star = |magnitude| CatalogueStar::new(0, 0.0, 0.0, magnitude);
        assert!((star(1.0).irradiance_v_w_m2() / star(6.0).irradiance_v_w_m2() - 100.0).abs() < 1e-9);
        assert!((star(SUN_MAGNITUDE).sunlike_irradiance_w_m2() - SOLAR_CONSTANT_W_M2).abs() < 1e-9);
        // Sunlight has 1.86 W/m² per nm at 550 nm (ASTM E-490), so 164 W/m² in V: the
        // zero point agrees to the few percent of its width.
        assert!((star(SUN_MAGNITUDE).irradiance_v_w_m2() / (1.86 * 88.0) - 1.0).abs() < 0.05);
    }
}
