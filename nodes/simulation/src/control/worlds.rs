//! Services for worlds and named poses in them. A world is a site; if the process can load another one (`loading`), it
//! is also a scenario, which brings its rovers.

use std::path::{Path, PathBuf};

use selene_ros::geometry_msgs;
use selene_ros::service::Reply;
use selene_ros::simulation_interfaces::srv::{
    GetAvailableWorldsRequest, GetAvailableWorldsResponse, GetCurrentWorldRequest, GetCurrentWorldResponse,
    GetNamedPoseBoundsRequest, GetNamedPoseBoundsResponse, GetNamedPosesRequest, GetNamedPosesResponse, LoadWorld,
    LoadWorldRequest, LoadWorldResponse, UnloadWorldRequest, UnloadWorldResponse,
};
use selene_ros::simulation_interfaces::{NamedPose, Resource, Result as ResultCode, WorldResource};
use selene_sim::{AllowedFolders, RoverSetup, Scenario, Start};
use selene_terrain::{ElevationSpec, SiteSpec};

use super::catalogue::{sites, sites_in};
use super::filter::{check_tags, tags_match};
use super::resource::{URI_MAX, find, path_of, to_uri};
use super::response::{Response, failed, ok, result, unsupported};
use super::send;
use crate::loading::{self, Worlds};
use crate::node::Node;

/// Maximum number of named poses in a response, since the ground height of each is computed.
const POSES_MAX: usize = 256;

pub(super) fn available(node: &Node, request: &GetAvailableWorldsRequest) -> GetAvailableWorldsResponse {
    if let Err(refused) = check_tags(&request.filter) {
        return Response::of(refused);
    }
    let mut found = sites(node.folders());
    let mut unknown = Vec::new();
    for source in &request.additional_sources {
        let path = source.strip_prefix("file://").unwrap_or(source);
        match find(path, node.folders()).ok().filter(|folder| folder.is_dir()) {
            Some(folder) => found.extend(sites_in(&folder)),
            None => unknown.push(source),
        }
    }
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    found.dedup_by(|(one, _), (other, _)| one == other);
    let what = if unknown.is_empty() { String::new() } else { format!("no folder that may be used: {unknown:?}") };
    if !unknown.is_empty() && !request.continue_on_error {
        return Response::of(failed(what));
    }
    let mut worlds: Vec<_> = found.iter().map(|(file, site)| world(site, to_uri(file))).collect();
    worlds.extend(node.worlds().map(Worlds::scenarios).unwrap_or_default().into_iter().map(loading::offered));
    worlds.retain(|world| tags_match(&request.filter, &world.tags));
    GetAvailableWorldsResponse { result: result(ResultCode::RESULT_OK, what), worlds }
}

pub(super) fn current(node: &Node, _: &GetCurrentWorldRequest) -> GetCurrentWorldResponse {
    GetCurrentWorldResponse { result: ok(), world: of_scenario(node.world().scenario()) }
}

/// The world of a scenario: its site, with the scenario named in the description.
pub(crate) fn of_scenario(scenario: &Scenario) -> WorldResource {
    let mut world = world(&scenario.site, uri_of(scenario.site_file()));
    world.description = format!("scenario {}; {}", scenario.name, world.description);
    world
}

/// The URI of a file.
pub(crate) fn uri_of(file: &Path) -> String {
    to_uri(&file.canonicalize().unwrap_or_else(|_| file.to_owned()))
}

/// Passes a request for another world to the process that can load it.
pub(super) fn load(
    worlds: Option<&Worlds>,
    folders: &AllowedFolders,
    request: &LoadWorldRequest,
    reply: Reply<LoadWorld>,
) {
    let requested = worlds.ok_or_else(loading::nobody_loads);
    match requested.and_then(|worlds| Ok((worlds, file_of(worlds, folders, request)?))) {
        Ok((worlds, file)) => worlds.request(file, reply),
        Err(refused) => send(reply, &Response::of(refused)),
    }
}

