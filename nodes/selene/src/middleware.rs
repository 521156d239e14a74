//! The connection to other ROS 2 nodes: Selene's own DDS or, in programs built with the feature `r2r`, the ROS 2 that
//! is installed on the machine.

use std::net::IpAddr;
use std::sync::Arc;

#[cfg(all(feature = "dds", not(feature = "r2r")))]
use selene_ros::dds::{Dds, DdsOptions, Discovery, DiscoveryOptions, Range, ServiceMapping};
use selene_ros::transport::Transport;

use crate::args::NetworkArgs;
use crate::fault::Fault;
use crate::places;
use crate::remap::Names;
#[cfg(any(feature = "dds", feature = "r2r"))]
use crate::remap::Remap;

/// The ROS domain and the settings of discovery, from options and environment.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    domain_id: u16,
    #[cfg(all(feature = "dds", not(feature = "r2r")))]
    discovery: Discovery,
}

impl Network {
    pub(crate) fn domain_id(&self) -> u16 {
        self.domain_id
    }

    /// Joins the domain as node `names`. Fails if discovery is off.
    pub(crate) fn join(&self, names: &Names) -> Result<Arc<dyn Transport>, Fault> {
        let off = || Fault::input("ROS_AUTOMATIC_DISCOVERY_RANGE=OFF: nodes find each other over DDS; use LOCALHOST");
        self.open(names)?.ok_or_else(off)
    }
}

#[cfg(all(feature = "dds", not(feature = "r2r")))]
impl Network {
    /// Reads options and environment.
    pub(crate) fn requested(args: &NetworkArgs) -> Result<Self, Fault> {
        let variable = |name: &str| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
        let requested = DiscoveryOptions {
            localhost_only: variable("ROS_LOCALHOST_ONLY"),
            range: variable("ROS_AUTOMATIC_DISCOVERY_RANGE"),
            static_peers: variable("ROS_STATIC_PEERS"),
            on_this_machine: args.localhost_only,
            interface: args.interface.clone(),
        };
        let discovery = Discovery::new(&requested).map_err(Fault::input)?;
        check_rmw(&variable("RMW_IMPLEMENTATION").unwrap_or_default()).map_err(Fault::input)?;
        Ok(Self { domain_id: places::domain_id()?, discovery })
    }

    /// Joins the domain as node `names`, with its topics and services remapped by them; `None` if discovery is off.
    pub(crate) fn open(&self, names: &Names) -> Result<Option<Arc<dyn Transport>>, Fault> {
        if self.discovery.range == Range::Off {
            return Ok(None);
        }
        let options = DdsOptions {
            domain_id: self.domain_id,
            node_name: names.name().to_owned(),
            namespace: names.namespace().to_owned(),
            discovery: self.discovery.clone(),
            service_mapping: ServiceMapping::default(),
        };
        Ok(Some(Remap::over(Arc::new(Dds::open(options).map_err(Fault::input)?), names)))
    }

    /// The address at which other processes may connect to this one; `None` if they may at any.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        self.discovery.only_networks.as_ref()?.first().copied()
    }
}

/// Refuses a middleware (RMW_IMPLEMENTATION) whose nodes would not be connected with Selene's.
#[cfg(all(feature = "dds", not(feature = "r2r")))]
fn check_rmw(rmw: &str) -> Result<(), String> {
    match rmw {
        "" | "rmw_fastrtps_cpp" | "rmw_fastrtps_dynamic_cpp" | "rmw_cyclonedds_cpp" => Ok(()),
        "rmw_zenoh_cpp" => Err(format!(
            "RMW_IMPLEMENTATION={rmw}: Selene uses DDS, which nodes on Zenoh do not receive: build it with the feature \
             r2r, or set rmw_fastrtps_cpp or rmw_cyclonedds_cpp for all nodes (docs/ros2.md); without the network, run \
             with --no-dds"
        )),
        _ => Err(format!(
            "RMW_IMPLEMENTATION={rmw}: must be rmw_fastrtps_cpp, rmw_fastrtps_dynamic_cpp or rmw_cyclonedds_cpp, whose \
             services are understood, or unset; without the network, run with --no-dds"
        )),
    }
}

/// With `r2r`, the installed ROS 2 reads domain and discovery from the environment itself.
#[cfg(feature = "r2r")]
impl Network {
    /// Reads the environment; refuses options that the installed ROS 2 does not support.
    pub(crate) fn requested(args: &NetworkArgs) -> Result<Self, Fault> {
        if args.localhost_only || args.interface.is_some() {
            let what = "--localhost-only, --interface: this program uses the machine's own ROS 2, which takes \
                        ROS_AUTOMATIC_DISCOVERY_RANGE and its middleware's own settings";
            return Err(Fault::input(what));
        }
        Ok(Self { domain_id: places::domain_id()? })
    }

    /// Joins the domain as node `names`. The installed ROS 2 reads the command line too: it renames the node and
    /// applies the remapping rules itself, but does not put absolute names into a namespace.
    pub(crate) fn open(&self, names: &Names) -> Result<Option<Arc<dyn Transport>>, Fault> {
        let node = selene_ros::r2r::R2r::open(names.default_name(), "").map_err(Fault::input)?;
        Ok(Some(Remap::over(Arc::new(node), &names.without_rules())))
    }

    /// `None`: other processes may connect at any address.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        None
    }
}

/// Without DDS and ROS 2 there is no network.
#[cfg(not(any(feature = "dds", feature = "r2r")))]
impl Network {
    /// Reads the environment; refuses options of the network.
    pub(crate) fn requested(args: &NetworkArgs) -> Result<Self, Fault> {
        if args.localhost_only || args.interface.is_some() {
            return Err(Fault::input("--localhost-only, --interface: this program was built without DDS"));
        }
        Ok(Self { domain_id: places::domain_id()? })
    }

    /// Fails: there is no network to join.
    pub(crate) fn open(&self, _names: &Names) -> Result<Option<Arc<dyn Transport>>, Fault> {
        Err(Fault::input("this program was built without DDS and without ROS 2: run it with --no-dds"))
    }

    /// `None`: there is no network.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        None
    }
}

#[cfg(all(test, feature = "dds", not(feature = "r2r")))]
mod tests {
    use super::check_rmw;

    #[test]
    fn a_middleware_that_is_not_supported_is_refused_in_one_line_with_what_to_do() {
        for rmw in ["", "rmw_fastrtps_cpp", "rmw_fastrtps_dynamic_cpp", "rmw_cyclonedds_cpp"] {
            assert_eq!(check_rmw(rmw), Ok(()));
        }
        for (rmw, parts) in [
            ("rmw_zenoh_cpp", ["uses DDS", "rmw_cyclonedds_cpp", "r2r"]),
            ("rmw_connextdds", ["rmw_fastrtps_cpp", "rmw_cyclonedds_cpp", "--no-dds"]),
        ] {
            let reported = check_rmw(rmw).expect_err("refused");
            assert!(parts.iter().all(|part| reported.contains(part)) && !reported.contains('\n'), "{reported}");
        }
    }
}
