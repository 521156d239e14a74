//! Tests of the fractal relief, from the heights of levels.

use std::path::Path;

use selene_base::input::load_yaml;
use selene_terrain::{
    CraterPowerSpec, CraterSizes, ElevationSpec, Landscape, Level, LevelSpec, ReliefSpec, SiteSpec, TileStore,
};

/// Tolerance of a fitted exponent in standard errors: one test in 16 000 fails by chance, and the seeds are fixed.
const SIGMAS: f64 = 4.0;
/// Octaves are a factor of 1.9 apart and not infinitely dense: exponents fitted over few of them vary by this much.
const OCTAVE_TOLERANCE: f64 = 0.02;

/// The polar site with relief only.
fn bare(levels: Vec<LevelSpec>, relief: ReliefSpec) -> SiteSpec {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/site/polar.yaml");
    let mut spec = SiteSpec { levels, relief, ..load_yaml(&file).expect("a good file") };
    let none = CraterPowerSpec { density_1m_km2: 0.0, slope: 2.0, knee_m: 80.0, slope_above_knee: 2.0 };
    spec.craters.law = CraterSizes::Power(none);
    if let ElevationSpec::Procedural(procedural) = &mut spec.elevation {
        procedural.landforms.clear();
    }
    spec
}

/// Mean square of h(x + Δ) − 2 h(x) + h(x − Δ) for Δ of `lag` posts, m²: the structure function of second differences,
/// which grows as Δ^(2 H) for any Hurst exponent H and, unlike that of first differences, is not dominated by the
/// longest wave.
fn structure_m2(level: &Level, lag: usize) -> f64 {
    let second = |row: usize, column: usize| {
        let at = |column: usize| level.post_m(column, row);
        (at(column + lag) - 2.0 * at(column) + at(column - lag)).powi(2)
    };
    let rows = (0..level.posts).step_by(5);
    let all: Vec<_> =
        rows.flat_map(|row| (lag..level.posts - lag).step_by(3).map(move |column| second(row, column))).collect();
    all.iter().sum::<f64>() / all.len() as f64
}

/// Hurst exponent by a least-squares fit of log structure over log lag.
fn hurst(level: &Level, lags: &[usize]) -> f64 {
    let points: Vec<_> = lags.iter().map(|&lag| ((lag as f64).ln(), structure_m2(level, lag).ln())).collect();
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / points.len() as f64;
    let [x, y] = [mean(|p| p.0), mean(|p| p.1)];
    let slope = points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum::<f64>()
        / points.iter().map(|p| (p.0 - x).powi(2)).sum::<f64>();
    slope / 2.0
}

/// Mean exponent over places far from each other, and its standard error.
fn fitted(spec: &SiteSpec, level: usize, lags: &[usize]) -> (f64, f64) {
    let land = Landscape::new(spec.clone(), Path::new("polar.yaml"), None, 11).expect("a procedural site");
    let apart = spec.levels[level].posts() as i64 * 5;
    let place = |i: i64| land.window_level(&TileStore::new(0), level, [apart * (i + 1), -apart * i]);
    let found: Vec<_> = (0..8).map(|i| hurst(&place(i), lags)).collect();
    let mean = found.iter().sum::<f64>() / found.len() as f64;
    let variance = found.iter().map(|h| (h - mean).powi(2)).sum::<f64>() / (found.len() - 1) as f64;
    (mean, (variance / found.len() as f64).sqrt())
}

fn relief(hurst_above_1m: f64, hurst_below_1m: f64) -> ReliefSpec {
    ReliefSpec { wavelength_max_m: 3000.0, deviation_at_1m_m: 0.006, hurst_above_1m, hurst_below_1m }
}

#[test]
fn the_hurst_exponent_above_a_metre_is_recovered_from_the_heights() {
    let levels = vec![LevelSpec { spacing_m: 1.0, side_m: 600.0 }, LevelSpec { spacing_m: 8.0, side_m: 4000.0 }];
    for hurst in [0.76, 0.95] {
        let (found, error) = fitted(&bare(levels.clone(), relief(hurst, 0.6)), 0, &[8, 12, 16, 24, 32, 48, 64]);
        assert!((found - hurst).abs() < SIGMAS * error + OCTAVE_TOLERANCE, "{found} ± {error} for {hurst}");
        assert!(error < 0.02, "± {error}");
    }
}

#[test]
fn the_hurst_exponent_below_a_metre_is_recovered_from_the_heights() {
    let levels = vec![LevelSpec { spacing_m: 0.002, side_m: 1.28 }, LevelSpec { spacing_m: 0.016, side_m: 12.8 }];
    for hurst in [0.5, 0.7] {
        let (found, error) = fitted(&bare(levels.clone(), relief(0.9, hurst)), 0, &[8, 12, 16, 24, 32, 48]);
        assert!((found - hurst).abs() < SIGMAS * error + OCTAVE_TOLERANCE, "{found} ± {error} for {hurst}");
        assert!(error < 0.02, "± {error}");
    }
}
