//! Logs the ground around each rover, with its ruts, as a mesh. It is rebuilt every `EVERY_NS` of simulated time, from
//! the scenario's ground and the edits by wheels in the snapshots that the run's nodes get.

use std::sync::Arc;

use rerun::{CoordinateFrame, Mesh3D, RecordingStream};
use selene_base::SimTime;
use selene_coherence::edits_from_message;
use selene_ros::selene_msgs::WorldState;
use selene_sim::Model;
use selene_terrain::{GroundPatch, Ruts, Terrain};

use super::show::{MAP, reported};

/// Interval between meshes, ns of simulated time.
const EVERY_NS: i64 = 2_000_000_000;
/// The mesh is a square: number of posts along a side, and distance between posts, m.
const POSTS: u32 = 161;
const SPACING_M: f64 = 0.075;
/// Distance by which the patch of ground extends beyond the mesh, m.
const MARGIN_M: f64 = 1.0;
/// Linear reflectance of the mesh: light enough to show its slopes.
const ALBEDO: [u8; 3] = [168, 164, 158];

/// The present ground and its ruts.
pub(super) struct Ground {
    model: Arc<Model>,
    /// The ruts on which the run began, and the number of terrain edits before the first snapshot.
    first_ruts: Ruts,
    first_terrain: Option<u64>,
    ruts: Ruts,
    epoch: u32,
    /// Simulated time of the last meshes.
    shown: Option<SimTime>,
}

impl Ground {
    /// The ground on which the run begins.
    pub(super) fn new(model: &Arc<Model>, ruts: Ruts) -> Self {
        Self { model: Arc::clone(model), first_ruts: ruts.clone(), first_terrain: None, ruts, epoch: 0, shown: None }
    }

    /// Applies a snapshot's edits, and logs new meshes if they are due.
    pub(super) fn take(&mut self, stream: &RecordingStream, stamp: SimTime, state: &WorldState) -> Result<(), String> {
        let first_terrain = *self.first_terrain.get_or_insert(state.terrain_sequence);
        if state.epoch != self.epoch {
            (self.epoch, self.shown) = (state.epoch, None);
            if state.terrain_sequence == first_terrain {
                self.ruts = self.first_ruts.clone();
            }
        }
        self.ruts.apply(&edits_from_message(&state.terrain_edits));
        if self.shown.is_some_and(|shown| (stamp - shown).nanos() < EVERY_NS) {
            return Ok(());
        }
        self.shown = Some(stamp);
        for rover in &state.rovers {
            let Some(base) = rover.links.first() else { continue };
            let mesh = mesh(self.model.terrain(), &self.ruts, [base.position.x, base.position.y]);
            let path = format!("/ground/{}", rover.name);
            stream.log(path.as_str(), &CoordinateFrame::new(MAP)).map_err(reported)?;
            stream.log(path, &mesh.archetype()).map_err(reported)?;
        }
        Ok(())
    }
}

/// A triangle mesh in `map`.
struct Mesh {
    /// Vertices, m.
    positions: Vec<[f32; 3]>,
    normals: Vec<[f32; 3]>,
    /// Indices of vertices, counter-clockwise seen from above.
    triangles: Vec<[u32; 3]>,
}

impl Mesh {
    fn archetype(self) -> Mesh3D {
        Mesh3D::new(self.positions)
            .with_vertex_normals(self.normals)
            .with_triangle_indices(self.triangles)
            .with_albedo_factor(rerun::Rgba32::from(ALBEDO))
    }
}

/// The mesh of the ground around (x, y), m; it ends where the ground does.
fn mesh(terrain: &Terrain, ruts: &Ruts, [x, y]: [f64; 2]) -> Mesh {
    let half_m = f64::from(POSTS - 1) * SPACING_M / 2.0;
    let patch = GroundPatch::of_square(terrain, ruts, [x, y], half_m + MARGIN_M);
    // Posts keep their positions while the rover moves, so that the mesh does not seem to slide.
    let [west_m, south_m] = [x - half_m, y - half_m].map(|m| (m / SPACING_M).floor() * SPACING_M);
    let mut mesh = Mesh { positions: Vec::new(), normals: Vec::new(), triangles: Vec::new() };
    let mut numbers = Vec::new();
    for index in 0..POSTS * POSTS {
        let at_m = [west_m + f64::from(index % POSTS) * SPACING_M, south_m + f64::from(index / POSTS) * SPACING_M];
        let post = patch.height_m(at_m[0], at_m[1]).zip(patch.normal(at_m[0], at_m[1]));
        numbers.push(post.map(|_| mesh.positions.len() as u32));
        if let Some((height_m, normal)) = post {
            mesh.positions.push([at_m[0], at_m[1], height_m].map(|m| m as f32));
            mesh.normals.push([normal.x, normal.y, normal.z].map(|part| part as f32));
        }
    }
    mesh.triangles = triangles(&numbers);
    mesh
}

/// Two triangles for each cell whose four posts all exist.
fn triangles(numbers: &[Option<u32>]) -> Vec<[u32; 3]> {
    let number = |column: u32, row: u32| numbers[(row * POSTS + column) as usize];
    let cell = |index: u32| {
        let (column, row) = (index % (POSTS - 1), index / (POSTS - 1));
        let [a, b] = [number(column, row)?, number(column + 1, row)?];
        let [c, d] = [number(column, row + 1)?, number(column + 1, row + 1)?];
        Some([[a, b, d], [a, d, c]])
    };
    (0..(POSTS - 1) * (POSTS - 1)).filter_map(cell).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::{POSTS, SPACING_M, mesh};
    use selene_terrain::{Level, Ruts, Terrain};

    #[test]
    fn the_mesh_is_the_ground_and_faces_up() {
        let level = Level::sample([-20.0; 2], 0.05, 801, |x, _| 0.1 * x);
        let terrain = Terrain::of_level(level, Vec::new(), Vec::new());
        let made = mesh(&terrain, &Ruts::default(), [0.3, -0.2]);
        let cells = ((POSTS - 1) * (POSTS - 1)) as usize;
        assert_eq!((made.positions.len(), made.triangles.len()), ((POSTS * POSTS) as usize, 2 * cells));
        for [x, _, z] in &made.positions {
            assert!((z - 0.1 * x).abs() < 1e-5, "{z} m at {x} m");
        }
        for corners in &made.triangles {
            let [a, b, c] = corners.map(|corner| made.positions[corner as usize]);
            let up = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
            assert!((f64::from(up) - SPACING_M * SPACING_M).abs() < 1e-4, "{corners:?}");
        }
    }
}
