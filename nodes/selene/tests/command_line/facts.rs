//! Tests that pages agree with the repository: paths that they name are in its tree, and keys that they list are those
//! of the files.

use std::collections::BTreeSet;
use std::fs;

use super::common::repository;
use super::pages::{prose, read};

/// The pages that say where things are in the tree.
const PAGES_OF_THE_TREE: [&str; 2] = ["ARCHITECTURE.md", "CONTRIBUTING.md"];
/// Folders at the root that programs make.
const GENERATED: [&str; 5] = ["target", "out", "build", "install", "log"];
/// Endings of names of files. Other names are paths if they have a slash.
const ENDINGS: [&str; 10] = [".rs", ".wgsl", ".py", ".sh", ".yaml", ".json", ".xml", ".toml", ".txt", ".md"];
/// Parts of a name that stand for any text.
const ANY: [&str; 4] = ["*", "<rover>", "NAME", "PACKAGE"];
/// Keys of a scenario that hold its rovers, or belong to the only one in the short form.
const KEYS_OF_ROVERS: [&str; 6] = ["rover", "rovers", "sensors", "lamps", "route", "motions"];

/// The files and folders of the repository, as paths from its root; none that are hidden or generated.
fn tree() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(repository().join(&folder)).expect("a folder") {
            let entry = entry.expect("an entry");
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
            if name.starts_with('.') || GENERATED.contains(&path.as_str()) {
                continue;
            }
            if entry.file_type().expect("a type").is_dir() {
                folders.push(path.clone());
            }
            found.insert(path);
        }
    }
    found
}

/// The paragraphs, entries of lists and rows of tables of a page.
fn items(page: &str) -> Vec<String> {
    let mut items = vec![String::new()];
    for line in prose(page) {
        let first = line.trim_start().split(' ').next().unwrap_or_default();
        let is_number = first.strip_suffix('.').is_some_and(|number| number.parse::<u32>().is_ok());
        match items.last_mut() {
            Some(item) if !matches!(first, "" | "-" | "|") && !is_number => *item += &format!(" {line}"),
            _ => items.push(line.to_owned()),
        }
    }
    items
}

/// The paths in backticks; `a/{b,c}` is two.
fn paths(item: &str) -> Vec<String> {
    let is_path = |name: &&str| {
        let is_of_path = |letter: char| letter.is_ascii_alphanumeric() || "_-./{},*<>".contains(letter);
        name.starts_with(|first: char| first.is_ascii_alphanumeric())
            && name.chars().all(is_of_path)
            && (name.contains('/') || ENDINGS.iter().any(|ending| name.ends_with(*ending)))
    };
    item.split('`').skip(1).step_by(2).filter(is_path).flat_map(alternatives).collect()
}

fn alternatives(path: &str) -> Vec<String> {
    let path = path.trim_end_matches('/');
    let parts = path.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)));
    let Some((before, (inside, after))) = parts else { return vec![path.to_owned()] };
    inside.split(',').map(|part| format!("{before}{part}{after}")).collect()
}

/// The crates and other folders of two names, such as `crates/sim/`, that an item names.
fn folders_of(item: &str, tree: &BTreeSet<String>) -> BTreeSet<String> {
    let words = item.split(|letter: char| !letter.is_ascii_alphanumeric() && !"_-./".contains(letter));
    let folder = |word: &str| {
        let mut names = word.split('/');
        let folder = format!("{}/{}", names.next()?, names.next()?);
        tree.contains(&folder).then(|| format!("{folder}/"))
    };
    words.filter_map(folder).collect()
}

/// Whether a file or folder has the name that a page gives it; a page may leave out the ending of a module.
fn has_name(there: &str, named: &str) -> bool {
    match ANY.iter().find_map(|any| named.split_once(*any)) {
        Some((before, after)) => there.starts_with(before) && there.ends_with(after),
        None => there == named || there.strip_suffix(".rs") == Some(named),
    }
}

