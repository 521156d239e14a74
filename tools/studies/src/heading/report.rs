//! The study's results beside the paper's, as text, table and chart.

use std::fmt::Write;

use selene_pictures::chart::{Chart, Line, Mark, Panel};

use super::{DISCS_PX, DiscResult, Estimated, Loop};

/// Fraction of the images in which the paper finds the Sun, with any disc (table 2, column Gazebo).
const PAPER_FOUND: f64 = 1.0;
/// Disc whose errors are drawn, px: the paper considers 11 to 15 px best.
const DRAWN_PX: f64 = 15.0;
/// Mean and standard deviation of the heading error of the paper's network (§V.iv) for all positions of the Sun,
/// degrees.
const PAPER_NETWORK_DEG: [f64; 2] = [1.0, 0.7];
/// Columns of the network's CSV.
const NETWORK_COLUMNS: &str =
    "sun_elevation_deg,camera,stamp_s,in_frame,off_axis_deg,direction_error_deg,heading_error_deg";
/// Columns of the detector's CSV.
const COLUMNS: &str = "sun_elevation_deg,camera,stamp_s,sun_column_px,sun_row_px,off_axis_deg,disc_px,found,\
                       direction_error_deg,heading_error_deg";

/// Statistics of one disc over images that show the Sun.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// Number of images.
    pub images: usize,
    /// Number of images in which the Sun was found.
    pub found: usize,
    /// Mean of the absolute heading error where it was found, degrees.
    pub mean_deg: f64,
    /// Standard deviation of that error, degrees.
    pub deviation_deg: f64,
    /// Largest of these errors, degrees.
    pub largest_deg: f64,
    /// Mean of the absolute heading error over all images, including misses, degrees.
    pub mean_of_all_deg: f64,
}

impl Figures {
    /// Statistics of the results of one disc; errors are NaN without images.
    #[must_use]
    pub fn of<'a>(judged: impl Iterator<Item = &'a DiscResult>, disc_px: f64) -> Self {
        let judged: Vec<&DiscResult> = judged.filter(|of| of.disc_px == disc_px).collect();
        let error_deg = |of: &&DiscResult| of.heading_error_rad.abs().to_degrees();
        let found: Vec<f64> = judged.iter().filter(|of| of.is_found()).map(error_deg).collect();
        let all: Vec<f64> = judged.iter().map(error_deg).collect();
        let mean_deg = mean(&found);
        let squares: Vec<f64> = found.iter().map(|error| (error - mean_deg).powi(2)).collect();
        Self {
            images: judged.len(),
            found: found.len(),
            mean_deg,
            deviation_deg: mean(&squares).sqrt(),
            largest_deg: found.iter().copied().fold(f64::NAN, f64::max),
            mean_of_all_deg: mean(&all),
        }
    }

    /// Fraction of the images in which the Sun was found.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.found as f64 / self.images as f64
    }
}

/// Statistics of the network over some images.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NetworkFigures {
    /// Number of images.
    pub images: usize,
    /// Mean of the absolute heading error, degrees.
    pub mean_deg: f64,
    /// Standard deviation of that error, degrees.
    pub deviation_deg: f64,
    /// Largest error, degrees.
    pub largest_deg: f64,
}

impl NetworkFigures {
    /// Statistics of these results; errors are NaN without images.
    #[must_use]
    pub fn of<'a>(estimated: impl Iterator<Item = &'a Estimated>) -> Self {
        let errors: Vec<f64> = estimated.map(|of| of.heading_error_rad.abs().to_degrees()).collect();
        let mean_deg = mean(&errors);
        let squares: Vec<f64> = errors.iter().map(|error| (error - mean_deg).powi(2)).collect();
        let largest_deg = errors.iter().copied().fold(f64::NAN, f64::max);
        Self { images: errors.len(), mean_deg, deviation_deg: mean(&squares).sqrt(), largest_deg }
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Text table with a line for each loop and disc, beside the paper's values.
#[must_use]
pub fn table(loops: &[Loop]) -> String {
    let mut text =
        String::from("Sun       disc   images  with Sun  found   rate  heading error where found, °     of all\n");
    text.push_str("                                                 mean    s.d.  largest           mean\n");
    for of in loops {
        for disc_px in DISCS_PX {
            push_line(&mut text, &format!("{:.1}°", of.sun_elevation_deg), of.images, of.judged.iter(), disc_px);
        }
    }
    let images = loops.iter().map(|of| of.images).sum();
    for disc_px in DISCS_PX {
        push_line(&mut text, "all", images, loops.iter().flat_map(|of| &of.judged), disc_px);
    }
    text.push_str("paper     any                         1.000    0.80    0.70   under 5\n");
    text
}

fn push_line<'a>(text: &mut String, sun: &str, images: usize, of: impl Iterator<Item = &'a DiscResult>, disc_px: f64) {
    let figures = Figures::of(of, disc_px);
    let Figures { images: with_sun, found, mean_deg, deviation_deg, largest_deg, mean_of_all_deg } = figures;
    let rate = figures.rate();
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "{sun:<9} {disc_px:>4}  {images:>7} {with_sun:>9} {found:>6}  {rate:.3}  {mean_deg:>6.2}  {deviation_deg:>6.2}  \
         {largest_deg:>7.2}        {mean_of_all_deg:>7.2}"
    );
}

