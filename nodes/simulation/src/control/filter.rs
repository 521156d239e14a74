//! Filters of entity queries: an entity matches if its name, category, tags and place all match.

use std::collections::BTreeSet;

use nalgebra::Vector3;
use regex_lite::{Regex, RegexBuilder};
use selene_coherence::from_vector;
use selene_ros::simulation_interfaces::Result as ResultCode;
use selene_ros::simulation_interfaces::{Bounds as BoundsMessage, EntityFilters, TagsFilter};
use selene_sim::Entity;
use selene_vehicle::Bounds;

use super::entities::info_with;
use super::response::{failed, unsupported};
use crate::node::Node;

/// Maximum length of a regular expression, bytes.
const PATTERN_MAX: usize = 256;
/// Maximum size of a compiled expression, bytes. It bounds the time for each name, which is proportional to it.
const PATTERN_BYTES_MAX: usize = 32 << 10;
/// Maximum nesting depth of an expression.
const PATTERN_NEST_MAX: u32 = 20;
/// Maximum number of tags, and of categories, of one query.
const WORDS_MAX: usize = 64;

/// A parsed filter.
pub(super) struct Filter {
    name: Option<Regex>,
    categories: Vec<u8>,
    tags: TagsFilter,
    area: Option<Area>,
}

/// A region in the map frame.
enum Area {
    Ball { middle_m: Vector3<f64>, radius_m: f64 },
    Box(Bounds),
}

impl Filter {
    /// Parses a filter.
    ///
    /// # Errors
    /// When a part of it is unsupported or invalid.
    pub(super) fn new(filters: &EntityFilters) -> Result<Self, ResultCode> {
        let EntityFilters { filter, categories, tags, bounds } = filters;
        check_tags(tags)?;
        if categories.len() > WORDS_MAX {
            return Err(failed(format!("{} categories; at most {WORDS_MAX} are allowed", categories.len())));
        }
        Ok(Self {
            name: if filter.is_empty() { None } else { Some(expression(filter)?) },
            categories: categories.iter().map(|of| of.category).collect(),
            tags: tags.clone(),
            area: area(bounds)?,
        })
    }

    /// Names of the matching entities, in the world's order.
    pub(super) fn matching(&self, node: &Node) -> Vec<(String, Entity)> {
        let added: BTreeSet<_> = node.world().state().spawned.iter().map(|known| known.entity).collect();
        let mut entities = node.world().entities();
        entities.retain(|(name, entity)| {
            self.name.as_ref().is_none_or(|expression| expression.is_match(name))
                && self.has_kind(node, *entity, added.contains(entity))
                && self.area.as_ref().is_none_or(|area| area.has(node, *entity))
        });
        entities
    }

    fn has_kind(&self, node: &Node, entity: Entity, was_added: bool) -> bool {
        if self.categories.is_empty() && self.tags.tags.is_empty() {
            return true;
        }
        let info = info_with(node, entity, was_added);
        let is_of_category = self.categories.is_empty() || self.categories.contains(&info.category.category);
        is_of_category && tags_match(&self.tags, &info.tags)
    }
}

impl Area {
    /// Whether an entity is in the region, judged by its bounding box along the axes of the map.
    fn has(&self, node: &Node, entity: Entity) -> bool {
        let world = node.world();
        let Some(pose) = world.pose(entity) else { return false };
        let own = world.bounds(entity).unwrap_or_else(|| Bounds::of_half_edges(Vector3::zeros()));
        let bounds = own.seen_from(&pose);
        match self {
            Self::Ball { middle_m, radius_m } => bounds.meets_ball(middle_m, *radius_m),
            Self::Box(area) => bounds.meets(area),
        }
    }
}

/// Refuses a tag filter that has too many tags or an unknown mode.
pub(super) fn check_tags(filter: &TagsFilter) -> Result<(), ResultCode> {
    if filter.tags.len() > WORDS_MAX {
        return Err(failed(format!("{} tags; at most {WORDS_MAX} are allowed", filter.tags.len())));
    }
    match filter.filter_mode {
        TagsFilter::FILTER_MODE_ANY | TagsFilter::FILTER_MODE_ALL => Ok(()),
        other => Err(unsupported(format!("filter_mode {other} is not known: 0 (any) and 1 (all) are allowed"))),
    }
}

/// Whether an entity with these tags passes the filter.
pub(super) fn tags_match(filter: &TagsFilter, tags: &[String]) -> bool {
    let has = |tag: &String| tags.contains(tag);
    match filter.filter_mode {
        _ if filter.tags.is_empty() => true,
        TagsFilter::FILTER_MODE_ALL => filter.tags.iter().all(has),
        _ => filter.tags.iter().any(has),
    }
}

