//! Keeps the pinned definitions of servers in the catalog.

use std::io;
use std::sync::Arc;

use tool_core::async_trait;
use tool_mcp::{PinStore, PinnedDefinition, Pins};

use crate::catalog::Catalog;
use crate::secrets::KnownSecrets;

/// The pins of the server of a connection, whatever the names of its entries.
pub(super) struct CatalogPins {
    pub(super) catalog: Catalog,
    /// Replaced in the definitions, which are for people: the fingerprint decides. A name is
    /// restored when it is loaded.
    pub(super) secrets: Arc<KnownSecrets>,
}

#[async_trait]
impl PinStore for CatalogPins {
    async fn load(&self, server: &str) -> io::Result<Option<Pins>> {
        let pins = self.catalog.pins(server).await.map_err(io::Error::other)?;
        let reveal = |(name, pin): (String, _)| (self.secrets.reveal(&name), pin);
        Ok(pins.map(|pins| pins.into_iter().map(reveal).collect()))
    }

    async fn save(&self, server: &str, pins: &Pins) -> io::Result<()> {
        let hide = |(name, pin): (&String, &PinnedDefinition)| {
            let mut pin = pin.clone();
            self.secrets.redact_value(&mut pin.definition);
            (self.secrets.hide(name), pin)
        };
        let pins: Pins = pins.iter().map(hide).collect();
        self.catalog.save_pins(server, &pins).await.map_err(io::Error::other)
    }
}
