//! Parses the resource that a spawn request names.
//!
//! | URI | what |
//! | --- | --- |
//! | `…/NAME.yaml?sensors=imu,lidar` | the rover of that file, with sensors by file, or by name in `sensor/` |
//! | `…/NAME.urdf` | the rover that has this URDF, else a fixed object |
//! | `…/NAME.stl`, `.obj`, `.dae` | a fixed object, in metres; `?z_m=0.5` raises it |
//! | `selene:rock?diameter_m=0.3` | a loose rock; also `density_kg_m3` and `shape`, a number |
//!
//! A file is named by a `file://` URI or by a path, absolute or relative to one of the allowed folders, and must lie in
//! one of them. A `resource_string` is the text of a URDF.

use std::path::{Path, PathBuf};

use selene_base::InputError;
use selene_ros::simulation_interfaces::srv::SpawnEntityResponse;
use selene_ros::simulation_interfaces::{Resource, Result as ResultCode};
use selene_sim::AllowedFolders;

use super::catalogue::RoverFiles;
use super::response::{failed, result};

/// Scheme and path of a rock's URI.
const ROCK: &str = "selene:rock";
/// Default density of rock, kg/m³: basalt with a few pores.
const DENSITY_KG_M3: f64 = 2700.0;
/// Maximum length of a URI, bytes.
pub(super) const URI_MAX: usize = 4096;

/// An entity to spawn.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum EntitySource {
    /// A rover, by its file and the files of its sensors.
    Rover { file: PathBuf, sensors: Vec<PathBuf> },
    /// A fixed object, by its file, `z_m` above the ground.
    Object { file: PathBuf, z_m: f64 },
    /// A fixed object, by the text of its URDF.
    Text { urdf: String },
    /// A loose rock.
    Rock { diameter_m: f64, density_kg_m3: f64, shape: Option<usize> },
}

impl EntitySource {
    /// The entity's name if the request gives none.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Rover { file, .. } | Self::Object { file, .. } => {
                file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
            }
            Self::Text { urdf } => selene_vehicle::robot_name(urdf).unwrap_or_default(),
            Self::Rock { .. } => "rock".to_owned(),
        }
    }
}

/// Reads the resource that a request names.
///
/// # Errors
/// A result with the code of `SpawnEntity` and a text that says what is allowed.
pub(super) fn read(resource: &Resource, folders: &AllowedFolders) -> Result<EntitySource, ResultCode> {
    let Resource { uri, resource_string } = resource;
    match (uri.as_str(), resource_string.as_str()) {
        ("", "") => Err(result(SpawnEntityResponse::NO_RESOURCE, "give a uri or a resource_string")),
        ("", text) => Ok(of_text(text, folders)),
        (uri, _) if uri.len() > URI_MAX => {
            Err(failed(format!("the uri has {} letters; {URI_MAX} are allowed", uri.len())))
        }
        (uri, _) => of_uri(uri, folders),
    }
}

/// The rover whose own URDF has exactly this text, else an object.
fn of_text(text: &str, folders: &AllowedFolders) -> EntitySource {
    match RoverFiles::of(folders).with_text(text) {
        Some(file) => EntitySource::Rover { file, sensors: Vec::new() },
        None => EntitySource::Text { urdf: text.to_owned() },
    }
}

fn of_uri(uri: &str, folders: &AllowedFolders) -> Result<EntitySource, ResultCode> {
    let (place, query) = uri.split_once('?').unwrap_or((uri, ""));
    let query = Query::read(query)?;
    if place == ROCK {
        return rock(&query);
    }
    let file = find(&path_of(place)?, folders)?;
    let extension = file.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    match extension.as_str() {
        "yaml" | "yml" => rover(file, &query, folders),
        "urdf" => match RoverFiles::of(folders).with_urdf(&file) {
            Some(file) => rover(file, &query, folders),
            None => object(file, &query),
        },
        "stl" | "obj" | "dae" => object(file, &query),
        other => {
            let what = format!("'.{other}' is not known: yaml (a rover), urdf, stl, obj and dae are allowed");
            Err(result(SpawnEntityResponse::UNSUPPORTED_FORMAT, what))
        }
    }
}

/// The path in a URI of scheme `file` or without a scheme.
pub(super) fn path_of(place: &str) -> Result<String, ResultCode> {
    let refuse = |what: String| Err(result(SpawnEntityResponse::UNSUPPORTED_FORMAT, what));
    match place.split_once(':') {
        None => Ok(place.to_owned()),
        Some(("file", rest)) => {
            let path = rest.strip_prefix("//").unwrap_or(rest);
            let path = path.strip_prefix("localhost").unwrap_or(path);
            if path.starts_with('/') { decoded(path) } else { refuse(format!("'{place}' names another machine")) }
        }
        Some((scheme, _)) => refuse(format!("the scheme '{scheme}' is not known: file, selene and paths are allowed")),
    }
}

