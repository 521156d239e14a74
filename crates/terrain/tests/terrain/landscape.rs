//! Tests of the land behind the windows: a place is the same from wherever and whenever it is seen.

use crate::common;

use std::path::Path;
use std::sync::Arc;

use common::{hadleys, site_file};
use selene_base::input::load_yaml;
use selene_terrain::{
    Clipmap, GroundPatch, Landscape, Level, LevelSpec, Node, Rock, Ruts, SiteSpec, Terrain, TileStore, Windows,
};

fn land(seed: u64) -> Landscape {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/site/polar.yaml");
    let level = |spacing_m, side_m| LevelSpec { spacing_m, side_m };
    let levels = vec![level(0.02, 10.24), level(0.16, 81.92), level(1.28, 655.36), level(5.12, 2621.44)];
    let mut spec = SiteSpec { levels, ..load_yaml(&file).expect("a good file") };
    // Small windows have room for smaller rocks than the site's own.
    spec.rocks.diameter_min_m = 0.06;
    Landscape::new(spec, &file, None, seed).expect("a procedural site")
}

/// First posts of windows around a place, not aligned with tile edges.
fn around(land: &Landscape, at_m: [f64; 2]) -> Vec<[i64; 2]> {
    let first = |level: &LevelSpec| at_m.map(|m| (m / level.spacing_m).round() as i64 - (level.posts() / 2) as i64);
    land.levels().iter().map(first).collect()
}

/// Posts that two windows of a level share, as column and row in each.
fn shared(a: &Level, b: &Level) -> impl Iterator<Item = [(usize, usize); 2]> + use<> {
    let shift = [0, 1].map(|axis| ((b.origin_m[axis] - a.origin_m[axis]) / a.spacing_m).round() as i64);
    let (posts_a, posts_b) = (a.posts, b.posts);
    let in_b = move |(column, row): (usize, usize)| {
        let [c, r] = [column as i64 - shift[0], row as i64 - shift[1]].map(|post| usize::try_from(post).ok());
        Some([(column, row), (c.filter(|&c| c < posts_b)?, r.filter(|&r| r < posts_b)?)])
    };
    (0..posts_a).flat_map(move |row| (0..posts_a).filter_map(move |column| in_b((column, row))))
}

/// Asserts that windows agree to the bit wherever they overlap; returns the number of posts compared.
fn agree(a: &Windows, b: &Windows) -> usize {
    let mut compared = 0;
    for (a, b) in a.levels.iter().zip(&b.levels) {
        for [(column, row), (c, r)] in shared(a, b) {
            let [here, there] = [a.heights_m[row * a.posts + column], b.heights_m[r * b.posts + c]];
            assert!(here.to_bits() == there.to_bits(), "{here} and {there} at {:?}", a.post_xy_m(column, row));
            compared += 1;
        }
    }
    compared
}

/// The rocks that both show on their finest windows.
fn seen_by_both(of: &Windows, other: &Windows) -> Vec<Rock> {
    let on_both = |rock: &&Rock| {
        let at = rock.world_from_rock.translation;
        of.levels[0].contains(at.x, at.y) && other.levels[0].contains(at.x, at.y)
    };
    of.rocks.iter().filter(on_both).cloned().collect()
}

const PLACES_M: [[f64; 2]; 4] = [[0.0, 0.0], [4.3, -2.9], [1031.7, 420.3], [1028.1, 423.9]];

fn visit(order: [usize; 4], threads: usize, store: TileStore) -> Vec<Windows> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
    pool.install(|| {
        let (land, tiles) = (land(7), store);
        let mut seen: Vec<_> = order.iter().map(|&i| (i, land.windows(&tiles, &around(&land, PLACES_M[i])))).collect();
        seen.sort_by_key(|(i, _)| *i);
        seen.into_iter().map(|(_, windows)| windows).collect()
    })
}

