//! Tests of the pages of docs/: each is in the table of contents, its links resolve, and its commands succeed in order
//! in an empty folder and write the files that they name.
//!
//! Every fenced block declares its use. `sh` is run; `sh shorter: --for 1, --at 0.5` is run with these values of its
//! options, so that a test takes a second and not minutes; `sh not-run: WHY` is only shown; `KIND file: NAME` is a file
//! that the reader has.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::common::{folder, repository, run, text};

/// Languages of blocks that are only shown.
const SHOWN: [&str; 5] = ["text", "yaml", "python", "json", "xml"];
/// Options whose value is a file or folder that the command writes.
const OUTPUTS: [&str; 6] = ["--out", "--record", "--save-ruts", "--checkpoint-dir", "--csv", "--plot"];
/// Pages outside of docs/.
const ROOT_PAGES: [&str; 4] = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"];
const PICTURE_BYTES_MAX: u64 = 20_000;
const PICTURES_BYTES_MAX: u64 = 1_200_000;

fn pages() -> Vec<PathBuf> {
    let docs = fs::read_dir(repository().join("docs")).expect("a folder").map(|entry| entry.expect("an entry").path());
    let mut pages: Vec<_> = docs.filter(|file| file.extension().is_some_and(|ending| ending == "md")).collect();
    pages.extend(ROOT_PAGES.map(|page| repository().join(page)));
    pages.sort();
    pages
}

pub(super) fn read(page: &Path) -> String {
    fs::read_to_string(page).unwrap_or_else(|error| panic!("{}: {error}", page.display()))
}

fn name(page: &Path) -> String {
    page.file_stem().expect("a name").to_string_lossy().into_owned()
}

/// The lines of a page outside of its fenced blocks.
pub(super) fn prose(page: &str) -> impl Iterator<Item = &str> {
    let mut fenced = false;
    page.lines().filter(move |line| {
        let fence = line.starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    })
}

/// The targets of the links of a page.
fn links(page: &str) -> Vec<&str> {
    let of_line = |line| str::split(line, "](").skip(1).filter_map(|rest| rest.split_once(')'));
    prose(page).flat_map(of_line).map(|(target, _)| target).collect()
}

/// The anchors of a page's headings, as GitHub and mdBook make them.
fn anchors(page: &str) -> BTreeSet<String> {
    let mut seen = BTreeMap::<String, usize>::new();
    let headings = prose(page).filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    headings
        .map(|heading| {
            let kept = heading.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
            let anchor = kept.collect::<String>().to_lowercase().replace(' ', "-");
            let before = seen.entry(anchor.clone()).or_default();
            *before += 1;
            if *before == 1 { anchor } else { format!("{anchor}-{}", *before - 1) }
        })
        .collect()
}

#[test]
fn every_page_stands_in_the_table_of_contents_once() {
    let docs = repository().join("docs");
    let summary = read(&docs.join("SUMMARY.md"));
    let mut reported: Vec<_> = links(&summary).into_iter().map(|target| docs.join(target)).collect();
    reported.sort();
    let there: Vec<_> = pages().into_iter().filter(|page| name(page) != "SUMMARY").collect();
    let there: BTreeSet<_> = there.iter().map(|page| page.canonicalize().expect("a page")).collect();
    let reported: Vec<_> = reported.iter().map(|page| page.canonicalize().unwrap_or_else(|_| page.clone())).collect();
    assert_eq!(reported.iter().cloned().collect::<BTreeSet<_>>(), there, "SUMMARY.md beside the pages that there are");
    assert_eq!(reported.len(), there.len(), "a page stands in SUMMARY.md twice");
}

#[test]
fn every_link_of_a_page_leads_to_a_file_and_a_heading() {
    let mut broken = Vec::new();
    for page in pages() {
        let content = read(&page);
        for target in links(&content).into_iter().filter(|target| !target.contains("://")) {
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let file = if file.is_empty() { page.clone() } else { page.parent().expect("a folder").join(file) };
            let heading = || anchor.is_empty() || anchors(&read(&file)).contains(anchor);
            if !file.exists() || !heading() {
                broken.push(format!("{}: {target}", name(&page)));
            }
        }
    }
    assert_eq!(broken, Vec::<String>::new());
}

#[test]
fn the_page_of_laws_names_tests_that_are_there() {
    let page = read(&repository().join("docs/how_laws_are_checked.md"));
    let mut folder = PathBuf::new();
    let mut named = 0;
    for file in prose(&page).flat_map(|line| line.split('`').skip(1).step_by(2)) {
        // A file without a folder is in the folder of the previous file.
        match file.rsplit_once('/') {
            Some((before, _)) => folder = repository().join(before),
            None if file.ends_with(".rs") => {}
            None => continue,
        }
        let file = file.rsplit('/').next().unwrap_or(file);
        assert!(folder.join(file).exists(), "{} is not there", folder.join(file).display());
        named += 1;
    }
    assert!(named > 30, "{named} files are named");
}

