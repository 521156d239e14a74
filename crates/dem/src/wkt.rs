//! Parser of coordinate systems: IAU_2015 codes of the Moon, and well-known text of version 1 as GDAL (OGC) and Esri
//! write it. It reads only what places a map: spheroid, prime meridian, unit, projection and its parameters.

use crate::body::{check_radius, equirectangular, polar, unknown_projection};
use crate::crs::Crs;
use crate::error::Refusal;

/// The deepest nesting of nodes accepted; real texts have five levels.
const DEPTH_MAX: usize = 12;

/// IAU_2015 codes of the Moon.
const CODES: [(u32, &str); 7] = [
    (30100, "geographic"),
    (30110, "equirectangular about 0°"),
    (30115, "equirectangular about 180°"),
    (30120, "sinusoidal about 0°"),
    (30125, "sinusoidal about 180°"),
    (30130, "north polar stereographic"),
    (30135, "south polar stereographic"),
];

/// The coordinate system of an IAU_2015 code.
pub(super) fn from_code(field: &str, code: u32) -> Result<Crs, Refusal> {
    let origin = [0.0; 2];
    let sinusoidal =
        |meridian_deg: f64| Crs::Sinusoidal { central_meridian_rad: meridian_deg.to_radians(), false_origin_m: origin };
    match code {
        30100 => Ok(Crs::Geographic),
        30110 => equirectangular(field, 0.0, 0.0, origin),
        30115 => equirectangular(field, 0.0, 180.0, origin),
        30120 => Ok(sinusoidal(0.0)),
        30125 => Ok(sinusoidal(180.0)),
        30130 => polar(field, 90.0, 0.0, 1.0, origin),
        30135 => polar(field, -90.0, 0.0, 1.0, origin),
        _ => {
            let known: Vec<_> = CODES.iter().map(|(code, name)| format!("{code} ({name})")).collect();
            let planet = match code {
                19900..=19999 => ", of Mercury",
                29900..=29999 => ", of Venus",
                49900..=49999 => ", of Mars",
                1024..=9999 | 32600..=32799 => ", of the Earth",
                _ => "",
            };
            let known = known.join(", ");
            Err(Refusal::new(field, format!("is code {code}{planet}; must be one of IAU_2015's of the Moon: {known}")))
        }
    }
}

impl Crs {
    /// Reads `local`, an IAU_2015 code (`IAU_2015:30135` or `30135`) or well-known text.
    ///
    /// # Errors
    /// When the text is not a supported system: the error names what is wrong, and what is allowed.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        from_text("coordinate system", text)
    }
}

/// Same as `Crs::parse`, with `field` for the error.
pub(super) fn from_text(field: &str, text: &str) -> Result<Crs, Refusal> {
    let text = text.trim();
    if text.eq_ignore_ascii_case("local") {
        return Ok(Crs::Local);
    }
    if let Some(code) = text.rsplit(':').next().and_then(|code| code.parse().ok()) {
        return from_code(field, code);
    }
    let node = Node::parse(text).ok_or_else(|| {
        let start: String = text.chars().take(40).collect();
        Refusal::new(field, format!("is {start:?}; must be local, an IAU_2015 code such as IAU_2015:30135, or well-known text (PROJCS[…] or GEOGCS[…])"))
    })?;
    from_node(field, &node)
}

