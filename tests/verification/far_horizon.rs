//! A site on an elevation file sees the file's horizon far beyond its detailed ground: a mountain range 24 km away,
//! over the Moon's curve, hides the Sun.

use std::path::Path;
use std::sync::Arc;

use nalgebra::{Rotation3, UnitQuaternion, Vector3};
use selene_base::Pose;
use selene_base::input::load_yaml;
use selene_dem::{Compression, Crs, Dem, GeoPoint, GeoTransform, MapFrame, Pole, write_geotiff};
use selene_scene::{CameraFrame, CameraView, Class, CpuTracer, Scene, Sun, Tracer};
use selene_terrain::{Clipmap, ElevationSpec, FileSpec, Horizon, LevelSpec, SiteSpec};
use selene_tests::repository_file;

const LATITUDE_DEG: f64 = -85.0;
const PLAIN_M: f64 = 1000.0;
const RANGE_M: f64 = 3500.0;
/// Where the range begins and ends, m east of the site.
const RANGE_EAST_M: [f64; 2] = [24_000.0, 27_000.0];
const EYE_M: f64 = 1.5;
/// Distance between posts of the coarsest level, m.
const POST_M: f64 = 102.4;

/// Writes a plain with the range, 64 km wide, with posts 50 m apart.
fn write_file(folder: &Path) {
    let frame = MapFrame::new(LATITUDE_DEG, 0.0, PLAIN_M);
    let crs =
        Crs::PolarStereographic { pole: Pole::South, central_meridian_rad: 0.0, scale: 1.0, false_origin_m: [0.0; 2] };
    let [x, y] = crs.forward(&GeoPoint::from_degrees(LATITUDE_DEG, 0.0)).expect("on the map");
    let transform = GeoTransform::north_up(x - 32_000.0, y + 32_000.0, 50.0, 50.0);
    let height_m = |i: usize| {
        let place = crs.inverse(transform.post_xy(i % 1280, i / 1280)).expect("a place");
        let east_m = frame.to_map(&GeoPoint { height_m: PLAIN_M, ..place })[0];
        (if (RANGE_EAST_M[0]..RANGE_EAST_M[1]).contains(&east_m) { RANGE_M } else { PLAIN_M }) as f32
    };
    let heights_m = (0..1280 * 1280).map(height_m).collect();
    let dem = Dem::new([1280, 1280], transform, crs, heights_m).expect("a grid");
    write_geotiff(&dem, &folder.join("range.tif"), Compression::Deflate).expect("written");
}

/// Ground of a site on the file: levels up to a side of 2 km, or of 59 km if `far`.
fn ground(folder: &Path, far: bool) -> Clipmap {
    let file = repository_file("config/site/polar.yaml");
    let site: SiteSpec = load_yaml(&file).expect("site");
    let mut levels = vec![(0.05, 12.8), (0.4, 51.2), (3.2, 409.6), (25.6, 2048.0)];
    levels.extend(far.then_some((POST_M, 58_982.4)));
    let source = "made here".to_owned();
    let measured = FileSpec { file: "range.tif".to_owned(), source, sha256: None, levels: if far { 2 } else { 1 } };
    let spec = SiteSpec {
        latitude_deg: LATITUDE_DEG,
        longitude_deg: 0.0,
        datum_m: PLAIN_M,
        levels: levels.into_iter().map(|(spacing_m, side_m)| LevelSpec { spacing_m, side_m }).collect(),
        elevation: ElevationSpec::File(measured),
        ..site
    };
    assert!((spec.side_m() - 2048.0).abs() < 1e-9, "the site is its detailed measured ground");
    Clipmap::of_site(&spec, &file, Some(folder), 1).expect("ground")
}

/// Fraction of sunlit pixels among those in which a camera above the origin, looking down, sees the ground.
fn sunlit_share(ground: &Clipmap, sun_elevation_deg: f64) -> f64 {
    let (sin, cos) = sun_elevation_deg.to_radians().sin_cos();
    let sun =
        Sun { direction_to_sun: Vector3::new(cos, 0.0, sin), irradiance_w_m2: 1361.0, angular_radius_rad: 0.00465 };
    let down = Rotation3::from_basis_unchecked(&[Vector3::x(), -Vector3::y(), -Vector3::z()]);
    let eye = Vector3::new(0.0, 0.0, ground.height_m(0.0, 0.0).expect("ground") + 2.0);
    let pose = Pose::from_parts(eye.into(), UnitQuaternion::from_rotation_matrix(&down));
    let view = CameraView::pinhole(pose, [64, 64], 0.3);
    let mut frame = CameraFrame::default();
    CpuTracer.camera(&Scene::new(ground, sun), &view, &mut frame).expect("traced");
    let ground: Vec<_> = frame.class.iter().enumerate().filter(|(_, class)| **class == Class::Ground as u16).collect();
    ground.iter().filter(|(i, _)| frame.radiance[*i][0] > 0.0).count() as f64 / ground.len() as f64
}

/// Elevation, degrees, of the range's crest at a distance east, over the Moon's curve.
fn crest_deg(east_m: f64) -> f64 {
    let [middle_m, top_m] = [PLAIN_M, RANGE_M].map(|height_m| selene_base::MOON_RADIUS_M + height_m);
    let crest_z_m = top_m * (east_m / middle_m).cos() - middle_m;
    ((crest_z_m - EYE_M) / east_m).atan().to_degrees()
}

#[test]
fn a_range_far_beyond_the_site_stands_over_the_horizon_and_hides_the_sun() {
    let folder = std::env::temp_dir().join(format!("selene-far-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("folder");
    write_file(&folder);
    let [far, near] = [true, false].map(|far| Arc::new(ground(&folder, far)));
    std::fs::remove_dir_all(&folder).expect("clean");

    // The visible crest is the first post that is fully on the range: up to two posts beyond its foot.
    let [highest_deg, lowest_deg] = [0.0, 2.0].map(|posts| crest_deg(RANGE_EAST_M[0] + posts * POST_M));
    let eastern_deg = |ground: &Clipmap| {
        let horizon = Horizon::seen_from(ground, [0.0, 0.0], EYE_M).expect("ground");
        horizon.elevation_rad(90_f64.to_radians()).to_degrees()
    };
    let seen_deg = eastern_deg(&far);
    assert!((lowest_deg..highest_deg).contains(&seen_deg), "{seen_deg}° for {lowest_deg}° to {highest_deg}°");
    assert!(eastern_deg(&near) < 1.0, "without the far level there is none: {}", eastern_deg(&near));

    // The Sun half a degree below and above the crest. Rough detailed ground casts some shadows of its own.
    for (elevation_deg, far_least, far_most) in [(lowest_deg - 0.5, 0.0, 0.0), (highest_deg + 0.5, 0.5, 1.0)] {
        let [far, near] = [&far, &near].map(|ground| sunlit_share(ground, elevation_deg));
        assert!((far_least..=far_most).contains(&far), "{far} sunlit at {elevation_deg}°");
        assert!(near > 0.5, "{near} sunlit at {elevation_deg}° without the range");
    }
}