#[test]
fn the_catalogue_has_everything_that_can_be_named_and_small_pictures() {
    let page = read(&repository().join("docs/catalogue.md"));
    let reported = text(&run(&["list"]).stdout);
    for line in reported.lines().filter(|line| line.starts_with("  ")) {
        let (name, about) = line.trim().split_once("  ").unwrap_or_else(|| panic!("{line} has no description"));
        let wanted = format!("`{name}` | {}", about.trim().trim_end_matches('…'));
        let row = page.lines().find(|row| row.contains(wanted.trim_end()));
        let row = row.unwrap_or_else(|| panic!("docs/catalogue.md lacks `{wanted}`: run docs/site/catalogue.py"));
        let picture = format!("![{name}](images/catalogue/");
        assert!(row.contains(&picture), "`{name}` has no picture: run docs/site/thumbnails.py, then catalogue.py");
    }
    let mut all_bytes = 0;
    for picture in links(&page).into_iter().filter(|target| target.ends_with(".jpg")) {
        let bytes = fs::metadata(repository().join("docs").join(picture)).map_or(u64::MAX, |file| file.len());
        assert!(bytes <= PICTURE_BYTES_MAX, "{picture} has {bytes} bytes");
        all_bytes += bytes;
    }
    assert!(all_bytes <= PICTURES_BYTES_MAX, "the catalogue's pictures have {all_bytes} bytes");
}

/// A fenced block of a page.
struct Block<'a> {
    page: String,
    line: usize,
    info: &'a str,
    body: String,
}

/// The use of a block.
enum Use<'a> {
    /// Its commands are run, with these values of their options.
    Run(Vec<&'a str>),
    File(&'a str),
    Shown,
}

fn blocks<'a>(page: &Path, content: &'a str) -> Vec<Block<'a>> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut open = false;
    for (index, line) in content.lines().enumerate() {
        match (line.strip_prefix("```"), open, blocks.last_mut()) {
            (Some(_), true, _) => open = false,
            (Some(info), false, _) => {
                open = true;
                blocks.push(Block { page: name(page), line: index + 1, info, body: String::new() });
            }
            (None, true, Some(block)) => block.body += &format!("{line}\n"),
            _ => assert!(!line.trim_start().starts_with("```"), "{}:{}: a fence is indented", name(page), index + 1),
        }
    }
    blocks
}

impl<'a> Block<'a> {
    fn to_do(&self) -> Use<'a> {
        let (kind, more) = self.info.split_once(' ').unwrap_or((self.info, ""));
        let (word, value) = more.split_once(": ").unwrap_or((more, ""));
        match (kind, word, value.is_empty()) {
            ("sh", "", _) => Use::Run(Vec::new()),
            ("sh", "shorter", false) => Use::Run(value.split(", ").collect()),
            ("sh", "not-run", false) => Use::Shown,
            (_, "file", false) if SHOWN.contains(&kind) => Use::File(value),
            (_, "", _) if SHOWN.contains(&kind) => Use::Shown,
            _ => panic!("{}:{}: `{}` does not say what this block is", self.page, self.line, self.info),
        }
    }

    /// Its commands, each on one line or continued by backslashes, without comments.
    fn commands(&self) -> Vec<String> {
        let joined = self.body.replace("\\\n", " ");
        let lines = joined.lines().map(|line| line.split_once(" #").map_or(line, |(command, _)| command).trim());
        lines.filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned).collect()
    }

    /// Its commands with other values of these options.
    fn shortened(&self, options: &[&str]) -> Vec<String> {
        let mut commands = self.commands();
        for option in options {
            let taken = commands.iter_mut().filter_map(|command| replaced(command, option).map(|new| *command = new));
            assert!(taken.count() > 0, "{}:{}: `{option}` takes no option's place", self.page, self.line);
        }
        commands
    }
}

/// The command with its option replaced by `option`, `--name value` or `--name=value`, wherever it stands; `None` if it
/// has no such option.
fn replaced(command: &str, option: &str) -> Option<String> {
    let name = option.split([' ', '=']).next();
    let (mut words, mut is_there) = (Vec::new(), false);
    let mut rest = command.split_whitespace();
    while let Some(word) = rest.next() {
        if word.split('=').next() != name {
            words.push(word);
            continue;
        }
        is_there = true;
        words.push(option);
        if option.contains(' ') {
            rest.next();
        }
    }
    is_there.then(|| words.join(" "))
}

