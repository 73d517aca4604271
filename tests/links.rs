//! The links of the documents lead somewhere.

use std::path::Path;

#[test]
fn relative_links_of_the_documents_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut documents: Vec<_> =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "datasets/README.md"]
            .map(|name| root.join(name))
            .into();
    let pages = ["docs", "docs/how-to", "docs/reference", "docs/explanation"]
        .map(|folder| std::fs::read_dir(root.join(folder)).expect("docs exists"));
    documents.extend(
        pages
            .into_iter()
            .flatten()
            .map(|entry| entry.expect("a page").path())
            .filter(|path| path.extension() == Some("md".as_ref())),
    );
    let mut links = 0;
    for document in documents {
        let text = std::fs::read_to_string(&document).expect("a document");
        for after in text.split("](").skip(1) {
            let target = after.split([')', '#', ' ']).next().unwrap_or("");
            if target.is_empty() || target.contains("://") {
                continue;
            }
            let path = document.parent().expect("a folder").join(target);
            assert!(path.exists(), "{}: {target} leads nowhere", document.display());
            links += 1;
        }
    }
    assert!(links > 20, "only {links} links were found");
}
