//! Shaded relief: each post is shaded as a matt surface lit from the upper left at 40°. Heights are exaggerated so that
//! slopes are visible on any map: maps of the whole Moon are flat, those of a crater's wall are not.

use image::{Rgb, RgbImage};
use selene_dem::{Crs, Dem};

/// Slope to which the steeper posts are exaggerated.
const STEEP: f64 = 0.6;
/// Fraction of posts that are less steep than that.
const STEEP_SHARE: f64 = 0.95;
/// The largest exaggeration of heights.
const EXAGGERATION_MAX: f64 = 50.0;
/// Unit vector towards the light: west, north, up.
const LAMP: [f64; 3] = [-0.5417, 0.5417, 0.6428];
const NO_DATA: Rgb<u8> = Rgb([70, 10, 20]);

/// Draws the relief; also returns the exaggeration of heights.
pub fn draw(dem: &Dem) -> (RgbImage, f64) {
    let slopes: Vec<_> =
        (0..dem.columns() * dem.rows()).map(|i| slope(dem, i % dem.columns(), i / dem.columns())).collect();
    let mut steepness: Vec<f64> = slopes.iter().flatten().map(|[x, y]| x.hypot(*y)).collect();
    steepness.sort_by(f64::total_cmp);
    let steep = steepness.get((steepness.len() as f64 * STEEP_SHARE) as usize).copied().unwrap_or(0.0);
    let exaggeration = if steep > 0.0 { (STEEP / steep).clamp(1.0, EXAGGERATION_MAX) } else { 1.0 };
    let pixel = |x: u32, y: u32| match slopes[y as usize * dem.columns() + x as usize] {
        None => NO_DATA,
        Some([east, north]) => {
            let [east, north] = [east, north].map(|slope| slope * exaggeration);
            let facing = (LAMP[2] - LAMP[0] * east - LAMP[1] * north) / (1.0 + east * east + north * north).sqrt();
            let grey = (255.0 * facing.clamp(0.0, 1.0).powf(0.8)) as u8;
            Rgb([grey; 3])
        }
    };
    (RgbImage::from_fn(dem.columns() as u32, dem.rows() as u32, pixel), exaggeration)
}

/// Slopes towards the right and the top of the map, from the neighbouring posts.
fn slope(dem: &Dem, column: usize, row: usize) -> Option<[f64; 2]> {
    dem.post_m(column, row)?;
    let [dx, dy] = spacing_m(dem, column, row);
    let [left, right] = [column.saturating_sub(1), (column + 1).min(dem.columns() - 1)];
    let [above, below] = [row.saturating_sub(1), (row + 1).min(dem.rows() - 1)];
    let rise = |from: [usize; 2], to: [usize; 2]| Some(dem.post_m(to[0], to[1])? - dem.post_m(from[0], from[1])?);
    let over =
        |rise: Option<f64>, posts: usize, spacing_m: f64| rise.map_or(0.0, |m| m / (posts.max(1) as f64 * spacing_m));
    let east = over(rise([left, row], [right, row]), right - left, dx);
    let north = over(rise([column, below], [column, above]), below - above, dy);
    Some([east, north])
}

/// Distances between posts on the ground, m: cylindrical maps stretch parallels.
fn spacing_m(dem: &Dem, column: usize, row: usize) -> [f64; 2] {
    let [dx, dy] = dem.transform().spacing().map(|spacing| spacing * dem.crs().unit_m());
    let latitude_rad =
        || dem.crs().inverse(dem.transform().post_xy(column, row)).map_or(0.0, |place| place.latitude_rad);
    match *dem.crs() {
        Crs::Geographic => [dx * latitude_rad().cos().max(0.05), dy],
        Crs::Equirectangular { standard_parallel_rad, .. } => {
            [dx * (latitude_rad().cos() / standard_parallel_rad.cos()).max(0.05), dy]
        }
        Crs::Sinusoidal { .. } | Crs::PolarStereographic { .. } | Crs::Orthographic { .. } | Crs::Local => [dx, dy],
    }
}

#[cfg(test)]
mod tests {
    use super::{NO_DATA, draw};
    use selene_dem::{Crs, Dem, GeoTransform};

    #[test]
    fn the_side_toward_the_upper_left_is_bright() {
        let height = |column: i32| if column == 2 { f32::NAN } else { (20 - (column - 20).abs()) as f32 };
        let heights = (0..40 * 40).map(|i| height(i % 40)).collect();
        let ridge = Dem::new([40, 40], GeoTransform::north_up(0.0, 0.0, 1.0, 1.0), Crs::Local, heights).unwrap();
        let (picture, _) = draw(&ridge);
        assert!(picture.get_pixel(10, 20).0[0] > 2 * picture.get_pixel(30, 20).0[0].max(1));
        assert_eq!(*picture.get_pixel(2, 5), NO_DATA);
    }
}
