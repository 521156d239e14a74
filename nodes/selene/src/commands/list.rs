//! `selene list`: lists the files of the configuration, each with the first sentence of its leading comment.

use std::path::Path;

use selene_base::input;

use crate::args::{ListArgs, ListedKind};
use crate::fault::Fault;
use crate::output::print_line;
use crate::places;

/// Greatest size of a file that is read, bytes.
const BYTES_MAX: u64 = 4 << 20;
/// Greatest length of a description; longer ones are cut.
const COLUMNS: usize = 96;
/// Comment lines for editors, which are not part of the description.
const FOR_EDITORS: &str = "yaml-language-server:";

/// Lists the requested kinds of files.
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

/// The description of a file in one line, or the error of reading it.
pub(crate) fn about(file: &Path) -> String {
    match input::read_bytes(file, BYTES_MAX) {
        Ok(bytes) => shortened(&first_sentence(&String::from_utf8_lossy(&bytes))),
        Err(error) => error.to_string(),
    }
}

/// The first sentence of a file's leading comment.
fn first_sentence(text: &str) -> String {
    let lines = text.lines().map_while(|line| line.strip_prefix('#')).map(str::trim);
    let comment = lines.filter(|line| !line.starts_with(FOR_EDITORS)).collect::<Vec<_>>().join(" ");
    let end = comment.find(". ").unwrap_or(comment.len());
    comment[..end].trim_end_matches('.').to_owned()
}

/// Cuts a sentence after the last word that fits a line.
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
