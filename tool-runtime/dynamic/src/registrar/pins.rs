//! Keeps the pinned definitions of a connection in its entry.

use std::io;
use std::sync::Arc;

use tool_core::async_trait;
use tool_mcp::{PinStore, PinnedDefinition, Pins};

use crate::catalog::{Catalog, EntryId};
use crate::secrets::KnownSecrets;

/// The pins of one version of a connection: a further version pins what its server lists then.
pub(super) struct EntryPins {
    pub(super) catalog: Catalog,
    pub(super) id: EntryId,
    pub(super) version: u64,
    /// Replaced in the definitions, which are for people: the fingerprint decides. A name is
    /// restored when it is loaded.
    pub(super) secrets: Arc<KnownSecrets>,
}

#[async_trait]
impl PinStore for EntryPins {
    async fn load(&self, _: &str) -> io::Result<Option<Pins>> {
        let entry = self.catalog.entry(&self.id).await.map_err(io::Error::other)?;
        let current = entry.filter(|entry| entry.current().number == self.version);
        let pins = current.and_then(|entry| entry.pins().cloned());
        let reveal = |(name, pin): (String, _)| (self.secrets.reveal(&name), pin);
        Ok(pins.map(|pins| pins.into_iter().map(reveal).collect()))
    }

    async fn save(&self, _: &str, pins: &Pins) -> io::Result<()> {
        let hide = |(name, pin): (&String, &PinnedDefinition)| {
            let mut pin = pin.clone();
            self.secrets.redact_value(&mut pin.definition);
            (self.secrets.hide(name), pin)
        };
        let pins: Pins = pins.iter().map(hide).collect();
        let saved = self.catalog.save_pins(&self.id, self.version, &pins).await;
        saved.map(drop).map_err(io::Error::other)
    }
}
