//! Tests of whole sites: those of config/site and smaller ones with the same laws.

use crate::common;

use std::path::Path;

use common::{hadleys, on_a_geotiff, polar_files, site_file, spec};
use selene_base::input::{load_yaml, parse_yaml};
use selene_dem::{ElevationFile, MapFrame, ReadOptions};
use selene_terrain::{Clipmap, ElevationSpec, Level, LevelSpec, Rock, SiteSpec};

/// Rounding of heights in `f32`: heights of a few hundred metres are accurate to 3e-5 m.
const STORED_HEIGHT_TOLERANCE_M: f64 = 1e-4;

/// The polar site with smaller levels, which have room for smaller rocks.
fn small_polar() -> SiteSpec {
    let level = |spacing_m, side_m| LevelSpec { spacing_m, side_m };
    let levels = vec![level(0.04, 20.48), level(0.32, 163.84), level(5.12, 5242.88)];
    let mut spec = SiteSpec { levels, ..spec("polar.yaml") };
    spec.rocks.diameter_min_m = 0.06;
    spec
}

fn polar(seed: u64) -> Clipmap {
    Clipmap::of_site(&small_polar(), Path::new("polar.yaml"), None, seed).expect("a procedural site")
}

fn heights(ground: &Clipmap) -> Vec<u32> {
    ground.levels().flat_map(|level| level.heights_m.iter().map(|h| h.to_bits())).collect()
}

#[test]
fn every_site_file_loads() {
    for entry in std::fs::read_dir(site_file("")).expect("config/site") {
        let path = entry.expect("an entry").path();
        load_yaml::<SiteSpec>(&path).unwrap_or_else(|e| panic!("{e}"));
    }
}

/// Largest difference between a level and the coarser one along the level's edge, m.
fn widest_step_m(fine: &Level, coarse: &Level) -> f64 {
    let [near, far] = [fine.origin_m[0], fine.origin_m[0] + fine.side_m()];
    let samples = 2 * (fine.posts - 1);
    let step = |x: f64, y: f64| {
        let [x, y] = [x, y].map(|m| m.clamp(near, far));
        Some((fine.height_m(x, y)? - coarse.height_m(x, y)?).abs())
    };
    let edges = (0..=samples).flat_map(|i| {
        let along = near + i as f64 * fine.spacing_m / 2.0;
        [step(along, near), step(along, far), step(near, along), step(far, along)]
    });
    edges.flatten().fold(0.0, f64::max)
}

#[test]
fn levels_meet_without_a_step() {
    let ground = polar(1);
    let levels: Vec<_> = ground.levels().collect();
    for pair in levels.windows(2) {
        let step_m = widest_step_m(pair[0], pair[1]);
        assert!(step_m < STORED_HEIGHT_TOLERANCE_M, "{step_m} m at {} m posts", pair[0].spacing_m);
    }
}

#[test]
fn a_finer_level_refines_the_coarser_one() {
    // Octaves below the coarse spacing add millimetres to centimetres, craters a few posts wide add decimetres: the
    // mean stays small.
    const MEAN_TOLERANCE_M: f64 = 0.03;
    let ground = polar(1);
    let levels: Vec<_> = ground.levels().collect();
    let [fine, coarse] = [levels[0], levels[1]];
    let differences = (0..fine.posts).flat_map(|row| (0..fine.posts).map(move |column| (column, row)));
    let total: f64 = differences
        .map(|(column, row)| {
            let [x, y] = fine.post_xy_m(column, row);
            (fine.post_m(column, row) - coarse.height_m(x, y).expect("inside")).abs()
        })
        .sum();
    let mean_m = total / (fine.posts * fine.posts) as f64;
    assert!(mean_m < MEAN_TOLERANCE_M, "{mean_m}");
}

#[test]
fn the_same_seed_gives_the_same_bytes_for_any_number_of_threads() {
    let with_threads = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        pool.install(|| polar(7))
    };
    let [one, four] = [1, 4].map(with_threads);
    assert!(heights(&one) == heights(&four));
    assert_eq!(one.rocks(), four.rocks());
    assert_eq!(one.rock_shapes(), four.rock_shapes());
}

