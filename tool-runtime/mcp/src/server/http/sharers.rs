//! The parties that share the limits of a server: principals, or else addresses and connections.

use super::super::connection::peer::Peer;

/// The parties that share limits with a request, each with a part of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Sharers(Vec<(String, Part)>);

/// The part of a limit.
#[derive(Clone, Copy, Debug)]
enum Part {
    /// The part that one principal or address can take.
    Whole,
    /// The part that one connection of an address can take.
    Half,
}

impl Sharers {
    /// Returns the principal, or else the address and the connection.
    pub(super) fn of(principal: Option<&str>, peer: Option<&Peer>) -> Self {
        Self(match (principal, peer) {
            (Some(principal), _) => vec![(format!("principal {principal}"), Part::Whole)],
            (None, Some(Peer { connection, address })) => vec![
                (format!("address {address}"), Part::Whole),
                (format!("connection {connection}"), Part::Half),
            ],
            (None, None) => Vec::new(),
        })
    }

    /// Returns each of them with its part of a limit.
    pub(super) fn limits(&self, limit: usize) -> impl Iterator<Item = (&str, usize)> {
        self.0.iter().map(move |(name, part)| {
            let limit = match part {
                Part::Whole => limit,
                Part::Half => limit.div_ceil(2),
            };
            (name.as_str(), limit)
        })
    }

    pub(super) fn into_names(self) -> Vec<String> {
        self.0.into_iter().map(|(name, _)| name).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use super::*;

    #[test]
    fn connection_has_half_of_its_address() {
        let connection: SocketAddr = "192.0.2.1:7".parse().unwrap();
        let peer = Peer { connection, address: connection.ip() };
        let of = |principal| {
            let sharers = Sharers::of(principal, Some(&peer));
            sharers.limits(9).map(|(name, limit)| format!("{name}: {limit}")).collect::<Vec<_>>()
        };
        assert_eq!(of(Some("ada")), ["principal ada: 9"]);
        assert_eq!(of(None), ["address 192.0.2.1: 9", "connection 192.0.2.1:7: 5"]);
    }
}
