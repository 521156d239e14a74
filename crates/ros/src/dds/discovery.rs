//! Which peers a participant looks for: how far, through which network interfaces, and which hosts beside those. The
//! variables are ROS 2's and mean what they mean to rcl ("Improved Dynamic Discovery", docs.ros.org):
//!
//! - `ROS_LOCALHOST_ONLY=1` keeps to this machine and goes before the other two.
//! - `ROS_AUTOMATIC_DISCOVERY_RANGE`: `SUBNET` (where it is not set), `LOCALHOST`, `OFF`, or `SYSTEM_DEFAULT`, which
//!   leaves the middleware as it is: RustDDS then looks as with `SUBNET` and calls no static peers.
//! - `ROS_STATIC_PEERS`: addresses or names of hosts, separated by semicolons; nobody is called with `OFF`.
//!
//! One thing differs: a value that is none of these is refused, while rcl warns and takes it for another one.

use std::net::{IpAddr, Ipv4Addr, ToSocketAddrs};

const LOCALHOST_ONLY: &str = "ROS_LOCALHOST_ONLY";
const RANGE: &str = "ROS_AUTOMATIC_DISCOVERY_RANGE";
const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// How far peers are looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Range {
    /// As far as multicast reaches.
    #[default]
    Subnet,
    /// In this machine.
    Localhost,
    /// Nowhere: nobody is found, not even in this machine.
    Off,
}

/// Which peers a participant looks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Discovery {
    /// Addresses of the only network interfaces that are used; where none is named all are.
    pub only_networks: Option<Vec<IpAddr>>,
    /// Hosts that are called wherever they are.
    pub static_peers: Vec<IpAddr>,
    /// How far others are looked for.
    pub range: Range,
}

/// What is asked for: variables of the environment as they are, and options, which go before them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AskedDiscovery {
    /// `ROS_LOCALHOST_ONLY`.
    pub localhost_only: Option<String>,
    /// `ROS_AUTOMATIC_DISCOVERY_RANGE`.
    pub range: Option<String>,
    /// `ROS_STATIC_PEERS`.
    pub static_peers: Option<String>,
    /// An option that keeps to this machine, whatever the variables say.
    pub on_this_machine: bool,
    /// An option that names the only network interface, or one of its IPv4 addresses.
    pub interface: Option<String>,
}

/// A question for peers that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiscoveryError {
    /// A variable has a value that is none.
    #[error("{name}={value}: must be {allowed}")]
    Variable {
        /// The variable.
        name: &'static str,
        /// Its value.
        value: String,
        /// What is allowed.
        allowed: &'static str,
    },
    /// There is no such network interface.
    #[error("network interface {asked}: this machine has none of this name or IPv4 address; it has {known}")]
    NoInterface {
        /// Its name or address.
        asked: String,
        /// Those that there are.
        known: String,
    },
    /// The environment keeps to this machine, and an interface leads out of it.
    #[error("network interface {0}: the environment keeps to this machine (ROS_LOCALHOST_ONLY or LOCALHOST)")]
    Outside(String),
    /// A host has no address.
    #[error("ROS_STATIC_PEERS: {peer}: {why}; must be IPv4 addresses or names of hosts, separated by semicolons")]
    Peer {
        /// The host.
        peer: String,
        /// Why.
        why: String,
    },
}

/// A network interface by its name, and one of its addresses.
type Address = (String, Ipv4Addr);

impl Discovery {
    /// What was asked for, on the network interfaces of this machine.
    ///
    /// # Errors
    /// When a variable has a value that is none, or there is no such interface or host.
    pub fn new(asked: &AskedDiscovery) -> Result<Self, DiscoveryError> {
        Self::on(asked, &addresses())
    }

