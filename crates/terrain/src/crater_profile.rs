//! The shape of craters: fresh and worn by diffusion. A fresh one has the polynomials of
//! Fassett and Thomson (2014) as synthterrain (NASA Ames) has them, with a flat floor as
//! deep as Stopar et al. (2017) give for its size. Wear is the plane's diffusion
//! equation ∂h/∂τ = (1/r) ∂(r ∂h/∂r)/∂r in radii and τ = κ t / r², solved once for every
//! depth on a grid of r and τ (backward Euler); a crater looks its height up there.

/// Radii to which profiles reach at most: there the ground is untouched.
pub(crate) const REACH_MAX_RADII: f64 = 4.0;
/// Nodes of a profile in a radius.
const NODES_PER_RADIUS: usize = 128;
const NODES: usize = REACH_MAX_RADII as usize * NODES_PER_RADIUS + 1;
/// The first wear tabulated after none, how much later each next one is, and how many
/// there are: up to 3, where less than a twentieth of the depth is left.
const WEAR_FIRST: f64 = 1e-4;
const WEAR_RATIO: f64 = 1.25;
const WEARS: usize = 47;
/// Steps of the solver between two wears tabulated.
const STEPS: usize = 8;
/// Height over diameter under which a profile counts as the ground around.
const TRACE: f32 = 1e-4;
/// Part of its reach over which a profile is faded to nothing.
const FADE: f32 = 0.1;
/// Fresh depth over diameter from a diameter in m on (Stopar et al. 2017; the two
/// smallest continued by synthterrain).
const DEPTHS: [[f64; 2]; 6] = [[0.0, 0.10], [10.0, 0.11], [40.0, 0.13], [100.0, 0.15], [200.0, 0.17], [400.0, 0.21]];
/// Height of the rim over the ground around, in diameters.
const RIM: f64 = 0.036_822_095;
/// How much of its depth a crater has lost at degradation 1.
const DEPTH_LOST: f64 = 0.8;

/// Heights over diameter of craters of one fresh depth, fresh first.
#[derive(Debug)]
struct Wearing {
    rows: Vec<Row>,
}

/// One profile: heights over diameter by radius, and where it ends.
#[derive(Clone, Debug)]
struct Row {
    heights: Vec<f32>,
    reach: f64,
    depth: f64,
}

/// The profiles of all craters.
#[derive(Debug)]
pub(crate) struct Profiles {
    by_depth: Vec<Wearing>,
}

/// A crater's profile: two neighbours in the table and the fraction between them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Profile<'a> {
    rows: [&'a Row; 2],
    fraction: f32,
}

impl Profiles {
    pub(crate) fn new() -> Self {
        Self { by_depth: DEPTHS.iter().map(|&[_, depth]| Wearing::new(|r| fresh(r, depth))).collect() }
    }

    fn of(&self, diameter_m: f64) -> &Wearing {
        &self.by_depth[depth_class(diameter_m)]
    }

    /// The profile of a crater after wear κ t / r²; none once it is worn away.
    pub(crate) fn profile(&self, diameter_m: f64, wear: f64) -> Option<Profile<'_>> {
        let rows = &self.of(diameter_m).rows;
        let at = row_of(wear);
        let first = at.floor() as usize;
        let pair = rows.get(first..first + 2)?;
        Some(Profile { rows: [&pair[0], &pair[1]], fraction: (at - at.floor()) as f32 })
    }

    /// The wear at which a crater has lost the part of its depth that `degradation`, 0
    /// fresh … 1 nearly worn away, says.
    pub(crate) fn wear_of(&self, diameter_m: f64, degradation: f64) -> f64 {
        let rows = &self.of(diameter_m).rows;
        let wanted = rows[0].depth * (1.0 - DEPTH_LOST * degradation);
        let next = rows.partition_point(|row| row.depth > wanted).clamp(1, rows.len() - 1);
        let [before, after] = [&rows[next - 1], &rows[next]];
        let fraction = ((before.depth - wanted) / (before.depth - after.depth)).clamp(0.0, 1.0);
        let [from, to] = [next - 1, next].map(wear_at);
        from + fraction * (to - from)
    }
}

