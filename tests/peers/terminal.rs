//! A person at a terminal: the status of a run and the bars of long work are redrawn in place, colours can be turned
//! off, `--verbose` and `--quiet` show more and less, without a terminal there is a line each ten seconds, a program
//! without arguments says what it does, and what is written is named by its full path.

use crate::program::{alone, folder, peer, selene, succeeded, text};

#[test]
fn a_person_at_a_terminal_sees_what_goes_on_and_where_the_results_are() {
    let _turn = alone();
    let Some(mut person) = peer("terminal.py") else { return };
    let out = folder("terminal");
    let program = selene().get_program().to_owned();
    let seen = person.arg(program).arg(text(&out)).output().expect("python");
    println!("{}", succeeded("terminal.py", &seen));
    std::fs::remove_dir_all(out).expect("clean");
}
