//! Keeps the pinned definitions of servers in the catalog. They belong to a server and not to an
//! entry: a model can remove a connection and add the same server under another name.

use std::io;
use std::sync::Arc;

use tool_core::async_trait;
use tool_mcp::{PinStore, PinnedDefinition, Pins, RecordPins};

use crate::catalog::{Catalog, CatalogError};
use crate::secrets::KnownSecrets;

/// The pins of the server of a connection, whatever the names of its entries.
pub(super) struct CatalogPins {
    pub(super) pins: RecordPins,
    /// Replaced in the definitions, which are for people: the fingerprint decides. A name is
    /// restored when it is loaded.
    pub(super) secrets: Arc<KnownSecrets>,
}

#[async_trait]
impl PinStore for CatalogPins {
    async fn load(&self, server: &str) -> io::Result<Option<Pins>> {
        let pins = self.pins.load(server).await?;
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
        match self.pins.load(server).await? {
            Some(stored) if stored == pins => return Ok(()),
            Some(_) => {}
            None => {
                let count = self.pins.count().await.map_err(io::Error::other)?;
                if count >= Catalog::MAX_ENTRIES {
                    let full = CatalogError::Full { count, max_entries: Catalog::MAX_ENTRIES };
                    return Err(io::Error::other(full));
                }
            }
        }
        self.pins.save(server, &pins).await
    }
}
