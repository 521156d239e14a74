//! `path.png`: the paths that rovers drove, over the shaded ground with all ruts, and in a corner their complete
//! routes.

use std::path::Path;

use nalgebra::Vector3;
use selene_terrain::Clipmap;

use super::PictureError;
use super::canvas::{Align, Canvas};
use super::colour::{self, Rgb};
use super::map::{Corner, MapView};

const SIDE_PX: u32 = 1100;
const INSET_PX: u32 = 330;
const TOP_PX: u32 = 54;
const EDGE_PX: u32 = 12;
/// Width of the legend and height of its rows, px.
const LEGEND_PX: [i32; 2] = [188, 27];
/// The most rovers in the legend.
const LEGEND_MAX: usize = 12;
/// Smallest side of the map, m: about three rovers.
const SIDE_MIN_M: f64 = 6.0;

/// Content of a run's map. Positions are in the map frame, m.
pub struct PathPicture<'a> {
    /// Title above the map.
    pub title: String,
    /// The ground at the end of the run, including ruts.
    pub ground: &'a Clipmap,
    /// Unit vector towards the Sun.
    pub sun: Vector3<f64>,
    /// Paths of the rovers.
    pub tracks: Vec<PathTrack>,
}

/// The path of one rover.
#[derive(Clone, Debug, Default)]
pub struct PathTrack {
    /// Name of the rover.
    pub name: String,
    /// Its positions, oldest first, m.
    pub driven_m: Vec<[f64; 2]>,
    /// Its heading at the end, rad, counter-clockwise from east.
    pub yaw_rad: f64,
    /// Its waypoints, m.
    pub route_m: Vec<[f64; 2]>,
}

impl PathPicture<'_> {
    /// The window of the map, at its place on the picture.
    pub fn view(&self) -> MapView {
        let driven = self.tracks.iter().flat_map(|track| track.driven_m.iter().copied());
        MapView::around(driven, SIDE_MIN_M, SIDE_PX).at(EDGE_PX as i32, TOP_PX as i32)
    }

    /// Draws the picture to `path`.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), PictureError> {
        let mut canvas = Canvas::new(SIDE_PX + 2 * EDGE_PX, SIDE_PX + TOP_PX + EDGE_PX, colour::BACKGROUND);
        canvas.text(&self.title, (EDGE_PX as i32 + 4, TOP_PX as i32 / 2), 22, colour::INK, Align::Left);
        let view = self.view();
        self.draw_map(&mut canvas, &view, 3);
        view.draw_scale(&mut canvas, Corner::LowerLeft);
        self.draw_sun(&mut canvas, &view);
        self.draw_inset(&mut canvas, &view);
        self.draw_legend(&mut canvas, &view);
        canvas.save(path)
    }

    fn draw_map(&self, canvas: &mut Canvas, view: &MapView, width_px: u32) {
        let [left, top, _, _] = view.bounds_px();
        canvas.place(&view.shade(self.ground, self.sun), left as u32, top as u32);
        self.tracks.iter().for_each(|track| track.draw_route(canvas, view, width_px));
        for (number, track) in self.tracks.iter().enumerate() {
            track.draw(canvas, view, width_px, driven_colour(number));
        }
    }

    /// Draws an arrow in the upper right along the direction of the light.
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

    /// Draws the complete routes in the corner where they hide least.
    fn draw_inset(&self, canvas: &mut Canvas, view: &MapView) {
        let routes = || self.tracks.iter().flat_map(|track| &track.route_m);
        if routes().all(|at| view.shows(*at)) {
            return;
        }
        let all = routes().chain(self.tracks.iter().flat_map(|track| &track.driven_m)).copied();
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

    /// Draws the legend on the lower right: the colours of the rovers if there are several, the start and the route.
    fn draw_legend(&self, canvas: &mut Canvas, view: &MapView) {
        let [_, _, right, bottom] = view.bounds_px();
        let tracks = self.tracks.iter().take(LEGEND_MAX);
        let names = tracks.map(|track| if self.tracks.len() > 1 { track.name.as_str() } else { "driven" });
        let names: Vec<_> = names.collect();
        let (left, top) = (right - LEGEND_PX[0], bottom - 46 - LEGEND_PX[1] * names.len() as i32 - LEGEND_PX[1]);
        canvas.fill([left, top, right - 10, bottom - 10], colour::BACKGROUND, 0.65);
        let row = |i: usize| top + 18 + LEGEND_PX[1] * i as i32;
        let label = |canvas: &mut Canvas, i: usize, text: &str| {
            canvas.text(text, (left + 60, row(i)), 16, colour::INK, Align::Left);
        };
        canvas.dot((left + 28, row(0)), 6, colour::INK, Some(2));
        label(canvas, 0, "start");
        for (i, name) in names.iter().enumerate() {
            canvas.line(vec![(left + 12, row(i + 1)), (left + 44, row(i + 1))], driven_colour(i), 3, 1.0);
            label(canvas, i + 1, name);
        }
        let last = names.len() + 1;
        for i in 0..2 {
            canvas.line(
                vec![(left + 12 + 18 * i, row(last)), (left + 24 + 18 * i, row(last))],
                colour::REQUESTED,
                2,
                1.0,
            );
        }
        label(canvas, last, "route");
    }
}

impl PathTrack {
    fn draw_route(&self, canvas: &mut Canvas, view: &MapView, width_px: u32) {
        let route: Vec<_> = self.driven_m.first().into_iter().chain(&self.route_m).copied().collect();
        for leg in route.windows(2) {
            dash(canvas, view, leg[0], leg[1], width_px.max(2) - 1);
        }
        for waypoint in self.route_m.iter().filter(|at| view.shows(**at)) {
            canvas.dot(view.px(*waypoint), 5, colour::REQUESTED, Some(2));
        }
    }

    fn draw(&self, canvas: &mut Canvas, view: &MapView, width_px: u32, colour: Rgb) {
        canvas.line(self.driven_m.iter().map(|at| view.px(*at)).collect(), colour, width_px, 0.9);
        if let Some(start) = self.driven_m.first() {
            canvas.dot(view.px(*start), 2 + 2 * width_px as i32, colour::INK, Some(2));
        }
        if let Some(end) = self.driven_m.last() {
            draw_rover(canvas, view.px(*end), self.yaw_rad, 4.0 * f64::from(width_px), colour);
        }
    }
}

/// Colour of the path of rover `number`; a single rover has `colour::DRIVEN`.
#[must_use]
pub fn driven_colour(number: usize) -> Rgb {
    if number == 0 { colour::DRIVEN } else { colour::LINES[(number + 1) % colour::LINES.len()] }
}

fn draw_rover(canvas: &mut Canvas, (x, y): (i32, i32), yaw_rad: f64, size_px: f64, colour: Rgb) {
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
    canvas.polygon(outline.clone(), colour);
    canvas.line([outline.clone(), vec![outline[0]]].concat(), colour::BACKGROUND, 2, 1.0);
}

/// Draws a dashed straight line between two points of the map, inside of the window.
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
            canvas.line(vec![view.px(begin), view.px(end)], colour::REQUESTED, width_px, 0.9);
        }
    }
}
