//! Changes are stored first, and the registry follows the catalog.

use std::fs;
use std::time::Duration;

use tool_dynamic::{
    BodyLanguage, Catalog, Connection, EntryContent, EntryId, EntryKind, EntryState,
    RegistrarError, RegistrarEvent, ToolSpec,
};
use tool_runtime::records::{CorruptRecord, Expected, FileRecords, MemoryRecords, Records};
use tool_runtime::registry::MemoryDescriptions;
use tool_runtime::registry::overrides::SharedOverrides;
use tool_runtime::{Registry, ToolKind, ToolPreference, tool, tools};

use super::fixture::{
    Folder, Templates, builder, call, memory, names, open, output, spec, start, wait_until,
};

/// Reads a file.
#[tool(effect = "read")]
async fn read() -> &'static str {
    "built in"
}

#[tokio::test]
async fn change_is_in_effect_when_it_returns() {
    let (registry, catalog) = (Registry::new(), memory());
    let registrar = start(catalog.clone(), &registry).await;
    let id = EntryId::tool("hello");

    let status = registrar.create("hello", spec("hello", "one")).await.unwrap();
    assert_eq!((status.version, status.state), (1, EntryState::Active));
    assert_eq!(status.tools, ["hello"]);
    assert_eq!(output(&registry, "hello").await, "one");
    let snapshot = registry.snapshot();
    let entry = snapshot.entry("hello").unwrap();
    assert_eq!((entry.provider(), entry.full_name()), (Some("dynamic"), "dynamic__hello"));
    assert!(entry.has_label("dynamic"));

    registrar.replace("hello", spec("hello", "two")).await.unwrap();
    assert_eq!(output(&registry, "hello").await, "two");
    assert_eq!(registry.snapshot().definition("hello").unwrap().description, "Returns two.");

    assert_eq!(registrar.roll_back(&id, 1).await.unwrap().version, 3);
    assert_eq!(output(&registry, "hello").await, "one");

    registrar.remove(&id).await.unwrap();
    assert!(names(&registry).is_empty());
    assert_eq!(registrar.status(&id), None);
    assert!(catalog.contents().await.unwrap().entries.is_empty());
}

#[tokio::test]
async fn everything_is_registered_again_at_the_next_start() {
    let folder = Folder::new();
    {
        let registry = Registry::new();
        let registrar = start(open(&folder.file()).await, &registry).await;
        registrar.create("hello", spec("hello", "one")).await.unwrap();
        registrar.create("gone", spec("gone", "one")).await.unwrap();
        registrar.create("read", ToolPreference::default().hidden()).await.unwrap();
        let description = EntryContent::Description("Reads a page.".into());
        registrar.create("read", description).await.unwrap();
        registrar.remove(&EntryId::tool("gone")).await.unwrap();
    }
    let registry = Registry::try_from(tools![read]).unwrap();
    let registrar = start(open(&folder.file()).await, &registry).await;
    // Registered before it is built.
    assert_eq!(names(&registry), ["hello", "read"]);
    let statuses = registrar.wait_until_settled(Duration::from_secs(60)).await;
    assert!(statuses.iter().all(|status| status.state.is_active()), "{statuses:?}");
    assert_eq!(output(&registry, "hello").await, "one");
    let snapshot = registry.snapshot();
    let definition = snapshot.definition("read").unwrap();
    assert!(definition.preference.hidden);
    assert_eq!(definition.description, "Reads a page.");

    registrar.remove(&EntryId::new(EntryKind::Preference, "read")).await.unwrap();
    registrar.remove(&EntryId::new(EntryKind::Description, "read")).await.unwrap();
    let snapshot = registry.snapshot();
    let definition = snapshot.definition("read").unwrap();
    assert!(!definition.preference.hidden);
    assert_eq!(definition.description, "Reads a file.");
}

#[tokio::test]
async fn preferences_and_descriptions_of_the_program_stay() {
    let descriptions = MemoryDescriptions::default();
    descriptions.set("read", "Reads by the program.");
    let registry = Registry::try_from(tools![read]).unwrap().descriptions(descriptions.clone());
    registry.prefer("read", ToolPreference::default().weight(2.0)).unwrap();
    let registrar = start(memory(), &registry).await;
    registrar.create("other", ToolPreference::default().hidden()).await.unwrap();
    registrar.create("other", EntryContent::Description("Other.".into())).await.unwrap();
    let snapshot = registry.snapshot();
    let definition = snapshot.definition("read").unwrap();
    assert_eq!(definition.description, "Reads by the program.");
    assert!(definition.preference.weight > 1.9);
}

