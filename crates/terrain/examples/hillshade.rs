//! Shades every level of a site under a low Sun and prints how long the site took to generate:
//! `cargo run --release -p selene-terrain --example hillshade -- config/site/polar.yaml out.png`
//! writes out-0.png (finest) and following. The data directory is `SELENE_DATA`.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Instant;

use nalgebra::Vector3;
use selene_base::input::load_yaml;
use selene_terrain::{Clipmap, Level, SiteSpec};

/// Elevation of the Sun in the picture and its azimuth from x towards y, rad.
const SUN_ELEVATION_RAD: f64 = 0.17;
const SUN_AZIMUTH_RAD: f64 = 2.3;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().collect();
    let [_, site, out, ..] = arguments.as_slice() else { return Err("give SITE.yaml and OUT.png".into()) };
    let seed = arguments.get(3).map_or(Ok(1), |seed| seed.parse())?;
    let spec: SiteSpec = load_yaml(Path::new(site))?;
    let data_dir = std::env::var_os("SELENE_DATA").map(PathBuf::from);
    let start = Instant::now();
    let ground = Clipmap::of_site(&spec, Path::new(site), data_dir.as_deref(), seed)?;
    println!("{}: made in {:.3} s, {} rocks", spec.name, start.elapsed().as_secs_f64(), ground.rocks().len());
    for (i, level) in ground.levels().enumerate() {
        describe(i, level);
        let path = out.replace(".png", &format!("-{i}.png"));
        shade(level, if i == 0 { Some(&ground) } else { None }).save(path)?;
    }
    horizon(&ground);
    Ok(())
}

/// Prints the range of heights and slopes over the middle ±25 m (or all) of a level.
fn describe(index: usize, level: &Level) {
    let [min, max] = [f32::min, f32::max].map(|f| level.heights_m.iter().copied().reduce(f).unwrap_or(0.0));
    let middle = level.posts / 2;
    let near = ((25.0 / level.spacing_m) as usize).clamp(8, middle - 1);
    // Slopes over the size of a wheel or of a post, whichever is larger.
    let step = ((0.5 / level.spacing_m) as usize).max(1);
    let mut slopes = Vec::new();
    for row in (middle - near..middle + near - step).step_by(step) {
        for column in (middle - near..middle + near - step).step_by(step) {
            let run = step as f64 * level.spacing_m;
            let dx = level.post_m(column + step, row) - level.post_m(column, row);
            let dy = level.post_m(column, row + step) - level.post_m(column, row);
            slopes.push((dx.hypot(dy) / run).atan().to_degrees());
        }
    }
    slopes.sort_by(f64::total_cmp);
    let at = |fraction: f64| slopes[((slopes.len() - 1) as f64 * fraction) as usize];
    println!(
        "level {index}: {} posts of {} m, {min:.2} to {max:.2} m, slope at {:.2} m within {:.0} m: median {:.1}, 95 % {:.1}, most {:.1} deg",
        level.posts,
        level.spacing_m,
        step as f64 * level.spacing_m,
        near as f64 * level.spacing_m,
        at(0.5),
        at(0.95),
        at(1.0)
    );
}

/// Prints the elevation of the horizon around the start, by direction.
fn horizon(ground: &Clipmap) {
    let eye_m = ground.height_m(0.0, 0.0).unwrap_or(0.0) + 2.0;
    let steps = || (0..600).map(|i| 2.0 * 1.0125_f64.powi(i));
    for azimuth in (0..360).step_by(15) {
        let (east, north) = f64::from(azimuth).to_radians().sin_cos();
        let rise = |d: f64| ground.height_m(d * east, d * north).map(|h| ((h - eye_m) / d).atan().to_degrees());
        let highest = steps().filter_map(rise).fold(f64::MIN, f64::max);
        print!("{azimuth}: {highest:.1}  ");
    }
    println!("(azimuth from north: horizon, deg)");
}

fn shade(level: &Level, rocks_of: Option<&Clipmap>) -> image::GrayImage {
    let (sin, cos) = SUN_ELEVATION_RAD.sin_cos();
    let sun = Vector3::new(SUN_AZIMUTH_RAD.cos() * cos, SUN_AZIMUTH_RAD.sin() * cos, sin);
    let last = level.posts - 1;
    image::GrayImage::from_fn(last as u32, last as u32, |i, j| {
        let (column, row) = (i as usize, last - 1 - j as usize);
        let [x, y] = level.post_xy_m(column, row);
        if rocks_of.is_some_and(|ground| ground.rocks_near(x, y, 0.0).next().is_some()) {
            return image::Luma([255]);
        }
        let half = level.spacing_m / 2.0;
        let normal = level.normal(x + half, y + half).unwrap_or_else(Vector3::z);
        let light = (normal.dot(&sun) / (2.2 * sin)).clamp(0.0, 1.0);
        image::Luma([(255.0 * light.sqrt()) as u8])
    })
}
