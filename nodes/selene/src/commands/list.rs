//! `selene list`: files that can be named, each with the first sentence of the comment that it begins with.

use std::path::Path;

use selene_base::input;

use crate::args::{ListArgs, ListedKind};
use crate::fault::Fault;
use crate::output::print_line;
use crate::places;

/// The largest file that is looked into.
const BYTES_MAX: u64 = 4 << 20;
/// A line that is longer is cut.
const COLUMNS: usize = 96;
/// What editors are told is no description.
const FOR_EDITORS: &str = "yaml-language-server:";

/// Lists what is asked for.
pub(crate) fn list(args: &ListArgs) -> Result<(), Fault> {
    let kinds = if args.kinds.is_empty() { &ListedKind::ALL[..] } else { &args.kinds[..] };
    for kind in kinds {
        print_line(format_args!("{}s", kind.folder()));
        let files = places::files_of(kind.folder());
        let width = files.keys().map(String::len).max().unwrap_or(0);
        for (name, file) in &files {
            print_line(format_args!("  {name:<width$}  {}", about(file)));
        }
    }
    Ok(())
}

/// What a file says of itself, in a line.
pub(crate) fn about(file: &Path) -> String {
    match input::read_bytes(file, BYTES_MAX) {
        Ok(bytes) => shortened(&first_sentence(&String::from_utf8_lossy(&bytes))),
        Err(error) => error.to_string(),
    }
}

/// The first sentence of the comment that a file begins with.
fn first_sentence(text: &str) -> String {
    let lines = text.lines().map_while(|line| line.strip_prefix('#')).map(str::trim);
    let comment = lines.filter(|line| !line.starts_with(FOR_EDITORS)).collect::<Vec<_>>().join(" ");
    let end = comment.find(". ").unwrap_or(comment.len());
    comment[..end].trim_end_matches('.').to_owned()
}

/// As many whole words as fit a line.
fn shortened(sentence: &str) -> String {
    if sentence.chars().count() <= COLUMNS {
        return sentence.to_owned();
    }
    let mut kept = String::new();
    for word in sentence.split(' ') {
        if kept.chars().count() + word.chars().count() >= COLUMNS {
            break;
        }
        kept += word;
        kept.push(' ');
    }
    kept + "…"
}

#[cfg(test)]
mod tests {
    use super::{COLUMNS, first_sentence, shortened};

    #[test]
    fn a_file_is_described_by_the_first_sentence_of_its_comment() {
        let text = "# yaml-language-server: $schema=x\n# A plain of a mare, at\n# 1.5 degrees. Another seed.\nname: mare\n# No.\n";
        assert_eq!(first_sentence(text), "A plain of a mare, at 1.5 degrees");
        assert_eq!(first_sentence("# A battery.\nbattery:\n"), "A battery");
        assert_eq!(first_sentence("name: mare\n"), "");
    }

    #[test]
    fn a_long_sentence_is_cut_between_words() {
        assert_eq!(shortened("short"), "short");
        let long = shortened(&"words ".repeat(40));
        assert!(long.ends_with("words …") && long.chars().count() <= COLUMNS + 1, "{long}");
    }
}
