//! Makes the table of a slip map by running the single-wheel rig: the source of
//! `config/soil/slip_map_lunar.yaml`.
//! Usage: `slip_map <soil directory> <soil> <load N> <radius m> <width m>`.

use std::error::Error;
use std::path::Path;

use selene_soil::rig::{WheelRig, wheel};
use selene_soil::{Law, SoilSpec, WheelShape};

const SLIPS: [f64; 17] =
    [-0.999, -0.8, -0.6, -0.4, -0.3, -0.2, -0.1, -0.05, 0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [directory, soil, load, radius, width] = arguments.as_slice() else {
        return Err("usage: slip_map <soil directory> <soil> <load N> <radius m> <width m>".into());
    };
    let law = Law::try_from(&SoilSpec::load(&Path::new(directory).join(format!("{soil}.yaml")))?)?;
    let shape = WheelShape { radius_m: radius.parse()?, width_m: width.parse()?, ..WheelShape::default() };
    let load_n: f64 = load.parse()?;
    for slip in SLIPS {
        // A locked wheel goes at no rim speed: it is dragged at the others' speed.
        let omega_rad_s = if slip < -0.9 { 0.8 * (1.0 + slip) } else { 0.8 };
        let rig = WheelRig { omega_rad_s, ..WheelRig::new(law.clone(), shape, load_n, slip) };
        let state = wheel(&rig)?;
        let shown = if slip < -0.9 { -1.0 } else { slip };
        let (drawbar, sinkage_m) = (state.drawbar_n / load_n, state.sinkage_m);
        println!("      - {{slip: {shown}, drawbar_over_load: {drawbar:.4}, sinkage_m: {sinkage_m:.4}}}");
    }
    Ok(())
}