#[test]
fn a_place_is_the_same_to_the_bit_in_any_order_of_visit_and_for_any_number_of_threads() {
    let one = visit([0, 1, 2, 3], 1, TileStore::default());
    let four = visit([3, 0, 2, 1], 4, TileStore::new(4 << 20));
    for (one, four) in one.iter().zip(&four) {
        assert_eq!(one.rocks, four.rocks);
        assert_eq!(agree(one, four), one.levels.iter().map(|level| level.posts * level.posts).sum::<usize>());
    }
    for [a, b] in [[0, 1], [2, 3]] {
        assert!(agree(&one[a], &four[b]) > 500_000);
        let rocks = seen_by_both(&one[a], &four[b]);
        assert!(rocks.len() > 5 && rocks == seen_by_both(&four[b], &one[a]), "{}", rocks.len());
    }
}

#[test]
fn a_level_renewed_alone_is_that_of_all_windows() {
    let land = land(3);
    let first = around(&land, [203.3, -88.1]);
    let all = land.windows(&TileStore::default(), &first);
    for (level, expected) in all.levels.iter().enumerate() {
        assert!(land.window_level(&TileStore::new(0), level, first[level]) == *expected, "level {level}");
    }
    assert_eq!(land.rocks_of(&all.levels), all.rocks);
}

#[test]
fn windows_come_to_step_by_step_are_those_come_to_at_once() {
    let mut clipmap = Clipmap::at(&Arc::new(Terrain::of_landscape(land(3))), [0, 0]);
    for centre in [[1, 0], [2, 1], [9, 1], [2, 1], [40, -60]] {
        clipmap.go_to_centre(centre);
        let at_once = Clipmap::at(&Arc::new(Terrain::of_landscape(land(3))), centre);
        assert!(clipmap.levels().eq(at_once.levels()) && clipmap.rocks() == at_once.rocks(), "{centre:?}");
    }
}

#[test]
fn windows_prefetched_part_by_part_are_those_made_at_once() {
    let along = Terrain::of_landscape(land(3));
    let levels = along.windows([0, 0]).expect("endless").levels().len();
    for centre in [[1, 0], [9, 1], [40, -60]] {
        let parts = std::iter::repeat_with(|| along.prefetch_windows(centre)).take_while(|more| *more).count();
        assert!(parts < levels && (parts > 0) == (centre != [1, 0]), "{centre:?} took {parts} parts");
        let at_once = Terrain::of_landscape(land(3)).windows(centre).expect("endless");
        assert!(along.windows(centre).expect("endless").levels() == at_once.levels(), "{centre:?}");
        assert!(!along.prefetch_windows(centre), "{centre:?} is there");
    }
}

/// Wheels and rays meet one surface with the same rocks, away from the seams of windows.
#[test]
fn a_patch_has_the_heights_and_the_rocks_of_the_finest_window() {
    let terrain = Arc::new(Terrain::of_landscape(land(3)));
    let clipmap = Clipmap::at(&terrain, [1, -1]);
    let finest = clipmap.finest();
    let middle_m = finest.origin_m.map(|m| m + 0.5 * finest.side_m());
    let reach_m = 0.3 * finest.side_m();
    let patch = GroundPatch::of_square(&terrain, &Ruts::default(), middle_m, reach_m);
    let first = clipmap.first_node();
    let edge = (finest.posts as f64 * 0.2) as usize;
    for (column, row) in (edge..finest.posts - edge).map(|i| (i, finest.posts - 1 - i)) {
        let node = Node { column: first.column + column as i32, row: first.row + row as i32 };
        assert_eq!(patch.node_height_m(node), finest.post_m(column, row), "{node:?}");
    }
    let near = |rocks: Vec<&Rock>| {
        let mut rocks: Vec<_> = rocks.into_iter().cloned().collect();
        rocks.sort_by_key(|rock| rock.id);
        rocks
    };
    let seen = near(clipmap.rocks_near(middle_m[0], middle_m[1], reach_m).collect());
    let met = near(patch.rocks_near(middle_m[0], middle_m[1], reach_m).collect());
    assert!(seen.len() > 5, "{}", seen.len());
    assert_eq!(seen, met);
    let within = terrain.rocks_within(middle_m.map(|m| m - 2.0), middle_m.map(|m| m + 2.0));
    let is_within = |rock: &&Rock| {
        let at = rock.world_from_rock.translation;
        (at.x - middle_m[0]).abs() <= 2.0 && (at.y - middle_m[1]).abs() <= 2.0
    };
    assert_eq!(within, clipmap.rocks().iter().filter(is_within).cloned().collect::<Vec<_>>());
}

