//! A fixed object of a scenario: its shapes and its place.

use std::path::Path;
use std::sync::Arc;

use nalgebra::UnitQuaternion;
use selene_terrain::ReflectanceSpec;
use selene_vehicle::{ObjectModel, VehicleError};

use crate::scenario::spec::ObjectSpec;

/// A fixed object.
#[derive(Clone, Debug)]
pub struct ObjectSetup {
    /// Its name, unique in the world.
    pub name: String,
    /// Its visual and collision shapes.
    pub model: Arc<ObjectModel>,
    /// Map x, m.
    pub x_m: f64,
    /// Map y, m.
    pub y_m: f64,
    /// Height of its origin above the ground under it, m.
    pub z_m: f64,
    /// Its rotation: yaw about the vertical, from map x (east), then pitch about its y, then roll about its x.
    pub world_from_object: UnitQuaternion<f64>,
    /// Reflectance of the whole object; `None` for paint in its own colours.
    pub material: Option<ReflectanceSpec>,
}

impl ObjectSetup {
    /// Reads its file, which is relative to `folder`.
    pub(crate) fn load(spec: &ObjectSpec, folder: &Path) -> Result<Self, VehicleError> {
        Ok(Self {
            name: spec.name.clone(),
            model: Arc::new(ObjectModel::load(&folder.join(&spec.file))?),
            x_m: spec.x_m,
            y_m: spec.y_m,
            z_m: spec.z_m,
            world_from_object: UnitQuaternion::from_euler_angles(
                spec.roll_deg.to_radians(),
                spec.pitch_deg.to_radians(),
                spec.yaw_deg.to_radians(),
            ),
            material: spec.material,
        })
    }
}
