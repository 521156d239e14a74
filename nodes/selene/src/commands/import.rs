//! `selene import`: makes a rover file from any URDF or xacro, and a picture of how it was understood.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use selene_base::input::read_bytes;
use selene_base::output::{self, FileKind};
use selene_observe::mesh_of;
use selene_pictures::body::{self, Facet, WheelOutline};
use selene_vehicle::{Import, Packages, RoverModel, VehicleError, Visual, is_xacro, rover_file};

use crate::args::ImportArgs;
use crate::fault::Fault;
use crate::output::print_line;
use crate::places;

/// Greatest size of a URDF or xacro, bytes.
const BYTES_MAX: u64 = 16 << 20;
const ROVER: FileKind =
    FileKind { name: "rover file of `selene import`", is: |head| head.starts_with(b"# Written by `selene import`") };
const URDF: FileKind = FileKind { name: "XML file", is: |head| head.trim_ascii_start().starts_with(b"<") };

/// Writes the rover file and the picture, and prints their contents in short.
pub(crate) fn import(args: &ImportArgs) -> Result<(), Fault> {
    let name = args.name.clone().unwrap_or_else(|| stem(&args.urdf));
    let file = |extension: &str| args.out.join(format!("{name}.{extension}"));
    let text = text_of(&args.urdf)?;
    places::check_folder("--out", &args.out)?;
    let is_xacro = args.urdf.extension().is_some_and(|extension| extension == "xacro") || is_xacro(&text);
    refuse_what_is_there(&[Some(file("yaml")), Some(file("png")), is_xacro.then(|| file("urdf"))], args.force)?;
    let mut packages: BTreeMap<String, PathBuf> = args.packages.iter().cloned().collect();
    let urdf = if is_xacro {
        let expanded = expanded(&args.urdf, &args.xacro)?;
        // The expanded file lies outside of its package, so the rover file names the packages found from the original.
        packages = Packages::new(packages).named_in(&expanded, &args.urdf);
        output::write_bytes(&file("urdf"), &URDF, expanded.as_bytes()).map_err(Fault::run)?;
        file("urdf")
    } else {
        args.urdf.clone()
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

/// Expands a file with the program xacro.
fn expanded(file: &Path, arguments: &[String]) -> Result<String, Fault> {
    let output = Command::new("xacro").arg(file).args(arguments).output();
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
        return Err(Fault::input(format!("`xacro {file}` failed: {}", reported.trim())));
    }
    String::from_utf8(output.stdout).map_err(|error| Fault::input(format!("`xacro {file}`: is not UTF-8: {error}")))
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
        for Visual { link_from_shape, shape, rgba, .. } in &link.visuals {
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
    let guesses = text.lines().filter(|line| line.contains("# check")).count();
    let (whole, picture) = (places::whole(rover), places::whole(picture));
    print_line(format_args!("wrote {} ({guesses} lines to check) and {}", whole.display(), picture.display()));
    print_line(format_args!("next: selene rig slope {} --soil lunar", rover.display()));
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
