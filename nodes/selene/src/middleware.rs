//! How the process reaches other ROS 2 nodes: DDS of its own, or, where the
//! program was built with the feature `r2r`, the machine's own ROS 2.

use std::net::IpAddr;
use std::sync::Arc;

#[cfg(all(feature = "dds", not(feature = "r2r")))]
use selene_ros::dds::{AskedDiscovery, Dds, DdsOptions, Discovery, Range, ServiceMapping};
use selene_ros::transport::Transport;

use crate::args::NetworkArgs;
use crate::fault::Fault;
use crate::places;
use crate::remap::Names;
#[cfg(any(feature = "dds", feature = "r2r"))]
use crate::remap::Remap;

/// The ROS domain, and who is looked for there: as options and environment say.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    domain_id: u16,
    #[cfg(all(feature = "dds", not(feature = "r2r")))]
    discovery: Discovery,
    #[cfg(all(feature = "dds", not(feature = "r2r")))]
    service_mapping: ServiceMapping,
}

impl Network {
    pub(crate) fn domain_id(&self) -> u16 {
        self.domain_id
    }

    /// Joins the domain as the node `names`; refused where nobody may be discovered.
    pub(crate) fn join(&self, names: &Names) -> Result<Arc<dyn Transport>, Fault> {
        let off = || Fault::input("ROS_AUTOMATIC_DISCOVERY_RANGE=OFF: nodes find each other over DDS; use LOCALHOST");
        self.open(names)?.ok_or_else(off)
    }
}

#[cfg(all(feature = "dds", not(feature = "r2r")))]
impl Network {
    /// Reads options and environment.
    pub(crate) fn asked(args: &NetworkArgs) -> Result<Self, Fault> {
        let variable = |name: &str| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
        let asked = AskedDiscovery {
            localhost_only: variable("ROS_LOCALHOST_ONLY"),
            range: variable("ROS_AUTOMATIC_DISCOVERY_RANGE"),
            static_peers: variable("ROS_STATIC_PEERS"),
            on_this_machine: args.localhost_only,
            interface: args.interface.clone(),
        };
        let discovery = Discovery::new(&asked).map_err(Fault::input)?;
        Ok(Self { domain_id: places::domain_id()?, discovery, service_mapping: service_mapping()? })
    }

    /// Joins the domain as the node `names`, under them; none where nobody may be discovered.
    pub(crate) fn open(&self, names: &Names) -> Result<Option<Arc<dyn Transport>>, Fault> {
        if self.discovery.range == Range::Off {
            return Ok(None);
        }
        let options = DdsOptions {
            domain_id: self.domain_id,
            node_name: names.name().to_owned(),
            namespace: names.namespace().to_owned(),
            discovery: self.discovery.clone(),
            service_mapping: self.service_mapping,
        };
        Ok(Some(Remap::over(Arc::new(Dds::open(options).map_err(Fault::input)?), names)))
    }

    /// The only address at which others may call this process, if they may not at every one.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        self.discovery.only_networks.as_ref()?.first().copied()
    }
}

/// How services travel: as the middleware does that the user's own nodes are set to.
#[cfg(all(feature = "dds", not(feature = "r2r")))]
fn service_mapping() -> Result<ServiceMapping, Fault> {
    let name = std::env::var_os("RMW_IMPLEMENTATION").unwrap_or_default();
    mapping_of(&name.to_string_lossy()).map_err(Fault::input)
}

#[cfg(all(feature = "dds", not(feature = "r2r")))]
fn mapping_of(rmw: &str) -> Result<ServiceMapping, String> {
    match rmw {
        "" | "rmw_fastrtps_cpp" | "rmw_fastrtps_dynamic_cpp" => Ok(ServiceMapping::Enhanced),
        "rmw_cyclonedds_cpp" => Ok(ServiceMapping::Cyclone),
        "rmw_zenoh_cpp" => Err(format!(
            "RMW_IMPLEMENTATION={rmw}: Selene speaks DDS, which nodes on Zenoh do not hear: build it with the feature \
             r2r, or set rmw_fastrtps_cpp or rmw_cyclonedds_cpp for all nodes (docs/ros2.md); without the network, run \
             with --no-dds"
        )),
        _ => Err(format!(
            "RMW_IMPLEMENTATION={rmw}: must be rmw_fastrtps_cpp, rmw_fastrtps_dynamic_cpp or rmw_cyclonedds_cpp, whose \
             services are understood, or unset; without the network, run with --no-dds"
        )),
    }
}

/// The machine's ROS 2 reads domain and discovery from the environment itself.
#[cfg(feature = "r2r")]
impl Network {
    /// Reads the environment; refuses options that the machine's ROS 2 does not have.
    pub(crate) fn asked(args: &NetworkArgs) -> Result<Self, Fault> {
        if args.localhost_only || args.interface.is_some() {
            let what = "--localhost-only, --interface: this program speaks by the machine's own ROS 2, which takes \
                        ROS_AUTOMATIC_DISCOVERY_RANGE and its middleware's own settings";
            return Err(Fault::input(what));
        }
        Ok(Self { domain_id: places::domain_id()? })
    }

    /// Joins the domain as the node `names`. The machine's ROS 2 reads the command line too: it renames the node and
    /// what the rules name by itself, but puts no name that is full into a namespace.
    pub(crate) fn open(&self, names: &Names) -> Result<Option<Arc<dyn Transport>>, Fault> {
        let node = selene_ros::r2r::R2r::open(names.default_name(), "").map_err(Fault::input)?;
        Ok(Some(Remap::over(Arc::new(node), &names.without_rules())))
    }

    /// The only address at which others may call this process: there is no such limit.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        None
    }
}

/// There is nothing to join with.
#[cfg(not(any(feature = "dds", feature = "r2r")))]
impl Network {
    /// Reads the environment; refuses options of a network that is not there.
    pub(crate) fn asked(args: &NetworkArgs) -> Result<Self, Fault> {
        if args.localhost_only || args.interface.is_some() {
            return Err(Fault::input("--localhost-only, --interface: this program was built without DDS"));
        }
        Ok(Self { domain_id: places::domain_id()? })
    }

    /// Refuses.
    pub(crate) fn open(&self, _names: &Names) -> Result<Option<Arc<dyn Transport>>, Fault> {
        Err(Fault::input("this program was built without DDS and without ROS 2: run it with --no-dds"))
    }

    /// None.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        None
    }
}

#[cfg(all(test, feature = "dds", not(feature = "r2r")))]
mod tests {
    use super::{ServiceMapping, mapping_of};

    #[test]
    fn a_middleware_that_is_not_spoken_is_refused_in_one_line_with_what_to_do() {
        assert!(matches!(mapping_of(""), Ok(ServiceMapping::Enhanced)));
        assert!(matches!(mapping_of("rmw_cyclonedds_cpp"), Ok(ServiceMapping::Cyclone)));
        for (rmw, parts) in [
            ("rmw_zenoh_cpp", ["speaks DDS", "rmw_cyclonedds_cpp", "r2r"]),
            ("rmw_connextdds", ["rmw_fastrtps_cpp", "rmw_cyclonedds_cpp", "--no-dds"]),
        ] {
            let told = mapping_of(rmw).expect_err("refused");
            assert!(parts.iter().all(|part| told.contains(part)) && !told.contains('\n'), "{told}");
        }
    }
}
