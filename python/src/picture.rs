//! Rendered pictures: the image that a camera would take now, in 8-bit red, green and blue.

use pyo3::PyErr;
use selene_base::SimTime;
use selene_observe::{Device, Devices, Feed, Image, ObserveError, RoverCameras};
use selene_sensors::{CameraSpec, Encoding, Sample};
use selene_sim::{EntityId, World, WorldError};

use crate::fault;

/// Why there is no picture.
#[derive(Debug)]
pub(crate) enum NoPicture {
    /// There is no such camera.
    Camera(String),
    /// The world cannot be stepped.
    World(WorldError),
    /// The image cannot be traced.
    Observe(ObserveError),
    /// Images of this encoding are no pictures.
    Encoding(&'static str),
}

impl NoPicture {
    /// It as a Python exception.
    pub(crate) fn exception(&self) -> PyErr {
        match self {
            Self::Camera(what) => fault::value(what),
            Self::World(error) => fault::error(error),
            Self::Observe(error) => fault::error(error),
            Self::Encoding(name) => fault::error(&format!("images of encoding {name} are no pictures")),
        }
    }
}

/// The picture that a rover's camera takes if its shutter opens now; without a name, the rover's first camera. The world
/// does not change: a branch of it is stepped until the exposure has ended.
pub(crate) fn take(world: &World, rover: EntityId, camera: Option<&str>) -> Result<Image, NoPicture> {
    let taken = expose(world, rover, camera)?;
    let data = coloured(&taken).ok_or(NoPicture::Encoding(taken.encoding))?;
    Ok(Image { encoding: "rgb8", pixel_bytes: 3, data, ..taken })
}

fn expose(world: &World, rover: EntityId, camera: Option<&str>) -> Result<Image, NoPicture> {
    let spec = camera_spec(world, rover, camera).map_err(NoPicture::Camera)?;
    let mut branch = world.branch().map_err(NoPicture::World)?;
    let mut feed = Feed::begin(&mut branch).map_err(NoPicture::World)?;
    let devices = Devices::from(Device::cpu());
    let ruts = &branch.state().ruts;
    let cameras = RoverCameras::new(branch.model(), rover, feed.last(), ruts, &devices, &Default::default());
    let mut cameras = cameras.map_err(NoPicture::Observe)?;
    let opens = spec.shutter(spec.exposure_max_s()).opens_before();
    let sample = Sample { index: branch.state().sequence, instant: branch.time() + opens };
    let ends = cameras.exposed_at(&spec.name, sample).max(branch.time() + SimTime::from_nanos(1));
    while branch.time() < ends {
        let interval = feed.heartbeat(&mut branch).map_err(NoPicture::World)?;
        cameras.see(&interval).map_err(NoPicture::Observe)?;
    }
    Ok(cameras.expose(&spec.name, sample).map_err(NoPicture::Observe)?.image)
}

fn camera_spec(world: &World, rover: EntityId, name: Option<&str>) -> Result<CameraSpec, String> {
    let kind = world.model().rovers().get(&rover);
    let setup = kind.map(|kind| kind.setup()).ok_or_else(|| format!("there is no rover {rover}"))?;
    let found = setup.cameras().find(|camera| name.is_none_or(|name| camera.spec.name == name));
    found.map(|camera| camera.spec.clone()).ok_or_else(|| {
        let known: Vec<_> = setup.cameras().map(|camera| camera.spec.name.as_str()).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        format!("camera '{}': rover {} has {known}", name.unwrap_or("any"), setup.name)
    })
}

/// Red, green and blue of each pixel, row by row, 8 bits each; `None` for an encoding that is no picture. 16-bit values
/// keep their upper 8 bits.
fn coloured(image: &Image) -> Option<Vec<u8>> {
    let encoding = Encoding::named(image.encoding)?;
    let viewed = encoding.viewed(image.width as usize, &image.data);
    Some(match encoding.demosaiced().channels() {
        1 => viewed.iter().flat_map(|grey| [*grey; 3]).collect(),
        _ => viewed,
    })
}
