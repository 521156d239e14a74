//! What is done to a traced picture before it is handed over, the same for every
//! device: scattered light, a few rays a pixel and so noisy, is averaged over near
//! pixels of the same thing at a like depth (the picture's mean is kept; what changes
//! within the window is blurred), and stars are put into the pixels that hold them.

use rayon::prelude::*;

use crate::kernel::least;
use crate::scene::Scene;
use crate::view::{CameraFrame, CameraView};

/// Pixels to each side that scattered light is averaged over.
const REACH: usize = 16;

/// Part of the depth by which pixels averaged may differ.
const LIKE_DEPTH: f32 = 0.1;

impl CameraFrame {
    /// Smooths scattered light and adds it and the stars to the traced radiance.
    pub fn finish(&mut self, scene: &Scene, view: &CameraView) {
        if view.light.bounce_rays > 0 {
            self.smooth_scattered();
            self.radiance.par_iter_mut().zip(&self.scattered).for_each(|(radiance, scattered)| *radiance += scattered);
        }
        self.add_stars(scene, view);
    }

    /// Along rows, then along columns.
    fn smooth_scattered(&mut self) {
        for across_rows in [false, true] {
            let mut smoothed = vec![0.0; self.scattered.len()];
            let rows = smoothed.par_chunks_mut(self.width.max(1) as usize).enumerate();
            rows.for_each(|(row, out)| self.smooth_row(row, across_rows, out));
            self.scattered = smoothed;
        }
    }

    fn smooth_row(&self, row: usize, across_rows: bool, out: &mut [f32]) {
        let columns = out.len();
        let mut weights = vec![0.0_f32; columns];
        for shift in 0..=2 * REACH {
            // The neighbour `shift − REACH` away: of which row, from which column on.
            let (there, skip) = if across_rows { (row + shift, 0) } else { (row + REACH, shift.abs_diff(REACH)) };
            if !(REACH..self.height as usize + REACH).contains(&there) || skip >= columns {
                continue;
            }
            let (from, to) = if shift < REACH { (skip, 0) } else { (0, skip) };
            let count = columns - skip;
            let weight = 1.0 - (shift.abs_diff(REACH) as f32 / (REACH + 1) as f32).powi(2);
            let own = row * columns + from;
            let near = (there - REACH) * columns + to;
            self.gather(own, near, weight, &mut out[from..from + count], &mut weights[from..from + count]);
        }
        out.iter_mut().zip(&weights).for_each(|(sum, &weight)| *sum /= weight.max(1.0));
    }

    /// Adds the pixels from `near` on, `weight` times, to those from `own` on that are alike.
    fn gather(&self, own: usize, near: usize, weight: f32, sums: &mut [f32], weights: &mut [f32]) {
        let count = sums.len();
        let [own, near] = [own..own + count, near..near + count];
        let depths = self.depth_m[own.clone()].iter().zip(&self.depth_m[near.clone()]);
        let instances = self.instance[own].iter().zip(&self.instance[near.clone()]);
        let pixels = depths.zip(instances).zip(&self.scattered[near]);
        for ((((d, d_near), (i, i_near)), light), (sum, total)) in pixels.zip(sums.iter_mut().zip(weights)) {
            let alike = if (d - d_near).abs() <= LIKE_DEPTH * least(*d, *d_near) && i == i_near { weight } else { 0.0 };
            *sum += alike * light;
            *total += alike;
        }
    }

    fn add_stars(&mut self, scene: &Scene, view: &CameraView) {
        let optical_from_world = view.world_from_optical.rotation.inverse();
        for star in scene.stars() {
            let hidden = scene.discs().any(|(axis, radius)| axis.angle(&star.direction) < radius);
            let Some(place) = view.project(optical_from_world * star.direction).filter(|_| !hidden) else { continue };
            let Some(pixel) = self.pixel_at(place) else { continue };
            let pixel_sr = view.pixel_sr(place);
            if self.class[pixel] == 0 && pixel_sr > 0.0 {
                self.radiance[pixel] += (star.irradiance_w_m2 / pixel_sr) as f32;
            }
        }
    }

    /// Index of the pixel that holds a place in the image, if one does.
    fn pixel_at(&self, [u, v]: [f64; 2]) -> Option<usize> {
        let [column, row] = [(u + 0.5).floor(), (v + 0.5).floor()];
        let inside = column >= 0.0 && row >= 0.0 && column < f64::from(self.width) && row < f64::from(self.height);
        inside.then(|| row as usize * self.width as usize + column as usize)
    }
}

#[cfg(test)]
mod tests {
    use crate::view::CameraFrame;

    /// A frame 160 × 100 of two things side by side at 5 m.
    fn two_things(scattered: impl Fn(usize) -> f32) -> CameraFrame {
        let mut frame = CameraFrame::sized(160, 100);
        frame.depth_m.fill(5.0);
        for i in 0..frame.scattered.len() {
            frame.instance[i] = 1 + (i % 160 / 80) as u16;
            frame.scattered[i] = scattered(i);
        }
        frame
    }

    #[test]
    fn light_of_two_things_does_not_mix() {
        let mut frame = two_things(|i| [1.0, 3.0][i % 160 / 80]);
        frame.smooth_scattered();
        assert!(frame.scattered.iter().enumerate().all(|(i, l)| (l - [1.0, 3.0][i % 160 / 80]).abs() < 1e-5));
    }

    #[test]
    fn light_of_few_pixels_is_spread_over_like_ones_and_kept() {
        // One ray in the middle of a thing, which is wider than twice the window.
        let at = 50 * 160 + 40;
        let mut frame = two_things(|i| f32::from(u8::from(i == at)));
        frame.smooth_scattered();
        let sum: f32 = frame.scattered.iter().sum();
        assert!((sum - 1.0).abs() < 1e-4, "{sum}");
        assert!(frame.scattered[at] < 0.01 && frame.scattered[at + 80] == 0.0);
    }

    #[test]
    fn the_sky_stays_dark() {
        let mut frame = two_things(|_| 1.0);
        frame.depth_m[..160 * 30].fill(f32::INFINITY);
        frame.scattered[..160 * 30].fill(0.0);
        frame.smooth_scattered();
        assert!(frame.scattered[..160 * 30].iter().all(|l| *l == 0.0));
        assert!(frame.scattered[160 * 30..].iter().all(|l| (l - 1.0).abs() < 1e-5));
    }
}
