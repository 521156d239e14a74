//! A user's stage: veiling glare, a uniform haze of one percent of the mean irradiance. A sensor's YAML puts it at its
//! place in the list of stages:
//!
//! ```yaml
//! stages:
//!   - own: {name: haze}
//!   - aggregator: {quantum_efficiency: 0.5}
//!   …
//! ```
//!
//! `selene_camera::run_with(…, &own)` runs a camera node with it.
//! Try it: `cargo run --release -p selene-sensors --example own_stage`.

use std::error::Error;
use std::path::Path;

use selene_scene::CameraFrame;
use selene_sensors::develop::{OwnSpec, StageSpec};
use selene_sensors::{OwnStages, Pipeline, Plate, Quantity, SensorSpec, Shot};

/// Irradiance of the haze, as a fraction of the mean irradiance.
const HAZE: f32 = 0.01;

fn haze(plate: &mut Plate, _shot: &Shot<'_>) {
    for plane in &mut plate.planes {
        let more = HAZE * plane.iter().sum::<f32>() / plane.len() as f32;
        plane.iter_mut().for_each(|value| *value += more);
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let own = OwnStages::new().with_stage("haze", Quantity::Irradiance, haze);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/sensor/navcam_left.yaml");
    let SensorSpec::Camera(mut camera) = SensorSpec::load(&file)? else { return Err("no camera".into()) };
    camera.stages.0.insert(0, StageSpec::Own(OwnSpec { name: "haze".to_owned() }));

    // Half of the image is black sky, half is ground lit by a low Sun.
    let mut frame = CameraFrame::sized(camera.width, camera.height);
    let half = frame.radiance.len() / 2;
    frame.radiance[half..].fill([1.7; 3]);
    frame.class[half..].fill(1);
    let image = Pipeline::with(&camera, 1, &own)?.develop(&frame, None, 0)?;
    let sky = image.data[..half].iter().map(|dn| f64::from(*dn)).sum::<f64>() / half as f64;
    println!("{}: the sky has {sky:.2} of 255 after {:.2} ms", image.encoding.name(), 1e3 * image.exposure_s);
    Ok(())
}
