//! The shipped follower against the plain controller, on courses that its training did not use. Both drive the same
//! courses on rigid ground; of each of the six metrics the median over courses and followers must be lower.

use std::path::Path;

use rayon::prelude::*;
use selene_sim::LoadOptions;
use selene_studies::convoy::{ConvoyCourse, CourseGround, Deviations, Follower, Policy, TruckResult, drive, judge};

/// Seed of the study's courses, and how many of them are driven: training uses those from 1000 on.
const SEED: u64 = 1;
const COURSES: u64 = 4;

fn driven(follower: &Follower) -> Vec<TruckResult> {
    let folder = std::env::temp_dir().join(format!("selene-comparison-{}-{}", follower.name(), std::process::id()));
    std::fs::create_dir_all(&folder).expect("made");
    let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config").canonicalize().expect("there");
    let options = LoadOptions { configuration: vec![config], ..LoadOptions::default() };
    let results = (0..COURSES).into_par_iter().map(|number| {
        let course = ConvoyCourse::draw(SEED, number).expect("a course");
        let driven = drive(&course, CourseGround::Rigid, follower, &folder, &options).expect("driven");
        judge(number, CourseGround::Rigid, follower, &driven)
    });
    let results = results.collect::<Vec<_>>().concat();
    std::fs::remove_dir_all(&folder).expect("removed");
    results
}

fn metrics(of: &Deviations) -> [f64; 6] {
    let [path, speed, relative] = [of.path_m, of.speed_m_s, of.relative];
    [path[0], path[1], speed[0], speed[1], relative[0], relative[1]]
}

fn medians(results: &[TruckResult]) -> [f64; 6] {
    let of_followers: Vec<_> = results.iter().filter_map(|of| of.deviations.as_ref()).map(metrics).collect();
    assert_eq!(of_followers.len(), 3 * COURSES as usize, "every follower can be compared");
    std::array::from_fn(|metric| {
        let mut values: Vec<f64> = of_followers.iter().map(|of| of[metric]).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    })
}

#[test]
fn the_shipped_follower_deviates_less_than_the_plain_controller_and_hits_no_more() {
    let weights = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/network/convoy_follower.safetensors");
    let learned = Follower::Learned(Box::new(Policy::load(&weights).expect("the shipped weights")));
    let [plain, learned] = [&Follower::Plain, &learned].map(driven);
    let (of_plain, of_learned) = (medians(&plain), medians(&learned));
    println!("plain {of_plain:.3?}, learned {of_learned:.3?}");
    for (metric, (plain, learned)) in of_plain.into_iter().zip(of_learned).enumerate() {
        assert!(learned < plain, "metric {metric}: learned {learned}, plain {plain}");
    }
    let [plain_hits, hits] = [&plain, &learned].map(|results| results.iter().map(|of| of.hits).sum::<usize>());
    assert!(hits <= plain_hits, "learned hits {hits} obstacles, plain {plain_hits}");
}