/// Text table with lines for each loop: the Sun in the frame, just outside, and both; beside the paper's values.
#[must_use]
pub fn network_table(loops: &[Loop]) -> String {
    let mut text = String::from("Sun       network         images  heading error, °: mean    s.d.  largest\n");
    for of in loops {
        push_network_lines(&mut text, &format!("{:.1}°", of.sun_elevation_deg), &of.estimated);
    }
    let all: Vec<Estimated> = loops.iter().flat_map(|of| of.estimated.iter().cloned()).collect();
    push_network_lines(&mut text, "all", &all);
    let [mean_deg, deviation_deg] = PAPER_NETWORK_DEG;
    let _ = writeln!(text, "paper     anywhere                                {mean_deg:>6.2}  {deviation_deg:>6.2}");
    text
}

/// Selects the images of a line.
type Which = fn(&Estimated) -> bool;

fn push_network_lines(text: &mut String, sun: &str, of: &[Estimated]) {
    let places: [(&str, Which); 3] =
        [("in the frame", |of| of.in_frame), ("just outside", |of| !of.in_frame), ("both", |_| true)];
    for (place, is_there) in places {
        let figures = NetworkFigures::of(of.iter().filter(|of| is_there(of)));
        let NetworkFigures { images, mean_deg, deviation_deg, largest_deg } = figures;
        let _ = writeln!(
            text,
            "{sun:<9} {place:<14} {images:>7}                    {mean_deg:>6.2}  {deviation_deg:>6.2}  {largest_deg:>7.2}"
        );
    }
}

/// Result of every disc on every image that shows the Sun, as CSV.
#[must_use]
pub fn csv(loops: &[Loop]) -> String {
    let mut text = format!("{COLUMNS}\n");
    for of in loops {
        for judged in &of.judged {
            let DiscResult { camera, stamp, sun_px: [u, v], disc_px, .. } = judged;
            let [off, direction, heading] =
                [judged.off_axis_rad, judged.direction_error_rad, judged.heading_error_rad].map(f64::to_degrees);
            let (sun, stamp_s, found) = (of.sun_elevation_deg, stamp.secs_f64(), u8::from(judged.is_found()));
            let _ = writeln!(
                text,
                "{sun},{camera},{stamp_s:.3},{u:.3},{v:.3},{off:.4},{disc_px},{found},{direction:.4},{heading:.4}"
            );
        }
    }
    text
}

/// Result of the network on every image with the Sun in the frame or just outside, as CSV.
#[must_use]
pub fn network_csv(loops: &[Loop]) -> String {
    let mut text = format!("{NETWORK_COLUMNS}\n");
    for of in loops {
        for Estimated { camera, stamp, in_frame, off_axis_rad, direction_error_rad, heading_error_rad } in &of.estimated
        {
            let [off, direction, heading] =
                [*off_axis_rad, *direction_error_rad, *heading_error_rad].map(f64::to_degrees);
            let (sun, stamp_s, in_frame) = (of.sun_elevation_deg, stamp.secs_f64(), u8::from(*in_frame));
            let _ = writeln!(text, "{sun},{camera},{stamp_s:.3},{in_frame},{off:.4},{direction:.4},{heading:.4}");
        }
    }
    text
}

/// Chart of the detection rate over the disc, and of heading errors over the angle from the optical axis, with those of
/// the network if there are any.
#[must_use]
pub fn chart(loops: &[Loop]) -> Chart {
    let rates = |(colour, of): (usize, &Loop)| {
        let rate = |disc_px: &f64| (*disc_px, Figures::of(of.judged.iter(), *disc_px).rate());
        line(of, colour, Mark::Line, DISCS_PX.iter().map(rate).collect())
    };
    let errors = |(colour, of): (usize, &Loop)| {
        let drawn = of.judged.iter().filter(|judged| judged.disc_px == DRAWN_PX && judged.is_found());
        dots(of, colour, drawn.map(|of| [of.off_axis_rad, of.heading_error_rad]).collect())
    };
    let network_errors = |(colour, of): (usize, &Loop)| {
        dots(of, colour, of.estimated.iter().map(|of| [of.off_axis_rad, of.heading_error_rad]).collect())
    };
    let mut found: Vec<Line> = loops.iter().enumerate().map(rates).collect();
    found.push(Line {
        name: "paper".to_owned(),
        colour: loops.len(),
        mark: Mark::Dashes,
        points: DISCS_PX.map(|disc_px| (disc_px, PAPER_FOUND)).to_vec(),
    });
    let panel = |x: &str, y: &str, lines| Panel { x: x.to_owned(), y: y.to_owned(), lines };
    let off_axis = "Sun from the optical axis, °";
    let mut panels = vec![
        panel("diameter of the disc, px", "part of the images in which the Sun is found", found),
        panel(off_axis, "heading error with a disc of 15 px, °", loops.iter().enumerate().map(errors).collect()),
    ];
    if loops.iter().any(|of| !of.estimated.is_empty()) {
        let lines = loops.iter().enumerate().map(network_errors).collect();
        panels.push(panel(off_axis, "heading error by the network, °", lines));
    }
    Chart { title: "Heading from the Sun in the side cameras".to_owned(), columns: 2, panels }
}