/// Whether a path is in the tree: from the root if it begins there, or else at the end of a path in one of `folders`,
/// or anywhere if the item names no folder.
fn is_there(named: &str, tree: &BTreeSet<String>, folders: &BTreeSet<String>) -> bool {
    let names: Vec<&str> = named.split('/').collect();
    let is_whole = tree.contains(names[0]);
    tree.iter().any(|path| {
        let there: Vec<&str> = path.split('/').collect();
        let is_at = if is_whole {
            there.len() == names.len()
        } else {
            there.len() >= names.len()
                && (folders.is_empty() || folders.iter().any(|folder| path.starts_with(folder.as_str())))
        };
        is_at && there.iter().rev().zip(names.iter().rev()).all(|(there, named)| has_name(there, named))
    })
}

#[test]
fn files_and_folders_that_architecture_and_contributing_name_are_there() {
    let tree = tree();
    let (mut named, mut missing) = (0, Vec::new());
    for page in PAGES_OF_THE_TREE {
        for item in items(&read(&repository().join(page))) {
            let folders = folders_of(&item, &tree);
            for path in paths(&item) {
                named += 1;
                if !is_there(&path, &tree, &folders) {
                    missing.push(format!("{page}: {path}"));
                }
            }
        }
    }
    assert_eq!(missing, Vec::<String>::new());
    assert!(named > 250, "{named} paths are named");
}

#[test]
fn a_path_is_looked_for_from_the_root_or_in_the_folders_that_its_item_names() {
    let tree = tree();
    let missing = |item: &str| {
        let folders = folders_of(item, &tree);
        paths(item).into_iter().filter(|path| !is_there(path, &tree, &folders)).collect::<Vec<_>>()
    };
    let sound =
        "`crates/sim/src/world/step.rs`, `group.rs` beside it, `driving/`, `urdf/<rover>/`, `crates/{sim,crm}/src`";
    assert_eq!(missing(sound), Vec::<String>::new());
    assert_eq!(missing("`crates/sim/tests/state.rs`"), ["crates/sim/tests/state.rs"]);
    assert_eq!(missing("`crates/sim/src/world/step.rs` and `topics.rs`"), ["topics.rs"]);
    assert_eq!(missing("`nodes/selene/{package.xml,package.toml}`"), ["nodes/selene/package.toml"]);
    assert_eq!(missing("`/clock`, `.msg`, `sim::Driver`, `selene check`, `kernel/moonlight`"), ["kernel/moonlight"]);
}

/// The names in backticks of a table's cell.
fn names(cell: &str) -> BTreeSet<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

#[test]
fn the_page_of_topics_lists_the_keys_of_a_rover_and_of_the_world_as_the_schema_has_them() {
    let schema = read(&repository().join("config/schema/scenario.json"));
    let schema: serde_json::Value = serde_json::from_str(&schema).expect("JSON");
    let keys = |of: &serde_json::Value| -> BTreeSet<String> {
        of["properties"].as_object().expect("keys").keys().cloned().collect()
    };
    let (of_rover, all) = (keys(&schema["$defs"]["RoverEntrySpec"]), keys(&schema));
    let page = read(&repository().join("docs/topics.md"));
    let row = prose(&page).find(|line| line.starts_with("| keys of a scenario |")).expect("a row of keys");
    let cells: Vec<&str> = row.split('|').collect();
    let of_rover: BTreeSet<&str> = of_rover.iter().map(String::as_str).collect();
    let of_world: BTreeSet<&str> = all.iter().map(String::as_str).filter(|key| !KEYS_OF_ROVERS.contains(key)).collect();
    assert_eq!(names(cells[2]), of_rover, "keys of each rover");
    assert_eq!(names(cells[3]), of_world, "keys of the world");
    assert!(KEYS_OF_ROVERS.iter().all(|key| all.contains(*key)), "{all:?}");
}
