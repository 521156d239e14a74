//! `selene terrain export`: writes a square of a site's ground, procedural or measured, as GeoTIFF, with the ruts of
//! earlier runs.

use std::sync::Arc;

use selene_base::input::load_yaml;
use selene_base::output::TIFF;
use selene_dem::{Crs, MOON_RADIUS_M, MapFrame, RasterHead, write_geotiff_rows};
use selene_sim::{DrivenGround, Fingerprint, LoadOptions, Scenario};
use selene_terrain::{Clipmap, Mosaic, MosaicLayer, SiteSpec, Terrain};

use super::fault;
use crate::args::{ExportArgs, HeightArg, LayerArg};
use crate::bar::Work;
use crate::commands::check::{Kind, kind_of};
use crate::fault::Fault;
use crate::output::print_line;
use crate::places;
use crate::verbosity::Verbosity;

/// Seed of a site's ground if neither the ruts nor the command line give one.
const SEED: u64 = 1;

/// Writes the GeoTIFF.
pub(super) fn export(args: &ExportArgs, verbosity: Verbosity) -> Result<(), Fault> {
    places::check_writable("--out", &args.out, &TIFF)?;
    if args.height == HeightArg::Sphere && args.layer != LayerArg::Elevation {
        return Err(Fault::input("--height sphere: only --layer elevation has heights"));
    }
    let (site, ground) = ground(args)?;
    let layer = match args.layer {
        LayerArg::Elevation => MosaicLayer::Elevation,
        LayerArg::Slope => MosaicLayer::Slope,
        LayerArg::Rocks => MosaicLayer::Rocks,
    };
    let mut mosaic = Mosaic::new(ground, layer, [args.x, args.y], args.side, args.spacing)
        .map_err(|error| Fault::input(format!("--{error}")))?;
    let head = head(args, &site, &mosaic);
    let frame = MapFrame::new(site.latitude_deg, site.longitude_deg, site.datum_m);
    let work = Work::begin(verbosity, "rows of posts", head.shape[1] as u64);
    let mut gaps = 0;
    let row = |row: usize, values: &mut [f32]| {
        mosaic.row(row, values);
        if args.height == HeightArg::Sphere {
            raise(&frame, &mosaic, row, values);
        }
        gaps += values.iter().filter(|value| value.is_nan()).count();
        work.step();
    };
    write_geotiff_rows(&head, &args.out, row).map_err(fault)?;
    drop(work);
    let [columns, rows] = head.shape;
    let spacing_m = head.transform.spacing()[0];
    print_line(format_args!(
        "{}: {columns} columns × {rows} rows, {spacing_m} m apart, {gaps} posts without data; {}",
        places::whole(&args.out).display(),
        head.description.unwrap_or_default()
    ));
    Ok(())
}

/// Converts a row of heights from the map frame to heights above the sphere, m.
fn raise(frame: &MapFrame, mosaic: &Mosaic, row: usize, values: &mut [f32]) {
    for (column, value) in values.iter_mut().enumerate().filter(|(_, value)| !value.is_nan()) {
        let [x, y] = mosaic.post_xy_m(column, row);
        *value = frame.to_geodetic([x, y, f64::from(*value)]).height_m as f32;
    }
}

fn head(args: &ExportArgs, site: &SiteSpec, mosaic: &Mosaic) -> RasterHead {
    let description = match (args.layer, args.height) {
        (LayerArg::Elevation, HeightArg::Map) => {
            format!(
                "height over the plane that touches the map's origin, m; the origin is {} m above the sphere of 1737400 m",
                site.datum_m
            )
        }
        (LayerArg::Elevation, HeightArg::Sphere) => "height above the sphere of 1737400 m, m".to_owned(),
        (LayerArg::Slope, _) => "slope, rad".to_owned(),
        (LayerArg::Rocks, _) => "height of a rock's top over the soil, m".to_owned(),
    };
    let crs = Crs::Orthographic {
        latitude_rad: site.latitude_deg.to_radians(),
        longitude_rad: site.longitude_deg.to_radians(),
        radius_m: MOON_RADIUS_M + site.datum_m,
    };
    let posts = mosaic.posts();
    RasterHead { shape: [posts, posts], transform: mosaic.transform(), crs, description: Some(description) }
}

/// The site and its ground with ruts; all rocks count as fixed.
fn ground(args: &ExportArgs) -> Result<(SiteSpec, Clipmap), Fault> {
    let data_dir = places::data_dir(args.data.as_deref())?;
    let file = places::configured(&["scenario", "site"], &args.file);
    let (site, seed, terrain) = match kind_of(&file).map_err(Fault::input)? {
        Kind::Scenario => {
            let configuration = places::config_dirs();
            let options = LoadOptions { data_dir, seed: args.seed, configuration, ..LoadOptions::default() };
            let scenario = Scenario::load(&file, &options).map_err(Fault::input)?;
            let terrain = scenario.terrain().map_err(Fault::input)?;
            (scenario.site, scenario.seed, terrain)
        }
        Kind::Site => {
            let site: SiteSpec = load_yaml(&file).map_err(Fault::input)?;
            let of_ruts = || args.ruts.as_deref().map(DrivenGround::seed_of).transpose().map_err(Fault::input);
            let seed = args.seed.map_or_else(of_ruts, |seed| Ok(Some(seed)))?.unwrap_or(SEED);
            let terrain = Terrain::load(&site, &file, data_dir.as_deref(), seed).map_err(Fault::input)?;
            (site, seed, terrain)
        }
        Kind::Rover | Kind::Soil | Kind::Sensor | Kind::Learning | Kind::Campaign | Kind::Urdf => {
            return Err(Fault::input(format!("{}: is neither a site nor a scenario", file.display())));
        }
    };
    let terrain = Arc::new(terrain);
    let mut clipmap = Clipmap::at(&terrain, [0, 0]);
    if let Some(file) = &args.ruts {
        let own = Fingerprint::of_ground(&site, seed, &terrain);
        let driven = DrivenGround::load(file, &own).map_err(|error| Fault::input(format!("--ruts {error}")))?;
        clipmap.take_ruts(&driven.ruts);
    }
    Ok((site, clipmap))
}
