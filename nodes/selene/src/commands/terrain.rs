//! `selene terrain`: inspects elevation files, and exports a site's ground as one.

mod export;

use selene_base::output::{PNG, TIFF};
use selene_dem::{
    Compression, Crs, ElevationError, ElevationFile, GeoPoint, GeographicBounds, HeightStatistics, ReadOptions, Window,
    write_geotiff,
};
use selene_pictures::{hillshade, save_png};
use serde_json::{Value, json};

use crate::args::{CropArgs, InfoArgs, PreviewArgs, SampleArgs, SourceArgs, TerrainCommand};
use crate::bar::Work;
use crate::fault::Fault;
use crate::output::print_line;
use crate::places;
use crate::verbosity::Verbosity;

/// Greatest side of a preview, px.
const PREVIEW_SIDE_PX: usize = 1600;

/// Executes a subcommand.
pub(crate) fn terrain(command: &TerrainCommand, verbosity: Verbosity) -> Result<(), Fault> {
    match command {
        TerrainCommand::Info(args) => info(args, verbosity),
        TerrainCommand::Sample(args) => sample(args),
        TerrainCommand::Crop(args) => crop(args),
        TerrainCommand::Preview(args) => preview(args),
        TerrainCommand::Export(args) => export::export(args, verbosity),
    }
}

fn open(args: &SourceArgs) -> Result<ElevationFile, Fault> {
    let options = ReadOptions {
        spacing_m: args.spacing_m,
        scale: args.scale,
        offset_m: args.offset,
        crs: args.crs,
        origin: args.origin,
        no_data: args.no_data,
    };
    ElevationFile::open(&args.file, &options).map_err(Fault::input)
}

/// Classifies an error: a failed write is a fault of the run, any other one of the input.
fn fault(error: ElevationError) -> Fault {
    match error {
        ElevationError::Write { .. } | ElevationError::Output(_) => Fault::run(error),
        _ => Fault::input(error),
    }
}

fn info(args: &InfoArgs, verbosity: Verbosity) -> Result<(), Fault> {
    let mut file = open(&args.source)?;
    let windows = if args.posts == 0 { file.bands() } else { file.sample(args.posts) };
    let work = Work::begin(verbosity, "reading heights", windows.len() as u64);
    let survey = file.survey_of(&windows, |read| work.reached(read as u64)).map_err(fault)?;
    drop(work);
    if args.json {
        print_line(json_of(&file, &survey))
    } else {
        print(&file, &survey)
    }
    Ok(())
}

/// Least and greatest x, then least and greatest y, in units of the file's map.
fn extent(file: &ElevationFile) -> [[f64; 2]; 2] {
    let [columns, rows] = file.shape().map(|count| count as f64);
    let corners = [[0.0, 0.0], [columns, 0.0], [0.0, rows], [columns, rows]].map(|corner| file.transform().xy(corner));
    [0, 1].map(|i| {
        corners.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], xy| [low.min(xy[i]), high.max(xy[i])])
    })
}

/// Converts radians to degrees, rounded to nine decimals.
fn degrees(rad: f64) -> f64 {
    (rad.to_degrees() * 1e9).round() / 1e9
}

fn json_of(file: &ElevationFile, survey: &HeightStatistics) -> Value {
    let [[x_min, x_max], [y_min, y_max]] = extent(file);
    let bounds = file.bounds().map(|bounds| {
        let GeographicBounds { south_rad, north_rad, west_rad, east_rad } = bounds;
        json!({ "south_deg": degrees(south_rad), "north_deg": degrees(north_rad), "west_deg": degrees(west_rad), "east_deg": degrees(east_rad) })
    });
    json!({
        "file": file.path().display().to_string(),
        "format": file.format().name(),
        "columns": file.shape()[0],
        "rows": file.shape()[1],
        "crs": file.crs().to_string(),
        "map_unit": if *file.crs() == Crs::Geographic { "degree" } else { "metre" },
        "spacing": file.transform().spacing(),
        "x_min": x_min, "x_max": x_max, "y_min": y_min, "y_max": y_max,
        "bounds": bounds,
        "height_min_m": survey.height_range_m.map(|range| range[0]),
        "height_max_m": survey.height_range_m.map(|range| range[1]),
        "no_data_count": survey.no_data_count,
        "posts_read": survey.posts,
    })
}

