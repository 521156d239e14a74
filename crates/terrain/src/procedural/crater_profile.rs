//! Shape of craters, fresh and worn by diffusion. A fresh crater has the polynomials of Fassett and Thomson (2014) as
//! in synthterrain (NASA Ames), scaled to the depth over diameter of Stopar et al. (2017). Wear solves the diffusion
//! equation of the plane, ∂h/∂τ = (1/r) ∂(r ∂h/∂r)/∂r with r in radii and τ = κ t / r². It is linear, so one table of h
//! over r and τ, in units of the fresh depth and solved once (backward Euler), serves all craters.

/// Largest extent of a profile, in radii; the ground beyond is unchanged.
pub(crate) const REACH_MAX_RADII: f64 = 4.0;
/// Nodes of a profile per radius.
const NODES_PER_RADIUS: usize = 128;
const NODES: usize = REACH_MAX_RADII as usize * NODES_PER_RADIUS + 1;
/// First tabulated wear after zero, ratio of successive wears, and their number: the table ends at 3, where less than a
/// twentieth of the depth is left.
const WEAR_FIRST: f64 = 1e-4;
const WEAR_RATIO: f64 = 1.25;
const WEARS: usize = 47;
/// Solver steps between two tabulated wears.
const STEPS: usize = 8;
/// Height, in fresh depths, below which a profile counts as surrounding ground.
const TRACE: f32 = 1e-3;
/// Fraction of its extent over which a profile is faded to zero.
const FADE: f32 = 0.1;
/// Fresh depth over diameter, from a diameter in m on (Stopar et al. 2017; synthterrain extends it to the two
/// smallest).
const DEPTHS: [[f64; 2]; 6] = [[0.0, 0.10], [10.0, 0.11], [40.0, 0.13], [100.0, 0.15], [200.0, 0.17], [400.0, 0.21]];
/// Height of the polynomials' rim and depth of their floor, in diameters.
const RIM: f64 = 0.036_822_095;
const FLOOR: f64 = 0.228_809_953;
/// Fraction of its depth that a crater has lost at degradation 1.
const DEPTH_LOST: f64 = 0.8;

/// One profile over the radius, in fresh depths, and its extent.
#[derive(Clone, Debug)]
struct Row {
    heights: Vec<f32>,
    /// Extent of the profile, in radii.
    reach: f64,
    /// Depth from rim to floor, in fresh depths.
    depth: f64,
}

/// The profiles of all craters, in order of wear, fresh first.
#[derive(Debug)]
pub(crate) struct Profiles {
    rows: Vec<Row>,
}

/// A crater's profile: two neighbouring rows of the table and the fraction between them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Profile<'a> {
    rows: [&'a Row; 2],
    fraction: f32,
}

impl Profiles {
    pub(crate) fn new() -> Self {
        Self::of(fresh)
    }

    /// The table of the worn profiles of a shape, given as height over radius.
    fn of(shape: impl Fn(f64) -> f64) -> Self {
        let mut heights: Vec<f64> = (0..NODES).map(|node| shape(node as f64 / NODES_PER_RADIUS as f64)).collect();
        let mut rows = vec![Row::new(&heights)];
        for row in 1..WEARS {
            let step = (wear_at(row) - wear_at(row - 1)) / STEPS as f64;
            (0..STEPS).for_each(|_| diffuse(&mut heights, step));
            rows.push(Row::new(&heights));
        }
        Self { rows }
    }

    /// The profile after a wear of κ t / r²; none once a crater is worn away.
    pub(crate) fn after(&self, wear: f64) -> Option<Profile<'_>> {
        let at = row_of(wear);
        let first = at.floor() as usize;
        let pair = self.rows.get(first..first + 2)?;
        Some(Profile { rows: [&pair[0], &pair[1]], fraction: (at - at.floor()) as f32 })
    }

    /// The wear at which a crater has lost the part of its depth that corresponds to `degradation`, 0 fresh … 1 nearly
    /// worn away.
    pub(crate) fn wear_of(&self, degradation: f64) -> f64 {
        let wanted = self.rows[0].depth * (1.0 - DEPTH_LOST * degradation);
        let next = self.rows.partition_point(|row| row.depth > wanted).clamp(1, self.rows.len() - 1);
        let [before, after] = [&self.rows[next - 1], &self.rows[next]];
        let fraction = ((before.depth - wanted) / (before.depth - after.depth)).clamp(0.0, 1.0);
        let [from, to] = [next - 1, next].map(wear_at);
        from + fraction * (to - from)
    }
}

impl Profile<'_> {
    /// Extent of the profile, in radii.
    pub(crate) fn reach(&self) -> f64 {
        self.rows[0].reach.max(self.rows[1].reach)
    }

    /// Height at `radii` from the centre, in fresh depths.
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

/// Fresh depth over diameter.
pub(crate) fn fresh_depth(diameter_m: f64) -> f64 {
    DEPTHS.iter().rev().find(|&&[from_m, _]| diameter_m >= from_m).map_or(DEPTHS[0][1], |&[_, depth]| depth)
}