fn from_node(field: &str, root: &Node) -> Result<Crs, Refusal> {
    let missing = |what: &str| Refusal::new(field, format!("has no {what}"));
    let spheroid = root.find("SPHEROID").or_else(|| root.find("ELLIPSOID")).ok_or_else(|| missing("SPHEROID"))?;
    let [radius_m, flattening] = [0, 1].map(|i| spheroid.numbers.get(i).copied().unwrap_or(0.0));
    check_radius(&format!("{field}: SPHEROID"), radius_m)?;
    if flattening != 0.0 {
        return Err(Refusal::new(
            format!("{field}: SPHEROID"),
            format!("has inverse flattening {flattening}; must be 0, a sphere"),
        ));
    }
    if let Some(meridian) =
        root.find("PRIMEM").and_then(|node| node.numbers.first()).filter(|meridian| **meridian != 0.0)
    {
        return Err(Refusal::new(format!("{field}: PRIMEM"), format!("is {meridian}; must be 0")));
    }
    if !matches!(root.keyword.as_str(), "PROJCS" | "GEOGCS") {
        return Err(Refusal::new(field, format!("is {}; must be PROJCS or GEOGCS", root.keyword)));
    }
    if root.keyword == "GEOGCS" {
        return Ok(Crs::Geographic);
    }
    let unit = root.nodes.iter().find(|node| node.keyword == "UNIT").and_then(|node| node.numbers.first());
    if unit.is_some_and(|unit| *unit != 1.0) {
        return Err(Refusal::new(
            format!("{field}: UNIT"),
            format!("is {} m; must be 1, the metre", unit.unwrap_or(&0.0)),
        ));
    }
    let projection = root.find("PROJECTION").map(|node| node.name.clone()).ok_or_else(|| missing("PROJECTION"))?;
    projected(&format!("{field}: PROJECTION"), &projection, root)
}

fn projected(field: &str, projection: &str, root: &Node) -> Result<Crs, Refusal> {
    let parameter = |names: &[&str]| {
        let is_named =
            |node: &&Node| node.keyword == "PARAMETER" && names.contains(&node.name.to_ascii_lowercase().as_str());
        root.nodes.iter().find(is_named).and_then(|node| node.numbers.first().copied())
    };
    let origin_m = [parameter(&["false_easting"]), parameter(&["false_northing"])].map(|value| value.unwrap_or(0.0));
    let meridian_deg = parameter(&["central_meridian", "longitude_of_center", "straight_vertical_longitude_from_pole"]);
    let meridian_deg = meridian_deg.unwrap_or(0.0);
    let name = projection.to_ascii_lowercase().replace([' ', '-'], "_");
    let latitude_deg = parameter(&["latitude_of_origin", "standard_parallel_1"]);
    match name.as_str() {
        "equirectangular" | "equidistant_cylindrical" | "plate_carree" | "simple_cylindrical" => {
            if parameter(&["latitude_of_origin"]).is_some_and(|latitude| latitude != 0.0) {
                return Err(Refusal::new(field, "has a latitude_of_origin other than 0; must be 0"));
            }
            equirectangular(field, parameter(&["standard_parallel_1"]).unwrap_or(0.0), meridian_deg, origin_m)
        }
        "sinusoidal" => {
            Ok(Crs::Sinusoidal { central_meridian_rad: meridian_deg.to_radians(), false_origin_m: origin_m })
        }
        "polar_stereographic" | "stereographic" | "stereographic_north_pole" | "stereographic_south_pole" => {
            let latitude_deg =
                latitude_deg.ok_or_else(|| Refusal::new(field, "has no latitude_of_origin or standard_parallel_1"))?;
            if name == "stereographic" && latitude_deg.abs() != 90.0 {
                return Err(unknown_projection(field, "an oblique stereographic projection"));
            }
            polar(field, latitude_deg, meridian_deg, parameter(&["scale_factor"]).unwrap_or(1.0), origin_m)
        }
        _ => Err(unknown_projection(field, projection)),
    }
}

/// A node of well-known text: `KEYWORD["name", number, NODE[…], …]`.
#[derive(Debug, Default)]
struct Node {
    keyword: String,
    name: String,
    numbers: Vec<f64>,
    nodes: Vec<Node>,
}

impl Node {
    fn parse(text: &str) -> Option<Self> {
        let mut rest = text;
        let node = Self::read(&mut rest, 0)?;
        rest.trim().is_empty().then_some(node)
    }

