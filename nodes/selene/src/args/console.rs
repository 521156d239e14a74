//! Arguments of the console: options of `selene run`, and the command `selene console`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use clap::Args;

use super::NetworkArgs;

/// Default port of the console.
const PORT: u16 = 8470;

pub(super) const EXAMPLES: &str = "Examples:
  selene run --console                        in the process of a run; open the address that it prints
  selene console                              beside a run that goes on, over DDS
  selene console 0.0.0.0:8470 --control       for the network, with control: see docs/console.md first

The page needs no network and no installation. It answers at this machine alone unless an address says otherwise. \
Nothing is encrypted: for other machines take a tunnel (ssh -L 8470:localhost:8470 HOST) or a closed network.";

/// Options of a run's console.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ConsoleArgs {
    /// Serve a page that shows the run in a browser [default address: 127.0.0.1:8470; port 0: any that is free]
    #[arg(long, value_name = "ADDR", num_args = 0..=1, require_equals = true, default_missing_value = "8470",
          value_parser = address)]
    pub(crate) console: Option<SocketAddr>,
    /// Allow control of the run from the page, with the token that is printed
    #[arg(long, requires = "console")]
    pub(crate) console_control: bool,
}

/// Arguments of `selene console`.
#[derive(Debug, Args)]
pub(crate) struct ConsoleCommandArgs {
    /// Where to listen: a port, an IP address, or both
    #[arg(value_name = "ADDR", default_value = "8470", value_parser = address)]
    pub(crate) address: SocketAddr,
    /// Allow control of the run, with the token that is printed
    #[arg(long)]
    pub(crate) control: bool,
    /// Full name of the node that serves simulation_interfaces and the run's parameters [default: /selene, or
    /// /selene_simulation where that one serves]
    #[arg(long, value_name = "NAME")]
    pub(crate) node: Option<String>,
    /// Rovers take cmd_vel as geometry_msgs/Twist instead of TwistStamped
    #[arg(long)]
    pub(crate) twist_unstamped: bool,
    #[command(flatten)]
    pub(crate) network: NetworkArgs,
}

/// Parses the address at which the console listens.
fn address(text: &str) -> Result<SocketAddr, String> {
    address_at(text, PORT)
}

/// Parses an address to listen at: a port on this machine, an IP address or both. `usual` is the default port.
pub(super) fn address_at(text: &str, usual: u16) -> Result<SocketAddr, String> {
    let here = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let port = text.parse().map(|port| SocketAddr::new(here, port));
    let ip = || text.parse().map(|ip| SocketAddr::new(ip, usual));
    let whole = || text.parse::<SocketAddr>();
    port.ok()
        .or_else(|| ip().ok())
        .or_else(|| whole().ok())
        .ok_or_else(|| format!("must be a port, an IP address or both, such as {usual}, 0.0.0.0 or 127.0.0.1:{usual}"))
}

#[cfg(test)]
mod tests {
    use super::address;

    #[test]
    fn an_address_is_a_port_an_ip_address_or_both() {
        for (text, expected) in [
            ("9000", "127.0.0.1:9000"),
            ("0", "127.0.0.1:0"),
            ("0.0.0.0", "0.0.0.0:8470"),
            ("10.0.0.7:80", "10.0.0.7:80"),
            ("::1", "[::1]:8470"),
            ("[::1]:9000", "[::1]:9000"),
        ] {
            assert_eq!(address(text).map(|address| address.to_string()), Ok(expected.to_owned()), "{text}");
        }
        for bad in ["", "localhost", "70000", "config/scenario/polar.yaml", "1.2.3.4:99999"] {
            assert!(address(bad).is_err_and(|reported| reported.contains("8470")), "{bad}");
        }
    }
}
