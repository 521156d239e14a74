//! Tests of elevation files: real ones against published facts, and made-up ones, valid and invalid, written here from
//! their standards.

#[path = "../../../tests/src/skip.rs"]
mod skip;

use std::path::{Path, PathBuf};

use selene_dem::{
    Compression, Crs, Dem, ElevationFile, Format, GeoPoint, GeoTransform, MOON_RADIUS_M, Pole, ReadOptions, Window,
    write_geotiff,
};
use skip::{skip_data, skip_peer};

/// The third-party elevation files, if they are here; fails if they are missing and `SELENE_REQUIRE_DATA` requires
/// them.
fn data_dir() -> Option<PathBuf> {
    let found = std::env::var_os("SELENE_DATA").map(|dir| PathBuf::from(dir).join("dem")).filter(|dir| dir.is_dir());
    if found.is_none() {
        skip_data("needs the elevation data; set SELENE_DATA to their directory");
    }
    found
}

fn open(path: &Path) -> ElevationFile {
    ElevationFile::open(path, &ReadOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("selene-elevation-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("folder");
    folder
}

/// Why a file is refused, on opening or on reading.
fn refusal(path: &Path, options: &ReadOptions) -> String {
    let read = ElevationFile::open(path, options).and_then(|mut file| file.read());
    let message = read.map(|dem| dem.height_range_m()).expect_err("must be refused").to_string();
    assert!(message.contains(&path.file_stem().expect("name").to_string_lossy()[..]), "no file in: {message}");
    message
}

/// Correlation of the heights of two grids at positions all over the Moon.
fn correlation(a: &Dem, b: &Dem) -> f64 {
    let places =
        (0..170).flat_map(|i| (0..360).map(move |j| GeoPoint::from_degrees(f64::from(i) - 84.5, f64::from(j) - 179.5)));
    let pairs: Vec<_> = places.filter_map(|place| Some((a.height_m(&place)?, b.height_m(&place)?))).collect();
    assert!(pairs.len() > 60_000, "{} places in common", pairs.len());
    let count = pairs.len() as f64;
    let mean = |pick: fn(&(f64, f64)) -> f64| pairs.iter().map(pick).sum::<f64>() / count;
    let [mean_a, mean_b] = [mean(|p| p.0), mean(|p| p.1)];
    let sum = |f: &dyn Fn(f64, f64) -> f64| pairs.iter().map(|(a, b)| f(a - mean_a, b - mean_b)).sum::<f64>();
    sum(&|a, b| a * b) / (sum(&|a, _| a * a) * sum(&|_, b| b * b)).sqrt()
}

#[test]
fn the_summit_and_the_apollo_sites_are_where_lola_has_them() {
    let Some(data) = data_dir() else { return };
    // The same through the label and through the image.
    for name in ["ldem_4/LDEM_4.LBL", "ldem_4/LDEM_4.IMG"] {
        let mut file = open(&data.join(name));
        assert_eq!((file.format(), file.shape()), (Format::Pds3, [1440, 720]));
        let dem = file.read().expect("heights");
        for (latitude_deg, longitude_deg, height_m) in
            [(5.4, 201.4, 10_504.0), (0.674, 23.473, -1883.0), (26.132, 3.634, -1924.5), (20.191, 30.772, -2662.0)]
        {
            let [column, row] = dem.post_at(&GeoPoint::from_degrees(latitude_deg, longitude_deg)).expect("on the map");
            assert_eq!(dem.post_m(column, row), Some(height_m));
        }
        assert_eq!((dem.height_range_m().expect("heights")[1], dem.no_data_count()), (10_504.0, 0));
    }
}

#[test]
fn a_global_geotiff_agrees_with_lola() {
    let Some(data) = data_dir() else { return };
    let ldem = open(&data.join("ldem_4/LDEM_4.LBL")).read().expect("heights");
    let moon = open(&data.join("global_geotiff/moon_dem.tif")).read().expect("heights");
    assert_eq!(*moon.crs(), Crs::Geographic);
    let r = correlation(&ldem, &moon);
    // The README gives 0.993.
    assert!((0.99..=1.0).contains(&r), "{r}");
}

#[test]
fn a_cube_of_longitudes_0_to_360_is_not_taken_for_180() {
    let Some(data) = data_dir() else { return };
    let ldem = open(&data.join("ldem_4/LDEM_4.LBL")).read().expect("heights");
    let name = "isis_cube/WAC_GLD100_V1.0_GLOBAL_with_LOLA_30M_POLE.16bit.reduced.cub";
    let mut cube = open(&data.join(name)).read().expect("heights");
    let r = correlation(&ldem, &cube);
    assert!(r > 0.9, "{r}");
    // The label's corner is rounded, and lies 99 m beyond the pole.
    let bounds = open(&data.join(name)).bounds().expect("on the Moon");
    let [west_deg, east_deg] = [bounds.west_rad, bounds.east_rad].map(f64::to_degrees);
    assert!(west_deg.abs() < 0.01 && (east_deg - 360.0).abs() < 0.1, "{west_deg} to {east_deg}");
    // The error to avoid: the same posts half a turn away.
    let t = *cube.transform();
    let turned = GeoTransform { corner: [t.corner[0] - std::f64::consts::PI * MOON_RADIUS_M, t.corner[1]], ..t };
    cube = Dem::new([cube.columns(), cube.rows()], turned, *cube.crs(), cube.heights_m().to_vec()).expect("a grid");
    assert!(correlation(&ldem, &cube) < 0.0);
}

#[test]
fn a_polar_geotiff_lies_where_its_facts_say() {
    let Some(data) = data_dir() else { return };
    let mut file = open(&data.join("polar_crs/dem_moon.tif"));
    let polar =
        Crs::PolarStereographic { pole: Pole::North, central_meridian_rad: 0.0, scale: 1.0, false_origin_m: [0.0; 2] };
    assert_eq!((*file.crs(), file.shape()), (polar, [33, 33]));
    let [[west, north], [east, south]] = [[0.0, 0.0], [33.0, 33.0]].map(|corner| file.transform().xy(corner));
    // The facts are rounded to 0.1 m.
    for (is, labelled) in [(west, -53_750.0), (east, -53_669.9), (north, -51_050.0), (south, -51_130.0)] {
        assert!((is - labelled).abs() < 0.1, "{is} for {labelled}");
    }
    let [low, high] = file.read().expect("heights").height_range_m().expect("heights");
    assert!((low + 212.3).abs() < 0.05 && (high + 205.4).abs() < 0.05, "{low} to {high}");
}

#[test]
fn a_picture_of_hadley_is_read_with_its_stated_scale() {
    let Some(data) = data_dir() else { return };
    let path = data.join("hadley/NAC_DTM_APOLLO15_E261N0036_257x257+7472+2152.png");
    let stated = ReadOptions { spacing_m: Some(2.0), scale: Some(49.0 / 255.0), ..ReadOptions::default() };
    let dem = ElevationFile::open(&path, &stated).and_then(|mut file| file.read()).expect("heights");
    assert_eq!((dem.columns(), dem.rows(), *dem.crs()), (257, 257, Crs::Local));
    assert_eq!(dem.transform().corner, [-257.0, 257.0]);
    let [low, high] = dem.height_range_m().expect("heights");
    assert!((high - low - 49.0).abs() < 0.2, "{low} to {high}");
    assert!(refusal(&path, &ReadOptions { scale: None, ..stated.clone() }).contains("scale"));
    assert!(refusal(&path, &ReadOptions { spacing_m: None, ..stated }).contains("spacing"));
}

/// Heights of LOLA's LDEM_4 at the middles of pixels of 3.75°, from the north and from 0° E; the README beside them
/// says how they were taken.
const LOLA: &str = include_str!("data/ldem_4_every_15th.csv");
const LOLA_SHAPE: [usize; 2] = [96, 48];
const LOLA_STEP_DEG: f64 = 3.75;

fn lola_m() -> Vec<f32> {
    LOLA.lines().flat_map(|line| line.split(',')).map(|height| height.parse().expect("a height")).collect()
}

/// Writes these heights as a PDS3 image with LDEM_4's own keys, as a cube from 0° to 360° and as a GeoTIFF from −180°
/// to 180°.
fn lola_files(folder: &Path) -> [PathBuf; 3] {
    let files = ["LOLA.LBL", "lola.cub", "lola.tif"].map(|name| folder.join(name));
    let heights_m = lola_m();
    let counts: Vec<u8> = heights_m.iter().flat_map(|height_m| ((2.0 * height_m) as i16).to_le_bytes()).collect();
    let pixel_m = LOLA_STEP_DEG.to_radians() * MOON_RADIUS_M;
    let label = format!(
        "PDS_VERSION_ID = PDS3\r\nTARGET_NAME = MOON\r\n^IMAGE = \"LOLA.IMG\"\r\nOBJECT = IMAGE\r\n LINES = 48\r\n LINE_SAMPLES = 96\r\n \
         SAMPLE_TYPE = LSB_INTEGER\r\n SAMPLE_BITS = 16\r\n UNIT = METER\r\n SCALING_FACTOR = 0.5\r\n OFFSET = 1737400.\r\nEND_OBJECT = IMAGE\r\n\
         OBJECT = IMAGE_MAP_PROJECTION\r\n MAP_PROJECTION_TYPE = \"SIMPLE CYLINDRICAL\"\r\n A_AXIS_RADIUS = 1737.4 <km>\r\n \
         MAP_SCALE = {pixel_m} <m/pix>\r\n POSITIVE_LONGITUDE_DIRECTION = \"EAST\"\r\n CENTER_LATITUDE = 0 <deg>\r\n \
         CENTER_LONGITUDE = 180 <deg>\r\n MAXIMUM_LATITUDE = 90 <deg>\r\n MINIMUM_LATITUDE = -90 <deg>\r\n \
         WESTERNMOST_LONGITUDE = 0 <deg>\r\n EASTERNMOST_LONGITUDE = 360 <deg>\r\n LINE_PROJECTION_OFFSET = 23.5 <pix>\r\n \
         SAMPLE_PROJECTION_OFFSET = 47.5 <pix>\r\nEND_OBJECT = IMAGE_MAP_PROJECTION\r\nEND\r\n"
    );
    std::fs::write(&files[0], label).expect("label");
    std::fs::write(files[0].with_extension("IMG"), &counts).expect("image");
    let label = format!(
        "Object = IsisCube\n Object = Core\n StartByte = 2049\n Format = BandSequential\n Group = Dimensions\n Samples = 96\n Lines = 48\n \
         Bands = 1\n End_Group\n Group = Pixels\n Type = SignedWord\n ByteOrder = Lsb\n Base = 1737400.0\n Multiplier = 0.5\n End_Group\n \
         End_Object\n Group = Mapping\n ProjectionName = Equirectangular\n TargetName = Moon\n EquatorialRadius = 1737400.0 <meters>\n \
         PolarRadius = 1737400.0 <meters>\n LongitudeDirection = PositiveEast\n LongitudeDomain = 360\n CenterLatitude = 0.0\n \
         CenterLongitude = 0.0\n UpperLeftCornerX = 0.0 <meters>\n UpperLeftCornerY = {} <meters>\n \
         PixelResolution = {pixel_m} <meters/pixel>\n End_Group\nEnd_Object\nEnd\n",
        24.0 * pixel_m
    );
    let mut cube = label.into_bytes();
    cube.resize(2048, 0);
    cube.extend(&counts);
    std::fs::write(&files[1], cube).expect("cube");
    let turned = heights_m.chunks(96).flat_map(|row| [&row[48..], &row[..48]].concat()).collect();
    let transform = GeoTransform::north_up(-180.0, 90.0, LOLA_STEP_DEG, LOLA_STEP_DEG);
    let dem = Dem::new(LOLA_SHAPE, transform, Crs::Geographic, turned).expect("a grid");
    write_geotiff(&dem, &files[2], Compression::Deflate).expect("written");
    files
}

#[test]
fn lolas_heights_are_where_it_measured_them_in_every_format_and_from_every_first_longitude() {
    let dems = lola_files(&folder("lola")).map(|file| open(&file).read().expect("heights"));
    for dem in &dems {
        for (i, height_m) in lola_m().into_iter().enumerate() {
            let [down_deg, east_deg] = [i / 96, i % 96].map(|at| LOLA_STEP_DEG * (at as f64 + 0.5));
            let [column, row] = dem.post_at(&GeoPoint::from_degrees(90.0 - down_deg, east_deg)).expect("on the map");
            assert_eq!(dem.post_m(column, row), Some(f64::from(height_m)), "post {i} on {}", dem.crs());
        }
        // Mirrored or half a turn away, each height would differ by a kilometre.
        for (name, latitude_deg, longitude_deg, least_m, most_m) in [
            ("Mare Crisium", 17.0, 59.0, -4000.0, -3000.0),
            ("Mare Moscoviense", 27.0, 148.0, -3500.0, -2500.0),
            ("the highest highlands", 5.0, -159.0, 6000.0, 7000.0),
            ("the South Pole-Aitken basin", -53.0, 191.0, -6000.0, -5000.0),
        ] {
            let height_m = dem.height_m(&GeoPoint::from_degrees(latitude_deg, longitude_deg)).expect("on the map");
            assert!((least_m..most_m).contains(&height_m), "{name}: {height_m} m on {}", dem.crs());
        }
    }
    // The error to avoid: a cube from 0° read as if it began at −180°.
    let [label, cube, _] = &dems;
    assert!(correlation(label, cube) > 0.999);
    let t = *cube.transform();
    let turned = GeoTransform { corner: [t.corner[0] - std::f64::consts::PI * MOON_RADIUS_M, t.corner[1]], ..t };
    let turned = Dem::new(LOLA_SHAPE, turned, *cube.crs(), cube.heights_m().to_vec()).expect("a grid");
    assert!(correlation(label, &turned) < 0.0);
}

/// A polar label with either sign of the projection offsets; images are 400 × 300 posts of 1 km.
fn polar_label(latitude_deg: i32, direction: &str, center_deg: f64, offset_sign: f64) -> String {
    let [toward, away] = if latitude_deg < 0 { ["MINIMUM", "MAXIMUM"] } else { ["MAXIMUM", "MINIMUM"] };
    // The middle of the nearer edge, 150 km from the pole.
    let edge_deg = f64::from(latitude_deg.signum()) * (90.0 - 2.0 * (75_000.0 / MOON_RADIUS_M).atan().to_degrees());
    format!(
        "PDS_VERSION_ID = PDS3\r\nTARGET_NAME = MOON\r\n^IMAGE = \"POLE.IMG\"\r\nOBJECT = IMAGE\r\n LINES = 300\r\n LINE_SAMPLES = 400\r\n \
         SAMPLE_TYPE = MSB_INTEGER\r\n SAMPLE_BITS = 16\r\n UNIT = METER\r\n SCALING_FACTOR = 0.5\r\n OFFSET = 1737400.\r\nEND_OBJECT = IMAGE\r\n\
         OBJECT = IMAGE_MAP_PROJECTION\r\n MAP_PROJECTION_TYPE = \"POLAR STEREOGRAPHIC\"\r\n A_AXIS_RADIUS = 1737.4 <km>\r\n MAP_SCALE = 1000 <m/pix>\r\n \
         POSITIVE_LONGITUDE_DIRECTION = {direction}\r\n CENTER_LATITUDE = {latitude_deg} <deg>\r\n CENTER_LONGITUDE = {center_deg} <deg>\r\n \
         LINE_PROJECTION_OFFSET = {}\r\n SAMPLE_PROJECTION_OFFSET = {}\r\n {toward}_LATITUDE = {latitude_deg}\r\n {away}_LATITUDE = {edge_deg}\r\n\
         END_OBJECT = IMAGE_MAP_PROJECTION\r\nEND\r\n",
        offset_sign * 149.5,
        offset_sign * 199.5
    )
}

/// Sample and line (from 1, at the middles of pixels) of a crater in an image whose 0° points down in the north and up
/// in the south, by LOLA's own formula of 2021: LON = atan2(X, ∓Y), R = 2 · 1737400 · tan((90 − |LAT|)/2).
fn lola_pixel(latitude_deg: f64, longitude_deg: f64) -> [f64; 2] {
    let r = 2.0 * 1_737_400.0 * ((90.0 - latitude_deg.abs()) / 2.0).to_radians().tan() / 1000.0;
    let (sin, cos) = longitude_deg.to_radians().sin_cos();
    [200.5 + r * sin, 150.5 + latitude_deg.signum() * r * cos]
}

#[test]
fn known_craters_fall_where_polar_labels_of_both_conventions_say() {
    let folder = folder("polar");
    // A label that counts west from 90° W changes the longitudes, not the image: its 0° is a quarter turn away, so it
    // is written for an image turned by as much.
    let craters = [("Shackleton", -89.67, 129.78), ("de Gerlache", -88.5, -87.1), ("Peary", 88.6, 24.4)];
    for (name, latitude_deg, longitude_deg) in craters {
        let pole = if latitude_deg < 0.0 { -90 } else { 90 };
        for (direction, center_deg, sign) in
            [("EAST", 0.0, 1.0), ("WEST", 0.0, 1.0), ("EAST", 0.0, -1.0), ("EAST", 270.0, 1.0), ("WEST", 90.0, 1.0)]
        {
            // Longitudes of the image as if its down (north) or up (south) were 0°.
            let turn_deg = if center_deg == 0.0 { 0.0 } else { 90.0 };
            let [sample, line] = lola_pixel(latitude_deg, longitude_deg + turn_deg);
            let mut counts = vec![0_i16; 400 * 300];
            counts[(line.round() as usize - 1) * 400 + sample.round() as usize - 1] = -1234;
            let bytes: Vec<u8> = counts.iter().flat_map(|count| count.to_be_bytes()).collect();
            std::fs::write(folder.join("POLE.IMG"), bytes).expect("image");
            std::fs::write(folder.join("POLE.LBL"), polar_label(pole, direction, center_deg, sign)).expect("label");
            let dem = open(&folder.join("POLE.LBL")).read().expect("heights");
            let [column, row] = dem.post_at(&GeoPoint::from_degrees(latitude_deg, longitude_deg)).expect("on the map");
            assert_eq!(dem.post_m(column, row), Some(-617.0), "{name}, {direction} of {center_deg}, sign {sign}");
        }
    }
}

#[test]
fn a_pds3_label_that_disagrees_with_its_image_is_refused() {
    let folder = folder("pds3");
    let [label_path, image_path] = ["POLE.LBL", "POLE.IMG"].map(|name| folder.join(name));
    let label = polar_label(-90, "EAST", 0.0, 1.0);
    let image = vec![0_u8; 400 * 300 * 2];
    let refused = |label: &str, image: &[u8]| {
        std::fs::write(&label_path, label).expect("label");
        std::fs::write(&image_path, image).expect("image");
        refusal(&label_path, &ReadOptions::default())
    };
    let range = " MINIMUM = -20\r\n MAXIMUM = 300\r\n UNIT";
    let swapped: Vec<u8> = (0..400 * 300).flat_map(|i| (i as i16 % 300).to_le_bytes()).collect();
    let cases = [
        (label.clone(), image[..239_998].to_vec(), "truncated"),
        (label.replace("LINES = 300", "LINES = 150"), image.clone(), "LINES"),
        (label.replace("LINES = 300", "LINES = 99999999"), image.clone(), "truncated"),
        (label.replace("149.5", "1149.5"), image.clone(), "LINE_PROJECTION_OFFSET"),
        (label.replace(" UNIT", range), swapped, "MINIMUM"),
        (label.replace("1737.4 <km>", "3396.19 <km>"), image.clone(), "Mars"),
        (label.replace("= MOON", "= MARS"), image.clone(), "TARGET_NAME"),
        (label.replace("POLAR STEREOGRAPHIC", "MERCATOR"), image.clone(), "MAP_PROJECTION_TYPE"),
        (label.replace("= EAST", "= UP"), image.clone(), "POSITIVE_LONGITUDE_DIRECTION"),
        (label.replace("MSB_INTEGER", "COMPLEX"), image.clone(), "SAMPLE_TYPE"),
        (label.replace("POLE.IMG", "OTHER.IMG"), image.clone(), "^IMAGE"),
        (label.replace("IMAGE_MAP_PROJECTION", "NOTHING"), image.clone(), "coordinate system"),
        (label.replace("OFFSET = 1737400.", "OFFSET = 40000."), image.clone(), "no-data"),
    ];
    for (label, image, part) in cases {
        let message = refused(&label, &image);
        assert!(message.contains(part), "{part} is missing in: {message}");
    }
}

#[test]
fn an_attached_label_counts_records_or_bytes() {
    let folder = folder("attached");
    for (pointer, start) in [("3", 2048), ("1501 <BYTES>", 1500)] {
        let label =
            polar_label(-90, "EAST", 0.0, 1.0).replace("\"POLE.IMG\"", &format!("{pointer}\r\nRECORD_BYTES = 1024"));
        let mut bytes = label.into_bytes();
        bytes.resize(start, b' ');
        bytes.extend((0..400 * 300).flat_map(|i| (i as i16 % 1000).to_be_bytes()));
        let path = folder.join("POLE.IMG");
        std::fs::write(&path, bytes).expect("image");
        let dem = open(&path).read().expect("heights");
        assert_eq!((dem.post_m(7, 0), dem.post_m(5, 2)), (Some(3.5), Some(402.5)));
    }
}

fn small_dem() -> Dem {
    let heights = (0..90 * 70).map(|i| if i == 321 { f32::NAN } else { (i as f32 * 0.01).sin() * 800.0 }).collect();
    let transform = GeoTransform::north_up(-1234.5, 5678.25, 5.0, 5.0);
    Dem::new([90, 70], transform, Crs::parse("30135").expect("a code"), heights).expect("a grid")
}

#[test]
fn what_is_written_is_read_again() {
    let path = folder("written").join("written.tif");
    for compression in [Compression::None, Compression::Deflate] {
        let dem = small_dem();
        write_geotiff(&dem, &path, compression).expect("written");
        let mut file = open(&path);
        let again = file.read().expect("heights");
        assert_eq!((again.transform(), again.crs()), (dem.transform(), dem.crs()));
        let same = again
            .heights_m()
            .iter()
            .zip(dem.heights_m())
            .all(|(a, b)| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan());
        assert!(same && again.no_data_count() == 1);
        let window = Window { column: 31, row: 3, columns: 20, rows: 41 };
        let part = file.read_window(&window).expect("a window");
        assert_eq!(part.post_m(2, 5), dem.post_m(33, 8));
        assert_eq!(part.transform().post_xy(2, 5), dem.transform().post_xy(33, 8));
        assert!(file.read_window(&Window { column: 80, ..window }).is_err());
    }
}

#[test]
fn a_sample_has_whole_blocks_from_the_first_to_the_last_and_no_more_posts_than_requested() {
    let folder = folder("sample");
    let [columns, rows] = [700, 500];
    let heights_m: Vec<f32> = (0..columns * rows).map(|post| post as f32 * 0.01).collect();
    let dem = Dem::new([columns, rows], *small_dem().transform(), *small_dem().crs(), heights_m).expect("a grid");
    for compression in [Compression::None, Compression::Deflate] {
        let path = folder.join(format!("{compression:?}.tif"));
        write_geotiff(&dem, &path, compression).expect("written");
        let mut file = open(&path);
        let all = file.survey().expect("heights");
        assert_eq!((all.posts, all.no_data_count), (columns * rows, 0));
        let windows = file.sample(usize::MAX);
        assert_eq!(file.survey_of(&windows, |_| {}).expect("heights"), all);
        let windows = file.sample(columns * 20);
        let sampled = file.survey_of(&windows, |_| {}).expect("heights");
        if compression == Compression::None {
            let taken: Vec<_> = windows.iter().map(|window| (window.row, window.columns, window.rows)).collect();
            assert_eq!(taken.len(), 20);
            assert_eq!((taken[0], taken[19]), ((0, columns, 1), (rows - 1, columns, 1)));
            // The first and the last row hold the lowest and the highest height.
            assert_eq!((sampled.posts, sampled.height_range_m), (columns * 20, all.height_range_m));
        } else {
            // A compressed strip is decoded whole, so at least one is read.
            assert!(windows.len() == 1 && sampled.posts >= columns, "{windows:?}");
        }
    }
}

#[test]
fn truncated_geotiffs_are_refused_at_every_length() {
    let path = folder("truncated").join("cut.tif");
    for compression in [Compression::None, Compression::Deflate] {
        write_geotiff(&small_dem(), &path, compression).expect("written");
        let whole = std::fs::read(&path).expect("file");
        for part in 1..16 {
            std::fs::write(&path, &whole[..whole.len() * part / 16]).expect("file");
            refusal(&path, &ReadOptions::default());
        }
    }
}

/// Offset of a tag's value (or of its data offset) in a little-endian TIFF with one directory.
fn tag_at(bytes: &[u8], tag: u16) -> usize {
    let u16_at = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
    let directory = u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]) as usize;
    let entries = (0..u16_at(directory) as usize).map(|i| directory + 2 + 12 * i);
    entries.into_iter().find(|at| u16_at(*at) == tag).expect("the tag") + 8
}

