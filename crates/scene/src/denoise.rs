//! Post-processing of a traced picture, the same for every device. Scattered light comes from a few rays per pixel and
//! is noisy: it is averaged over nearby pixels of the same instance at a similar depth. This keeps the picture's mean
//! but blurs what changes within the window. Stars are then added to the pixels that contain them.

use rayon::prelude::*;

use crate::kernel::{SUN_BAND, least};
use crate::scene::Scene;
use crate::view::{CameraFrame, CameraView};

/// Half-width of the window over which scattered light is averaged, pixels.
const REACH: usize = 16;

/// Largest relative depth difference of pixels that are averaged together.
const LIKE_DEPTH: f32 = 0.1;

/// The three bands of an image, one array each, so that the same operation runs on all of them in contiguous rows.
type Planes = [Vec<f32>; 3];

/// Depth and instance of each pixel, which decide whether two pixels are similar enough to average.
struct AlikePixels<'a> {
    width: usize,
    height: usize,
    depth_m: &'a [f32],
    /// Instance number of each pixel.
    thing: &'a [u32],
}

impl CameraFrame {
    /// Smooths scattered light and adds it and the stars to the traced radiance.
    pub fn denoise(&mut self, scene: &Scene, view: &CameraView) {
        if view.light.bounce_rays > 0 {
            self.smooth_scattered();
            let pixels = self.radiance.par_iter_mut().zip(&self.scattered);
            pixels.for_each(|(radiance, scattered)| (0..3).for_each(|band| radiance[band] += scattered[band]));
        }
        self.add_stars(scene, view);
    }

    /// Smooths scattered light along rows, then along columns.
    fn smooth_scattered(&mut self) {
        let alike = AlikePixels {
            width: self.width as usize,
            height: self.height as usize,
            depth_m: &self.depth_m,
            thing: &self.instance,
        };
        let traced: Planes = std::array::from_fn(|band| self.scattered.par_iter().map(|light| light[band]).collect());
        let [red, green, blue] = alike.smooth(&alike.smooth(&traced, false), true);
        let pixels = self.scattered.par_iter_mut().zip(red.par_iter().zip(&green).zip(&blue));
        pixels.for_each(|(light, ((&red, &green), &blue))| *light = [red, green, blue]);
    }

    fn add_stars(&mut self, scene: &Scene, view: &CameraView) {
        let optical_from_world = view.world_from_optical.rotation.inverse();
        for star in scene.stars() {
            let hidden = scene.discs().any(|(axis, radius)| axis.angle(&star.direction) < radius);
            let Some(place) = view.project(optical_from_world * star.direction).filter(|_| !hidden) else { continue };
            let Some(pixel) = self.pixel_at(place) else { continue };
            let pixel_sr = view.pixel_sr(place);
            if self.class[pixel] == 0 && pixel_sr > 0.0 {
                let light = SUN_BAND * (star.irradiance_w_m2 / pixel_sr) as f32;
                self.radiance[pixel].iter_mut().for_each(|band| *band += light);
            }
        }
    }

    /// Index of the pixel that contains an image point (u, v), if it lies inside the image.
    fn pixel_at(&self, [u, v]: [f64; 2]) -> Option<usize> {
        let [column, row] = [(u + 0.5).floor(), (v + 0.5).floor()];
        let inside = column >= 0.0 && row >= 0.0 && column < f64::from(self.width) && row < f64::from(self.height);
        inside.then(|| row as usize * self.width as usize + column as usize)
    }
}