/// Fresh height at `r` radii, in fresh depths. The published rim is flat from 0.98 to 1.02 radii and then drops by a
/// step of 0.004 diameters; here it slopes down by that amount.
fn fresh(r: f64) -> f64 {
    let cubic = |[a, b, c, d]: [f64; 4], r: f64| a + r * (b + r * (c + r * d));
    let outside = |r| cubic([0.188_253_307, -0.187_050_452, 0.018_447_46, 0.015_056_47], r);
    let over_diameter = match r {
        r if r <= 0.98 => cubic([-FLOOR, 0.227_533_882, 0.083_116_795, -0.039_499_407], r),
        r if r <= 1.02 => RIM + (outside(1.02) - RIM) * (r - 0.98) / 0.04,
        r if r <= 1.5 => outside(r),
        _ => 0.0,
    };
    over_diameter / (RIM + FLOOR)
}

/// Row of the table, with its fraction, for a wear.
fn row_of(wear: f64) -> f64 {
    if wear < WEAR_FIRST { wear / WEAR_FIRST } else { 1.0 + (wear / WEAR_FIRST).ln() / WEAR_RATIO.ln() }
}

fn wear_at(row: usize) -> f64 {
    if row == 0 { 0.0 } else { WEAR_FIRST * WEAR_RATIO.powi(row as i32 - 1) }
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

/// One backward Euler step of the plane's diffusion equation for a radial profile. The flow between neighbouring nodes
/// is proportional to the circle between them; the last node stays at zero.
fn diffuse(heights: &mut [f64], step: f64) {
    let scale = step * (NODES_PER_RADIUS * NODES_PER_RADIUS) as f64;
    // Coefficients of the nodes before and after node i; node 0 is a disc with a radius of half a node.
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
    use super::{NODES_PER_RADIUS, Profile, Profiles, REACH_MAX_RADII, TRACE, wear_at};

    fn depth(profile: Profile<'_>) -> f32 {
        let heights = (0..4 * NODES_PER_RADIUS).map(|node| profile.height(node as f32 / NODES_PER_RADIUS as f32));
        let (low, high) = heights.fold((0.0_f32, 0.0_f32), |(low, high), h| (low.min(h), high.max(h)));
        high - low
    }

    #[test]
    fn a_gaussian_mound_wears_as_the_heat_kernel_says() {
        // h = w²/(w² + 4τ) exp(−r²/(w² + 4τ)); backward Euler in 8 steps per ratio of 1.25 is accurate to a percent of
        // the remaining height.
        const SOLVER_TOLERANCE: f64 = 0.01;
        let width2 = 0.25;
        let mound = Profiles::of(|r| (-r * r / width2).exp());
        for row in [5, 20, 30, 35] {
            let spread = width2 + 4.0 * wear_at(row);
            for radii in [0.0, 0.25, 0.5, 1.0] {
                let exact = width2 / spread * (-radii * radii / spread).exp();
                let found = f64::from(mound.rows[row].heights[(radii * NODES_PER_RADIUS as f64) as usize]);
                let error = (found - exact).abs() / (width2 / spread);
                assert!(error < SOLVER_TOLERANCE, "wear {}, {radii}: {found} for {exact}", wear_at(row));
            }
        }
    }

    #[test]
    fn a_fresh_profile_is_one_depth_deep() {
        // Nodes miss the edge of the rim's crest by less than their spacing.
        const NODE_TOLERANCE: f32 = 0.01;
        let profiles = Profiles::new();
        assert!((depth(profiles.after(0.0).expect("fresh")) - 1.0).abs() < NODE_TOLERANCE);
    }

    #[test]
    fn craters_only_get_shallower_and_end_without_a_step() {
        let profiles = Profiles::new();
        let mut depth_before = f32::MAX;
        for wear in [0.0, 5e-5, 1e-3, 0.01, 0.1, 0.5, 2.0] {
            let profile = profiles.after(wear).expect("not yet worn away");
            assert!(depth(profile) < depth_before, "wear {wear}: {}", depth(profile));
            depth_before = depth(profile);
            let reach = profile.reach();
            assert!(profile.height(reach as f32 * 0.9999).abs() < TRACE / 10.0 && reach <= REACH_MAX_RADII);
        }
        assert!(profiles.after(4.0).is_none());
    }

    #[test]
    fn degradation_takes_the_depth_it_says() {
        // Error of linear interpolation between the table's rows.
        const TABLE_TOLERANCE: f32 = 0.01;
        let profiles = Profiles::new();
        for (degradation, left) in [(0.0, 1.0), (0.1, 0.92), (0.5, 0.6), (1.0, 0.2)] {
            let found = depth(profiles.after(profiles.wear_of(degradation)).expect("not worn away"));
            assert!((found - left).abs() < TABLE_TOLERANCE, "{degradation}: {found}");
        }
    }
}