#[test]
fn every_block_says_what_it_is_and_its_shorter_options_are_there() {
    let mut run = 0;
    for page in pages() {
        for block in blocks(&page, &read(&page)) {
            if let Use::Run(options) = block.to_do() {
                run += block.shortened(&options).len();
            }
        }
    }
    assert!(run > 50, "{run} commands are run");
}

#[test]
fn options_of_a_command_are_replaced_with_their_values() {
    let shorter = |option| replaced("selene run --console --for 20 --out out", option);
    assert_eq!(shorter("--for 1").as_deref(), Some("selene run --console --for 1 --out out"));
    assert_eq!(shorter("--console=0").as_deref(), Some("selene run --console=0 --for 20 --out out"));
    assert_eq!(shorter("--at 1"), None);
    let two = "selene simulation --for 20 --own a & selene simulation --own b --for 20";
    let shorter = "selene simulation --for 1 --own a & selene simulation --own b --for 1";
    assert_eq!(replaced(two, "--for 1").as_deref(), Some(shorter));
}

#[cfg(unix)]
mod followed {
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command, ExitStatus};
    use std::sync::Mutex;

    use super::*;
    use crate::common::forget_surroundings;

    /// Number of pages that are tested in parallel.
    const AT_A_TIME: usize = 3;
    /// Time limit for a command (wall time).
    const LIMIT: Duration = Duration::from_secs(120);
    /// First of the ROS domains that isolate the pages' runs from other processes.
    const DOMAIN_FIRST: usize = 80;

    #[test]
    fn the_commands_of_every_page_do_what_it_says() {
        let pages = pages();
        let rest = Mutex::new(pages.iter());
        let faults = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for domain in DOMAIN_FIRST..DOMAIN_FIRST + AT_A_TIME {
                let (rest, faults) = (&rest, &faults);
                scope.spawn(move || {
                    let next = || rest.lock().expect("no panic").next();
                    while let Some(page) = next() {
                        faults.lock().expect("no panic").extend(follow(page, domain).err());
                    }
                });
            }
        });
        let faults = faults.into_inner().expect("no panic");
        assert!(faults.is_empty(), "{}", faults.join("\n\n"));
    }

    /// Runs the commands of a page in a folder of its own, until one fails.
    fn follow(page: &Path, domain: usize) -> Result<(), String> {
        let (content, folder) = (read(page), folder(&format!("page-{}", name(page))));
        for block in blocks(page, &content) {
            match block.to_do() {
                Use::Shown => {}
                Use::File(file) => {
                    fs::write(folder.join(file), &block.body).map_err(|error| format!("{file}: {error}"))?
                }
                Use::Run(options) => {
                    for command in block.shortened(&options) {
                        let reported = done(&command, &folder, domain);
                        reported.map_err(|fault| format!("{}:{}: {command}\n{fault}", block.page, block.line))?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Runs a command and checks its outputs.
    fn done(command: &str, folder: &Path, domain: usize) -> Result<(), String> {
        let begun = Instant::now();
        let log = folder.join("log.txt");
        let file = || File::create(&log).map_err(|error| error.to_string());
        let (stdout, program) = (file()?, Path::new(env!("CARGO_BIN_EXE_selene")));
        let path =
            format!("{}:{}", program.parent().expect("a folder").display(), std::env::var("PATH").unwrap_or_default());
        let mut shell = Command::new("sh");
        forget_surroundings(&mut shell).args(["-ec", command]).current_dir(folder).env("PATH", path).process_group(0);
        shell.env("ROS_DOMAIN_ID", domain.to_string()).env("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST");
        let stderr = stdout.try_clone().map_err(|error| error.to_string())?;
        let child = shell.stdout(stdout).stderr(stderr).spawn().map_err(|error| error.to_string())?;
        let status = ended(child)?;
        println!("{:5.1} s  {command}", begun.elapsed().as_secs_f64());
        if !status.success() {
            return Err(format!("{status}:\n{}", text(&fs::read(&log).unwrap_or_default())));
        }
        let missing = |output: &&str| !folder.join(output).exists();
        outputs(command).into_iter().find(missing).map_or(Ok(()), |output| Err(format!("{output} is not there")))
    }

    /// Waits for a command to end within the time limit.
    fn ended(mut child: Child) -> Result<ExitStatus, String> {
        let begun = Instant::now();
        while begun.elapsed() < LIMIT {
            if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
                return Ok(status);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let group = format!("-{}", child.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
        let _ = child.wait();
        Err(format!("went on for {} s", LIMIT.as_secs()))
    }

    /// The files and folders that a command names as its outputs.
    fn outputs(command: &str) -> Vec<&str> {
        let words: Vec<&str> = command.split_whitespace().collect();
        words
            .windows(2)
            .filter(|pair| OUTPUTS.contains(&pair[0]))
            .map(|pair| pair[1].trim_matches(['\'', '"']))
            .collect()
    }
}