impl Profile<'_> {
    /// Radii at which the profile ends.
    pub(crate) fn reach(&self) -> f64 {
        self.rows[0].reach.max(self.rows[1].reach)
    }

    /// Height over diameter at `radii` from the centre.
    pub(crate) fn height(&self, radii: f32) -> f32 {
        let at = radii * NODES_PER_RADIUS as f32;
        let node = at as usize;
        let within = at - node as f32;
        let [a, b] = self.rows.map(|row| match row.heights.get(node..node + 2) {
            Some(pair) => pair[0] + within * (pair[1] - pair[0]),
            None => 0.0,
        });
        a + self.fraction * (b - a)
    }
}

fn depth_class(diameter_m: f64) -> usize {
    DEPTHS.iter().rposition(|&[from_m, _]| diameter_m >= from_m).unwrap_or(0)
}

/// Fresh depth over diameter.
#[cfg(test)]
pub(crate) fn fresh_depth(diameter_m: f64) -> f64 {
    DEPTHS[depth_class(diameter_m)][1]
}

/// Fresh height over diameter at `r` radii. The published rim is flat from 0.98 to 1.02
/// radii and then drops by a step of 0.004 diameters; here it slopes down that much.
fn fresh(r: f64, depth: f64) -> f64 {
    let cubic = |[a, b, c, d]: [f64; 4], r: f64| a + r * (b + r * (c + r * d));
    let outside = |r| cubic([0.188_253_307, -0.187_050_452, 0.018_447_46, 0.015_056_47], r);
    let height = match r {
        r if r <= 0.98 => cubic([-0.228_809_953, 0.227_533_882, 0.083_116_795, -0.039_499_407], r),
        r if r <= 1.02 => RIM + (outside(1.02) - RIM) * (r - 0.98) / 0.04,
        r if r <= 1.5 => outside(r),
        _ => 0.0,
    };
    height.max(RIM - depth)
}

/// Row of the table, with fraction, of a wear.
fn row_of(wear: f64) -> f64 {
    if wear < WEAR_FIRST { wear / WEAR_FIRST } else { 1.0 + (wear / WEAR_FIRST).ln() / WEAR_RATIO.ln() }
}

fn wear_at(row: usize) -> f64 {
    if row == 0 { 0.0 } else { WEAR_FIRST * WEAR_RATIO.powi(row as i32 - 1) }
}

impl Wearing {
    fn new(fresh: impl Fn(f64) -> f64) -> Self {
        let mut heights: Vec<f64> = (0..NODES).map(|node| fresh(node as f64 / NODES_PER_RADIUS as f64)).collect();
        let mut rows = vec![Row::new(&heights)];
        for row in 1..WEARS {
            let step = (wear_at(row) - wear_at(row - 1)) / STEPS as f64;
            (0..STEPS).for_each(|_| diffuse(&mut heights, step));
            rows.push(Row::new(&heights));
        }
        Self { rows }
    }
}

impl Row {
    fn new(heights: &[f64]) -> Self {
        let [low, high] = [f64::min, f64::max].map(|f| heights.iter().copied().fold(0.0, f));
        let mut heights: Vec<f32> = heights.iter().map(|&h| h as f32).collect();
        let end = heights.iter().rposition(|h| h.abs() > TRACE).map_or(1, |node| (node + 2).min(NODES - 1));
        let fade_from = (end as f32 * (1.0 - FADE)).floor();
        for (node, height) in heights.iter_mut().enumerate() {
            *height *= ((end as f32 - node as f32) / (end as f32 - fade_from)).clamp(0.0, 1.0);
        }
        heights.truncate(end + 1);
        Self { heights, reach: end as f64 / NODES_PER_RADIUS as f64, depth: high - low }
    }
}

