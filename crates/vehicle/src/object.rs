//! An immovable object on the ground, such as a lander: a URDF whose joints are all fixed, or one
//! mesh file. Rovers touch its collision shapes; each mesh counts as its convex hull.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use selene_base::{InputError, Pose};

use crate::model::{poses_at_zero, read_text};
use crate::packages::Packages;
use crate::shape::{Collision, Shape, Visual};
use crate::tree::{self, TreeKind};
use crate::urdf::RawRobot;
use crate::{VehicleError, mesh, urdf};

/// The visual and collision shapes of an object.
#[derive(Clone, Debug)]
pub struct ObjectModel {
    /// Shapes that cameras and lidars see, each with the pose of its link in the object.
    pub visuals: Vec<(Pose, Visual)>,
    /// Shapes that rovers touch, each with the pose of its link in the object.
    pub collisions: Vec<(Pose, Collision)>,
}

/// Colour of a mesh that has none.
const GREY: [f64; 4] = [0.6, 0.6, 0.6, 1.0];

impl ObjectModel {
    /// Reads a URDF, or a mesh file in metres, by the file's extension.
    ///
    /// # Errors
    /// When it cannot be read or is refused.
    pub fn load(path: &Path) -> Result<Self, VehicleError> {
        let extension = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase());
        match extension.as_deref() {
            Some("urdf") => Self::of_urdf(path),
            Some("stl" | "obj" | "dae") => Self::of_mesh(path),
            _ => {
                let what = "is no object: a URDF (urdf) or a mesh (stl, obj, dae) is allowed";
                Err(InputError::content(path, what).into())
            }
        }
    }

    fn of_urdf(path: &Path) -> Result<Self, VehicleError> {
        let packages = Packages::new(BTreeMap::new());
        Self::of_robot(urdf::read(&read_text(path, urdf::URDF_BYTES_MAX)?, path, &packages)?, path)
    }

    /// Reads the text of a URDF; `name` is named in errors, and `find_mesh` says where the mesh files are
    /// that it names, or why they are nowhere.
    ///
    /// # Errors
    /// When it is refused, or one of its meshes is.
    pub fn parse(
        text: &str,
        name: &Path,
        find_mesh: &dyn Fn(&str) -> Result<PathBuf, String>,
    ) -> Result<Self, VehicleError> {
        Self::of_robot(urdf::read_with(text, name, find_mesh)?, name)
    }

    fn of_robot(robot: RawRobot, path: &Path) -> Result<Self, VehicleError> {
        let (links, joints) = tree::order(robot, path, TreeKind::Object)?;
        let poses = poses_at_zero(&joints);
        let mut object = Self { visuals: Vec::new(), collisions: Vec::new() };
        for (link, pose) in links.into_iter().zip(poses) {
            object.visuals.extend(link.visuals.into_iter().map(|visual| (pose, visual)));
            object.collisions.extend(link.collisions.into_iter().map(|collision| (pose, collision)));
        }
        if object.visuals.is_empty() && object.collisions.is_empty() {
            return Err(InputError::content(path, "has neither a visual nor a collision shape; give one").into());
        }
        Ok(object)
    }

    fn of_mesh(path: &Path) -> Result<Self, VehicleError> {
        let (vertices, triangles) = mesh::read(path, [1.0; 3]).map_err(|what| InputError::content(path, what))?;
        let shape = Shape::Mesh { vertices, triangles };
        let visual =
            Visual { link_from_shape: Pose::identity(), shape: shape.clone(), material: String::new(), rgba: GREY };
        let collision = Collision { link_from_shape: Pose::identity(), shape };
        Ok(Self { visuals: vec![(Pose::identity(), visual)], collisions: vec![(Pose::identity(), collision)] })
    }

    /// Radius of a ball around its origin that contains all its collision shapes, m.
    #[must_use]
    pub fn reach_m(&self) -> f64 {
        let reach_m = |(pose, collision): &(Pose, Collision)| {
            (pose * collision.link_from_shape).translation.vector.norm() + collision.shape.reach_m()
        };
        self.collisions.iter().map(reach_m).fold(0.0, f64::max)
    }
}
