//! The sender of a request over HTTP, by its connection.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use axum::extract::ConnectInfo;
use axum::http::request::Parts;

/// The sender of a request without an authenticator: its connection and its address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Peer {
    pub(crate) connection: SocketAddr,
    /// The address. Of an IPv6 address, the network, all of which one client can use.
    pub(crate) address: IpAddr,
}

impl Peer {
    /// Returns the sender of a request, if the service knows it.
    pub(crate) fn of(parts: &Parts) -> Option<Self> {
        let ConnectInfo(connection) = *parts.extensions.get::<ConnectInfo<SocketAddr>>()?;
        let address = match connection.ip().to_canonical() {
            IpAddr::V6(address) => {
                IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64)))
            }
            v4 @ IpAddr::V4(_) => v4,
        };
        Some(Self { connection, address })
    }
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    fn peer(address: &str) -> Peer {
        let (mut parts, ()) = Request::new(()).into_parts();
        parts.extensions.insert(ConnectInfo::<SocketAddr>(address.parse().unwrap()));
        Peer::of(&parts).unwrap()
    }

    #[test]
    fn addresses_of_one_client_are_one() {
        for (first, second, is_same) in [
            ("192.0.2.1:1", "192.0.2.1:2", true),
            ("192.0.2.1:1", "192.0.2.2:1", false),
            ("[::ffff:192.0.2.1]:1", "192.0.2.1:1", true),
            ("[2001:db8::1]:1", "[2001:db8::ffff:2]:1", true),
            ("[2001:db8::1]:1", "[2001:db8:0:1::1]:1", false),
        ] {
            assert_eq!(peer(first).address == peer(second).address, is_same, "{first} {second}");
        }
    }
}
