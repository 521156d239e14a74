//! Three orthographic views of a body with its wheels marked, to check at a glance how a rover's files were read.
//! Frames have x forward, y left, z up. Facets are drawn into a depth buffer and shaded by their angle to the viewer.

use std::path::Path;

use image::RgbImage;

use super::PictureError;
use super::canvas::{Align, Canvas};
use super::colour::{self, Rgb};
use super::map::{length_text, round_length_m};

/// Side of a view, and height of the text above and below, px.
const SIDE_PX: u32 = 480;
const HEAD_PX: u32 = 56;
const FOOT_PX: u32 = 44;
/// Fraction of a view that the body fills.
const FILLED: f64 = 0.84;
/// Brightness of a facet seen edge-on.
const DIM: f64 = 0.35;

/// A triangle in the body's frame, m, and its colour.
#[derive(Clone, Copy, Debug)]
pub struct Facet {
    /// Its corners, m.
    pub corners_m: [[f64; 3]; 3],
    /// Its colour when it faces the viewer.
    pub colour: Rgb,
}

/// Outline of a wheel: a cylinder along the body's y axis.
#[derive(Clone, Debug)]
pub struct WheelOutline {
    /// Name of the wheel.
    pub name: String,
    /// Its centre in the body's frame, m.
    pub centre_m: [f64; 3],
    /// Its radius, m.
    pub radius_m: f64,
    /// Its width, m.
    pub width_m: f64,
    /// Whether it has a drive motor.
    pub driven: bool,
}

/// A direction of view: the axes, with signs, that point right, up and towards the viewer.
struct View {
    name: &'static str,
    axes: [(usize, f64); 3],
}

const VIEWS: [View; 3] = [
    View { name: "from the right", axes: [(0, 1.0), (2, 1.0), (1, -1.0)] },
    View { name: "from the front", axes: [(1, 1.0), (2, 1.0), (0, 1.0)] },
    View { name: "from above", axes: [(0, 1.0), (1, 1.0), (2, 1.0)] },
];

/// Draws the three views and writes them to a PNG file.
///
/// # Errors
/// When the file cannot be written.
pub fn save(title: &str, facets: &[Facet], wheels: &[WheelOutline], path: &Path) -> Result<(), PictureError> {
    let frame = Frame::around(facets, wheels);
    let mut canvas = Canvas::new(3 * SIDE_PX, HEAD_PX + SIDE_PX + FOOT_PX, colour::BACKGROUND);
    canvas.text(title, (20, 20), 20, colour::INK, Align::Left);
    for (i, view) in VIEWS.iter().enumerate() {
        let left = i as u32 * SIDE_PX;
        canvas.place(&drawn(view, &frame, facets), left, HEAD_PX);
        canvas.text(view.name, (left as i32 + 20, HEAD_PX as i32 - 12), 15, colour::FAINT_INK, Align::Left);
        wheels.iter().for_each(|wheel| outline(&mut canvas, i, &frame, wheel));
    }
    draw_foot(&mut canvas, &frame);
    canvas.save(path)
}

/// Centre and scale that all views share.
struct Frame {
    middle_m: [f64; 3],
    px_per_m: f64,
}