#[tokio::test]
async fn name_of_a_tool_of_the_program_is_refused() {
    let registry = Registry::try_from(tools![read]).unwrap();
    registry.register_all_from("github", tools![read]).unwrap();
    registry.prefer("read", ToolPreference::default().disabled()).unwrap();
    let (registrar, catalog) = (start(memory(), &registry).await, memory());
    let is_taken = |error: &RegistrarError| matches!(error, RegistrarError::NameTaken { .. });
    let error = registrar.create("read", spec("read", "mine")).await.unwrap_err();
    assert!(is_taken(&error), "{error}");
    let connection = Connection::stdio("false");
    let error = registrar.create("github", connection).await.unwrap_err();
    assert!(is_taken(&error), "{error}");
    assert_eq!(catalog.contents().await.unwrap().revision, 0);
    assert!(registrar.statuses().is_empty());
}

#[tokio::test]
async fn stored_name_that_the_program_took_is_reported_and_not_registered() {
    let catalog = memory();
    catalog.create("read", spec("read", "mine")).await.unwrap();
    let registry = Registry::try_from(tools![read]).unwrap();
    let (builder, events) = builder(catalog);
    let registrar = builder.backend(Templates::default()).start(&registry).await.unwrap();
    registrar.wait_until_settled(Duration::from_secs(60)).await;
    assert_eq!(output(&registry, "read").await, "built in");
    assert_eq!(names(&registry), ["read"]);
    assert!(events.text().contains("the program has or reserves its name"), "{}", events.text());

    // The entry takes effect when the name is free.
    registry.unregister("read").unwrap();
    wait_until("the registration", || registrar.statuses()[0].state.is_active()).await;
    assert_eq!(output(&registry, "read").await, "mine");
}

#[tokio::test]
async fn tool_of_the_program_keeps_its_name_if_it_is_registered_after_the_entries() {
    let registry = Registry::new();
    let (builder, events) = builder(memory());
    let builder = builder.backend(Templates::default());
    let registrar = builder.start(&registry).await.unwrap();
    registrar.create("read", spec("read", "mine")).await.unwrap();
    registrar.create("other", spec("other", "mine")).await.unwrap();
    let is_active = || registrar.status(&EntryId::tool("read")).unwrap().state.is_active();
    for provider in [Some("files"), None] {
        assert_eq!(names(&registry), ["other", "read"]);
        match provider {
            Some(provider) => registry.register_all_from(provider, tools![read]).unwrap(),
            None => registry.register_all(tools![read]).unwrap(),
        };
        wait_until("the reaction", || !is_active()).await;
        assert_eq!(names(&registry), ["other", "read"]);
        assert_eq!(output(&registry, "read").await, "built in");
        let status = registrar.status(&EntryId::tool("read")).unwrap();
        assert!(status.tools.is_empty(), "{status:?}");
        assert!(registrar.status(&EntryId::tool("other")).unwrap().state.is_active());
        // The entry takes effect when the name is free.
        registry.unregister("read").unwrap();
        wait_until("the registration", is_active).await;
        assert_eq!(output(&registry, "read").await, "mine");
    }
    assert!(events.text().contains("the program has or reserves its name"), "{}", events.text());

    // Tools of two providers are called by their full names anyway.
    registry.register_all_from("a", tools![read]).unwrap();
    wait_until("the reaction", || !is_active()).await;
    registry.register_all_from("b", tools![read]).unwrap();
    wait_until("the registration", is_active).await;
    assert_eq!(names(&registry), ["a__read", "b__read", "dynamic__read", "other"]);
    assert_eq!(output(&registry, "dynamic__read").await, "mine");
    registrar.stop().await;
}

#[tokio::test]
async fn tool_without_a_backend_is_not_stored() {
    let registry = Registry::new();
    let registrar = start(memory(), &registry).await;
    let spec = ToolSpec::new(BodyLanguage::Rust, "add", "Adds.", "Ok(1)");
    let error = registrar.create("add", spec).await.unwrap_err();
    let expected = "tool `add`: the program has no backend for bodies in rust; add one with \
                    `RegistrarBuilder::backend`";
    assert_eq!(error.to_string(), expected);
    assert_eq!(registrar.catalog().contents().await.unwrap().revision, 0);
}

