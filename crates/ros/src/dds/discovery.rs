//! Peer discovery: how far a participant looks for peers, through which network interfaces, and which further hosts it
//! contacts. The environment variables are ROS 2's, with the same meaning as in rcl ("Improved Dynamic Discovery",
//! docs.ros.org):
//!
//! - `ROS_LOCALHOST_ONLY=1` limits discovery to this machine and overrides the other two.
//! - `ROS_AUTOMATIC_DISCOVERY_RANGE`: `SUBNET` (the default), `LOCALHOST`, `OFF`, or `SYSTEM_DEFAULT`, which leaves the
//!   choice to the middleware: RustDDS then looks as with `SUBNET` and contacts no static peers.
//! - `ROS_STATIC_PEERS`: addresses or names of hosts, separated by semicolons; ignored with `OFF`.
//!
//! One thing differs: an invalid value is refused, while rcl warns and uses another one.

use std::net::{IpAddr, Ipv4Addr, ToSocketAddrs};

const LOCALHOST_ONLY: &str = "ROS_LOCALHOST_ONLY";
const RANGE: &str = "ROS_AUTOMATIC_DISCOVERY_RANGE";
const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// How far a participant looks for peers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Range {
    /// As far as multicast reaches.
    #[default]
    Subnet,
    /// Within this machine.
    Localhost,
    /// Nowhere: no peer is found, not even on this machine.
    Off,
}

/// The peers that a participant looks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Discovery {
    /// Addresses of the only network interfaces to use; `None` uses all.
    pub only_networks: Option<Vec<IpAddr>>,
    /// Hosts to contact wherever they are.
    pub static_peers: Vec<IpAddr>,
    /// How far to look for other peers.
    pub range: Range,
}

/// The requested discovery: values of environment variables, and options, which override them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiscoveryOptions {
    /// Value of `ROS_LOCALHOST_ONLY`.
    pub localhost_only: Option<String>,
    /// Value of `ROS_AUTOMATIC_DISCOVERY_RANGE`.
    pub range: Option<String>,
    /// Value of `ROS_STATIC_PEERS`.
    pub static_peers: Option<String>,
    /// Option that limits discovery to this machine, whatever the variables say.
    pub on_this_machine: bool,
    /// Option that gives the only network interface, by its name or one of its IPv4 addresses.
    pub interface: Option<String>,
}

/// A requested discovery that is impossible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiscoveryError {
    /// A variable has an invalid value.
    #[error("{name}={value}: must be {allowed}")]
    Variable {
        /// The variable's name.
        name: &'static str,
        /// Its value.
        value: String,
        /// The values that are allowed.
        allowed: &'static str,
    },
    /// There is no such network interface.
    #[error("network interface {requested}: this machine has none of this name or IPv4 address; it has {known}")]
    NoInterface {
        /// The requested name or address.
        requested: String,
        /// The interfaces of this machine.
        known: String,
    },
    /// The environment limits discovery to this machine, and the requested interface leads out of it.
    #[error("network interface {0}: the environment keeps to this machine (ROS_LOCALHOST_ONLY or LOCALHOST)")]
    Outside(String),
    /// A host name has no IPv4 address.
    #[error("ROS_STATIC_PEERS: {peer}: {why}; must be IPv4 addresses or names of hosts, separated by semicolons")]
    Peer {
        /// The host's name.
        peer: String,
        /// The reason.
        why: String,
    },
}

/// A network interface by its name, and one of its addresses.
type Address = (String, Ipv4Addr);

impl Discovery {
    /// The requested discovery, on the network interfaces of this machine.
    ///
    /// # Errors
    /// When a variable has an invalid value, or there is no such interface or host.
    pub fn new(requested: &DiscoveryOptions) -> Result<Self, DiscoveryError> {
        Self::on(requested, &addresses())
    }

