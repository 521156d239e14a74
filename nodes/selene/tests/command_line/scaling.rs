//! Tests of `selene study scaling`: worlds that really run in one and in two processes.

use super::common::{folder, run, text};

#[test]
fn the_scaling_study_runs_worlds_in_one_and_two_processes() {
    let out = folder("study_scaling");
    let shown = out.to_str().expect("a name");
    let output = run(&["study", "scaling", "--processes", "1,2", "--for", "2", "--out", shown]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    assert_eq!(printed.lines().filter(|line| !line.is_empty()).count(), 5, "{printed}");
    let csv = std::fs::read_to_string(out.join("scaling.csv")).expect("a table");
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    let column = |name: &str| -> Vec<&str> {
        let at = rows[0].iter().position(|column| *column == name).expect("a column");
        rows[1..].iter().map(|row| row[at]).collect()
    };
    assert_eq!(column("soil"), ["rigid", "rigid", "silt_hard", "silt_hard"]);
    assert_eq!(column("processes"), ["1", "2", "1", "2"]);
    let sent = column("bytes_s_per_vehicle");
    assert!(sent[0].is_empty() && sent[2].is_empty(), "alone, a process sends nothing: {sent:?}");
    let [rigid, soil] = [1, 3].map(|row| sent[row].parse::<f64>().expect("a rate"));
    // Ruts are sent besides the poses.
    assert!(rigid > 1e4 && soil > 1.3 * rigid, "{rigid} and {soil} B/s");
    assert!(column("wall_over_simulated").iter().all(|factor| factor.parse::<f64>().is_ok_and(|factor| factor > 0.0)));
    let drawn = image::open(out.join("scaling.png")).expect("a chart");
    assert!(drawn.width() > 400 && drawn.height() > 200);
}