fn expression(text: &str) -> Result<Regex, ResultCode> {
    if text.len() > PATTERN_MAX {
        return Err(failed(format!("the filter has {} letters; at most {PATTERN_MAX} are allowed", text.len())));
    }
    let built = RegexBuilder::new(text).size_limit(PATTERN_BYTES_MAX).nest_limit(PATTERN_NEST_MAX).build();
    built.map_err(|error| failed(format!("filter '{text}' is no regular expression: {error}")))
}

fn area(bounds: &BoundsMessage) -> Result<Option<Area>, ResultCode> {
    let points: Vec<_> = bounds.points.iter().take(3).map(from_vector).collect();
    if !points.iter().flat_map(|point| point.iter()).all(|m| m.is_finite()) {
        return Err(failed("bounds must be finite"));
    }
    match (bounds.r#type, &points[..]) {
        (BoundsMessage::TYPE_EMPTY, _) => Ok(None),
        (BoundsMessage::TYPE_BOX, [upper, lower]) => {
            let area = Bounds { low_m: upper.inf(lower), high_m: upper.sup(lower) };
            Ok(Some(Area::Box(area)))
        }
        (BoundsMessage::TYPE_SPHERE, [middle, size]) if size.x >= 0.0 => {
            Ok(Some(Area::Ball { middle_m: *middle, radius_m: size.x }))
        }
        (BoundsMessage::TYPE_BOX, _) => Err(failed("a box has two points, its upper right and its lower left corner")),
        (BoundsMessage::TYPE_SPHERE, _) => Err(failed("a sphere has two points, its centre and (radius, 0, 0)")),
        (BoundsMessage::TYPE_CONVEX_HULL, _) => Err(unsupported("bounds are a box or a sphere, not a convex hull")),
        (other, _) => Err(unsupported(format!("bounds of type {other} are not known"))),
    }
}

#[cfg(test)]
mod tests {
    use super::{Area, BoundsMessage, TagsFilter, area, check_tags, expression, tags_match};
    use selene_ros::geometry_msgs::Vector3;
    use selene_ros::simulation_interfaces::Result as ResultCode;

    #[test]
    fn expressions_of_posix_are_understood_and_greedy_ones_refused() {
        let is_match = |text: &str, name: &str| expression(text).expect("good").is_match(name);
        assert!(is_match("^rock_[[:digit:]]+$", "rock_17") && !is_match("^rock_[[:digit:]]+$", "rock_x"));
        assert!(is_match("viper|sorato", "my_sorato") && is_match("a{2,3}", "baab") && !is_match("^ob", "job"));
        for bad in ["(", "a{99999}", "((((((((((((((((((((((((a))))))))))))))))))))))))", &"x".repeat(300), "[z-a]"] {
            assert!(expression(bad).is_err(), "{bad}");
        }
        assert!(expression(r"(\w{50}){50}").is_err(), "it would take megabytes");
    }

    #[test]
    fn tags_match_by_any_or_by_all() {
        let tags = |tags: &[&str]| tags.iter().map(|&tag| tag.to_owned()).collect::<Vec<_>>();
        let filter = |filter_mode, of: &[&str]| TagsFilter { tags: tags(of), filter_mode };
        let own = tags(&["rover", "scenario"]);
        assert!(tags_match(&filter(0, &["rock", "rover"]), &own) && !tags_match(&filter(1, &["rock", "rover"]), &own));
        assert!(tags_match(&filter(1, &[]), &own) && tags_match(&filter(1, &["rover", "scenario"]), &own));
        assert!(check_tags(&filter(2, &[])).is_err() && check_tags(&filter(0, &["x"; 65])).is_err());
    }

    #[test]
    fn bounds_are_a_box_or_a_ball() {
        let point = |x: f64| Vector3 { x, y: 1.0, z: 1.0 };
        let bounds =
            |r#type: u8, points: &[f64]| BoundsMessage { r#type, points: points.iter().map(|x| point(*x)).collect() };
        assert!(matches!(area(&bounds(0, &[])), Ok(None)));
        assert!(
            matches!(area(&bounds(1, &[2.0, -2.0])), Ok(Some(Area::Box(of))) if of.low_m.x == -2.0 && of.high_m.x == 2.0)
        );
        assert!(matches!(area(&bounds(3, &[2.0, 5.0])), Ok(Some(Area::Ball { radius_m, .. })) if radius_m == 5.0));
        let code = |r#type: u8, points: &[f64]| area(&bounds(r#type, points)).map(drop).expect_err("no area").result;
        for bad in [&[1.0][..], &[1.0, 2.0, 3.0], &[1.0, f64::NAN]] {
            assert_eq!(code(1, bad), ResultCode::RESULT_OPERATION_FAILED, "{bad:?}");
        }
        assert_eq!(code(3, &[0.0, -1.0]), ResultCode::RESULT_OPERATION_FAILED);
        assert_eq!([code(2, &[1.0, 2.0, 3.0]), code(9, &[])], [ResultCode::RESULT_FEATURE_UNSUPPORTED; 2]);
    }
}