    fn on(requested: &DiscoveryOptions, addresses: &[Address]) -> Result<Self, DiscoveryError> {
        if requested.on_this_machine {
            return Ok(Self::on_this_machine());
        }
        let interface = requested.interface.as_deref().map(|requested| interface(requested, addresses)).transpose()?;
        let (range, calls_peers) = match is_on(requested.localhost_only.as_deref())? {
            true => (Range::Localhost, false),
            false => range(requested.range.as_deref())?,
        };
        let static_peers = requested.static_peers.as_deref().filter(|_| calls_peers).unwrap_or_default();
        let static_peers = hosts(static_peers)?;
        let only_networks = match (range, interface) {
            (Range::Localhost, Some(found)) if found.iter().any(|address| !address.is_loopback()) => {
                return Err(DiscoveryError::Outside(requested.interface.clone().unwrap_or_default()));
            }
            (_, Some(found)) => Some(found),
            // Static peers on other machines must be able to answer.
            (Range::Localhost, None) if static_peers.is_empty() => Some(vec![LOOPBACK]),
            (_, None) => None,
        };
        Ok(Self { only_networks, static_peers, range })
    }

    fn on_this_machine() -> Self {
        Self { only_networks: Some(vec![LOOPBACK]), static_peers: Vec::new(), range: Range::Localhost }
    }
}

fn is_on(value: Option<&str>) -> Result<bool, DiscoveryError> {
    match value {
        None | Some("" | "0") => Ok(false),
        Some("1") => Ok(true),
        Some(other) => {
            Err(DiscoveryError::Variable { name: LOCALHOST_ONLY, value: other.to_owned(), allowed: "0 or 1" })
        }
    }
}

/// The range, and whether static peers are contacted.
fn range(value: Option<&str>) -> Result<(Range, bool), DiscoveryError> {
    match value {
        None | Some("" | "SUBNET") => Ok((Range::Subnet, true)),
        Some("SYSTEM_DEFAULT") => Ok((Range::Subnet, false)),
        Some("LOCALHOST") => Ok((Range::Localhost, true)),
        Some("OFF") => Ok((Range::Off, false)),
        Some(other) => Err(DiscoveryError::Variable {
            name: RANGE,
            value: other.to_owned(),
            allowed: "SUBNET, LOCALHOST, OFF or SYSTEM_DEFAULT",
        }),
    }
}

/// The addresses of the interface with this name, or the single address requested.
fn interface(requested: &str, addresses: &[Address]) -> Result<Vec<IpAddr>, DiscoveryError> {
    let is_requested = |(name, address): &&Address| name == requested || requested.parse::<Ipv4Addr>() == Ok(*address);
    let found: Vec<IpAddr> = addresses.iter().filter(is_requested).map(|(_, address)| (*address).into()).collect();
    if found.is_empty() {
        let known: Vec<_> = addresses.iter().map(|(name, address)| format!("{name} ({address})")).collect();
        return Err(DiscoveryError::NoInterface { requested: requested.to_owned(), known: known.join(", ") });
    }
    Ok(found)
}

/// The IPv4 addresses of this machine; RustDDS uses no others.
fn addresses() -> Vec<Address> {
    let of = |interface: netdev::Interface| {
        let addresses = interface.ipv4_addrs();
        addresses.into_iter().map(move |address| (interface.name.clone(), address))
    };
    netdev::get_interfaces().into_iter().flat_map(of).collect()
}

