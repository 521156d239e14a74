//! The study's results as text, table and chart.

use std::fmt::Write as _;

use selene_pictures::chart::{Chart, Line, Mark, Panel};

use super::drive::{ConvoyResult, Follower};
use super::metrics::{Deviations, deviations};
use super::{CourseGround, FOLLOWERS};

/// Columns of the six metrics, and their axis labels.
const METRICS: [(&str, &str); 6] = [
    ("path_mean_m", "path deviation, mean, m"),
    ("path_max_m", "path deviation, greatest, m"),
    ("speed_mean_m_s", "speed deviation, mean, m/s"),
    ("speed_max_m_s", "speed deviation, greatest, m/s"),
    ("speed_mean_relative", "relative speed deviation, mean"),
    ("speed_max_relative", "relative speed deviation, greatest"),
];
/// The paper's only example (figures 13 and 14): follower 3 on rigid ground.
const PAPER: [f64; 6] = [0.473, 2.484, 0.505, 2.154, 0.122, 0.692];
/// Quantiles that are reported.
const QUANTILES: [f64; 3] = [0.25, 0.5, 0.75];

/// Result of one truck on one course.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TruckResult {
    /// Number of the course.
    pub course: u64,
    /// The ground.
    pub terrain: CourseGround,
    /// Name of the followers' driver.
    pub driver: &'static str,
    /// Position behind the leader; 0 is the leader.
    pub truck: usize,
    /// Whether the leader reached the end.
    pub is_done: bool,
    /// Number of obstacles that it hit.
    pub hits: usize,
    /// Its deviations; `None` for the leader, and where nothing can be compared.
    pub deviations: Option<Deviations>,
}

/// Results of all trucks of a convoy.
#[must_use]
pub fn judge(course: u64, terrain: CourseGround, follower: &Follower, driven: &ConvoyResult) -> Vec<TruckResult> {
    let of = |(truck, track)| TruckResult {
        course,
        terrain,
        driver: follower.name(),
        truck,
        is_done: driven.is_done,
        hits: driven.hits[truck],
        deviations: if truck == 0 { None } else { deviations(&driven.tracks[0], track) },
    };
    driven.tracks.iter().enumerate().map(of).collect()
}

impl TruckResult {
    fn is_of(&self, terrain: CourseGround, driver: &str) -> bool {
        self.terrain == terrain && self.driver == driver
    }

    fn metrics(&self) -> Option<[f64; 6]> {
        let Deviations { path_m, speed_m_s, relative, .. } = self.deviations?;
        Some([path_m[0], path_m[1], speed_m_s[0], speed_m_s[1], relative[0], relative[1]])
    }
}

/// Results of every truck on every course, as CSV.
#[must_use]
pub fn csv(judged: &[TruckResult]) -> String {
    let names = METRICS.map(|(name, _)| name).join(",");
    let mut text = format!("course,terrain,driver,truck,leader_done,hits,{names},compared_m\n");
    for of in judged {
        let metrics =
            of.metrics().map_or_else(|| [""; 6].map(str::to_owned), |all| all.map(|value| format!("{value:.6}")));
        let compared = of.deviations.map_or_else(String::new, |of| format!("{:.3}", of.compared_m));
        let TruckResult { course, driver, truck, hits, .. } = of;
        let (terrain, done, metrics) = (of.terrain.name(), u8::from(of.is_done), metrics.join(","));
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(text, "{course},{terrain},{driver},{truck},{done},{hits},{metrics},{compared}");
    }
    text
}

/// A line for each terrain, driver and follower: the median of each metric with its quartiles, the number of courses on
/// which it came to the leader's path so that there is something to compare, and the obstacles hit.
#[must_use]
pub fn table(judged: &[TruckResult]) -> String {
    let mut text = String::from("terrain  driver   follower  courses  compared  hits");
    for (name, _) in METRICS {
        let _ = write!(text, "  {name:>22}");
    }
    text.push('\n');
    for (terrain, driver) in kinds() {
        for truck in 1..=FOLLOWERS {
            let of: Vec<&TruckResult> =
                judged.iter().filter(|of| of.is_of(terrain, driver) && of.truck == truck).collect();
            if of.is_empty() {
                continue;
            }
            let hits: usize = of.iter().map(|of| of.hits).sum();
            let (name, courses) = (terrain.name(), of.len());
            let compared = of.iter().filter(|of| of.deviations.is_some()).count();
            let _ = write!(text, "{name:<8} {driver:<8} {truck:>8} {courses:>8} {compared:>9} {hits:>5}");
            for metric in 0..METRICS.len() {
                let [low, middle, high] = quantiles(&values(&of, metric));
                let _ = write!(text, "  {:>22}", format!("{low:.3} [{middle:.3}] {high:.3}"));
            }
            text.push('\n');
        }
    }
    let leaders: Vec<&TruckResult> = judged.iter().filter(|of| of.truck == 0).collect();
    let done = leaders.iter().filter(|of| of.is_done).count();
    let hits: usize = leaders.iter().map(|of| of.hits).sum();
    let _ = write!(text, "paper's example, rigid, 3                          ");
    for value in PAPER {
        let _ = write!(text, "  {value:>22.3}");
    }
    let _ = writeln!(text, "\nleaders: {done} of {} came to the end and hit {hits} obstacles", leaders.len());
    text
}