#[test]
fn another_seed_gives_another_ground() {
    let [a, b] = [polar(1), polar(2)];
    assert!(heights(&a) != heights(&b));
    assert_ne!(a.rocks(), b.rocks());
}

#[test]
fn the_start_is_at_height_zero_level_and_clear() {
    // Largest height difference under the wheels of a rover 1.3 m long that stands there, m.
    const UNEVENNESS_M: f64 = 0.12;
    for seed in [1, 2, 3, 4] {
        let ground = polar(seed);
        assert!(ground.height_m(0.0, 0.0).expect("inside").abs() < STORED_HEIGHT_TOLERANCE_M);
        for (x, y) in [(0.65, 0.6), (-0.65, 0.6), (0.65, -0.6), (-0.65, -0.6)] {
            let h = ground.height_m(x, y).expect("inside");
            assert!(h.abs() < UNEVENNESS_M, "seed {seed}: {h} m");
        }
        let clear_m = small_polar().rocks.clear_radius_m;
        assert!(ground.rocks().iter().all(|r| r.world_from_rock.translation.vector.xy().norm() > clear_m));
    }
}

#[test]
fn rocks_are_at_most_as_many_as_requested_and_in_order_of_their_own_numbers() {
    let mut spec = small_polar();
    for count_max in [50, 1000] {
        spec.rocks.count_max = count_max;
        let ground = Clipmap::of_site(&spec, Path::new("polar.yaml"), None, 1).expect("a procedural site");
        assert!(ground.rocks().len() <= count_max && ground.rocks().len() > count_max / 8, "{}", ground.rocks().len());
        assert!(ground.rocks().windows(2).all(|pair| pair[0].id < pair[1].id));
    }
}

/// The finest window and its rocks at each place, visited in this order.
fn visited(places: &[[i32; 2]]) -> Vec<(Level, Vec<Rock>)> {
    let mut ground = polar(3);
    let mut visit = |&place: &[i32; 2]| {
        let windows = ground.terrain().and_then(|terrain| terrain.windows(place)).expect("a landscape");
        ground.enter(windows);
        let finest = ground.finest().clone();
        let on_finest = |rock: &&Rock| {
            let at = rock.world_from_rock.translation;
            finest.contains(at.x, at.y)
        };
        let rocks = ground.rocks().iter().filter(on_finest).cloned().collect();
        (finest, rocks)
    };
    places.iter().map(&mut visit).collect()
}

#[test]
fn a_place_has_the_same_ground_bit_for_bit_in_any_order_of_visit() {
    let there = [[1, 0], [2, -1], [300, 40]];
    let back: Vec<_> = there.iter().rev().copied().collect();
    let with_threads = |threads, places: &[[i32; 2]]| {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool").install(|| visited(places))
    };
    let (first, mut second) = (with_threads(4, &there), with_threads(1, &back));
    second.reverse();
    for ((level, rocks), (again, rocks_again)) in first.iter().zip(&second) {
        assert!(level == again && rocks == rocks_again, "at {:?}", level.origin_m);
        assert!(!rocks.is_empty());
    }
}

#[test]
fn windows_that_overlap_agree_on_every_post_off_their_seams() {
    let visits = visited(&[[0, 0], [1, 1]]);
    let [(home, rocks), (away, rocks_away)] = [&visits[0], &visits[1]];
    let spacing_m = home.spacing_m;
    let shift = ((away.origin_m[0] - home.origin_m[0]) / spacing_m).round() as usize;
    let seam = 40;
    let common = shift + seam..home.posts - seam;
    for row in common.clone() {
        for column in common.clone() {
            let (here, there) = (home.post_m(column, row), away.post_m(column - shift, row - shift));
            assert!(here.to_bits() == there.to_bits(), "post {column}, {row}: {here} and {there}");
        }
    }
    let on_both: Vec<_> = rocks.iter().filter(|rock| rocks_away.iter().any(|other| other.id == rock.id)).collect();
    assert!(on_both.len() > 10, "{} rocks on both", on_both.len());
    let on_seam = |rock: &Rock| {
        let at = rock.world_from_rock.translation;
        let post = [at.x - away.origin_m[0], at.y - away.origin_m[1]].map(|m| m / spacing_m);
        !post.iter().all(|&post| post > seam as f64 && post < (home.posts - shift - seam) as f64)
    };
    for rock in on_both.into_iter().filter(|rock| !on_seam(rock)) {
        let other = rocks_away.iter().find(|other| other.id == rock.id).expect("on both");
        // Rounding of positions within a cell depends on the window's origin.
        let apart_m = (rock.world_from_rock.translation.vector - other.world_from_rock.translation.vector).norm();
        assert!(apart_m < 1e-9 && rock.shape == other.shape && rock.radius_m == other.radius_m, "{apart_m}");
    }
}