#[tokio::test]
async fn stop_removes_the_tools_of_the_catalog_alone() {
    let registry = Registry::try_from(tools![read]).unwrap();
    registry.register_all_from("p", tools![read].labeled(["dynamic"])).unwrap();
    let registrar = start(memory(), &registry).await;
    registrar.create("hello", spec("hello", "one")).await.unwrap();
    registrar.stop().await;
    assert_eq!(names(&registry), ["p__read", "read"]);
    assert_eq!(registrar.catalog().contents().await.unwrap().entries.len(), 1);
    let error = registrar.create("bye", spec("bye", "one")).await.unwrap_err();
    assert!(matches!(error, RegistrarError::Stopped), "{error}");
}

#[tokio::test]
async fn another_registrar_of_the_catalog_follows_each_change() {
    let catalog = memory();
    let (first_registry, second_registry) = (Registry::new(), Registry::new());
    let first = start(catalog.clone(), &first_registry).await;
    let (builder, events) = builder(catalog);
    let second = builder.backend(Templates::default()).start(&second_registry).await.unwrap();
    let id = EntryId::tool("hello");
    let version = |number: u64| {
        let status = second.status(&id);
        status.is_some_and(|it| it.version == number && it.state.is_active())
    };
    first.create("hello", spec("hello", "one")).await.unwrap();
    wait_until("the first version", || version(1)).await;
    assert_eq!(output(&second_registry, "hello").await, "one");
    first.replace("hello", spec("hello", "two")).await.unwrap();
    wait_until("the second version", || version(2)).await;
    assert_eq!(output(&second_registry, "hello").await, "two");
    first.remove(&id).await.unwrap();
    wait_until("the removal", || second.status(&id).is_none()).await;
    assert!(names(&second_registry).is_empty());
    let removed = RegistrarEvent::Removed { id };
    assert!(events.all().contains(&removed), "{}", events.text());
}

#[tokio::test]
async fn preference_of_the_program_returns_when_its_entry_is_removed() {
    let registry = Registry::try_from(tools![read]).unwrap();
    let current = || registry.snapshot().definition("read").unwrap().preference.clone();
    let hidden = ToolPreference::default().hidden();
    registry.set_preferences([("read".to_owned(), hidden.clone())].into()).unwrap();
    let registrar = start(memory(), &registry).await;
    let id = EntryId::new(EntryKind::Preference, "read");
    registrar.create("read", ToolPreference::default()).await.unwrap();
    registrar.replace("read", ToolPreference::default().always()).await.unwrap();
    assert_eq!(current(), ToolPreference::default().always());
    registrar.remove(&id).await.unwrap();
    assert_eq!(current(), hidden);

    // What the program sets while there is an entry takes effect when the entry is removed.
    registrar.create("read", ToolPreference::default()).await.unwrap();
    let changed = ToolPreference::default().always();
    registry.set_preferences([("read".to_owned(), changed.clone())].into()).unwrap();
    assert_eq!(current(), ToolPreference::default());
    registrar.remove(&id).await.unwrap();
    assert_eq!(current(), changed);
}

#[tokio::test]
async fn administrator_takes_precedence_over_the_catalog_in_any_order() {
    for is_first in [true, false] {
        let overrides = SharedOverrides::open(MemoryRecords::new()).await.unwrap();
        let mut registry = Registry::try_from(tools![read]).unwrap();
        if is_first {
            registry = overrides.apply(registry);
        }
        let registrar = start(memory(), &registry).await;
        if !is_first {
            registry = overrides.apply(registry);
        }
        registrar.create("read", EntryContent::Description("Catalog.".into())).await.unwrap();
        registrar.create("read", ToolPreference::default().hidden()).await.unwrap();
        let current = || {
            let snapshot = registry.snapshot();
            let definition = snapshot.definition("read").unwrap();
            (definition.description.clone(), definition.preference.hidden)
        };
        assert_eq!(current(), ("Catalog.".to_owned(), true));
        overrides.set_description("read", Some("Administrator.")).await.unwrap();
        overrides.set_preference("read", Some(&ToolPreference::default())).await.unwrap();
        assert_eq!(current(), ("Administrator.".to_owned(), false));
        // A change of the catalog displaces nothing.
        registrar.replace("read", EntryContent::Description("Catalog 2.".into())).await.unwrap();
        assert_eq!(current(), ("Administrator.".to_owned(), false));
        overrides.set_description("read", None).await.unwrap();
        overrides.set_preference("read", None).await.unwrap();
        assert_eq!(current(), ("Catalog 2.".to_owned(), true));
        registrar.stop().await;
    }
}

