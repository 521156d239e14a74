//! Arguments of `selene import`.

use std::path::PathBuf;

use clap::Args;

pub(super) const EXAMPLES: &str = "Examples:
  selene import my_rover.urdf
  selene import leo.urdf.xacro --out rovers --xacro mecanum_wheels:=false
  selene import robot.urdf --package robot_description=../robot_description

Writes DIR/NAME.yaml, what turns the URDF into a rover (wheels, motors, steering, free joints), with every guess marked \
`# check`, and DIR/NAME.png, the rover from three sides with its wheels as they were understood. A xacro is expanded by \
the program xacro where that is installed, to DIR/NAME.urdf. Files of package:// URIs are sought in --package, in the \
sourced ROS 2 workspaces and upward from the URDF.";

/// Arguments of `selene import`.
#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// The URDF or xacro file
    #[arg(value_name = "URDF")]
    pub(crate) urdf: PathBuf,
    /// Folder for the files; made if missing
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) out: PathBuf,
    /// Name of the rover and of its files [default: the URDF's file name]
    #[arg(long, value_name = "NAME", value_parser = rover_name)]
    pub(crate) name: Option<String>,
    /// Folder of a ROS package that the URDF names; may be given several times
    #[arg(long = "package", value_name = "NAME=DIR", value_parser = package)]
    pub(crate) packages: Vec<(String, PathBuf)>,
    /// Argument of the xacro; may be given several times
    #[arg(long = "xacro", value_name = "NAME:=VALUE", value_parser = xacro_argument)]
    pub(crate) xacro: Vec<String>,
    /// Replace existing files
    #[arg(long)]
    pub(crate) force: bool,
}

/// Parses a rover's name, which must also be a file name that stays in the given folder.
fn rover_name(text: &str) -> Result<String, String> {
    let is_first = |letter: char| letter.is_alphanumeric() || letter == '_';
    let is_name = text.starts_with(is_first) && text.chars().all(|letter| is_first(letter) || "-.".contains(letter));
    let allowed =
        "must be letters, digits, _, - and . that begin with none of the last two; --out DIR names the folder";
    is_name.then(|| text.to_owned()).ok_or_else(|| allowed.to_owned())
}

fn package(text: &str) -> Result<(String, PathBuf), String> {
    let is_name = |name: &str| {
        !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-".contains(letter))
    };
    let parts = text.split_once('=').filter(|(name, folder)| is_name(name) && !folder.is_empty());
    let (name, folder) = parts.ok_or("must be a package's name, = and its folder: my_description=../my_description")?;
    if PathBuf::from(folder).is_dir() {
        Ok((name.to_owned(), folder.into()))
    } else {
        Err(format!("{folder}: is no folder"))
    }
}

fn xacro_argument(text: &str) -> Result<String, String> {
    match text.split_once(":=") {
        Some((name, _)) if !name.is_empty() => Ok(text.to_owned()),
        _ => Err("must be an argument's name, := and its value: mecanum_wheels:=false".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::rover_name;

    #[test]
    fn the_name_of_a_rover_leads_to_no_other_folder() {
        assert!(["leo", "leo-2.1", "_x", "Čeněk"].iter().all(|name| rover_name(name).is_ok()));
        for name in ["", ".", "..", "../leo", "a/b", "/leo", "a\\b", "-o", ".hidden", "a b", "a\nb"] {
            assert!(rover_name(name).is_err_and(|reported| reported.contains("--out DIR")), "{name}");
        }
    }
}