#[test]
fn absurd_sites_are_refused_with_what_is_allowed() {
    let text = std::fs::read_to_string(site_file("polar.yaml")).expect("the file");
    let refusal = |from: &str, to: &str| {
        assert!(text.contains(from));
        let site = parse_yaml::<SiteSpec>(&text.replace(from, to), Path::new("polar.yaml"));
        site.expect_err("must be refused").to_string()
    };
    let cases = [
        ("spacing_m: 0.02, side_m: 61.44", "spacing_m: 0.001, side_m: 61.44", "16 to 8192"),
        ("spacing_m: 0.02, side_m: 61.44", "spacing_m: 0.02, side_m: 61.46", "even whole number"),
        ("spacing_m: 0.02, side_m: 61.44", "spacing_m: 0.02, side_m: 61.52", "coarser level's spacing_m 0.16"),
        ("side_m: 163.84", "side_m: 61.44", "at least four posts"),
        ("spacing_m: 5.12", "spacing_m: .nan", "NaN"),
        (
            "{ preset: viper }\n  diameter_min_m: 0.3",
            "{ power: { density_1m_km2: 999999, slope: 3.9, knee_m: 9, slope_above_knee: 4 } }\n  diameter_min_m: 0.3",
            "at most 100",
        ),
        (
            "{ preset: viper }\n  diameter_min_m: 0.3",
            "{ preset: viper, neukum: { age_gyr: 1 } }\n  diameter_min_m: 0.3",
            "one of preset",
        ),
        ("{ preset: viper }\n  diameter_min_m: 0.3", "{ neukum: { age_gyr: 5 } }\n  diameter_min_m: 0.3", "4"),
        ("preset: viper", "preset: copernicus", "trask"),
        ("diameter_min_m: 0.08", "diameter_min_m: 60", "must be below diameter_max_m 5"),
        ("latitude_deg: -85.4", "latitude_deg: -95.4", "-90 to 90"),
        ("relief:", "releif:", "releif"),
    ];
    for (from, to, part) in cases {
        let message = refusal(from, to);
        assert!(message.contains(part) && message.contains("line"), "{part} is missing in: {message}");
    }
}

#[test]
fn a_picture_keeps_its_posts_within_half_a_level() {
    for (spec, data_dir) in hadleys("picture") {
        let ground = Clipmap::of_site(&spec, Path::new("hadley.yaml"), Some(&data_dir), 1).expect("the data");
        let ElevationSpec::Raster(raster) = &spec.elevation else { panic!("a raster site") };
        let picture = image::open(data_dir.join(&raster.file)).expect("the picture").into_luma8();
        let level = ground.levels().last().expect("a level");
        let quantum_m = raster.relief_m / 255.0;
        let middle = level.posts / 2;
        // The origin is at height zero: its own half level is unknown, the same for all posts.
        let departures = picture.enumerate_pixels().map(|(column, row, value)| {
            let here_m = level.post_m(middle + column as usize - 128, middle + 128 - row as usize);
            here_m - f64::from(value.0[0]) * quantum_m
        });
        let (low, high) = departures.fold((f64::MAX, f64::MIN), |(low, high), d| (low.min(d), high.max(d)));
        assert!(high - low <= quantum_m + STORED_HEIGHT_TOLERANCE_M, "{low} to {high} for {quantum_m}");
        let origin_m = ground.height_m(0.0, 0.0).expect("inside");
        assert!(origin_m.abs() < STORED_HEIGHT_TOLERANCE_M, "{origin_m}");
    }
}