impl AlikePixels<'_> {
    fn smooth(&self, light: &Planes, across_rows: bool) -> Planes {
        // Cleared by all threads: one thread alone takes as long as the others take to smooth.
        let mut smoothed: Planes = std::array::from_fn(|_| rayon::iter::repeat_n(0.0, self.depth_m.len()).collect());
        let rows: Vec<bool> = (0..self.height).into_par_iter().map(|row| self.has_light(light, row)).collect();
        let [red, green, blue] = smoothed.each_mut().map(|plane| plane.par_chunks_mut(self.width.max(1)));
        red.zip(green.zip(blue)).enumerate().for_each(|(row, (red, (green, blue)))| {
            if across_rows || rows[row] {
                self.smooth_row(light, &rows, row, across_rows, [red, green, blue]);
            }
        });
        smoothed
    }

    /// Whether a row has any scattered light: with few rays, every other row has none.
    fn has_light(&self, light: &Planes, row: usize) -> bool {
        let pixels = row * self.width..(row + 1) * self.width;
        light.iter().any(|plane| plane[pixels.clone()].iter().any(|&light| light != 0.0))
    }

    /// Smooths one row; `rows` says which rows have light.
    fn smooth_row(&self, light: &Planes, rows: &[bool], row: usize, across_rows: bool, mut sums: [&mut [f32]; 3]) {
        let columns = self.width;
        let mut totals = vec![0.0_f32; columns];
        let mut alike = vec![0.0_f32; columns];
        for shift in 0..=2 * REACH {
            // The neighbour `shift − REACH` pixels away: its row, and the number of columns that have no such
            // neighbour.
            let (there, skip) = if across_rows { (row + shift, 0) } else { (row + REACH, shift.abs_diff(REACH)) };
            if !(REACH..self.height + REACH).contains(&there) || skip >= columns {
                continue;
            }
            let (from, to) = if shift < REACH { (skip, 0) } else { (0, skip) };
            let count = columns - skip;
            let weight = 1.0 - (shift.abs_diff(REACH) as f32 / (REACH + 1) as f32).powi(2);
            let near = (there - REACH) * columns + to;
            let alike = &mut alike[..count];
            self.weigh(row * columns + from, near, weight, alike);
            totals[from..from + count].iter_mut().zip(&*alike).for_each(|(total, alike)| *total += alike);
            if !rows[there - REACH] {
                continue;
            }
            for (sum, light) in sums.iter_mut().zip(light) {
                let pixels = sum[from..from + count].iter_mut().zip(&*alike).zip(&light[near..near + count]);
                pixels.for_each(|((sum, alike), light)| *sum += alike * light);
            }
        }
        for sum in &mut sums {
            sum.iter_mut().zip(&totals).for_each(|(sum, &total)| *sum /= total.max(1.0));
        }
    }

    /// Writes `weight` for pixels from `own` on that are similar to those from `near` on, else 0.
    fn weigh(&self, own: usize, near: usize, weight: f32, out: &mut [f32]) {
        let [own, near] = [own..own + out.len(), near..near + out.len()];
        let depths = self.depth_m[own.clone()].iter().zip(&self.depth_m[near.clone()]);
        let things = self.thing[own].iter().zip(&self.thing[near]);
        for (((d, d_near), (thing, thing_near)), out) in depths.zip(things).zip(out) {
            let like = ((d - d_near).abs() <= LIKE_DEPTH * least(*d, *d_near)) & (thing == thing_near);
            *out = if like { weight } else { 0.0 };
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::view::CameraFrame;

    /// A 160 × 100 frame of two instances side by side, both 5 m away.
    fn two_things(scattered: impl Fn(usize) -> f32) -> CameraFrame {
        let mut frame = CameraFrame::sized(160, 100);
        frame.depth_m.fill(5.0);
        for i in 0..frame.scattered.len() {
            frame.instance[i] = 1 + (i % 160 / 80) as u32;
            frame.scattered[i] = [scattered(i); 3];
        }
        frame
    }

    #[test]
    fn light_of_two_things_does_not_mix() {
        let mut frame = two_things(|i| [1.0, 3.0][i % 160 / 80]);
        frame.smooth_scattered();
        let light = frame.scattered.iter().enumerate();
        assert!(light.flat_map(|(i, l)| l.map(|l| (i, l))).all(|(i, l)| (l - [1.0, 3.0][i % 160 / 80]).abs() < 1e-5));
    }

    #[test]
    fn light_of_few_pixels_is_spread_over_like_ones_and_kept() {
        // One ray in the middle of an instance that is wider than twice the window.
        let at = 50 * 160 + 40;
        let mut frame = two_things(|i| f32::from(u8::from(i == at)));
        frame.smooth_scattered();
        let sum: f32 = frame.scattered.iter().map(|l| l[2]).sum();
        assert!((sum - 1.0).abs() < 1e-4, "{sum}");
        assert!(frame.scattered[at][2] < 0.01 && frame.scattered[at + 80] == [0.0; 3]);
    }

    #[test]
    fn the_sky_stays_dark() {
        let mut frame = two_things(|_| 1.0);
        frame.depth_m[..160 * 30].fill(f32::INFINITY);
        frame.scattered[..160 * 30].fill([0.0; 3]);
        frame.smooth_scattered();
        assert!(frame.scattered[..160 * 30].iter().all(|l| *l == [0.0; 3]));
        assert!(frame.scattered[160 * 30..].iter().flatten().all(|l| (l - 1.0).abs() < 1e-5));
    }
}
