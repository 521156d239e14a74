//! `path.png`: where the rover drove, over the shaded ground with its ruts, and
//! in a corner the whole route.

use std::path::Path;

use nalgebra::Vector3;
use selene_terrain::Ground;

use super::PictureError;
use super::canvas::{Align, Canvas};
use super::colour;
use super::map::{Corner, MapView};

const SIDE_PX: u32 = 1100;
const INSET_PX: u32 = 330;
const TOP_PX: u32 = 54;
const EDGE_PX: u32 = 12;
/// The smallest part of the ground that is worth a map: about three rovers.
const SIDE_MIN_M: f64 = 6.0;

/// What the map of a run shows. Positions in the map frame, m.
pub(crate) struct PathPicture<'a> {
    /// Above the map.
    pub(crate) title: String,
    /// The ground at the end of the run, ruts included.
    pub(crate) ground: &'a Ground,
    /// Unit, toward the Sun.
    pub(crate) sun: Vector3<f64>,
    /// Where the rover was, oldest first.
    pub(crate) driven_m: Vec<[f64; 2]>,
    /// Its heading at the end, rad from east.
    pub(crate) yaw_rad: f64,
    /// The scenario's waypoints.
    pub(crate) route_m: Vec<[f64; 2]>,
}

impl PathPicture<'_> {
    /// Draws the picture to `path`.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(crate) fn save(&self, path: &Path) -> Result<(), PictureError> {
        let mut canvas = Canvas::new(SIDE_PX + 2 * EDGE_PX, SIDE_PX + TOP_PX + EDGE_PX, colour::BACKGROUND);
        canvas.text(&self.title, (EDGE_PX as i32 + 4, TOP_PX as i32 / 2), 22, colour::INK, Align::Left);
        let view = MapView::around(self.driven_m.iter().copied(), SIDE_MIN_M, SIDE_PX);
        let view = view.at(EDGE_PX as i32, TOP_PX as i32);
        self.draw_map(&mut canvas, &view, 3);
        view.draw_scale(&mut canvas, Corner::LowerLeft);
        self.draw_sun(&mut canvas, &view);
        self.draw_inset(&mut canvas, &view);
        draw_legend(&mut canvas, &view);
        canvas.save(path)
    }

    fn draw_map(&self, canvas: &mut Canvas, view: &MapView, width_px: u32) {
        let [left, top, _, _] = view.bounds_px();
        canvas.place(&view.shade(self.ground, self.sun), left as u32, top as u32);
        let start = self.driven_m.first().copied();
        let route: Vec<_> = start.iter().chain(&self.route_m).copied().collect();
        for leg in route.windows(2) {
            dash(canvas, view, leg[0], leg[1], width_px.max(2) - 1);
        }
        for waypoint in self.route_m.iter().filter(|at| view.shows(**at)) {
            canvas.dot(view.px(*waypoint), 5, colour::ASKED, Some(2));
        }
        canvas.line(self.driven_m.iter().map(|at| view.px(*at)).collect(), colour::DRIVEN, width_px, 0.9);
        if let Some(start) = start {
            canvas.dot(view.px(start), 2 + 2 * width_px as i32, colour::INK, Some(2));
        }
        if let Some(end) = self.driven_m.last() {
            draw_rover(canvas, view.px(*end), self.yaw_rad, 4.0 * f64::from(width_px));
        }
    }

    /// An arrow in the upper right: the way the light comes.
    fn draw_sun(&self, canvas: &mut Canvas, view: &MapView) {
        let [_, top, right, _] = view.bounds_px();
        canvas.fill([right - 178, top + 10, right - 10, top + 118], colour::BACKGROUND, 0.65);
        let (x, y) = (right - 94, top + 52);
        let along = (self.sun.x / self.sun.xy().norm().max(1e-9), self.sun.y / self.sun.xy().norm().max(1e-9));
        let at = |forward: f64, side: f64| {
            let right = f64::from(x) + forward * along.0 - side * along.1;
            let down = f64::from(y) - forward * along.1 - side * along.0;
            (right as i32, down as i32)
        };
        canvas.dot(at(30.0, 0.0), 8, colour::SUN, None);
        canvas.line(vec![at(16.0, 0.0), at(-20.0, 0.0)], colour::SUN, 2, 1.0);
        canvas.polygon(vec![at(-30.0, 0.0), at(-16.0, 7.0), at(-16.0, -7.0)], colour::SUN);
        let high = format!("Sun {:.1}° high", self.sun.z.clamp(-1.0, 1.0).asin().to_degrees());
        canvas.text(&high, (x, top + 104), 16, colour::INK, Align::Middle);
    }

    /// The whole route, in the corner where it hides least.
    fn draw_inset(&self, canvas: &mut Canvas, view: &MapView) {
        if self.route_m.iter().all(|at| view.shows(*at)) {
            return;
        }
        let all = self.route_m.iter().chain(&self.driven_m).copied();
        let [left, top, _, _] = view.bounds_px();
        let inset = MapView::around(all, view.side_m, INSET_PX).at(left + 10, top + 10);
        self.draw_map(canvas, &inset, 2);
        let window = view.side_m * 0.5;
        let [x, y] = view.centre_m;
        let (a, b) = (inset.px([x - window, y + window]), inset.px([x + window, y - window]));
        let [left, top, right, bottom] = inset.bounds_px();
        canvas.frame([a.0.max(left), a.1.max(top), b.0.min(right), b.1.min(bottom)], colour::FAINT_INK);
        canvas.frame(inset.bounds_px(), colour::INK);
        inset.draw_scale(canvas, Corner::UpperRight);
    }
}

