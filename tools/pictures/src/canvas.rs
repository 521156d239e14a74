//! A canvas: an image with direct access to its pixels, on which plotters draws lines, shapes and text.

use std::path::Path;
use std::sync::OnceLock;

use image::RgbImage;
use plotters::prelude::{BitMapBackend, Circle, DrawingBackend, PathElement, Polygon, Rectangle, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontStyle, IntoFont, RGBAColor, RGBColor, ShapeStyle, TextStyle};

use super::colour::Rgb;
use super::{PictureError, save_png};

/// Horizontal alignment of a text at its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// The text begins at the position.
    Left,
    /// The text is centred on the position.
    Middle,
}

/// An image that is being drawn.
pub struct Canvas {
    /// Content drawn so far.
    pub pixels: RgbImage,
}

impl Canvas {
    /// Creates a canvas of one colour.
    pub fn new(width: u32, height: u32, colour: Rgb) -> Self {
        Self { pixels: RgbImage::from_pixel(width, height, image::Rgb(colour)) }
    }

    /// Copies `tile` to the canvas, with its top left corner at (x, y).
    pub fn place(&mut self, tile: &RgbImage, x: u32, y: u32) {
        image::imageops::replace(&mut self.pixels, tile, i64::from(x), i64::from(y));
    }

    /// Fills a rectangle, given as left, top, right, bottom.
    pub fn fill(&mut self, [left, top, right, bottom]: [i32; 4], colour: Rgb, opacity: f64) {
        let style = paint(colour, opacity).filled();
        self.draw(|area| area.draw(&Rectangle::new([(left, top), (right, bottom)], style)));
    }

    /// Draws the outline of a rectangle, given as left, top, right, bottom.
    pub fn frame(&mut self, [left, top, right, bottom]: [i32; 4], colour: Rgb) {
        let style = paint(colour, 1.0).stroke_width(1);
        self.draw(|area| area.draw(&Rectangle::new([(left, top), (right, bottom)], style)));
    }

    /// Draws a line through `points`.
    pub fn line(&mut self, points: Vec<(i32, i32)>, colour: Rgb, width_px: u32, opacity: f64) {
        let style = paint(colour, opacity).stroke_width(width_px);
        self.draw(|area| area.draw(&PathElement::new(points.clone(), style)));
    }

    /// Fills a polygon.
    pub fn polygon(&mut self, points: Vec<(i32, i32)>, colour: Rgb) {
        self.draw(|area| area.draw(&Polygon::new(points.clone(), paint(colour, 1.0).filled())));
    }

    /// Draws a dot, or a ring of `ring_px` width.
    pub fn dot(&mut self, at: (i32, i32), radius_px: i32, colour: Rgb, ring_px: Option<u32>) {
        let style = match ring_px {
            None => paint(colour, 1.0).filled(),
            Some(width) => paint(colour, 1.0).stroke_width(width),
        };
        self.draw(|area| area.draw(&Circle::new(at, radius_px, style)));
    }

    /// Writes `text`, vertically centred on `at`.
    pub fn text(&mut self, text: &str, at: (i32, i32), size_px: u32, colour: Rgb, align: Align) {
        let style = words(size_px, colour, align);
        self.draw(|area| area.draw(&Text::new(text, at, style.clone())));
    }

    /// Writes the image to a PNG file.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), PictureError> {
        save_png(&self.pixels, path)
    }

    /// Gives plotters access to the pixels. Drawing cannot fail: the pixels are in memory and the font is built in.
    pub fn draw<E>(&mut self, with: impl Fn(&Area<'_>) -> Result<(), E>) {
        use plotters::prelude::IntoDrawingArea;
        register_font();
        let size = self.pixels.dimensions();
        let area = BitMapBackend::with_buffer(&mut self.pixels, size).into_drawing_area();
        if with(&area).is_err() {
            tracing::warn!("a part of a picture could not be drawn");
        }
    }
}

/// Drawing area of plotters.
pub type Area<'a> = plotters::drawing::DrawingArea<BitMapBackend<'a>, plotters::coord::Shift>;

/// Error of plotters for this drawing area.
pub type DrawError<'a> = plotters::drawing::DrawingAreaErrorKind<<BitMapBackend<'a> as DrawingBackend>::ErrorType>;

/// A colour in the form that plotters uses.
pub fn paint([r, g, b]: Rgb, opacity: f64) -> RGBAColor {
    RGBColor(r, g, b).mix(opacity)
}

/// Style of a line.
pub fn stroke(colour: Rgb, width_px: u32) -> ShapeStyle {
    paint(colour, 1.0).stroke_width(width_px)
}

/// Style of text that plotters positions itself.
pub fn plain_words(size_px: u32, colour: Rgb) -> TextStyle<'static> {
    TextStyle { pos: Pos::default(), ..words(size_px, colour, Align::Left) }
}

fn words(size_px: u32, colour: Rgb, align: Align) -> TextStyle<'static> {
    register_font();
    let horizontal = match align {
        Align::Left => HPos::Left,
        Align::Middle => HPos::Center,
    };
    TextStyle {
        font: ("sans-serif", f64::from(size_px)).into_font(),
        color: paint(colour, 1.0).to_backend_color(),
        pos: Pos::new(horizontal, VPos::Center),
    }
}

fn register_font() {
    static ONCE: OnceLock<()> = OnceLock::new();
    ONCE.get_or_init(|| {
        let font = epaint_default_fonts::UBUNTU_LIGHT;
        for style in [FontStyle::Normal, FontStyle::Bold] {
            if plotters::style::register_font("sans-serif", style, font).is_err() {
                tracing::warn!("the built-in font cannot be read: pictures are without words");
            }
        }
    });
}
