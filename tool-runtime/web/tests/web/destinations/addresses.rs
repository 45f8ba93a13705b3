//! The check of addresses, against the registries of IANA.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::prelude::{Strategy, any, prop_oneof};
use proptest::sample::select;
use proptest::{prop_assert, proptest};
use serde_json::json;
use tool_runtime::web::{AddressParseError, Web};

/// The registry of special-purpose IPv4 addresses: block, prefix length, globally reachable.
/// Multicast has another registry.
const IPV4: [(&str, u32, bool); 27] = [
    ("0.0.0.0", 8, false),
    ("0.0.0.0", 32, false),
    ("10.0.0.0", 8, false),
    ("100.64.0.0", 10, false),
    ("127.0.0.0", 8, false),
    ("169.254.0.0", 16, false),
    ("172.16.0.0", 12, false),
    ("192.0.0.0", 24, false),
    ("192.0.0.0", 29, false),
    ("192.0.0.8", 32, false),
    ("192.0.0.9", 32, true),
    ("192.0.0.10", 32, true),
    ("192.0.0.170", 32, false),
    ("192.0.0.171", 32, false),
    ("192.0.2.0", 24, false),
    ("192.31.196.0", 24, true),
    ("192.52.193.0", 24, true),
    ("192.88.99.0", 24, false),
    ("192.168.0.0", 16, false),
    ("192.175.48.0", 24, true),
    ("198.18.0.0", 15, false),
    ("198.51.100.0", 24, false),
    ("203.0.113.0", 24, false),
    ("224.0.0.0", 4, false),
    ("240.0.0.0", 4, false),
    ("255.255.255.255", 32, false),
    // Not in the registry: the wire server of Azure.
    ("168.63.129.16", 32, false),
];

/// The registry of special-purpose IPv6 addresses, with multicast and what is not allocated.
const IPV6: [(&str, u32, bool); 32] = [
    ("::", 0, false),
    ("2000::", 3, true),
    ("::1", 128, false),
    ("::", 128, false),
    ("::ffff:0:0", 96, false),
    ("64:ff9b::", 96, true),
    ("64:ff9b:1::", 48, false),
    ("100::", 64, false),
    ("100:0:0:1::", 64, false),
    ("2001::", 23, false),
    ("2001::", 32, false),
    ("2001:1::1", 128, true),
    ("2001:1::2", 128, true),
    ("2001:1::3", 128, true),
    ("2001:2::", 48, false),
    ("2001:3::", 32, true),
    ("2001:4:112::", 48, true),
    ("2001:10::", 28, false),
    ("2001:20::", 28, true),
    ("2001:30::", 28, true),
    ("2001:db8::", 32, false),
    ("2002::", 16, false),
    ("2620:4f:8000::", 48, true),
    ("3fff::", 20, false),
    ("5f00::", 16, false),
    ("fc00::", 7, false),
    ("fe80::", 10, false),
    ("fec0::", 10, false),
    ("ff00::", 8, false),
    ("ff0e::", 16, false),
    ("4000::", 3, false),
    ("e000::", 4, false),
];

/// Blocks that are globally reachable and refused: services of the network that no page is on, and
/// addresses that lead to an IPv4 address.
const REFUSED: [(&str, u32); 5] = [
    ("192.0.0.9", 32),
    ("192.0.0.10", 32),
    ("64:ff9b::", 96),
    ("2001::", 23),
    // Tunnels of ISATAP are in any block; the property names them.
    ("::", 128),
];

fn bits(address: IpAddr) -> (u128, u32) {
    match address {
        IpAddr::V4(address) => (u32::from(address).into(), 32),
        IpAddr::V6(address) => (address.into(), 128),
    }
}

fn is_within(address: IpAddr, block: &str, prefix_len: u32) -> bool {
    let (block, block_len) = bits(block.parse().unwrap());
    let (address, len) = bits(address);
    let shift = len - prefix_len.min(len);
    len == block_len && (shift == 128 || address >> shift == block >> shift)
}