#[test]
fn damaged_geotiffs_and_bombs_are_refused_with_their_field() {
    let path = folder("bomb").join("bomb.tif");
    write_geotiff(&small_dem(), &path, Compression::Deflate).expect("written");
    let whole = std::fs::read(&path).expect("file");
    let with = |changes: &[(u16, u32)]| {
        let mut bytes = whole.clone();
        for (tag, value) in changes {
            let at = tag_at(&bytes, *tag);
            bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
        std::fs::write(&path, bytes).expect("file");
        refusal(&path, &ReadOptions::default())
    };
    // A strip of 60 000 rows of 60 000 posts in a few kilobytes.
    assert!(with(&[(256, 60_000), (257, 60_000), (278, 60_000)]).contains("bomb"));
    // More rows than the strip holds.
    assert!(with(&[(257, 140), (278, 140)]).contains("strip 0"));
    // More rows than any strip holds.
    assert!(with(&[(257, 700_000)]).contains("header"));
    assert!(with(&[(279, 4_000_000)]).contains("strip 0"));
    assert!(with(&[(259, 50_000)]).contains("Compression"));
    assert!(with(&[(277, 3)]).contains("SamplesPerPixel"));
    let at = tag_at(&whole, 273);
    let mut garbled = whole.clone();
    let strip = u32::from_le_bytes([whole[at], whole[at + 1], whole[at + 2], whole[at + 3]]) as usize;
    garbled[strip..strip + 64].fill(0x5a);
    std::fs::write(&path, garbled).expect("file");
    assert!(refusal(&path, &ReadOptions::default()).contains("strip 0"));
}

#[test]
fn a_sea_of_nothing_is_read_and_flagged_and_cannot_be_filled() {
    let path = folder("nan").join("nan.tif");
    let sea = Dem::new([8, 8], *small_dem().transform(), *small_dem().crs(), vec![f32::NAN; 64]).expect("a grid");
    write_geotiff(&sea, &path, Compression::Deflate).expect("written");
    let mut read = open(&path).read().expect("no heights");
    assert_eq!((read.no_data_count(), read.height_range_m()), (64, None));
    assert!(read.fill().expect_err("nothing to fill from").to_string().contains("none of 8 × 8"));
}

#[test]
fn stated_georeference_completes_a_numpy_array_and_contradicts_no_file() {
    let folder = folder("npy");
    let path = folder.join("heights.npy");
    let header = format!("{:<117}\n", "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }");
    let mut bytes = [b"\x93NUMPY\x01\x00".as_slice(), &(header.len() as u16).to_le_bytes(), header.as_bytes()].concat();
    bytes.extend((0..12).flat_map(|i| (i as f32).to_le_bytes()));
    std::fs::write(&path, &bytes).expect("file");
    let stated = ReadOptions {
        spacing_m: Some(10.0),
        crs: Some(Crs::parse("30130").expect("a code")),
        origin: Some([100.0, 200.0]),
        no_data: Some(5.0),
        ..ReadOptions::default()
    };
    let dem = ElevationFile::open(&path, &stated).and_then(|mut file| file.read()).expect("heights");
    assert_eq!((dem.post_m(3, 2), dem.post_m(1, 1), dem.transform().post_xy(3, 2)), (Some(11.0), None, [135.0, 175.0]));
    assert!(refusal(&path, &ReadOptions { origin: None, ..stated.clone() }).contains("origin"));
    assert!(refusal(&path, &ReadOptions { spacing_m: Some(-1.0), ..stated.clone() }).contains("spacing"));
    std::fs::write(&path, &bytes[..bytes.len() - 1]).expect("file");
    assert!(refusal(&path, &stated).contains("truncated"));
    let tif = folder.join("written.tif");
    write_geotiff(&small_dem(), &tif, Compression::None).expect("written");
    assert!(refusal(&tif, &ReadOptions { crs: Some(Crs::Local), ..ReadOptions::default() }).contains("leave it out"));
    std::fs::write(folder.join("nothing.txt"), "nothing").expect("file");
    assert!(refusal(&folder.join("nothing.txt"), &ReadOptions::default()).contains("format"));
}

#[test]
fn a_file_larger_than_memory_is_looked_into() {
    // 160 GB that take no space: the file system stores a sparse file.
    let path = folder("large").join("large.npy");
    let header = format!("{:<117}\n", "{'descr': '<f4', 'fortran_order': False, 'shape': (200000, 200000), }");
    let start = [b"\x93NUMPY\x01\x00".as_slice(), &(header.len() as u16).to_le_bytes(), header.as_bytes()].concat();
    std::fs::write(&path, &start).expect("file");
    let file = std::fs::OpenOptions::new().write(true).open(&path).expect("file");
    if file.set_len(start.len() as u64 + 4 * 200_000 * 200_000).is_err() {
        return skip_peer("needs a file system with holes");
    }
    let stated = ReadOptions { spacing_m: Some(1.0), ..ReadOptions::default() };
    let mut large = ElevationFile::open(&path, &stated).expect("a header");
    let window = Window { column: 199_990, row: 199_995, columns: 10, rows: 5 };
    assert_eq!(large.read_window(&window).expect("a window").heights_m(), [0.0; 50]);
    assert!(large.read().expect_err("too much").to_string().contains("more than is read at once"));
    let rows = large.sample(1 << 20);
    let survey = large.survey_of(&rows, |_| {}).expect("a sample");
    assert_eq!((survey.posts, survey.height_range_m), (5 * 200_000, Some([0.0; 2])));
    std::fs::remove_file(&path).expect("clean");
}

/// A cube of 70 × 50 samples in tiles of 32 × 16, with counts 0, 1, 2 … row by row.
fn cube(change: impl Fn(String) -> String) -> Vec<u8> {
    let label = "Object = IsisCube\n Object = Core\n StartByte = 2049\n Format = Tile\n TileSamples = 32\n TileLines = 16\n \
        Group = Dimensions\n Samples = 70\n Lines = 50\n Bands = 1\n End_Group\n Group = Pixels\n Type = SignedWord\n ByteOrder = Msb\n \
        Base = 1737400.0\n Multiplier = 0.5\n End_Group\n End_Object\n Group = Mapping\n ProjectionName = PolarStereographic\n TargetName = Moon\n \
        EquatorialRadius = 1737400.0 <meters>\n PolarRadius = 1737400.0 <meters>\n LongitudeDirection = PositiveWest\n LongitudeDomain = 360\n \
        CenterLatitude = -90\n CenterLongitude = 90\n UpperLeftCornerX = -700\n UpperLeftCornerY = 500\n PixelResolution = 20 <meters/pixel>\n \
        End_Group\nEnd_Object\nEnd\n";
    let mut bytes = change(label.to_owned()).into_bytes();
    bytes.resize(2048, 0);
    for (tile_row, tile_column) in (0..4).flat_map(|row| (0..3).map(move |column| (row, column))) {
        for (row, column) in (0..16).flat_map(|row| (0..32).map(move |column| (row, column))) {
            let [row, column] = [tile_row * 16 + row, tile_column * 32 + column];
            let count: i16 = if row == 7 && column == 3 { i16::MIN } else { row * 70 + column };
            bytes.extend(count.to_be_bytes());
        }
    }
    bytes
}

#[test]
fn a_tiled_cube_is_put_together_and_bad_ones_are_refused() {
    let path = folder("cube").join("cube.cub");
    std::fs::write(&path, cube(|label| label)).expect("file");
    let dem = open(&path).read().expect("heights");
    assert_eq!((dem.post_m(69, 49), dem.post_m(33, 15)), (Some(1749.5), Some(541.5)));
    assert_eq!((dem.post_m(3, 7), dem.no_data_count()), (None, 1));
    // 90° W points up: the post of column 36 and row 19 is 110 m up and 30 m right of the pole.
    let longitude_rad = (30.0_f64 / 110.0).atan() - std::f64::consts::FRAC_PI_2;
    let latitude_rad = 2.0 * (30.0_f64.hypot(110.0) / 2.0 / MOON_RADIUS_M).atan() - std::f64::consts::FRAC_PI_2;
    assert_eq!(dem.post_at(&GeoPoint { latitude_rad, longitude_rad, height_m: 0.0 }), Some([36, 19]));
    for (from, to, part) in [
        ("Lines = 50", "Lines = 5000", "cannot hold"),
        ("TileSamples = 32", "TileSamples = 0", "TileSamples"),
        ("TargetName = Moon", "TargetName = Mars", "TargetName"),
        ("PolarRadius = 1737400.0", "PolarRadius = 3376200.0", "Mars"),
        ("Type = SignedWord", "Type = Word", "Type"),
        ("Base = 1737400.0", "Base = 90000.0", "post at column"),
    ] {
        std::fs::write(&path, cube(|label| label.replace(from, to))).expect("file");
        let message = refusal(&path, &ReadOptions::default());
        assert!(message.contains(part), "{part} is missing in: {message}");
    }
    let whole = cube(|label| label);
    std::fs::write(&path, &whole[..whole.len() - 500]).expect("file");
    assert!(refusal(&path, &ReadOptions::default()).contains("cannot hold"));
}

#[test]
#[cfg(unix)]
fn devices_and_pipes_are_refused_at_once() {
    let pipe = std::env::temp_dir().join(format!("selene-dem-{}.tif", std::process::id()));
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    for path in [std::path::Path::new("/dev/zero"), &pipe] {
        let refused = ElevationFile::open(path, &ReadOptions::default()).expect_err("refused").to_string();
        assert!(refused.contains("is no regular file"), "{refused}");
    }
    std::fs::remove_file(pipe).expect("clean");
}