#[test]
fn hadley_without_its_data_says_where_to_get_them() {
    let error = Clipmap::of_site(&spec("hadley.yaml"), Path::new("hadley.yaml"), None, 1).expect_err("no data");
    for part in ["hadley.yaml", "NAC_DTM_APOLLO15", "osrf/gazebo_models", "CC BY 3.0", "--data", "SELENE_DATA"] {
        assert!(error.to_string().contains(part), "{part} is missing in: {error}");
    }
}

#[test]
fn a_site_on_a_georeferenced_file_has_the_files_heights_at_its_posts() {
    for (data_dir, name) in polar_files("georeferenced") {
        let generate = |spec: &SiteSpec| Clipmap::of_site(spec, Path::new("site.yaml"), Some(&data_dir), 1);
        let reported = generate(&on_a_geotiff(&name, 0.0)).expect_err("another height").to_string();
        assert!(reported.contains("site.yaml: datum_m: value 0 is not allowed: must be -2"), "{reported}");
        let mut file = ElevationFile::open(&data_dir.join(&name), &ReadOptions::default()).expect("good");
        let dem = file.read().expect("good");
        let spec = on_a_geotiff(&name, 0.0);
        let origin = selene_dem::GeoPoint::from_degrees(spec.latitude_deg, spec.longitude_deg);
        let datum_m = dem.height_m(&origin).expect("on the file");
        let ground = generate(&on_a_geotiff(&name, datum_m)).expect("a site");
        let frame = MapFrame::new(spec.latitude_deg, spec.longitude_deg, datum_m);
        let coarsest = ground.levels().last().expect("levels");
        let mut known = 0;
        for row in 0..coarsest.posts {
            for column in 0..coarsest.posts {
                let [x, y] = coarsest.post_xy_m(column, row);
                let Some(expected_m) = dem.map_height_m(&frame, x, y) else { continue };
                known += 1;
                assert!((coarsest.post_m(column, row) - expected_m).abs() < STORED_HEIGHT_TOLERANCE_M, "at {x}, {y}");
            }
        }
        assert!(known > 500, "{known} posts on the file");
        assert!(ground.height_m(0.0, 0.0).expect("inside").abs() < 0.05);
    }
}

#[test]
fn beyond_the_square_of_measured_ground_a_site_goes_on_made_up_without_a_step() {
    for (spec, data_dir) in hadleys("beyond") {
        let mut ground = Clipmap::of_site(&spec, &site_file("hadley.yaml"), Some(&data_dir), 1).expect("data");
        let home = ground.levels().last().expect("a level").clone();
        ground.go_to(1100.0, -20.0);
        let level = ground.levels().last().expect("a level").clone();
        goes_on_without_a_step(&home, &level);
        for [x, y] in [[1500.0, 700.0], [-4000.0, 9000.0]] {
            ground.go_to(x, y);
            let far = ground.height_m(x, y).expect("ground");
            let mut other = ground.clone();
            other.go_to(x + 10.0, y - 7.0);
            assert!(other.centre() != ground.centre());
            assert!((other.height_m(x, y).expect("ground") - far).abs() < STORED_HEIGHT_TOLERANCE_M);
        }
    }
}

/// Asserts that the coarsest level farther east keeps the posts of the first one and is no rougher at its border.
fn goes_on_without_a_step(home: &Level, level: &Level) {
    assert!(level.origin_m[0] > home.origin_m[0] && level.posts == home.posts);
    let shift = ((level.origin_m[0] - home.origin_m[0]) / home.spacing_m).round() as usize;
    let row = |level: &Level, row: usize| level.heights_m[row * level.posts..][..level.posts].to_vec();
    let (mut at_border_m, mut inside_m) = (0.0_f32, 0.0_f32);
    for line in 0..home.posts {
        let (old, new) = (row(home, line), row(level, line));
        assert!(old[shift..] == new[..home.posts - shift], "what the square has stays to the bit");
        let border = home.posts - shift;
        at_border_m = at_border_m.max((new[border] - new[border - 1]).abs());
        inside_m = new[border - 40..border].windows(2).fold(inside_m, |most, pair| most.max((pair[1] - pair[0]).abs()));
        assert!(new.iter().all(|height_m| height_m.abs() < 500.0), "made-up ground stays near the site's");
    }
    assert!(at_border_m <= 1.5 * inside_m, "{at_border_m} m at the border, {inside_m} m inside");
}
