//! `selene completions` and `selene man`: shell completions and manual pages, generated from the command line's
//! declaration.

use clap::{Command, CommandFactory};
use clap_mangen::Man;
use selene_base::output::{self, FileKind};

use crate::args::{CommandLine, CompletionsArgs, ManArgs};
use crate::fault::Fault;
use crate::output::print_line;
use crate::places;
use crate::verbosity::Verbosity;

/// The program's name in a shell.
const PROGRAM: &str = "selene";
/// The kind of file that a new page may replace: an earlier page.
const PAGE: FileKind = FileKind { name: "manual page of Selene", is: |head| head.starts_with(b".ie ") };

/// Prints the completion script of a shell.
pub(crate) fn completions(args: &CompletionsArgs) -> Result<(), Fault> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut CommandLine::command(), PROGRAM, &mut script);
    print_line(String::from_utf8_lossy(&script).trim_end());
    Ok(())
}

/// Prints the manual page, or writes the pages of all commands to a folder.
pub(crate) fn man(args: &ManArgs, verbosity: Verbosity) -> Result<(), Fault> {
    let mut commands = CommandLine::command().disable_help_subcommand(true);
    commands.build();
    let Some(folder) = &args.out else {
        print_line(String::from_utf8_lossy(&page(&commands)?.1).trim_end());
        return Ok(());
    };
    places::check_folder("--out", folder)?;
    let pages = with_all_below(&commands).into_iter().map(page).collect::<Result<Vec<_>, _>>()?;
    let pages: Vec<_> = pages.into_iter().map(|(name, bytes)| (folder.join(name), bytes)).collect();
    pages.iter().try_for_each(|(file, _)| places::check_writable("--out", file, &PAGE))?;
    pages.iter().try_for_each(|(file, bytes)| output::write_bytes(file, &PAGE, bytes)).map_err(Fault::run)?;
    verbosity.wrote(folder);
    Ok(())
}

/// A command and all its subcommands, recursively.
fn with_all_below(command: &Command) -> Vec<&Command> {
    let below = command.get_subcommands().filter(|command| !command.is_hide_set() && command.get_name() != "help");
    std::iter::once(command).chain(below.flat_map(with_all_below)).collect()
}

/// The file name and content of a command's page.
fn page(command: &Command) -> Result<(String, Vec<u8>), Fault> {
    let man = Man::new(command.clone());
    let mut bytes = Vec::new();
    man.render(&mut bytes).map_err(Fault::run)?;
    Ok((man.get_filename(), bytes))
}

#[cfg(test)]
mod tests {
    use super::{CommandLine, PAGE, page, with_all_below};
    use clap::CommandFactory;

    #[test]
    fn every_command_has_a_page_of_its_own() {
        let mut commands = CommandLine::command().disable_help_subcommand(true);
        commands.build();
        let pages: Vec<_> =
            with_all_below(&commands).into_iter().map(|command| page(command).expect("a page")).collect();
        let names: std::collections::BTreeSet<_> = pages.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names.len(), pages.len(), "{names:?}");
        assert!(
            ["selene.1", "selene-run.1", "selene-rig-wheel.1"].iter().all(|name| names.contains(name)),
            "{names:?}"
        );
        assert!(pages.iter().all(|(_, bytes)| (PAGE.is)(bytes)));
    }
}