    fn on(asked: &AskedDiscovery, addresses: &[Address]) -> Result<Self, DiscoveryError> {
        if asked.on_this_machine {
            return Ok(Self::on_this_machine());
        }
        let interface = asked.interface.as_deref().map(|asked| interface(asked, addresses)).transpose()?;
        let (range, calls_peers) = match is_on(asked.localhost_only.as_deref())? {
            true => (Range::Localhost, false),
            false => range(asked.range.as_deref())?,
        };
        let static_peers = asked.static_peers.as_deref().filter(|_| calls_peers).unwrap_or_default();
        let static_peers = hosts(static_peers)?;
        let only_networks = match (range, interface) {
            (Range::Localhost, Some(found)) if found.iter().any(|address| !address.is_loopback()) => {
                return Err(DiscoveryError::Outside(asked.interface.clone().unwrap_or_default()));
            }
            (_, Some(found)) => Some(found),
            // Peers elsewhere must be able to answer.
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

/// How far, and whether static peers are called.
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

/// The addresses of the interface that is asked for by its name, or the one asked for.
fn interface(asked: &str, addresses: &[Address]) -> Result<Vec<IpAddr>, DiscoveryError> {
    let is_asked = |(name, address): &&Address| name == asked || asked.parse::<Ipv4Addr>() == Ok(*address);
    let found: Vec<IpAddr> = addresses.iter().filter(is_asked).map(|(_, address)| (*address).into()).collect();
    if found.is_empty() {
        let known: Vec<_> = addresses.iter().map(|(name, address)| format!("{name} ({address})")).collect();
        return Err(DiscoveryError::NoInterface { asked: asked.to_owned(), known: known.join(", ") });
    }
    Ok(found)
}

/// IPv4 addresses of this machine: RustDDS sends over no others.
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
    use super::{Address, AskedDiscovery, Discovery, LOOPBACK, Range};
    use std::net::{IpAddr, Ipv4Addr};

    const ROBOT: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 7);

    fn addresses() -> [Address; 3] {
        [
            ("lo".to_owned(), Ipv4Addr::LOCALHOST),
            ("eth0".to_owned(), ROBOT),
            ("wlan0".to_owned(), Ipv4Addr::new(192, 168, 1, 7)),
        ]
    }

    fn asked(localhost_only: &str, range: &str, static_peers: &str) -> AskedDiscovery {
        let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        AskedDiscovery {
            localhost_only: text(localhost_only),
            range: text(range),
            static_peers: text(static_peers),
            ..AskedDiscovery::default()
        }
    }

    fn through(interface: &str, asked: AskedDiscovery) -> AskedDiscovery {
        AskedDiscovery { interface: Some(interface.to_owned()), ..asked }
    }

    fn found(asked: &AskedDiscovery) -> Discovery {
        Discovery::on(asked, &addresses()).unwrap_or_else(|error| panic!("{asked:?}: {error}"))
    }

    fn refused(asked: &AskedDiscovery) -> String {
        Discovery::on(asked, &addresses()).expect_err("must be refused").to_string()
    }

    #[test]
    fn the_environment_means_what_it_means_to_rcl() {
        assert_eq!(found(&asked("", "", "")), Discovery::default());
        assert_eq!(found(&asked("0", "SUBNET", "")).range, Range::Subnet);
        let here = Discovery { only_networks: Some(vec![LOOPBACK]), static_peers: vec![], range: Range::Localhost };
        assert_eq!(found(&asked("", "LOCALHOST", "")), here);
        assert_eq!(found(&asked("1", "SUBNET", "10.0.0.9")), here, "it goes before the newer variables");
        assert_eq!(found(&asked("1", "OFF", "")), here);
        assert_eq!(found(&asked("", "OFF", "10.0.0.9")), Discovery { range: Range::Off, ..Discovery::default() });
        assert_eq!(found(&asked("", "SYSTEM_DEFAULT", "10.0.0.9")), Discovery::default());
    }

    #[test]
    fn static_peers_are_a_list_and_may_answer_from_elsewhere() {
        let peers: Vec<IpAddr> = vec![Ipv4Addr::new(10, 0, 0, 9).into(), LOOPBACK];
        for range in [Range::Subnet, Range::Localhost] {
            let name = if range == Range::Subnet { "SUBNET" } else { "LOCALHOST" };
            let discovery = found(&asked("", name, " 10.0.0.9 ;127.0.0.1;"));
            assert_eq!(discovery, Discovery { only_networks: None, static_peers: peers.clone(), range });
        }
        let told = refused(&asked("", "", "10.0.0.9;::1"));
        assert!(told.contains("ROS_STATIC_PEERS: ::1: it has no IPv4 address"), "{told}");
    }

    #[test]
    fn an_interface_goes_by_its_name_or_address() {
        for interface in ["eth0", "10.0.0.7"] {
            let discovery = found(&through(interface, AskedDiscovery::default()));
            assert_eq!(discovery.only_networks, Some(vec![ROBOT.into()]));
        }
        assert_eq!(found(&through("lo", asked("1", "", ""))).only_networks, Some(vec![LOOPBACK]));
        let option = AskedDiscovery { on_this_machine: true, ..asked("", "OFF", "") };
        assert_eq!(found(&option).range, Range::Localhost, "an option goes before the environment");
        assert!(refused(&through("eth0", asked("", "LOCALHOST", ""))).contains("keeps to this machine"));
        let told = refused(&through("eth7", AskedDiscovery::default()));
        assert!(told.contains("eth7") && told.contains("lo (127.0.0.1), eth0 (10.0.0.7)"), "{told}");
    }

    #[test]
    fn values_that_are_none_are_refused_with_those_that_are() {
        assert_eq!(refused(&asked("yes", "", "")), "ROS_LOCALHOST_ONLY=yes: must be 0 or 1");
        let told = refused(&asked("", "localhost", ""));
        assert!(told.contains("ROS_AUTOMATIC_DISCOVERY_RANGE=localhost: must be SUBNET, LOCALHOST"), "{told}");
    }

    #[test]
    fn this_machine_has_an_address_of_its_own() {
        let here = AskedDiscovery { interface: Some("127.0.0.1".to_owned()), ..AskedDiscovery::default() };
        assert_eq!(Discovery::new(&here).unwrap().only_networks, Some(vec![LOOPBACK]));
    }
}