/// Decodes percent escapes, such as `%20`.
fn decoded(path: &str) -> Result<String, ResultCode> {
    let refuse = || result(SpawnEntityResponse::RESOURCE_PARSE_ERROR, format!("'{path}' has a broken % sequence"));
    let mut bytes = Vec::with_capacity(path.len());
    let mut parts = path.split('%');
    bytes.extend(parts.next().unwrap_or_default().bytes());
    for part in parts {
        let code = part.get(..2).and_then(|hex| u8::from_str_radix(hex, 16).ok()).ok_or_else(refuse)?;
        bytes.push(code);
        bytes.extend(part[2..].bytes());
    }
    String::from_utf8(bytes).map_err(|_| refuse())
}

/// A path as a `file` URI.
pub(super) fn to_uri(path: &Path) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    let escaped = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    format!("file://{}", path.to_string_lossy().bytes().map(escaped).collect::<String>())
}

/// The file with this name in an allowed folder.
pub(super) fn find(name: &str, folders: &AllowedFolders) -> Result<PathBuf, ResultCode> {
    folders.resolve(name).map_err(|error| {
        let code = match &error {
            InputError::Read { .. } => ResultCode::RESULT_NOT_FOUND,
            InputError::Content { .. } => ResultCode::RESULT_OPERATION_FAILED,
        };
        result(code, error.to_string())
    })
}

fn rover(file: PathBuf, query: &Query, folders: &AllowedFolders) -> Result<EntitySource, ResultCode> {
    query.allows(&["sensors"])?;
    let names = query.value("sensors").into_iter().flat_map(|names| names.split(',')).filter(|name| !name.is_empty());
    let sensor = |name: &str| {
        let is_word = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let named = if is_word { format!("sensor/{name}.yaml") } else { name.to_owned() };
        find(&named, folders)
    };
    Ok(EntitySource::Rover { file, sensors: names.map(sensor).collect::<Result<_, _>>()? })
}

fn object(file: PathBuf, query: &Query) -> Result<EntitySource, ResultCode> {
    query.allows(&["z_m"])?;
    Ok(EntitySource::Object { file, z_m: query.number("z_m")?.unwrap_or(0.0) })
}

fn rock(query: &Query) -> Result<EntitySource, ResultCode> {
    query.allows(&["diameter_m", "density_kg_m3", "shape"])?;
    let diameter_m = query.number("diameter_m")?;
    let missing = || result(SpawnEntityResponse::RESOURCE_PARSE_ERROR, "a rock needs its diameter_m");
    Ok(EntitySource::Rock {
        diameter_m: diameter_m.ok_or_else(missing)?,
        density_kg_m3: query.number("density_kg_m3")?.unwrap_or(DENSITY_KG_M3),
        shape: query.number("shape")?,
    })
}