fn hosts(list: &str) -> Result<Vec<IpAddr>, DiscoveryError> {
    let mut found = Vec::new();
    for peer in list.split(';').map(str::trim).filter(|peer| !peer.is_empty()) {
        let failed = |why: String| DiscoveryError::Peer { peer: peer.to_owned(), why };
        let addresses = (peer, 0).to_socket_addrs().map_err(|error| failed(error.to_string()))?;
        let address = addresses.map(|address| address.ip()).find(IpAddr::is_ipv4);
        found.push(address.ok_or_else(|| failed("it has no IPv4 address".to_owned()))?);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::{Address, Discovery, DiscoveryOptions, LOOPBACK, Range};
    use std::net::{IpAddr, Ipv4Addr};

    const ROBOT: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 7);

    fn addresses() -> [Address; 3] {
        [
            ("lo".to_owned(), Ipv4Addr::LOCALHOST),
            ("eth0".to_owned(), ROBOT),
            ("wlan0".to_owned(), Ipv4Addr::new(192, 168, 1, 7)),
        ]
    }

    fn requested(localhost_only: &str, range: &str, static_peers: &str) -> DiscoveryOptions {
        let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        DiscoveryOptions {
            localhost_only: text(localhost_only),
            range: text(range),
            static_peers: text(static_peers),
            ..DiscoveryOptions::default()
        }
    }

    fn through(interface: &str, requested: DiscoveryOptions) -> DiscoveryOptions {
        DiscoveryOptions { interface: Some(interface.to_owned()), ..requested }
    }

    fn found(requested: &DiscoveryOptions) -> Discovery {
        Discovery::on(requested, &addresses()).unwrap_or_else(|error| panic!("{requested:?}: {error}"))
    }

    fn refused(requested: &DiscoveryOptions) -> String {
        Discovery::on(requested, &addresses()).expect_err("must be refused").to_string()
    }

    #[test]
    fn the_environment_means_what_it_means_to_rcl() {
        assert_eq!(found(&requested("", "", "")), Discovery::default());
        assert_eq!(found(&requested("0", "SUBNET", "")).range, Range::Subnet);
        let here = Discovery { only_networks: Some(vec![LOOPBACK]), static_peers: vec![], range: Range::Localhost };
        assert_eq!(found(&requested("", "LOCALHOST", "")), here);
        assert_eq!(found(&requested("1", "SUBNET", "10.0.0.9")), here, "it goes before the newer variables");
        assert_eq!(found(&requested("1", "OFF", "")), here);
        assert_eq!(found(&requested("", "OFF", "10.0.0.9")), Discovery { range: Range::Off, ..Discovery::default() });
        assert_eq!(found(&requested("", "SYSTEM_DEFAULT", "10.0.0.9")), Discovery::default());
    }

    #[test]
    fn static_peers_are_a_list_and_may_answer_from_elsewhere() {
        let peers: Vec<IpAddr> = vec![Ipv4Addr::new(10, 0, 0, 9).into(), LOOPBACK];
        for range in [Range::Subnet, Range::Localhost] {
            let name = if range == Range::Subnet { "SUBNET" } else { "LOCALHOST" };
            let discovery = found(&requested("", name, " 10.0.0.9 ;127.0.0.1;"));
            assert_eq!(discovery, Discovery { only_networks: None, static_peers: peers.clone(), range });
        }
        let reported = refused(&requested("", "", "10.0.0.9;::1"));
        assert!(reported.contains("ROS_STATIC_PEERS: ::1: it has no IPv4 address"), "{reported}");
    }

    #[test]
    fn an_interface_goes_by_its_name_or_address() {
        for interface in ["eth0", "10.0.0.7"] {
            let discovery = found(&through(interface, DiscoveryOptions::default()));
            assert_eq!(discovery.only_networks, Some(vec![ROBOT.into()]));
        }
        assert_eq!(found(&through("lo", requested("1", "", ""))).only_networks, Some(vec![LOOPBACK]));
        let option = DiscoveryOptions { on_this_machine: true, ..requested("", "OFF", "") };
        assert_eq!(found(&option).range, Range::Localhost, "an option goes before the environment");
        assert!(refused(&through("eth0", requested("", "LOCALHOST", ""))).contains("keeps to this machine"));
        let reported = refused(&through("eth7", DiscoveryOptions::default()));
        assert!(reported.contains("eth7") && reported.contains("lo (127.0.0.1), eth0 (10.0.0.7)"), "{reported}");
    }

    #[test]
    fn values_that_are_none_are_refused_with_those_that_are() {
        assert_eq!(refused(&requested("yes", "", "")), "ROS_LOCALHOST_ONLY=yes: must be 0 or 1");
        let reported = refused(&requested("", "localhost", ""));
        assert!(reported.contains("ROS_AUTOMATIC_DISCOVERY_RANGE=localhost: must be SUBNET, LOCALHOST"), "{reported}");
    }

    #[test]
    fn this_machine_has_an_address_of_its_own() {
        let here = DiscoveryOptions { interface: Some("127.0.0.1".to_owned()), ..DiscoveryOptions::default() };
        assert_eq!(Discovery::new(&here).unwrap().only_networks, Some(vec![LOOPBACK]));
    }
}