impl Frame {
    fn around(facets: &[Facet], wheels: &[WheelOutline]) -> Self {
        let of_wheel = |wheel: &WheelOutline| -> [[f64; 3]; 2] {
            let half_m = [wheel.radius_m, 0.5 * wheel.width_m, wheel.radius_m];
            [-1.0, 1.0].map(|sign| std::array::from_fn(|axis| wheel.centre_m[axis] + sign * half_m[axis]))
        };
        let corners = facets.iter().flat_map(|facet| facet.corners_m).chain(wheels.iter().flat_map(of_wheel));
        let corners: Vec<[f64; 3]> = corners.collect();
        let ends_m = [0, 1, 2].map(|axis: usize| {
            let places = corners.iter().map(|corner| corner[axis]);
            places.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], at| [low.min(at), high.max(at)])
        });
        let largest_m = ends_m.iter().map(|[low, high]| high - low).fold(0.0, f64::max);
        if largest_m > 0.0 && largest_m.is_finite() {
            let middle_m = ends_m.map(|[low, high]| 0.5 * (low + high));
            return Self { middle_m, px_per_m: FILLED * f64::from(SIDE_PX) / largest_m };
        }
        Self { middle_m: [0.0; 3], px_per_m: 1.0 }
    }

    /// Position of a point in a view: px from its left and top, and its coordinate towards the viewer, m.
    fn place(&self, view: &View, point_m: &[f64; 3]) -> [f64; 3] {
        let [right, up, near] = view.axes.map(|(axis, sign)| sign * (point_m[axis] - self.middle_m[axis]));
        let half_px = 0.5 * f64::from(SIDE_PX);
        [half_px + right * self.px_per_m, half_px - up * self.px_per_m, near]
    }
}

/// Image of the facets in a view.
fn drawn(view: &View, frame: &Frame, facets: &[Facet]) -> RgbImage {
    let mut image = RgbImage::from_pixel(SIDE_PX, SIDE_PX, image::Rgb(colour::PANEL));
    let mut nearest_m = vec![f64::NEG_INFINITY; (SIDE_PX * SIDE_PX) as usize];
    for facet in facets {
        let corners = facet.corners_m.map(|corner| frame.place(view, &corner));
        let lit = DIM + (1.0 - DIM) * facing(&facet.corners_m, view);
        let shade = facet.colour.map(|part| (f64::from(part) * lit).round() as u8);
        fill(&corners, |x, y, near_m| {
            let nearest = &mut nearest_m[(y * SIDE_PX + x) as usize];
            if near_m > *nearest {
                *nearest = near_m;
                image.put_pixel(x, y, image::Rgb(shade));
            }
        });
    }
    image
}

/// Cosine of the angle between a triangle's normal and the direction of view, 0 to 1, for either side.
fn facing([a, b, c]: &[[f64; 3]; 3], view: &View) -> f64 {
    let [ab, ac] = [b, c].map(|corner| [0, 1, 2].map(|axis: usize| corner[axis] - a[axis]));
    let normal = [0, 1, 2].map(|axis: usize| {
        let (next, last) = ((axis + 1) % 3, (axis + 2) % 3);
        ab[next] * ac[last] - ab[last] * ac[next]
    });
    let length = normal.iter().map(|part| part * part).sum::<f64>().sqrt();
    if length > 0.0 { (normal[view.axes[2].0] / length).abs() } else { 0.0 }
}

/// Calls `put` for each pixel whose centre is inside a triangle, with the coordinate towards the viewer there.
fn fill([a, b, c]: &[[f64; 3]; 3], mut put: impl FnMut(u32, u32, f64)) {
    let edge = |from: &[f64; 3], to: &[f64; 3], [x, y]: [f64; 2]| {
        (to[0] - from[0]) * (y - from[1]) - (to[1] - from[1]) * (x - from[0])
    };
    let area = edge(a, b, [c[0], c[1]]);
    if area == 0.0 {
        return;
    }
    let range = |axis: usize| {
        let [low, high] = [f64::min as fn(f64, f64) -> f64, f64::max].map(|end| end(end(a[axis], b[axis]), c[axis]));
        let pixel = |at: f64| at.clamp(0.0, f64::from(SIDE_PX)) as u32;
        pixel(low.floor())..pixel(high.ceil())
    };
    for y in range(1) {
        for x in range(0) {
            let at = [f64::from(x) + 0.5, f64::from(y) + 0.5];
            let shares = [edge(b, c, at), edge(c, a, at), edge(a, b, at)].map(|part| part / area);
            if shares.iter().all(|share| *share >= 0.0) {
                put(x, y, shares[0] * a[2] + shares[1] * b[2] + shares[2] * c[2]);
            }
        }
    }
}

