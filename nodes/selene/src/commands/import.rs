//! `selene import`: makes a rover file from any URDF or xacro, and a picture of how it was understood.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use selene_base::input::read_bytes;
use selene_base::output::{self, FileKind};
use selene_coherence::RunId;
use selene_observe::mesh_of;
use selene_pictures::body::{self, Facet, WheelOutline};
use selene_sim::wheel_shapes;
use selene_soil::rig::coarsest_grid_m;
use selene_vehicle::{
    Collision, Import, JointKind, Packages, RoverModel, Servo, VehicleError, Visual, is_xacro, rover_file,
};

use crate::args::ImportArgs;
use crate::fault::Fault;
use crate::output::print_line;
use crate::places;

/// Greatest size of a URDF or xacro, bytes.
const BYTES_MAX: u64 = 16 << 20;
const ROVER: FileKind =
    FileKind { name: "rover file of `selene import`", is: |head| head.starts_with(b"# Written by `selene import`") };
const URDF: FileKind = FileKind { name: "XML file", is: |head| head.trim_ascii_start().starts_with(b"<") };

/// Colour of shapes that are not to be seen.
const UNSEEN_RGBA: [f64; 4] = [0.45, 0.45, 0.6, 1.0];
/// Last line of what xacro expanded for `selene import`: such a file may be replaced.
const EXPANDED: &str = "<!-- expanded by selene import -->\n";
/// Grid of `selene rig` without `--grid`, mm.
const USUAL_GRID_MM: f64 = 10.0;

/// Writes the rover file and the picture, and prints their contents in short.
pub(crate) fn import(args: &ImportArgs) -> Result<(), Fault> {
    let name = args.name.clone().unwrap_or_else(|| stem(&args.urdf));
    let file = |extension: &str| args.out.join(format!("{name}.{extension}"));
    let text = text_of(&args.urdf)?;
    places::check_folder("--out", &args.out)?;
    let is_xacro = args.urdf.extension().is_some_and(|extension| extension == "xacro") || is_xacro(&text);
    let is_own = |file: &PathBuf| text_of(file).is_ok_and(|text| text.ends_with(EXPANDED));
    let of_xacro = is_xacro.then(|| file("urdf")).filter(|file| !is_own(file));
    refuse_what_is_there(&[Some(file("yaml")), Some(file("png")), of_xacro], args.force)?;
    let given = Packages::new(args.packages.iter().cloned().collect());
    let (urdf, packages) = if is_xacro {
        let expanded = expanded(&args.urdf, &args.xacro, &given)? + EXPANDED;
        output::write_bytes(&file("urdf"), &URDF, expanded.as_bytes()).map_err(Fault::run)?;
        // The expanded file lies outside of its package, so the rover file names the packages found from the original.
        (file("urdf"), given.named_in(&expanded, &args.urdf))
    } else if args.xacro.is_empty() {
        (args.urdf.clone(), given.named_elsewhere(&text, &args.urdf))
    } else {
        return Err(Fault::input(format!("--xacro: {} is no xacro", args.urdf.display())));
    };
    let written = |path: &PathBuf| relative(&args.out, path);
    let import = Import {
        name: &name,
        urdf: &urdf,
        urdf_as_written: &written(&urdf),
        packages_as_written: &packages.iter().map(|(name, folder)| (name.clone(), written(folder))).collect(),
    };
    let text = rover_file(&import, &Packages::new(packages.clone())).map_err(Fault::input)?;
    output::write_bytes(&file("yaml"), &ROVER, text.as_bytes()).map_err(Fault::run)?;
    let mend =
        |error: VehicleError| Fault::input(format!("{error}\n{} is written; mend it there", file("yaml").display()));
    let model = RoverModel::load(&file("yaml")).map_err(mend)?;
    let title = format!("{name}: {:.3} kg, root {}", model.mass_kg(), model.base_name());
    body::save(&title, &facets(&model), &wheels(&model), &file("png")).map_err(Fault::run)?;
    print(&model, &text, &file("yaml"), &file("png"));
    Ok(())
}

fn text_of(file: &Path) -> Result<String, Fault> {
    let bytes = read_bytes(file, BYTES_MAX).map_err(Fault::input)?;
    String::from_utf8(bytes).map_err(|error| Fault::input(format!("{}: is not UTF-8: {error}", file.display())))
}

/// The file's name without its extensions.
fn stem(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    name.split('.').next().unwrap_or_default().to_owned()
}