#[test]
fn a_store_keeps_within_its_limit_between_uses() {
    const LIMIT: usize = 8 << 20;
    let (land, tiles) = (land(3), TileStore::new(LIMIT));
    for step in 0..5 {
        land.windows(&tiles, &around(&land, [f64::from(step) * 40.0, 0.0]));
        assert!(tiles.bytes() <= LIMIT && tiles.bytes() > LIMIT / 2);
    }
}

#[test]
fn the_land_goes_on_far_from_the_origin() {
    let land = land(3);
    let windows = land.windows(&TileStore::default(), &around(&land, [9000.0, -9000.0]));
    for level in &windows.levels {
        assert!(level.heights_m.iter().all(|h| h.is_finite()));
        let [low, high] = [f32::min, f32::max].map(|f| level.heights_m.iter().copied().reduce(f).unwrap_or(0.0));
        assert!(high - low > 0.1, "{} m posts are flat", level.spacing_m);
    }
    assert!(!windows.rocks.is_empty());
}

/// Mean difference of the finest level from the next coarser one, m, and the finest level's spacing.
fn refinement_m(windows: &Windows) -> (f64, f64) {
    let [fine, coarse] = [&windows.levels[0], &windows.levels[1]];
    let posts = (0..fine.posts * fine.posts).step_by(7).map(|i| (i % fine.posts, i / fine.posts));
    let departures: Vec<_> = posts
        .filter_map(|(column, row)| {
            let [x, y] = fine.post_xy_m(column, row);
            Some((fine.post_m(column, row) - coarse.height_m(x, y)?).abs())
        })
        .collect();
    (departures.iter().sum::<f64>() / departures.len() as f64, fine.spacing_m)
}

/// Octaves and craters that only posts of a centimetre resolve are millimetres to centimetres high.
const CENTIMETRE_DETAIL_M: f64 = 0.02;

#[test]
fn posts_of_five_metres_are_refined_to_a_centimetre() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/site/haworth.yaml");
    let spec: SiteSpec = load_yaml(&file).expect("a good file");
    assert_eq!(spec.levels.last().map(|level| level.side_m), Some(20_480.0));
    // A smaller coarsest level, so that the test does not generate 20 km.
    let mut levels = spec.levels.clone();
    levels[3].side_m = 2621.44;
    let land = Landscape::new(SiteSpec { levels, ..spec }, &file, None, 5).expect("a procedural site");
    let windows = land.windows(&TileStore::default(), &around(&land, [-7321.0, 6210.0]));
    let (mean_m, spacing_m) = refinement_m(&windows);
    assert!(spacing_m == 0.01 && (1e-5..CENTIMETRE_DETAIL_M).contains(&mean_m), "{mean_m} m at {spacing_m} m");
    assert!(windows.rocks.iter().any(|rock| rock.radius_m < 0.02));
}

#[test]
fn measured_posts_of_two_metres_are_refined_to_a_centimetre() {
    let level = |spacing_m, side_m| LevelSpec { spacing_m, side_m };
    for (spec, data_dir) in hadleys("refined") {
        let levels = vec![level(0.01, 20.0), level(0.1, 120.0), level(2.0, 2048.0)];
        let spec = SiteSpec { levels, ..spec };
        let land = Landscape::new(spec, &site_file("hadley.yaml"), Some(&data_dir), 5).expect("the data");
        let windows = land.windows(&TileStore::default(), &around(&land, [81.0, -40.0]));
        let (mean_m, spacing_m) = refinement_m(&windows);
        assert!(spacing_m == 0.01 && (1e-5..CENTIMETRE_DETAIL_M).contains(&mean_m), "{mean_m} m at {spacing_m} m");
    }
}