fn values(judged: &[&TruckResult], metric: usize) -> Vec<f64> {
    let mut values: Vec<f64> = judged.iter().filter_map(|of| Some(of.metrics()?[metric])).collect();
    values.sort_by(f64::total_cmp);
    values
}

/// Quartiles of sorted values, interpolated; NaN if there are none.
fn quantiles(values: &[f64]) -> [f64; 3] {
    QUANTILES.map(|share| {
        let Some(last) = values.len().checked_sub(1) else { return f64::NAN };
        let at = share * last as f64;
        let (low, high) = (values[at.floor() as usize], values[at.ceil() as usize]);
        low + (at - at.floor()) * (high - low)
    })
}

/// Chart of the six metrics by follower: a dot for each course, and the medians.
#[must_use]
pub fn chart(judged: &[TruckResult]) -> Chart {
    let panels = METRICS.iter().enumerate().map(|(metric, (_, y))| Panel {
        x: "follower".to_owned(),
        y: (*y).to_owned(),
        lines: kinds().enumerate().flat_map(|(colour, kind)| lines(judged, kind, colour, metric)).collect(),
    });
    Chart {
        title: "Convoys: deviation of followers from their leader".to_owned(),
        columns: 2,
        panels: panels.collect(),
    }
}

/// All combinations of terrain and driver.
fn kinds() -> impl Iterator<Item = (CourseGround, &'static str)> {
    Follower::NAMES.into_iter().flat_map(|driver| CourseGround::ALL.map(|terrain| (terrain, driver)))
}

/// Dots and medians of a driver on a terrain; empty if it did not drive there.
fn lines(judged: &[TruckResult], (terrain, driver): (CourseGround, &str), colour: usize, metric: usize) -> Vec<Line> {
    // Terrains are drawn side by side, and so are drivers on each terrain.
    let beside =
        0.2 * (colour % CourseGround::ALL.len()) as f64 + 0.08 * (colour / CourseGround::ALL.len()) as f64 - 0.2;
    let x = |truck: usize| truck as f64 + beside;
    let of_kind = || judged.iter().filter(|of| of.is_of(terrain, driver) && of.truck > 0);
    if of_kind().next().is_none() {
        return Vec::new();
    }
    let dots = of_kind().filter_map(|of| Some((x(of.truck), of.metrics()?[metric]))).collect();
    let median = |truck| {
        let of: Vec<&TruckResult> = of_kind().filter(|of| of.truck == truck).collect();
        (x(truck), quantiles(&values(&of, metric))[1])
    };
    let medians = (1..=FOLLOWERS).map(median).collect();
    let name = format!("{}, {driver}", terrain.name());
    vec![
        Line { name: format!("{name}, median"), colour, mark: Mark::Line, points: medians },
        Line { name, colour, mark: Mark::Rings, points: dots },
    ]
}

#[cfg(test)]
mod tests {
    use super::{TruckResult, chart, csv, quantiles, table};
    use crate::convoy::{CourseGround, Deviations};

    #[test]
    fn quartiles_lie_between_values() {
        assert_eq!(quantiles(&[1.0, 2.0, 3.0, 4.0, 5.0]), [2.0, 3.0, 4.0]);
        assert_eq!(quantiles(&[1.0, 2.0]), [1.25, 1.5, 1.75]);
        assert!(quantiles(&[]).iter().all(|value| value.is_nan()));
    }

    #[test]
    fn every_truck_has_a_line_and_every_follower_its_median() {
        let deviations = |of: f64| {
            Some(Deviations {
                path_m: [of, 2.0 * of],
                speed_m_s: [0.3, 0.4],
                relative: [0.05, 0.06],
                compared_m: 120.0,
            })
        };
        let mut judged: Vec<TruckResult> = (0..6)
            .map(|i| TruckResult {
                course: i,
                terrain: CourseGround::Hard,
                driver: "plain",
                truck: (i % 2) as usize,
                is_done: true,
                hits: i as usize,
                deviations: if i % 2 == 0 { None } else { deviations(i as f64) },
            })
            .collect();
        let rows = csv(&judged);
        assert_eq!(rows.lines().count(), 7);
        assert!(
            rows.contains("\n3,hard,plain,1,1,3,3.000000,6.000000,0.300000")
                && rows.contains("\n2,hard,plain,0,1,2,,,,,,,\n"),
            "{rows}"
        );
        let text = table(&judged);
        assert!(text.contains("2.000 [3.000] 4.000") && text.contains("3 of 3 came to the end and hit 6"), "{text}");
        // A learned follower gets a line of its own; the plain one's stays unchanged.
        judged.push(TruckResult { driver: "learned", deviations: deviations(9.0), ..judged[1] });
        let (before, text) = (text, table(&judged));
        let line = |text: &str, driver: &str| text.lines().find(|line| line.contains(driver)).map(str::to_owned);
        assert_eq!(line(&text, "plain"), line(&before, "plain"), "{text}");
        assert!(line(&text, "learned").is_some_and(|line| line.contains("9.000 [9.000] 9.000")), "{text}");
        assert_eq!(chart(&judged).panels[0].lines.len(), 4);
    }
}