fn refuse_what_is_there(files: &[Option<PathBuf>], force: bool) -> Result<(), Fault> {
    match files.iter().flatten().find(|file| file.exists() && !force) {
        Some(file) => {
            let what = "is there already; --force replaces it, --out DIR or --name NAME write elsewhere";
            Err(Fault::input(format!("{}: {what}", file.display())))
        }
        None => Ok(()),
    }
}

/// Expands a file with the program xacro, which finds packages as Selene does.
fn expanded(file: &Path, arguments: &[String], packages: &Packages) -> Result<String, Fault> {
    let prefix = PackagePrefix::of(&packages.around(file)).map_err(Fault::run)?;
    let output = Command::new("xacro").arg(file).args(arguments).env("AMENT_PREFIX_PATH", prefix.path()?).output();
    let file = file.display();
    let output = output.map_err(|error| match error.kind() {
        ErrorKind::NotFound => Fault::input(format!(
            "{file}: is a xacro, and the program xacro is not installed (ROS 2 has it as ros-DISTRO-xacro). Where it is: \
             `xacro {file} > ROVER.urdf`, then `selene import ROVER.urdf`"
        )),
        _ => Fault::input(format!("xacro: cannot be started: {error}")),
    })?;
    if !output.status.success() {
        let reported = String::from_utf8_lossy(&output.stderr);
        return Err(Fault::input(format!("`xacro {file}` failed: {}{}", reported.trim(), advice(&reported))));
    }
    String::from_utf8(output.stdout).map_err(|error| Fault::input(format!("`xacro {file}`: is not UTF-8: {error}")))
}

/// What to do about a failure of xacro, from what it printed.
fn advice(reported: &str) -> &'static str {
    let advice = [
        (
            "No module named 'ament_index_python'",
            "\nxacro from PyPI needs another package: `pip install ros-ament-index-python`",
        ),
        (
            "' not found, searching",
            "\nsource the workspace of a package that is missing, or say where it is: `--package NAME=DIR`",
        ),
    ];
    advice.iter().find(|(words, _)| reported.contains(words)).map_or("", |(_, advice)| advice)
}

/// A folder with packages as an installed ROS 2 workspace has them, for as long as xacro runs.
struct PackagePrefix(PathBuf);

impl PackagePrefix {
    fn of(packages: &BTreeMap<String, PathBuf>) -> Result<Self, String> {
        let folder = std::env::temp_dir().join(format!("selene-packages-{}", RunId::random()));
        // Fails where the folder exists: it would be somebody else's.
        std::fs::create_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let prefix = Self(folder);
        prefix.fill(packages).map_err(|error| format!("{}: {error}", prefix.0.display()))?;
        Ok(prefix)
    }

    fn fill(&self, packages: &BTreeMap<String, PathBuf>) -> std::io::Result<()> {
        let [share, index] = ["share", "share/ament_index/resource_index/packages"].map(|name| self.0.join(name));
        std::fs::create_dir_all(&index)?;
        for (name, folder) in packages {
            std::fs::write(index.join(name), "")?;
            link(&folder.canonicalize()?, &share.join(name))?;
        }
        Ok(())
    }

    /// AMENT_PREFIX_PATH with this folder before the sourced ones.
    fn path(&self) -> Result<std::ffi::OsString, Fault> {
        let sourced = std::env::var_os("AMENT_PREFIX_PATH").unwrap_or_default();
        let sourced = std::env::split_paths(&sourced).filter(|prefix| !prefix.as_os_str().is_empty());
        std::env::join_paths([self.0.clone()].into_iter().chain(sourced)).map_err(Fault::input)
    }
}