/// Angles in degrees as dots, sorted by the first.
fn dots(of: &Loop, colour: usize, angles_rad: Vec<[f64; 2]>) -> Line {
    let mut points: Vec<_> = angles_rad.into_iter().map(|[x, y]| (x.to_degrees(), y.to_degrees())).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    line(of, colour, Mark::Dots, points)
}

fn line(of: &Loop, colour: usize, mark: Mark, points: Vec<(f64, f64)>) -> Line {
    Line { name: format!("Sun at {:.1}°", of.sun_elevation_deg), colour, mark, points }
}

#[cfg(test)]
mod tests {
    use super::{Figures, NetworkFigures, csv, network_csv, network_table, table};
    use crate::heading::{DiscResult, Estimated, Loop};
    use selene_base::SimTime;

    fn judged(direction_deg: f64, heading_deg: f64) -> DiscResult {
        DiscResult {
            camera: "side".to_owned(),
            stamp: SimTime::from_secs_f64(1.5),
            sun_px: [10.0, 20.0],
            off_axis_rad: 0.5,
            disc_px: 15.0,
            direction_error_rad: f64::to_radians(direction_deg),
            heading_error_rad: f64::to_radians(heading_deg),
        }
    }

    #[test]
    fn misses_count_as_misses_and_not_as_errors_of_what_was_found() {
        let all = [judged(0.5, -0.4), judged(0.7, 0.6), judged(60.0, 50.0)];
        let figures = Figures::of(all.iter(), 15.0);
        assert_eq!([figures.images, figures.found], [3, 2]);
        for (value, expected) in [
            (figures.mean_deg, 0.5),
            (figures.deviation_deg, 0.1),
            (figures.largest_deg, 0.6),
            (figures.mean_of_all_deg, 17.0),
            (figures.rate(), 2.0 / 3.0),
        ] {
            assert!((value - expected).abs() < 1e-9, "{figures:?}");
        }
        assert_eq!(Figures::of(all.iter(), 5.0).images, 0);
    }

    fn estimated(in_frame: bool, heading_deg: f64) -> Estimated {
        Estimated {
            camera: "side".to_owned(),
            stamp: SimTime::from_secs_f64(1.5),
            in_frame,
            off_axis_rad: 0.5,
            direction_error_rad: 0.25,
            heading_error_rad: f64::to_radians(heading_deg),
        }
    }

    fn a_loop() -> Loop {
        Loop {
            sun_elevation_deg: 8.6,
            utc: "2026-11-16T00:00:00Z".parse().expect("an instant"),
            images: 9,
            judged: vec![judged(0.5, -0.4), judged(60.0, 50.0)],
            estimated: vec![estimated(true, -1.0), estimated(true, 2.0), estimated(false, 6.0)],
        }
    }

    #[test]
    fn suns_in_the_frame_and_just_outside_are_distinguished() {
        let of = a_loop();
        let figures = NetworkFigures::of(of.estimated.iter().filter(|of| of.in_frame));
        let expected = [(figures.mean_deg, 1.5), (figures.deviation_deg, 0.5), (figures.largest_deg, 2.0)];
        assert!(expected.iter().all(|(value, expected)| (value - expected).abs() < 1e-9), "{figures:?}");
        assert_eq!(figures.images, 2);
        let reported = network_table(std::slice::from_ref(&of));
        let numbers =
            |place: &str| reported.lines().find(|line| line.contains(place)).map(str::to_owned).expect("a line");
        assert!(numbers("in the frame").ends_with("1.50    0.50     2.00"), "{reported}");
        assert!(numbers("just outside").ends_with("6.00    0.00     6.00"), "{reported}");
        assert!(numbers("both").ends_with("3.00    2.16     6.00"), "{reported}");
        let rows: Vec<String> = network_csv(&[of]).lines().map(str::to_owned).collect();
        assert_eq!(rows[1], "8.6,side,1.500,1,28.6479,14.3239,-1.0000");
        assert_eq!(rows.len(), 4);
    }

    #[test]
    fn every_image_has_its_row() {
        let of = a_loop();
        let rows: Vec<String> = csv(std::slice::from_ref(&of)).lines().map(str::to_owned).collect();
        assert_eq!(rows.len(), 3);
        assert_eq!(rows[1], "8.6,side,1.500,10.000,20.000,28.6479,15,1,0.5000,-0.4000");
        assert!(table(&[of]).lines().any(|line| line.starts_with("8.6°") && line.contains("0.500")));
    }
}
