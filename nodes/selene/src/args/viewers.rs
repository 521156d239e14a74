//! Options for viewers of a run: Foxglove and Lichtblick during the run, Rerun from a file.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use super::console::address_at;

/// Default port of Foxglove's server.
const PORT: u16 = 8765;

/// Options of a run for viewers.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ViewersArgs {
    /// Serve the topics to Foxglove and Lichtblick, without ROS [default address: 127.0.0.1:8765; port 0: any that is
    /// free]
    #[arg(long, value_name = "ADDR", num_args = 0..=1, require_equals = true, default_missing_value = "8765",
          value_parser = address)]
    pub(crate) foxglove: Option<SocketAddr>,
    /// Let pages of this site in, such as https://lichtblick.example; may be repeated
    #[arg(long, value_name = "ORIGIN", requires = "foxglove", value_parser = origin)]
    pub(crate) foxglove_origin: Vec<String>,
    /// Write images, points, frames, ground and plots to a new file for the Rerun viewer (in programs built with it)
    #[arg(long, value_name = "FILE")]
    pub(crate) rerun: Option<PathBuf>,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    address_at(text, PORT)
}

/// Parses an origin: scheme, host and optionally port, without a path.
fn origin(text: &str) -> Result<String, String> {
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let is_host = |host: &str| !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'/');
    match host {
        Some(host) if is_host(host) => Ok(text.to_owned()),
        _ => Err("must be http:// or https://, a host and no path, such as https://lichtblick.example:8080".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::{address, origin};

    #[test]
    fn an_address_has_the_port_that_foxglove_expects() {
        assert_eq!(address("0.0.0.0").map(|address| address.to_string()), Ok("0.0.0.0:8765".to_owned()));
        assert!(address("localhost").is_err_and(|reported| reported.contains("127.0.0.1:8765")));
    }

    #[test]
    fn an_origin_has_a_scheme_and_a_host_and_nothing_more() {
        for good in ["https://lichtblick.example", "http://10.0.0.7:8080"] {
            assert_eq!(origin(good).as_deref(), Ok(good));
        }
        for bad in ["", "*", "lichtblick.example", "https://", "https://a.example/", "https://a b", "ftp://a.example"] {
            assert!(origin(bad).is_err_and(|reported| reported.contains("no path")), "{bad}");
        }
    }
}
