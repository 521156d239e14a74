//! Worlds and places of them. A world is a site; a run has one from its start to its end, since all that is there,
//! also in other processes, is made for its ground.

use selene_ros::geometry_msgs;
use selene_ros::simulation_interfaces::srv::{
    GetAvailableWorldsRequest, GetAvailableWorldsResponse, GetCurrentWorldRequest, GetCurrentWorldResponse,
    GetNamedPoseBoundsRequest, GetNamedPoseBoundsResponse, GetNamedPosesRequest, GetNamedPosesResponse,
    LoadWorldRequest, LoadWorldResponse, UnloadWorldRequest, UnloadWorldResponse,
};
use selene_ros::simulation_interfaces::{NamedPose, Resource, Result as ResultCode, WorldResource};
use selene_sim::{RoverSetup, Start};
use selene_terrain::{ElevationSpec, SiteSpec};

use super::catalogue::{sites, sites_in};
use super::filter::{check_tags, tags_match};
use super::resource::{find, to_uri};
use super::response::{Response, failed, ok, result, unsupported};
use crate::node::Node;

/// Places that are named at most: the ground of each is looked up.
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
    let mut worlds: Vec<_> = found.iter().map(|(file, site)| world(site, &to_uri(file))).collect();
    worlds.retain(|world| tags_match(&request.filter, &world.tags));
    GetAvailableWorldsResponse { result: result(ResultCode::RESULT_OK, what), worlds }
}

pub(super) fn current(node: &Node, _: &GetCurrentWorldRequest) -> GetCurrentWorldResponse {
    let scenario = node.world().scenario();
    let file = scenario.site_file();
    let uri = to_uri(&file.canonicalize().unwrap_or_else(|_| file.to_owned()));
    let mut world = world(&scenario.site, &uri);
    world.description = format!("scenario {}; {}", scenario.name, world.description);
    GetCurrentWorldResponse { result: ok(), world }
}

pub(super) fn load(_: &Node, _: &LoadWorldRequest) -> LoadWorldResponse {
    let what = "a run has one world from its start to its end; start another run with a scenario of that site";
    Response::of(unsupported(what))
}

pub(super) fn unload(_: &Node, _: &UnloadWorldRequest) -> UnloadWorldResponse {
    Response::of(unsupported("a run has one world from its start to its end; set the state to quitting to end it"))
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

fn world(site: &SiteSpec, uri: &str) -> WorldResource {
    let origin = match &site.elevation {
        ElevationSpec::Procedural(_) => "procedural",
        ElevationSpec::Raster(_) | ElevationSpec::File(_) => "measured",
    };
    let SiteSpec { latitude_deg, longitude_deg, .. } = site;
    WorldResource {
        name: site.name.clone(),
        world_resource: Resource { uri: uri.to_owned(), ..Resource::default() },
        description: format!("latitude {latitude_deg}°, longitude {longitude_deg}°, {:.0} m across", site.side_m()),
        tags: vec!["moon".to_owned(), origin.to_owned()],
    }
}

/// Where a rover of the scenario starts, and its waypoints; heights are not known yet.
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
