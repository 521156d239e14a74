//! The lights of a scene: the lamps of all rovers, the Sun, the Earth and the stars.

use selene_base::{Pose, SimTime};
use selene_scene::{Colour, Earth, Flux, Lamp, Profile, Star, Sun};
use selene_sim::{Model, RoverSnapshot, Snapshot};
use selene_sky::Sky;
use selene_vehicle::LampSpec;

/// The lamps of all rovers at `time`, with the brightness at the heartbeat's end.
pub(crate) fn lamps(model: &Model, previous: &Snapshot, next: &Snapshot, time: SimTime) -> Vec<Lamp> {
    let of_rover = |rover: &RoverSnapshot| {
        let kind = model.rovers().get(&rover.id)?;
        let lamps = kind.model().lamps().iter().zip(&rover.lamp_levels);
        let at = |link: usize| previous.link_at(next, rover.id, link, time);
        Some(lamps.filter_map(|(lamp, level)| Some(lamp_at(&lamp.spec, at(lamp.link)?, *level))).collect::<Vec<_>>())
    };
    next.rovers.iter().filter_map(of_rover).flatten().collect()
}

/// A lamp in the form of the scene.
fn lamp_at(spec: &LampSpec, world_from_lamp: Pose, level: f64) -> Lamp {
    let flux = match (spec.flux_w, spec.flux_lm) {
        (Some(watts), _) => Flux::Radiant(watts),
        (None, lumens) => Flux::Luminous(lumens.unwrap_or_default()),
    };
    let colour = match (spec.temperature_k, spec.rgb) {
        (Some(kelvin), _) => Colour::Temperature(kelvin),
        (None, Some(bands)) => Colour::Bands(bands),
        (None, None) => Colour::Sunlight,
    };
    Lamp {
        world_from_lamp,
        flux_w: flux.bands_w(colour).map(|band| band * level),
        profile: Profile {
            inner_rad: spec.inner_deg.to_radians(),
            outer_rad: spec.outer_deg.to_radians(),
            falloff: spec.falloff,
        },
        size_m: spec.size_m,
    }
}

/// The Sun in the form of the scene.
pub(crate) fn sun(sky: &Sky) -> Sun {
    Sun {
        direction_to_sun: sky.sun.unit_enu,
        irradiance_w_m2: sky.sun_irradiance_w_m2,
        angular_radius_rad: sky.sun.angular_radius_rad,
    }
}

/// The Earth in the form of the scene, with its brightness in visible light.
pub(crate) fn earth(sky: &Sky) -> Earth {
    Earth {
        direction_to_earth: sky.earth.unit_enu,
        irradiance_w_m2: sky.earth_light.sunlike_irradiance_w_m2,
        angular_radius_rad: sky.earth.angular_radius_rad,
        sun_from_earth: sky.earth_light.sun_from_earth_enu,
    }
}

/// The stars in their current directions.
pub(crate) fn stars(sky: &Sky, stars: &[selene_sky::CatalogueStar]) -> Vec<Star> {
    let placed = |star: &selene_sky::CatalogueStar| Star {
        direction: sky.star_enu(star),
        irradiance_w_m2: star.sunlike_irradiance_w_m2(),
    };
    stars.iter().map(placed).collect()
}