/// One backward Euler step of the plane's diffusion equation for a radial profile: the
/// flow between neighbours is as wide as their circle; at the end heights stay zero.
fn diffuse(heights: &mut [f64], step: f64) {
    let scale = step * (NODES_PER_RADIUS * NODES_PER_RADIUS) as f64;
    // Coefficients of the nodes before and after node i; a disc of half a node in the middle.
    let beside = |i: usize| match i {
        0 => [0.0, 4.0 * scale],
        i => [(i as f64 - 0.5) / i as f64 * scale, (i as f64 + 0.5) / i as f64 * scale],
    };
    let last = heights.len() - 1;
    heights[last] = 0.0;
    let mut ahead = vec![0.0; heights.len()];
    for i in 0..last {
        let [before, after] = beside(i);
        let (above, below) = if i == 0 { (0.0, 0.0) } else { (ahead[i - 1], heights[i - 1]) };
        let pivot = 1.0 + before + after - before * above;
        ahead[i] = after / pivot;
        heights[i] = (heights[i] + before * below) / pivot;
    }
    for i in (0..last).rev() {
        heights[i] += ahead[i] * heights[i + 1];
    }
}

#[cfg(test)]
mod tests {
    use super::{Profiles, REACH_MAX_RADII, TRACE, Wearing, fresh_depth, wear_at};

    #[test]
    fn a_gaussian_mound_wears_as_the_heat_kernel_says() {
        // h = w²/(w² + 4τ) exp(−r²/(w² + 4τ)); backward Euler in 8 steps of a ratio of
        // 1.25 is good to a percent of the height left.
        const SOLVER_TOLERANCE: f64 = 0.01;
        let width2 = 0.25;
        let wearing = Wearing::new(|r| (-r * r / width2).exp());
        for row in [5, 20, 30, 35] {
            let spread = width2 + 4.0 * wear_at(row);
            for radii in [0.0, 0.25, 0.5, 1.0] {
                let exact = width2 / spread * (-radii * radii / spread).exp();
                let found = f64::from(wearing.rows[row].heights[(radii * 128.0) as usize]);
                let error = (found - exact).abs() / (width2 / spread);
                assert!(error < SOLVER_TOLERANCE, "wear {}, {radii}: {found} for {exact}", wear_at(row));
            }
        }
    }

    #[test]
    fn a_fresh_crater_is_as_deep_as_published() {
        let profiles = Profiles::new();
        for diameter_m in [1.0, 12.0, 50.0, 150.0, 250.0, 500.0] {
            let profile = profiles.profile(diameter_m, 0.0).expect("fresh");
            // Nodes of the table miss the rim's crest by up to a half of their distance.
            let depth =
                (0..300).map(|i| profile.height(i as f32 / 200.0)).fold(f32::MIN, f32::max) - profile.height(0.0);
            assert!((f64::from(depth) - fresh_depth(diameter_m)).abs() < 1e-3, "{diameter_m} m: {depth}");
        }
    }

    #[test]
    fn craters_only_get_shallower_and_end_without_a_step() {
        let profiles = Profiles::new();
        let mut depth_before = f32::MAX;
        for wear in [0.0, 5e-5, 1e-3, 0.01, 0.1, 0.5, 2.0] {
            let profile = profiles.profile(20.0, wear).expect("not yet worn away");
            let reach = profile.reach() as f32;
            let heights: Vec<_> = (0..400).map(|i| profile.height(i as f32 / 400.0 * reach)).collect();
            let depth = heights.iter().copied().fold(f32::MIN, f32::max) - heights[0];
            assert!(depth < depth_before, "wear {wear}: {depth}");
            depth_before = depth;
            assert!(profile.height(reach * 0.9999).abs() < TRACE / 10.0 && f64::from(reach) <= REACH_MAX_RADII);
        }
        assert!(profiles.profile(20.0, 4.0).is_none());
    }

    #[test]
    fn degradation_takes_the_depth_it_says() {
        let profiles = Profiles::new();
        for (degradation, left) in [(0.0, 1.0), (0.1, 0.92), (0.5, 0.6), (1.0, 0.2)] {
            let profile = profiles.profile(9.0, profiles.wear_of(9.0, degradation)).expect("not worn away");
            let heights: Vec<_> = (0..512).map(|i| profile.height(i as f32 / 128.0)).collect();
            let [low, high] = [f32::min, f32::max].map(|f| heights.iter().copied().fold(0.0, f));
            assert!((f64::from(high - low) / 0.10 - left).abs() < 0.01, "{degradation}: {}", high - low);
        }
    }
}
