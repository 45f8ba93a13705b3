//! Decides which addresses may be contacted: public ones, and those that the program allows.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// Ranges of IPv4 that no public host has, with what they are for.
const REFUSED_V4: [(Ipv4Net, &str); 17] = [
    (v4(0, 0, 0, 0, 8), "an address of this host"),
    (v4(10, 0, 0, 0, 8), "a private address"),
    (v4(100, 64, 0, 0, 10), "an address behind a carrier-grade NAT"),
    (v4(127, 0, 0, 0, 8), "a loopback address"),
    // The wire server of Azure, which looks like a public host.
    (v4(168, 63, 129, 16, 32), "a metadata service"),
    (v4(169, 254, 0, 0, 16), "a link-local address"),
    (v4(172, 16, 0, 0, 12), "a private address"),
    (v4(192, 0, 0, 0, 24), "an address for protocols"),
    (v4(192, 0, 2, 0, 24), "an address for documentation"),
    (v4(192, 88, 99, 0, 24), "a relay of 6to4"),
    (v4(192, 168, 0, 0, 16), "a private address"),
    (v4(198, 18, 0, 0, 15), "an address for benchmarks"),
    (v4(198, 51, 100, 0, 24), "an address for documentation"),
    (v4(203, 0, 113, 0, 24), "an address for documentation"),
    (v4(224, 0, 0, 0, 4), "a multicast address"),
    (v4(255, 255, 255, 255, 32), "a broadcast address"),
    (v4(240, 0, 0, 0, 4), "a reserved address"),
];

/// Ranges of IPv6 outside of [`GLOBAL_V6`], by which an error names an address.
const NAMED_V6: [(Ipv6Net, &str); 12] = [
    (v6([0, 0, 0, 0, 0, 0, 0, 1], 128), "a loopback address"),
    (v6([0, 0, 0, 0, 0, 0, 0, 0], 128), "an address of this host"),
    (v6([0, 0, 0, 0, 0, 0xffff, 0, 0], 96), "a mapped IPv4 address"),
    (v6([0, 0, 0, 0, 0xffff, 0, 0, 0], 96), "a translated IPv4 address"),
    (v6([0, 0, 0, 0, 0, 0, 0, 0], 96), "a compatible IPv4 address"),
    (v6([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96), "an address of NAT64"),
    (v6([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48), "an address of NAT64"),
    (v6([0x100, 0, 0, 0, 0, 0, 0, 0], 64), "an address that discards packets"),
    (v6([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7), "a private address"),
    (v6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10), "a link-local address"),
    (v6([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10), "a site-local address"),
    (v6([0xff00, 0, 0, 0, 0, 0, 0, 0], 8), "a multicast address"),
];

/// The range of IPv6 in which public hosts are.
const GLOBAL_V6: Ipv6Net = v6([0x2000, 0, 0, 0, 0, 0, 0, 0], 3);

/// Ranges within [`GLOBAL_V6`] that no public host has, or that lead to an IPv4 address.
const REFUSED_V6: [(Ipv6Net, &str); 5] = [
    (v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 32), "an address of Teredo"),
    (v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 23), "an address for protocols"),
    (v6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32), "an address for documentation"),
    (v6([0x2002, 0, 0, 0, 0, 0, 0, 0], 16), "an address of 6to4"),
    (v6([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20), "an address for documentation"),
];

const fn v4(a: u8, b: u8, c: u8, d: u8, prefix_len: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), prefix_len)
}

const fn v6(segments: [u16; 8], prefix_len: u8) -> Ipv6Net {
    let [a, b, c, d, e, f, g, h] = segments;
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, d, e, f, g, h), prefix_len)
}

/// The addresses that may be contacted.
#[derive(Clone, Debug, Default)]
pub(crate) struct AllowedAddresses {
    /// The networks that the program allows besides public addresses.
    networks: Vec<IpNet>,
}

impl AllowedAddresses {
    pub(crate) fn add(&mut self, network: IpNet) {
        self.networks.push(network);
    }

    /// Checks an address.
    ///
    /// # Errors
    /// Returns what the address is, such as `a loopback address`, if it may not be contacted.
    pub(super) fn check(&self, address: IpAddr) -> Result<(), &'static str> {
        // A mapped address reaches the host of the IPv4 address.
        let is_allowed = |address: &IpAddr| self.networks.iter().any(|net| net.contains(address));
        if is_allowed(&address) || is_allowed(&address.to_canonical()) {
            return Ok(());
        }
        let refused = match address {
            IpAddr::V4(address) => range_of(&REFUSED_V4, |net| net.contains(&address)),
            IpAddr::V6(address) if !GLOBAL_V6.contains(&address) => {
                let name = range_of(&NAMED_V6, |net| net.contains(&address));
                Some(name.unwrap_or("a reserved address"))
            }
            IpAddr::V6(address) if is_isatap(address) => Some("an address of ISATAP"),
            IpAddr::V6(address) => range_of(&REFUSED_V6, |net| net.contains(&address)),
        };
        refused.map_or(Ok(()), Err)
    }
}

fn range_of<N>(
    ranges: &[(N, &'static str)],
    is_within: impl Fn(&N) -> bool,
) -> Option<&'static str> {
    ranges.iter().find(|(network, _)| is_within(network)).map(|(_, name)| *name)
}

/// Whether the last half of an address holds an IPv4 address, to which a tunnel leads.
fn is_isatap(address: Ipv6Addr) -> bool {
    let [.., e, f, _, _] = address.segments();
    e & !0x0300 == 0 && f == 0x5efe
}

/// Parses a network, such as `10.0.0.0/8` or `fd00::/8`, or a single address.
pub(crate) fn parse_network(text: &str) -> Option<IpNet> {
    let text = text.trim();
    IpNet::from_str(text).ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from))
}

/// The error for a text that is not the expected host or network.
///
/// ```
/// use tool_runtime::web::Web;
///
/// let error = Web::new().allow_net("10.0.0.0/99").unwrap_err();
/// assert!(error.to_string().starts_with("invalid network `10.0.0.0/99`: expected an address"));
///
/// let error = Web::new().only_hosts(["https://example.com"]).unwrap_err();
/// let start = "invalid host `https://example.com`: expected a host with or without a port";
/// assert!(error.to_string().starts_with(start), "{error}");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressParseError {
    /// The text is not a host.
    #[error(
        "invalid host `{0}`: expected a host with or without a port, such as `example.com:8443`"
    )]
    Host(String),
    /// The text is not a network.
    #[error("invalid network `{0}`: expected an address or a CIDR block, such as `10.0.0.0/8`")]
    Network(String),
}
