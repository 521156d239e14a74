//! Measures how long a fresh square of a site's land takes to generate, far from what was generated before:
//! `cargo run --release -p selene-terrain --example fresh_square -- config/site/polar.yaml 256`.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Instant;

use selene_base::input::load_yaml;
use selene_terrain::{Landscape, TileStore};

/// Number of squares to generate, each far from the others.
const PLACES: u32 = 8;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().collect();
    let [_, site, side_m] = arguments.as_slice() else { return Err("give SITE.yaml and a side in m".into()) };
    let side_m: f64 = side_m.parse()?;
    let data_dir = std::env::var_os("SELENE_DATA").map(PathBuf::from);
    let start = Instant::now();
    let land = Landscape::new(load_yaml(Path::new(site))?, Path::new(site), data_dir.as_deref(), 1)?;
    println!("the landscape in {:.3} s", start.elapsed().as_secs_f64());
    let tiles = TileStore::default();
    let mut seconds: Vec<_> = (0..PLACES)
        .map(|i| {
            let start = Instant::now();
            let windows = land.square(&tiles, [1000.0 * f64::from(i), -300.0], side_m);
            let posts: usize = windows.levels.iter().map(|level| level.heights_m.len()).sum();
            println!("{posts} posts, {} rocks in {:.3} s", windows.rocks.len(), start.elapsed().as_secs_f64());
            start.elapsed().as_secs_f64()
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    println!("median {:.3} s", seconds[seconds.len() / 2]);
    Ok(())
}