    /// Reads one node from the start of `rest`.
    fn read(rest: &mut &str, depth: usize) -> Option<Self> {
        let open = rest.find(['[', '('])?;
        let keyword = rest[..open].trim().to_ascii_uppercase();
        if depth > DEPTH_MAX || keyword.is_empty() || !keyword.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return None;
        }
        *rest = &rest[open + 1..];
        let mut node = Self { keyword, ..Self::default() };
        loop {
            *rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
            let end = rest.find([',', ']', ')', '[', '(']);
            match rest.chars().next()? {
                ']' | ')' => {
                    *rest = &rest[1..];
                    return Some(node);
                }
                '"' => {
                    let (name, after) = rest[1..].split_once('"')?;
                    if node.name.is_empty() {
                        name.clone_into(&mut node.name);
                    }
                    *rest = after;
                }
                _ if rest[end?..].starts_with(['[', '(']) => node.nodes.push(Self::read(rest, depth + 1)?),
                _ => {
                    // An axis has words (`NORTH`) where other nodes have numbers.
                    node.numbers.extend(rest[..end?].trim().parse::<f64>().ok());
                    *rest = &rest[end?..];
                }
            }
        }
    }

    /// The first node with this keyword, at any depth.
    fn find(&self, keyword: &str) -> Option<&Self> {
        if self.keyword == keyword {
            return Some(self);
        }
        self.nodes.iter().find_map(|node| node.find(keyword))
    }
}

#[cfg(test)]
mod tests {
    use super::{CODES, Crs, from_code};

    const ESRI: &str = r#"PROJCS["Moon_2000_South_Pole_Stereographic",GEOGCS["GCS_Moon_2000",DATUM["D_Moon_2000",
        SPHEROID["Moon_2000_IAU_IAG",1737400.0,0.0]],PRIMEM["Reference_Meridian",0.0],UNIT["Degree",0.0174532925199433]],
        PROJECTION["Stereographic_South_Pole"],PARAMETER["False_Easting",0.0],PARAMETER["False_Northing",0.0],
        PARAMETER["Central_Meridian",0.0],PARAMETER["Standard_Parallel_1",-90.0],UNIT["Meter",1.0]]"#;

    #[test]
    fn esri_text_and_code_mean_the_same_south_polar_map() {
        assert_eq!(Crs::parse(ESRI), Crs::parse("IAU_2015:30135"));
        assert_eq!(Crs::parse("30135"), Crs::parse("IAU_2015:30135"));
        assert!(CODES.iter().all(|(code, _)| from_code("crs", *code).is_ok()));
    }

    #[test]
    fn a_standard_parallel_sets_the_scale_at_the_pole() {
        // Snyder 21-7 for 80°: k₀ = (1 + sin 80°)/2.
        let text = ESRI.replace("\"Standard_Parallel_1\",-90.0", "\"Standard_Parallel_1\",-80.0");
        let Ok(Crs::PolarStereographic { scale, .. }) = Crs::parse(&text) else { panic!("{text}") };
        assert!((scale - 0.992_403_876_506_104).abs() < 1e-15, "{scale}");
    }

    #[test]
    fn what_is_not_of_the_moon_or_not_known_is_refused_with_its_field() {
        let cases = [
            (ESRI.replace("1737400.0,0.0", "3396190.0,169.89"), "Mars"),
            (ESRI.replace("1737400.0,0.0", "1737400.0,300.0"), "flattening 300"),
            (ESRI.replace("Stereographic_South_Pole", "Mercator"), "Mercator"),
            (ESRI.replace("\"Meter\",1.0", "\"Foot\",0.3048"), "UNIT"),
            (ESRI.replace("\"Reference_Meridian\",0.0", "\"Paris\",2.3"), "PRIMEM"),
            ("EPSG:4326".to_owned(), "of the Earth"),
            ("IAU_2015:49910".to_owned(), "of Mars"),
            ("south".to_owned(), "IAU_2015:30135"),
            ("PROJCS[".repeat(1000), "well-known text"),
            (ESRI[..ESRI.len() - 3].to_owned(), "well-known text"),
        ];
        for (text, part) in cases {
            let refusal = Crs::parse(&text).unwrap_err().to_string();
            assert!(refusal.contains(part), "{part} is missing in: {refusal}");
        }
    }
}
