//! The ROS packages are complete: `msgs/` lists every definition and every package that these use, and `nodes/selene`
//! depends on every package whose messages it publishes or subscribes to.

use std::collections::BTreeSet;

use selene_tests::repository_file;

fn read(file: &str) -> String {
    std::fs::read_to_string(repository_file(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// Names in a folder of the repository; empty if it does not exist.
fn names(folder: &str) -> BTreeSet<String> {
    let entries = std::fs::read_dir(repository_file(folder)).into_iter().flatten();
    entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8")).collect()
}

/// The text between `before` and `after` in every line that has both.
fn between(text: &str, before: &str, after: &str) -> BTreeSet<String> {
    let rest = text.lines().filter_map(|line| line.split_once(before));
    rest.filter_map(|(_, rest)| rest.split_once(after)).map(|(found, _)| found.to_owned()).collect()
}

/// The definitions in `msgs/`, such as `msg/Rock.msg`.
fn definitions() -> BTreeSet<String> {
    let kinds = ["msg", "srv", "action"].into_iter();
    kinds
        .flat_map(|kind| names(&format!("msgs/{kind}")).into_iter().map(move |name| format!("{kind}/{name}")))
        .collect()
}

/// The packages whose messages the definitions in `msgs/` use.
fn used_packages() -> BTreeSet<String> {
    let texts: Vec<_> = definitions().iter().map(|file| read(&format!("msgs/{file}"))).collect();
    let types = texts.iter().flat_map(|text| text.lines()).filter_map(|line| line.split_whitespace().next());
    let packages = types.filter(|word| !word.starts_with('#')).filter_map(|word| word.split_once('/'));
    packages.map(|(package, _)| package.to_owned()).collect()
}

#[test]
fn selene_msgs_lists_every_definition_and_every_package_that_they_use() {
    let (cmake, package) = (read("msgs/CMakeLists.txt"), read("msgs/package.xml"));
    let definitions = definitions();
    assert!(definitions.len() >= 17, "{definitions:?}");
    let listed = between(&cmake, "  \"", "\"");
    assert_eq!(listed, definitions, "msgs/CMakeLists.txt");
    let used = used_packages();
    assert!(used.contains("geometry_msgs"), "{used:?}");
    assert_eq!(between(&package, "<depend>", "</depend>"), used, "msgs/package.xml");
    let found = between(&cmake, "find_package(", " REQUIRED)");
    let tools: BTreeSet<_> = ["ament_cmake", "rosidl_default_generators"].map(str::to_owned).into();
    assert_eq!(found.difference(&tools).cloned().collect::<BTreeSet<_>>(), used, "msgs/CMakeLists.txt");
    let stated = format!("  DEPENDENCIES {}\n", used.iter().cloned().collect::<Vec<_>>().join(" "));
    assert!(cmake.contains(&stated), "msgs/CMakeLists.txt lacks {stated}");
    for needed in ["<package format=\"3\">", "<member_of_group>rosidl_interface_packages</member_of_group>"] {
        assert!(package.contains(needed), "{needed}");
    }
}

#[test]
fn the_package_selene_depends_on_every_package_whose_messages_it_sends_or_takes() {
    let package = read("nodes/selene/package.xml");
    let mut depends = between(&package, "<depend>", "</depend>");
    // A package that a distribution lacks is asked for in the others only, and CMake does not look for it there.
    depends.append(&mut between(&package, "<depend condition=\"$ROS_DISTRO != humble\">", "</depend>"));
    let mut interfaces = names("crates/ros/interfaces");
    assert!(interfaces.len() >= 12, "{interfaces:?}");
    interfaces.insert("selene_msgs".to_owned());
    let missing: Vec<_> = interfaces.difference(&depends).collect();
    assert!(missing.is_empty(), "nodes/selene/package.xml lacks {missing:?}");
}

#[test]
fn packages_have_the_version_of_the_workspace_and_folders_that_are_there() {
    for package in ["msgs/package.xml", "nodes/selene/package.xml"] {
        let own = between(&read(package), "<version>", "</version>");
        assert_eq!(own, BTreeSet::from([env!("CARGO_PKG_VERSION").to_owned()]), "{package}");
    }
    let cmake = read("nodes/selene/CMakeLists.txt");
    for folder in ["config", "launch", "urdf"] {
        assert!(cmake.contains(&format!("\"${{root}}/{folder}\"")), "{folder} is not installed");
        assert!(repository_file(folder).is_dir(), "{folder}");
    }
}

/// Whether a file exists, or the folder of a file pattern.
fn is_there(source: &str) -> bool {
    let folder = source.split('*').next().unwrap_or(source);
    repository_file(folder.trim_end_matches('/')).exists()
}

#[test]
fn the_debian_package_and_the_container_take_what_is_there_and_all_that_a_run_reads() {
    let manifest = read("nodes/selene/Cargo.toml");
    let assets = between(&manifest, "  [\"../../", "\",");
    assert!(assets.len() >= 5 && assets.iter().all(|source| is_there(source)), "{assets:?}");
    let container = read("Dockerfile");
    let copied: Vec<_> = container.lines().filter_map(|line| line.strip_prefix("COPY ")).collect();
    for line in copied.iter().filter(|line| !line.starts_with("--from")) {
        let source = line.split_whitespace().next().unwrap_or_default();
        assert!(is_there(source), "Dockerfile: COPY {line}");
    }
    for folder in ["config", "urdf"] {
        assert!(assets.contains(&format!("{folder}/**/*")), "the Debian package lacks {folder}");
        assert!(
            copied.contains(&format!("{folder} /usr/share/selene/{folder}").as_str()),
            "the container lacks {folder}"
        );
    }
    // The image that builds it has the Rust version that the workspace needs.
    let rust = between(&read("Cargo.toml"), "rust-version = \"", "\"");
    assert_eq!(between(&container, "FROM rust:", "-"), rust);
}