impl Drop for PackagePrefix {
    fn drop(&mut self) {
        // It holds links and empty files, which may stay.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(unix)]
fn link(folder: &Path, at: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(folder, at)
}

#[cfg(windows)]
fn link(folder: &Path, at: &Path) -> std::io::Result<()> {
    std::os::windows::fs::symlink_dir(folder, at)
}

/// A path relative to a folder.
fn relative(folder: &Path, path: &Path) -> PathBuf {
    let (Ok(folder), Ok(path)) = (folder.canonicalize(), path.canonicalize()) else { return path.to_owned() };
    let common = folder.components().zip(path.components()).take_while(|(a, b)| a == b).count();
    let up = folder.components().skip(common).map(|_| Component::ParentDir);
    up.chain(path.components().skip(common)).collect()
}

/// The triangles of a rover's visuals with its joints at zero, in the base frame, m.
fn facets(model: &RoverModel) -> Vec<Facet> {
    let mut facets = Vec::new();
    for (link, base_from_link) in model.links().iter().zip(model.base_from_links_at_zero()) {
        let visuals =
            link.visuals.iter().map(|Visual { link_from_shape, shape, rgba, .. }| (link_from_shape, shape, *rgba));
        // What is not to be seen but touches, such as many a caster, is drawn by its collision shape.
        let unseen = link.collisions.iter().filter(|_| link.visuals.is_empty());
        let unseen = unseen.map(|Collision { link_from_shape, shape }| (link_from_shape, shape, UNSEEN_RGBA));
        for (link_from_shape, shape, rgba) in visuals.chain(unseen) {
            let base_from_shape = base_from_link * link_from_shape;
            let mesh = mesh_of(shape);
            let place = |corner: u32| {
                let corner = nalgebra::Point3::from(mesh.vertices[corner as usize]).cast::<f64>();
                (base_from_shape * corner).coords.into()
            };
            let [red, green, blue, _] = rgba.map(|part| (part * 255.0).round() as u8);
            let colour = [red, green, blue];
            facets.extend(mesh.triangles.iter().map(|triangle| Facet { corners_m: triangle.map(place), colour }));
        }
    }
    facets
}

fn wheels(model: &RoverModel) -> Vec<WheelOutline> {
    let outline = |wheel: &selene_vehicle::Wheel| WheelOutline {
        name: wheel.name.clone(),
        centre_m: wheel.centre_in_base_m.into(),
        radius_m: wheel.radius_m,
        width_m: wheel.width_m,
        driven: wheel.is_driven(),
    };
    model.wheels().iter().map(outline).collect()
}

fn print(model: &RoverModel, text: &str, rover: &Path, picture: &Path) {
    let driven = model.wheels().iter().filter(|wheel| wheel.is_driven()).count();
    let free = model.wheels().len() - driven;
    print_line(format_args!(
        "{}: {:.3} kg, {driven} driven and {free} free wheels, {} servos, {} passive joints, {} held",
        model.spec().name,
        model.mass_kg(),
        model.servos().len(),
        model.passive().len(),
        model.spec().held.len(),
    ));
    if let Some(note) = note_of_turning(model) {
        print_line(note);
    }
    let guesses = text.lines().filter(|line| line.contains("# check")).count();
    let (whole, picture) = (places::whole(rover), places::whole(picture));
    print_line(format_args!("wrote {} ({guesses} lines to check) and {}", whole.display(), picture.display()));
    print_line(format_args!("next: selene rig slope {} --soil lunar{}", rover.display(), grid(model)));
}

/// Note on joints that turn without end and were not taken for those of wheels; `None` if there are none.
fn note_of_turning(model: &RoverModel) -> Option<String> {
    let turns = |servo: &&Servo| model.joints()[servo.joint].kind == JointKind::Continuous;
    let names: Vec<_> = model.servos().iter().filter(turns).map(|servo| servo.name.as_str()).collect();
    (!names.is_empty()).then(|| {
        format!(
            "turn without end and are no wheels: {} (a wheel turns about y, is round about its axis or named like one, and \
             reaches the ground; what is one all the same belongs in `wheels`)",
            names.join(", ")
        )
    })
}

/// The option for a grid that is fine enough for small wheels; empty where the usual one is.
fn grid(model: &RoverModel) -> String {
    let coarsest_m = wheel_shapes(model).iter().map(coarsest_grid_m).fold(f64::INFINITY, f64::min);
    let millimetres = (1000.0 * coarsest_m).floor();
    if millimetres < USUAL_GRID_MM { format!(" --grid {}", millimetres.max(1.0) / 1000.0) } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::{relative, stem};
    use std::path::{Path, PathBuf};

    #[test]
    fn a_rover_is_called_as_its_urdf_is_without_extensions() {
        assert_eq!(["a/leo.urdf.xacro", "burger.urdf", "b"].map(|file| stem(Path::new(file))), ["leo", "burger", "b"]);
    }

    #[test]
    fn a_path_leads_from_the_folder_by_way_of_what_both_have_in_common() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        assert_eq!(relative(&here.join("src"), &here.join("src/args")), PathBuf::from("args"));
        assert_eq!(relative(&here.join("src/commands"), &here.join("Cargo.toml")), PathBuf::from("../../Cargo.toml"));
    }
}
