//! Remaps names by `--ros-args -r`: the node's own name, and names of its topics and services on the wire and in bags.
//! Between the nodes of one process, names stay unchanged.
//!
//! A namespace (`__ns`) applies to the node and to names relative to it, those of rovers. Names of the world
//! (docs/topics.md) keep theirs, and so do topics that only Selene's nodes use, so that they find each other. Rules
//! apply after the namespace; the first that matches counts. The node's own services follow its name.

use std::sync::Arc;

use selene_ros::qos::checked_name;
use selene_ros::transport::{Caller, Outlet, RequestSink, Sink, Subscription, Transport, TransportError};
use selene_ros::{ServiceName, Topic};

/// Topics of the world, to which no namespace applies.
const OF_THE_WORLD: [&str; 6] = ["/clock", "/tf", "/tf_static", "/diagnostics", "/rosout", "/parameter_events"];
/// Prefix of topics that only Selene's nodes use.
const INTERNAL: &str = "/selene/";
/// Part of the names of an action's topics and services.
const OF_AN_ACTION: &str = "/_action/";

/// The name and namespace of a node, and the remapping rules.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Names {
    /// The node's name before remapping.
    default: String,
    name: String,
    /// Empty, or such as `/moon`.
    namespace: String,
    /// Full names, before and after remapping.
    rules: Vec<(String, String)>,
}

impl Names {
    /// The names of node `name` without namespace and rules.
    pub(crate) fn plain(name: &str) -> Self {
        Self { default: name.to_owned(), name: name.to_owned(), namespace: String::new(), rules: Vec::new() }
    }

    /// The node's name without its namespace.
    #[cfg(all(feature = "dds", not(feature = "r2r")))]
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The node's name before remapping.
    #[cfg(feature = "r2r")]
    pub(crate) fn default_name(&self) -> &str {
        &self.default
    }

    /// The same names without rules for topics and services.
    #[cfg(feature = "r2r")]
    pub(crate) fn without_rules(&self) -> Self {
        Self { rules: Vec::new(), ..self.clone() }
    }

    /// The namespace: `/`, or such as `/moon`.
    #[cfg(all(feature = "dds", not(feature = "r2r")))]
    pub(crate) fn namespace(&self) -> &str {
        if self.namespace.is_empty() { "/" } else { &self.namespace }
    }

    /// The node's full name, such as `/moon/selene`.
    pub(crate) fn full(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    /// The node's name in the log, such as `moon.selene`.
    pub(crate) fn logger(&self) -> String {
        self.full().trim_start_matches('/').replace('/', ".")
    }

    /// Sets the node's name.
    pub(crate) fn rename(&mut self, name: &str) -> Result<(), String> {
        checked_name(format!("/{name}")).map_err(|error| error.to_string())?;
        if name.contains('/') {
            return Err(format!("{name:?} must be a name without slashes; __ns sets the namespace"));
        }
        name.clone_into(&mut self.name);
        Ok(())
    }

    /// Sets the node's namespace.
    pub(crate) fn move_to(&mut self, namespace: &str) -> Result<(), String> {
        self.namespace = match namespace {
            "/" => String::new(),
            namespace => checked_name(namespace.to_owned()).map_err(|error| error.to_string())?,
        };
        Ok(())
    }

    /// Adds a rule. Both names may be absolute, relative to the namespace, or relative to the node (`~/`).
    pub(crate) fn map(&mut self, from: &str, to: &str) -> Result<(), String> {
        let full = |name: &str| checked_name(self.expanded(name)).map_err(|error| error.to_string());
        let rule = (full(from)?, full(to)?);
        self.rules.push(rule);
        Ok(())
    }

    /// Whether the node's full name matches `pattern`, in which `*` matches one part and `**` any number of parts.
    pub(crate) fn is_meant(&self, pattern: &str) -> bool {
        let full = self.full();
        let (pattern, name): (Vec<&str>, Vec<&str>) = (pattern.split('/').collect(), full.split('/').collect());
        fits(&pattern, &name)
    }

    fn expanded(&self, name: &str) -> String {
        match name.strip_prefix("~/") {
            Some(own) => format!("{}/{own}", self.full()),
            None if name.starts_with('/') => name.to_owned(),
            None => format!("{}/{name}", self.namespace),
        }
    }

    fn topic(&self, name: &str) -> String {
        if name.contains(OF_AN_ACTION) {
            return self.service(name);
        }
        let is_fixed = OF_THE_WORLD.contains(&name) || name.starts_with(INTERNAL);
        self.mapped(if is_fixed { name.to_owned() } else { format!("{}{name}", self.namespace) })
    }

    fn service(&self, name: &str) -> String {
        let full = self.full();
        let below = |node: &str| name.strip_prefix(node)?.strip_prefix('/');
        let own = below(&full).or_else(|| below(&format!("/{}", self.default)));
        self.mapped(own.map_or_else(|| format!("{}{name}", self.namespace), |own| format!("{full}/{own}")))
    }

    fn mapped(&self, name: String) -> String {
        self.rules.iter().find(|(from, _)| *from == name).map_or(name, |(_, to)| to.clone())
    }

    fn changes_nothing(&self) -> bool {
        *self == Self::plain(&self.default)
    }
}

/// Whether the parts of a name match those of a pattern.
fn fits(pattern: &[&str], name: &[&str]) -> bool {
    match (pattern, name) {
        ([], []) => true,
        (["**", rest @ ..], []) => fits(rest, name),
        (["**", rest @ ..], [_, names @ ..]) => fits(rest, name) || fits(pattern, names),
        ([part, rest @ ..], [first, names @ ..]) => (*part == "*" || part == first) && fits(rest, names),
        _ => false,
    }
}

/// A transport whose topics and services have other names.
pub(crate) struct Remap {
    inner: Arc<dyn Transport>,
    names: Names,
}

impl Remap {
    /// `inner` with the remapped names of a node.
    pub(crate) fn over(inner: Arc<dyn Transport>, names: &Names) -> Arc<dyn Transport> {
        if names.changes_nothing() { inner } else { Arc::new(Self { inner, names: names.clone() }) }
    }

    fn topic(&self, topic: &Topic) -> Topic {
        Topic { name: self.names.topic(&topic.name), ..topic.clone() }
    }

    fn service(&self, service: &ServiceName) -> ServiceName {
        ServiceName { name: self.names.service(&service.name), ..service.clone() }
    }
}

impl Transport for Remap {
    /// Returns the inner transport's own outlet: only the name changes.
    fn advertise(&self, topic: &Topic) -> Result<Box<dyn Outlet>, TransportError> {
        self.inner.advertise(&self.topic(topic))
    }

    fn subscribe(&self, topic: &Topic, sink: Sink) -> Result<Subscription, TransportError> {
        self.inner.subscribe(&self.topic(topic), sink)
    }

    fn publishers_of(&self, name: &str) -> Option<usize> {
        self.inner.publishers_of(&self.names.topic(name))
    }

    fn serve(&self, service: &ServiceName, sink: RequestSink) -> Result<Subscription, TransportError> {
        self.inner.serve(&self.service(service), sink)
    }

    fn client(&self, service: &ServiceName) -> Result<Box<dyn Caller>, TransportError> {
        self.inner.client(&self.service(service))
    }
}

#[cfg(test)]
mod tests;
