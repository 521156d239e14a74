//! The address at which other machines reach this one.

use std::net::{IpAddr, Ipv4Addr, UdpSocket};

/// Where DDS looks for participants: the address of its discovery on IPv4 and the port of domain 0.
const DISCOVERY: (Ipv4Addr, u16) = (Ipv4Addr::new(239, 255, 0, 1), 7400);

/// This machine's address on the route to other ROS 2 machines; `None` without a network.
#[must_use]
pub fn own_address() -> Option<IpAddr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    // For a datagram socket, `connect` sends nothing and only chooses the route.
    socket.connect(DISCOVERY).ok()?;
    socket.local_addr().ok().map(|address| address.ip())
}