/// The file that a request names: in an allowed folder, or among the offered scenarios.
fn file_of(worlds: &Worlds, folders: &AllowedFolders, request: &LoadWorldRequest) -> Result<PathBuf, ResultCode> {
    type Code = LoadWorldResponse;
    let Resource { uri, resource_string } = &request.world_resource;
    match (uri.as_str(), resource_string.as_str()) {
        ("", "") => return Err(result(Code::NO_RESOURCE, "give the uri of a world that get_available_worlds lists")),
        ("", _) => return Err(unsupported("a world is loaded by its file: give its uri")),
        (uri, _) if uri.len() > URI_MAX => {
            return Err(failed(format!("the uri has {} letters; {URI_MAX} are allowed", uri.len())));
        }
        _ => {}
    }
    let refuse = |what: String| result(Code::UNSUPPORTED_FORMAT, what);
    let path = path_of(uri).map_err(|refused| refuse(refused.error_message))?;
    let file = Path::new(&path);
    if !file.extension().is_some_and(|own| own == "yaml" || own == "yml") {
        return Err(refuse(format!("'{path}' is no YAML file of a scenario or a site")));
    }
    find(&path, folders).or_else(|refused| if worlds.offers(file) { Ok(file.to_owned()) } else { Err(refused) })
}

pub(super) fn unload(_: &Node, _: &UnloadWorldRequest) -> UnloadWorldResponse {
    Response::of(unsupported("a run always has a world; set the state to quitting to end it"))
}

pub(super) fn named_poses(node: &Node, request: &GetNamedPosesRequest) -> GetNamedPosesResponse {
    if let Err(refused) = check_tags(&request.tags) {
        return Response::of(refused);
    }
    let rovers = node.world().scenario().rovers.iter();
    let places = rovers.flat_map(places_of).filter(|place| tags_match(&request.tags, &place.tags)).take(POSES_MAX);
    GetNamedPosesResponse { result: ok(), poses: places.map(|place| on_ground(node, place)).collect() }
}

pub(super) fn named_pose_bounds(_: &Node, _: &GetNamedPoseBoundsRequest) -> GetNamedPoseBoundsResponse {
    Response::of(unsupported("starts and waypoints are places without a size"))
}

fn world(site: &SiteSpec, uri: String) -> WorldResource {
    let origin = match &site.elevation {
        ElevationSpec::Procedural(_) => "procedural",
        ElevationSpec::Raster(_) | ElevationSpec::File(_) => "measured",
    };
    let SiteSpec { latitude_deg, longitude_deg, .. } = site;
    let side_m = site.side_m();
    let what = format!("latitude {latitude_deg}°, longitude {longitude_deg}°, {side_m:.0} m across");
    resource(site.name.clone(), uri, what, &[origin])
}

/// Describes a world on the Moon by its file and tags.
pub(crate) fn resource(name: String, uri: String, description: String, tags: &[&str]) -> WorldResource {
    WorldResource {
        name,
        world_resource: Resource { uri, ..Resource::default() },
        description,
        tags: ["moon"].iter().chain(tags).map(|&tag| tag.to_owned()).collect(),
    }
}

/// The starts and waypoints of a scenario's rover; their heights are not set yet.
fn places_of(rover: &RoverSetup) -> Vec<NamedPose> {
    let place = |what: String, tags: [&str; 2], [x, y]: [f64; 2], yaw_rad: f64| NamedPose {
        name: format!("{}/{what}", rover.name),
        description: format!("{what} of rover {}", rover.name),
        tags: tags.map(str::to_owned).into(),
        pose: geometry_msgs::Pose {
            position: geometry_msgs::Point { x, y, z: 0.0 },
            orientation: geometry_msgs::Quaternion {
                x: 0.0,
                y: 0.0,
                z: (0.5 * yaw_rad).sin(),
                w: (0.5 * yaw_rad).cos(),
            },
        },
    };
    let Start { x_m, y_m, yaw_rad, .. } = rover.start;
    let waypoints = rover.route.iter().flat_map(|route| route.waypoints_m.iter().enumerate());
    let waypoints =
        waypoints.map(|(i, at)| place(format!("waypoint_{}", i + 1), ["waypoint", "navigation_goal"], *at, 0.0));
    std::iter::once(place("start".to_owned(), ["start", "spawn"], [x_m, y_m], yaw_rad)).chain(waypoints).collect()
}

fn on_ground(node: &Node, mut place: NamedPose) -> NamedPose {
    let at = &mut place.pose.position;
    at.z = node.world().ground_height_m(at.x, at.y).unwrap_or(0.0);
    place
}