fn draw_rover(canvas: &mut Canvas, (x, y): (i32, i32), yaw_rad: f64, size_px: f64) {
    let corner = |angle: f64, reach: f64| {
        let angle = yaw_rad + angle;
        ((f64::from(x) + reach * angle.cos()) as i32, (f64::from(y) - reach * angle.sin()) as i32)
    };
    let outline = vec![
        corner(0.0, 1.3 * size_px),
        corner(2.4, size_px),
        corner(std::f64::consts::PI, 0.4 * size_px),
        corner(-2.4, size_px),
    ];
    canvas.polygon(outline.clone(), colour::DRIVEN);
    canvas.line([outline.clone(), vec![outline[0]]].concat(), colour::BACKGROUND, 2, 1.0);
}

/// A dashed straight line between two points of the map, within the window.
fn dash(canvas: &mut Canvas, view: &MapView, from: [f64; 2], to: [f64; 2], width_px: u32) {
    let dash_m = 9.0 / view.px_per_m();
    let length = (to[0] - from[0]).hypot(to[1] - from[1]);
    let at = |along: f64| {
        let fraction = (along / length.max(1e-9)).min(1.0);
        [from[0] + (to[0] - from[0]) * fraction, from[1] + (to[1] - from[1]) * fraction]
    };
    let dashes = (length / (2.0 * dash_m)).ceil().min(10_000.0) as u32;
    for i in 0..dashes {
        let begin = at(2.0 * f64::from(i) * dash_m);
        let end = at((2.0 * f64::from(i) + 1.0) * dash_m);
        if view.shows(begin) && view.shows(end) {
            canvas.line(vec![view.px(begin), view.px(end)], colour::ASKED, width_px, 0.9);
        }
    }
}

fn draw_legend(canvas: &mut Canvas, view: &MapView) {
    let [_, _, right, bottom] = view.bounds_px();
    let (left, top) = (right - 178, bottom - 100);
    canvas.fill([left, top, right - 10, bottom - 10], colour::BACKGROUND, 0.65);
    let row = |i: i32| top + 18 + 27 * i;
    canvas.dot((left + 28, row(0)), 6, colour::INK, Some(2));
    canvas.line(vec![(left + 12, row(1)), (left + 44, row(1))], colour::DRIVEN, 3, 1.0);
    for i in 0..2 {
        canvas.line(vec![(left + 12 + 18 * i, row(2)), (left + 24 + 18 * i, row(2))], colour::ASKED, 2, 1.0);
    }
    for (i, label) in ["start", "driven", "route"].into_iter().enumerate() {
        canvas.text(label, (left + 60, row(i as i32)), 16, colour::INK, Align::Left);
    }
}
