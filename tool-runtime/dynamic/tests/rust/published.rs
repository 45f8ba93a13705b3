//! A tool that is built from the published crates. `.ci/steps/full/published` packages and unpacks
//! them.

use std::path::{Path, PathBuf};
use std::{env, fs};

use serde_json::json;
use tool_dynamic::{RustTools, ToolBackend as _};

use super::fixture::{folder, spec, text};

#[tokio::test]
#[ignore = "compiles everything, which takes minutes: `.ci/steps/full/published` runs it"]
async fn tool_is_built_from_published_crates() {
    let published = PathBuf::from(env::var("PUBLISHED_CRATES").unwrap());
    // The files that a build writes are part of the package.
    let this_crate = published.join(format!("tool-dynamic-{}", env!("CARGO_PKG_VERSION")));
    for file in ["lib.rs", "Cargo.lock", "build-code.txt"] {
        let read = |folder: &Path| fs::read_to_string(folder.join("support").join(file)).unwrap();
        assert_eq!(read(&this_crate), read(Path::new(env!("CARGO_MANIFEST_DIR"))), "{file}");
    }
    let builds = folder().with_extension("published");
    let _ = fs::remove_dir_all(&builds);
    let tools = RustTools::new(&builds).sources(&published);
    let tool = tools.build(&spec("published", "Ok(42)").check().unwrap()).await.unwrap();
    assert_eq!(text(&tool, json!({})).await, "42");
    fs::remove_dir_all(builds).unwrap();
}