/// Draws a wheel's outline in view `i`; the view from above also gets its name.
fn outline(canvas: &mut Canvas, i: usize, frame: &Frame, wheel: &WheelOutline) {
    let view = &VIEWS[i];
    let colour = if wheel.driven { colour::DRIVEN } else { colour::REQUESTED };
    let [x, y, _] = frame.place(view, &wheel.centre_m);
    let at = ((i as u32 * SIDE_PX) as i32 + x.round() as i32, HEAD_PX as i32 + y.round() as i32);
    let half_m = [wheel.radius_m, 0.5 * wheel.width_m, wheel.radius_m];
    let [half_x, half_y] = [0, 1].map(|side: usize| (half_m[view.axes[side].0] * frame.px_per_m).round() as i32);
    // Seen along its axle, a wheel is a ring.
    if view.axes[2].0 == 1 {
        canvas.dot(at, half_x, colour, Some(2));
        return;
    }
    canvas.frame([at.0 - half_x, at.1 - half_y, at.0 + half_x, at.1 + half_y], colour);
    if view.axes[2].0 == 2 {
        // Readable on any colour of the rover.
        for aside in [(-1, 0), (1, 0), (0, -1), (0, 1)] {
            let at = (at.0 + aside.0, at.1 + aside.1);
            canvas.text(&wheel.name, at, 14, colour::BACKGROUND, Align::Middle);
        }
        canvas.text(&wheel.name, at, 14, colour::INK, Align::Middle);
    }
}

fn draw_foot(canvas: &mut Canvas, frame: &Frame) {
    let length_m = round_length_m(0.3 * f64::from(SIDE_PX) / frame.px_per_m);
    let length_px = (length_m * frame.px_per_m).round() as i32;
    let y = (HEAD_PX + SIDE_PX + FOOT_PX / 2) as i32;
    canvas.line(vec![(20, y - 6), (20, y), (20 + length_px, y), (20 + length_px, y - 6)], colour::INK, 2, 1.0);
    canvas.text(&length_text(length_m), (36 + length_px, y - 4), 15, colour::INK, Align::Left);
    canvas.text("driven wheel", (SIDE_PX as i32 + 20, y - 4), 15, colour::DRIVEN, Align::Left);
    canvas.text("free wheel", (SIDE_PX as i32 + 150, y - 4), 15, colour::REQUESTED, Align::Left);
}

#[cfg(test)]
mod tests {
    use super::{Facet, Frame, SIDE_PX, VIEWS, drawn};

    /// A square with half edges of 0.5 m, perpendicular to `axis` at `at`.
    fn square(axis: usize, at: f64, colour: [u8; 3]) -> [Facet; 2] {
        let corner = |a: f64, b: f64| {
            let mut corner = [at; 3];
            (corner[(axis + 1) % 3], corner[(axis + 2) % 3]) = (a, b);
            corner
        };
        let [a, b, c, d] = [corner(-0.5, -0.5), corner(0.5, -0.5), corner(0.5, 0.5), corner(-0.5, 0.5)];
        [[a, b, c], [a, c, d]].map(|corners_m| Facet { corners_m, colour })
    }

    #[test]
    fn what_is_nearer_hides_what_is_behind_whichever_comes_first() {
        let (near, far) = ([200, 100, 40], [10, 20, 30]);
        // The right, the front and the top are towards the viewer: y −, x + and z +.
        for (view, axis, sign) in [(0, 1, -1.0), (1, 0, 1.0), (2, 2, 1.0)] {
            let [front, back] = [square(axis, 0.5 * sign, near), square(axis, -0.5 * sign, far)];
            for facets in [[front, back].concat(), [back, front].concat()] {
                let frame = Frame::around(&facets, &[]);
                let image = drawn(&VIEWS[view], &frame, &facets);
                assert_eq!(image.get_pixel(SIDE_PX / 2, SIDE_PX / 2).0, near, "view {view}");
            }
        }
    }
}