fn print(file: &ElevationFile, survey: &HeightStatistics) {
    let line = |name: &str, text: String| print_line(format_args!("{name:<11} {text}"));
    let unit = if *file.crs() == Crs::Geographic { "°" } else { " m" };
    let [columns, rows] = file.shape();
    let [[x_min, x_max], [y_min, y_max]] = extent(file);
    let [dx, dy] = file.transform().spacing();
    line("format", file.format().name().to_owned());
    line("posts", format!("{columns} columns × {rows} rows, {dx} × {dy}{unit} apart"));
    line("map", file.crs().to_string());
    line("x", format!("{x_min} to {x_max}{unit}"));
    line("y", format!("{y_min} to {y_max}{unit}"));
    if let Some(GeographicBounds { south_rad, north_rad, west_rad, east_rad }) = file.bounds() {
        line("latitude", format!("{} to {}°", degrees(south_rad), degrees(north_rad)));
        line("longitude", format!("{} to {}° east", degrees(west_rad), degrees(east_rad)));
    }
    let is_sample = survey.posts < columns.saturating_mul(rows);
    let of = if is_sample { format!(" in a sample of {} posts", survey.posts) } else { String::new() };
    match survey.height_range_m {
        Some([low, high]) => line("heights", format!("{low} to {high} m above the sphere of 1737400 m{of}")),
        None => line("heights", format!("none: no post{of} has data")),
    }
    line("no data", format!("{} posts{of}", survey.no_data_count));
    if is_sample {
        line(
            "sample",
            "whole blocks spread over the file, which may be higher and lower elsewhere; --posts 0 reads all"
                .to_owned(),
        );
    }
}

fn sample(args: &SampleArgs) -> Result<(), Fault> {
    let mut file = open(&args.source)?;
    let refuse = |what: String| Fault::input(format!("{}: {what}", args.source.file.display()));
    let (xy, place) = match (args.lat.zip(args.lon), args.x.zip(args.y)) {
        (Some((latitude_deg, longitude_deg)), _) => {
            if *file.crs() == Crs::Local {
                return Err(refuse("--lat, --lon: the grid is local, at no stated place; give --x and --y".to_owned()));
            }
            let place = GeoPoint::from_degrees(latitude_deg, longitude_deg);
            let outside = || refuse(format!("--lat {latitude_deg} --lon {longitude_deg}: is outside the file"));
            (file.xy_of(&place).ok_or_else(outside)?, Some(place))
        }
        (None, Some((x, y))) => ([x, y], file.crs().inverse([x, y])),
        (None, None) => return Err(refuse("--lat and --lon, or --x and --y, are needed".to_owned())),
    };
    let outside = || refuse(format!("--x {} --y {}: is outside the file", xy[0], xy[1]));
    let [column, row] = file.post_at_xy(xy).ok_or_else(outside)?;
    // The four posts around the place are among the nine around the post that was found.
    let [from_column, from_row] = [column.saturating_sub(1), row.saturating_sub(1)];
    let [columns, rows] = [(column + 2).min(file.shape()[0]) - from_column, (row + 2).min(file.shape()[1]) - from_row];
    let window = Window { column: from_column, row: from_row, columns, rows };
    let dem = file.read_window(&window).map_err(fault)?;
    let gone = || refuse(format!("has no data at column {column}, row {row}"));
    let height_m = dem.post_m(column - from_column, row - from_row).ok_or_else(gone)?;
    let interpolated_m = dem.height_at_xy_m(xy);
    if args.json {
        let [lat, lon] = [place.map(|p| degrees(p.latitude_rad)), place.map(|p| degrees(p.longitude_rad))];
        print_line(json!({
            "height_m": height_m, "interpolated_m": interpolated_m, "column": column, "row": row,
            "x": xy[0], "y": xy[1], "latitude_deg": lat, "longitude_deg": lon,
        }));
    } else {
        print_line(format_args!("height_m {height_m}"));
        print_line(format_args!(
            "interpolated_m {}",
            interpolated_m.map_or("none: a post beside has no data".to_owned(), |m| m.to_string())
        ));
        print_line(format_args!("column {column} row {row} x {} y {}", xy[0], xy[1]));
    }
    Ok(())
}

fn crop(args: &CropArgs) -> Result<(), Fault> {
    places::check_writable("--out", &args.out, &TIFF)?;
    let mut file = open(&args.source)?;
    let place = GeoPoint::from_degrees(args.lat, args.lon);
    let outside = || {
        let [lat, lon] = [args.lat, args.lon];
        Fault::input(format!(
            "{}: --lat {lat} --lon {lon}: is outside the file, or the grid is local",
            args.source.file.display()
        ))
    };
    let window = file.window_around(&place, args.side).ok_or_else(outside)?;
    let dem = file.read_window(&window).map_err(fault)?;
    write_geotiff(&dem, &args.out, Compression::Deflate).map_err(fault)?;
    let gaps = dem.no_data_count();
    print_line(format_args!(
        "{}: {} columns × {} rows, {gaps} posts without data",
        places::whole(&args.out).display(),
        dem.columns(),
        dem.rows()
    ));
    Ok(())
}

fn preview(args: &PreviewArgs) -> Result<(), Fault> {
    places::check_writable("--out", &args.out, &PNG)?;
    let mut file = open(&args.source)?;
    let dem = file.thinned(PREVIEW_SIDE_PX).map_err(fault)?;
    let (picture, exaggeration) = hillshade::draw(&dem);
    save_png(&picture, &args.out).map_err(Fault::run)?;
    print_line(format_args!(
        "{}: {} × {} px, heights × {exaggeration:.1}",
        places::whole(&args.out).display(),
        dem.columns(),
        dem.rows()
    ));
    Ok(())
}