/// Whether the most specific block of the registries is globally reachable.
fn is_global(address: IpAddr) -> bool {
    let table: &[_] = if address.is_ipv4() { &IPV4 } else { &IPV6 };
    let blocks = table.iter().filter(|(block, len, _)| is_within(address, block, *len));
    blocks.max_by_key(|(_, len, _)| *len).is_none_or(|(.., is_global)| *is_global)
}

fn is_isatap(address: IpAddr) -> bool {
    let IpAddr::V6(address) = address else { return false };
    matches!(address.segments()[4..6], [0 | 0x100 | 0x200 | 0x300, 0x5efe])
}

fn is_allowed(web: &Web, address: IpAddr) -> bool {
    let host = match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    };
    let preview = web.preview_of("http_fetch", &json!({ "url": format!("http://{host}/") }));
    preview.unwrap().starts_with("GET ")
}

/// Returns addresses at the ends of a block, beside it and within it.
fn near(table: &'static [(&'static str, u32, bool)]) -> impl Strategy<Value = IpAddr> {
    (select(table), any::<u128>(), 0..5_u8).prop_map(|((block, prefix_len, _), random, place)| {
        let (first, len) = bits(block.parse().unwrap());
        let all = u128::MAX >> (128 - len);
        let host_bits = all.checked_shr(prefix_len).unwrap_or(0);
        let number = match place {
            0 => first,
            1 => first | host_bits,
            2 => first.wrapping_sub(1) & all,
            3 => (first | host_bits).wrapping_add(1) & all,
            _ => first | (random & host_bits),
        };
        match len {
            32 => IpAddr::V4(Ipv4Addr::from(u32::try_from(number).unwrap())),
            _ => IpAddr::V6(Ipv6Addr::from(number)),
        }
    })
}

fn addresses() -> impl Strategy<Value = IpAddr> {
    prop_oneof![
        near(&IPV4),
        near(&IPV6),
        any::<u32>().prop_map(|number| IpAddr::V4(number.into())),
        any::<u128>().prop_map(|number| IpAddr::V6(number.into())),
        // In the blocks that are allocated.
        any::<u128>().prop_map(|number| IpAddr::V6((number >> 3 | 1 << 125).into())),
        (any::<u64>(), select(&[0_u16, 0x100, 0x200, 0x300, 1][..]), any::<u32>()).prop_map(
            |(prefix, flags, v4)| {
                let interface = u64::from(flags) << 48 | 0x5efe << 32 | u64::from(v4);
                IpAddr::V6((u128::from(prefix >> 3 | 1 << 61) << 64 | u128::from(interface)).into())
            }
        ),
    ]
}

proptest! {
    #[test]
    fn allowed_addresses_are_those_of_the_registries(address in addresses()) {
        let is_exception = is_isatap(address)
            || REFUSED.iter().any(|(block, len)| is_within(address, block, *len));
        let expected = is_global(address) && !is_exception;
        prop_assert!(is_allowed(&Web::new(), address) == expected, "{address}: {expected}");
    }

    #[test]
    fn network_allows_its_addresses_alone(
        address in addresses(),
        network in addresses(),
        len in 0..=128_u8,
    ) {
        let len = len % if network.is_ipv4() { 33 } else { 129 };
        let web = Web::new().allow_net(format!("{network}/{len}")).unwrap();
        let is_mapped = is_within(address.to_canonical(), &network.to_string(), len.into());
        let expected = is_allowed(&Web::new(), address)
            || is_within(address, &network.to_string(), len.into())
            || is_mapped;
        prop_assert!(is_allowed(&web, address) == expected, "{address} in {network}/{len}");
    }
}

#[test]
fn networks_are_cidrs_or_addresses() {
    for text in ["10.0.0.0/8", "10.1.2.3/8", "127.0.0.1", "::1", "fd00::/8", " 0.0.0.0/0 "] {
        assert!(Web::new().allow_net(text).is_ok(), "{text}");
    }
    for text in ["", "10.0.0.0/33", "10.0.0/8", "localhost", "fd00::/129", "10.0.0.0-10.0.0.9"] {
        let error = Web::new().allow_net(text).unwrap_err();
        assert_eq!(error, AddressParseError::Network(text.to_owned()));
    }
}