/// The key-value pairs after the question mark of a URI.
struct Query<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Query<'a> {
    fn read(text: &'a str) -> Result<Self, ResultCode> {
        let pair = |part: &'a str| {
            let what = || format!("'{part}' is no key=value");
            part.split_once('=').ok_or_else(|| result(SpawnEntityResponse::RESOURCE_PARSE_ERROR, what()))
        };
        Ok(Self(text.split('&').filter(|part| !part.is_empty()).map(pair).collect::<Result<_, _>>()?))
    }

    /// Refuses keys other than these.
    fn allows(&self, keys: &[&str]) -> Result<(), ResultCode> {
        match self.0.iter().find(|(key, _)| !keys.contains(key)) {
            Some((key, _)) => {
                let what = format!("'{key}' means nothing here; allowed are {}", keys.join(", "));
                Err(result(SpawnEntityResponse::RESOURCE_PARSE_ERROR, what))
            }
            None => Ok(()),
        }
    }

    fn value(&self, key: &str) -> Option<&'a str> {
        self.0.iter().find(|(known, _)| *known == key).map(|(_, value)| *value)
    }

    fn number<N: std::str::FromStr>(&self, key: &str) -> Result<Option<N>, ResultCode> {
        let read = |text: &str| {
            let what = || format!("{key}={text} is not a number that is allowed");
            text.parse().map_err(|_| result(SpawnEntityResponse::RESOURCE_PARSE_ERROR, what()))
        };
        self.value(key).map(read).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::{EntitySource, ResultCode, SpawnEntityResponse, decoded, path_of, read, to_uri};
    use selene_ros::simulation_interfaces::Resource;
    use selene_sim::AllowedFolders;
    use std::path::{Path, PathBuf};

    fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("there")
    }

    fn folders() -> AllowedFolders {
        AllowedFolders::new([root().join("config"), root().join("urdf")])
    }

    fn of(uri: &str) -> Result<EntitySource, ResultCode> {
        read(&Resource { uri: uri.to_owned(), resource_string: String::new() }, &folders())
    }

    #[test]
    fn files_are_named_by_uris_and_paths() {
        let viper = root().join("config/rover/viper.yaml");
        let plain = EntitySource::Rover { file: viper.clone(), sensors: Vec::new() };
        for uri in
            [to_uri(&viper), viper.display().to_string(), "rover/viper.yaml".to_owned(), "viper/viper.urdf".to_owned()]
        {
            assert_eq!(of(&uri), Ok(plain.clone()), "{uri}");
        }
        let sensors = ["imu", "lidar"].map(|name| root().join(format!("config/sensor/{name}.yaml"))).to_vec();
        assert_eq!(
            of("rover/viper.yaml?sensors=imu,sensor/lidar.yaml"),
            Ok(EntitySource::Rover { file: viper, sensors })
        );
        let lander = root().join("urdf/lander/lander.urdf");
        assert_eq!(of("lander/lander.urdf?z_m=0.5"), Ok(EntitySource::Object { file: lander, z_m: 0.5 }));
        let rock = EntitySource::Rock { diameter_m: 0.3, density_kg_m3: 3000.0, shape: Some(2) };
        assert_eq!(of("selene:rock?diameter_m=0.3&density_kg_m3=3000&shape=2"), Ok(rock));
    }

    #[test]
    fn the_text_of_a_rovers_urdf_is_that_rover_and_any_other_an_object() {
        let read = |text: &str| read(&Resource { uri: String::new(), resource_string: text.to_owned() }, &folders());
        let viper = std::fs::read_to_string(root().join("urdf/viper/viper.urdf")).expect("there");
        let file = root().join("config/rover/viper.yaml");
        assert_eq!(read(&viper), Ok(EntitySource::Rover { file, sensors: Vec::new() }));
        let post = read("<robot name=\"post\"/>").expect("a text");
        assert_eq!(
            (post.name().as_str(), &post),
            ("post", &EntitySource::Text { urdf: "<robot name=\"post\"/>".to_owned() })
        );
    }

    #[test]
    fn garbage_is_refused_with_what_is_allowed() {
        type Code = SpawnEntityResponse;
        for (uri, code) in [
            ("", Code::NO_RESOURCE),
            ("http://example.org/x.urdf", Code::UNSUPPORTED_FORMAT),
            ("package://selene/x.urdf", Code::UNSUPPORTED_FORMAT),
            ("file://elsewhere/x.urdf", Code::UNSUPPORTED_FORMAT),
            ("file:///etc/passwd", ResultCode::RESULT_OPERATION_FAILED),
            ("file:///no/such/file.urdf", ResultCode::RESULT_NOT_FOUND),
            ("../Cargo.toml", ResultCode::RESULT_OPERATION_FAILED),
            ("rover/../../Cargo.toml", ResultCode::RESULT_OPERATION_FAILED),
            ("file:///%2e%2e/etc/passwd", ResultCode::RESULT_OPERATION_FAILED),
            ("file:///%zz", Code::RESOURCE_PARSE_ERROR),
            ("rover", Code::UNSUPPORTED_FORMAT),
            ("viper/viper.urdf?sensors=../../../etc/passwd", ResultCode::RESULT_OPERATION_FAILED),
            ("rover/viper.yaml?z_m=1", Code::RESOURCE_PARSE_ERROR),
            ("rover/viper.yaml?sensors", Code::RESOURCE_PARSE_ERROR),
            ("selene:rock", Code::RESOURCE_PARSE_ERROR),
            ("selene:rock?diameter_m=big", Code::RESOURCE_PARSE_ERROR),
            ("selene:rock?diameter_m=1&shape=-1", Code::RESOURCE_PARSE_ERROR),
            ("selene:crater", Code::UNSUPPORTED_FORMAT),
            ("a\0b.urdf", ResultCode::RESULT_OPERATION_FAILED),
        ] {
            let refused = of(uri).expect_err(uri);
            assert_eq!(refused.result, code, "{uri}: {}", refused.error_message);
        }
        assert!(of(&"x".repeat(5000)).is_err());
    }

    #[test]
    fn a_path_comes_back_from_its_uri() {
        let path = Path::new("/a b/é#1.urdf");
        let uri = to_uri(path);
        assert_eq!(uri, "file:///a%20b/%C3%A9%231.urdf");
        assert_eq!(path_of(&uri).map(PathBuf::from), Ok(path.to_owned()));
        assert!(decoded("/%F").is_err() && decoded("/%FF").is_err() && decoded("/%é").is_err());
    }
}