#[tokio::test]
async fn record_that_is_damaged_after_it_was_applied_is_reported_and_stays_in_effect() {
    let folder = Folder::new();
    let catalog = Catalog::new(FileRecords::open(folder.path()).await.unwrap());
    let registry = Registry::try_from(tools![read]).unwrap();
    let (builder, events) = builder(catalog.clone());
    let registrar = builder.start(&registry).await.unwrap();
    registrar.create("read", EntryContent::Description("Catalog.".into())).await.unwrap();
    wait_until("the first list", || registrar.statuses().len() == 1).await;
    // Edited by hand, without another revision.
    let file = folder.path().join("catalog.jsonl");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace(r#"\"Catalog.\""#, "Catalog.")).unwrap();
    catalog.create("other", ToolPreference::default()).await.unwrap();
    wait_until("the report", || registrar.corrupt_records().len() == 1).await;
    assert!(events.text().contains("RecordCorrupt"), "{}", events.text());
    assert_eq!(registry.snapshot().definition("read").unwrap().description, "Catalog.");
    registrar.stop().await;
}

#[tokio::test]
async fn each_record_that_becomes_unreadable_is_reported_once() {
    const CORRUPT: [&str; 4] = ["connection/b", "preference/c", "tool/a", "x/d"];
    let store = MemoryRecords::new();
    let catalog = Catalog::new(store.clone());
    catalog.create("first", EntryContent::Description("First.".into())).await.unwrap();
    for key in CORRUPT {
        store.save("catalog", key, Expected::Absent, "{}", None).await.unwrap();
    }
    let registry = Registry::try_from(tools![read]).unwrap();
    let (builder, events) = builder(catalog.clone());
    let registrar = builder.start(&registry).await.unwrap();
    let keys = |records: Vec<CorruptRecord>| -> Vec<_> {
        records.into_iter().map(|record| record.key).collect()
    };
    let reported = || {
        let corrupt = events.all().into_iter().filter_map(|event| match event {
            RegistrarEvent::RecordCorrupt(record) => Some(record),
            _ => None,
        });
        keys(corrupt.collect())
    };
    assert_eq!(keys(registrar.corrupt_records()), CORRUPT);
    assert_eq!(reported(), CORRUPT);
    catalog.create("read", EntryContent::Description("Read.".into())).await.unwrap();
    let is_applied = || registry.snapshot().definition("read").unwrap().description == "Read.";
    wait_until("the next list", is_applied).await;
    assert_eq!(reported(), CORRUPT);
    registrar.stop().await;
}

#[tokio::test]
async fn reserved_name_has_no_tool_and_no_connection() {
    let catalog = memory();
    // Stored by a program that does not reserve the name.
    catalog.create("git_commit", spec("git_commit", "1")).await.unwrap();
    let registry = Registry::new();
    let (builder, events) = builder(catalog);
    let builder = builder.backend(Templates::default()).reserve(["git", "git_commit", "git_push"]);
    let registrar = builder.start(&registry).await.unwrap();
    let statuses = registrar.wait_until_settled(Duration::from_secs(10)).await;
    assert!(!statuses[0].state.is_active(), "{statuses:?}");
    let refused = registrar.create("git_push", spec("git_push", "1")).await.unwrap_err();
    assert!(matches!(refused, RegistrarError::NameTaken { .. }), "{refused}");
    let refused = registrar.create("git", Connection::stdio("git-server")).await.unwrap_err();
    assert!(matches!(refused, RegistrarError::NameTaken { .. }), "{refused}");
    assert!(names(&registry).is_empty(), "{:?}", names(&registry));
    assert!(events.text().contains("the program has or reserves its name"), "{}", events.text());
    registrar.stop().await;
}

#[tokio::test]
async fn longest_duration_of_each_setting_is_no_limit() {
    let registry = Registry::new();
    let (builder, _) = builder(memory());
    let builder = builder.backend(Templates::default()).attempt_timeout(Duration::MAX);
    let builder = builder.retry_delays(Duration::from_millis(1), Duration::MAX);
    let registrar = builder.start(&registry).await.unwrap();
    registrar.create("hello", spec("hello", "one")).await.unwrap();
    let statuses = registrar.wait_until_settled(Duration::MAX).await;
    assert!(statuses[0].state.is_active(), "{statuses:?}");
    let execution = call(&registry, "hello").await;
    let language = spec("hello", "one").language.to_string();
    assert_eq!(execution.tool_kind, Some(ToolKind::Dynamic(language)));
    registrar.stop().await;
}
