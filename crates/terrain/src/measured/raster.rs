//! Heights from a picture in the data directory. A file is accepted only with the SHA-256 that its site names. An 8-bit
//! picture gives heights to half a level only and shows terraces: `dequantise` finds a smooth surface within that half
//! level of every post (relaxation of the bending energy, clamped at each pass).

use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};

use image::{DynamicImage, ImageFormat, ImageReader, Limits};
use rayon::prelude::*;
use selene_base::input::{InputError, read_bytes};
use sha2::{Digest, Sha256};

use crate::error::TerrainError;
use crate::site::spec::{POSTS_MAX, RasterSpec};

/// Largest size of an elevation file, bytes.
const FILE_BYTES_MAX: u64 = 256 << 20;
/// Passes of stretching (fast, removes the terraces) and of bending (slow, removes the creases that stretching leaves
/// at the clamps).
const STRETCH_PASSES: usize = 60;
const BEND_PASSES: usize = 120;
/// Step of the bending passes; they diverge above 1/32.
const BEND_STEP: f32 = 0.028;

/// Heights of a picture's posts, row 0 in the south; NaN where there are none.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Raster {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) heights_m: Vec<f32>,
}

/// Finds, verifies, decodes and dequantises a site's picture of heights.
pub(crate) fn load(spec: &RasterSpec, site: &Path, data_dir: Option<&Path>) -> Result<Raster, TerrainError> {
    let path = found(&spec.file, &spec.source, Some(&spec.sha256), site, data_dir)?;
    let bytes = read_bytes(&path, FILE_BYTES_MAX)?;
    let (counts, levels) = decode(&bytes, &path)?;
    Ok(dequantise(&counts, f64::from(spec.relief_m as f32) / levels))
}

/// The path of a site's elevation file; checks the SHA-256 that the site names.
pub(crate) fn found(
    file: &str,
    source: &str,
    sha256: Option<&str>,
    site: &Path,
    data_dir: Option<&Path>,
) -> Result<PathBuf, TerrainError> {
    let (site, file, source_text) = (site.to_owned(), file.to_owned(), source.to_owned());
    let Some(data_dir) = data_dir else {
        return Err(TerrainError::NoDataDirectory { site, file, source_text });
    };
    let path = data_dir.join(&file);
    if !path.is_file() {
        return Err(TerrainError::Missing { site, path, file, source_text });
    }
    let Some(wanted) = sha256 else { return Ok(path) };
    let found = digest(&path).map_err(|error| InputError::content(&path, error.to_string()))?;
    if found.eq_ignore_ascii_case(wanted) {
        return Ok(path);
    }
    Err(TerrainError::Checksum { site, path, found, wanted: wanted.to_owned(), source_text })
}

/// The SHA-256 of a file of any size, in hexadecimal.
fn digest(path: &Path) -> std::io::Result<String> {
    let mut file = std::fs::File::open(path)?;
    let mut hasher = Sha256::new();
    let mut block = vec![0; 1 << 20];
    loop {
        let count = file.read(&mut block)?;
        if count == 0 {
            return Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect());
        }
        hasher.update(&block[..count]);
    }
}

/// The pixel values of a picture, row 0 in the south, and the largest possible value.
fn decode(bytes: &[u8], path: &Path) -> Result<(Counts, f64), TerrainError> {
    let refuse = |what: String| TerrainError::Decode { path: path.to_owned(), what };
    let mut reader = ImageReader::with_format(Cursor::new(bytes), ImageFormat::Png);
    let mut limits = Limits::default();
    limits.max_image_width = Some(POSTS_MAX as u32);
    limits.max_image_height = Some(POSTS_MAX as u32);
    reader.limits(limits);
    let picture = reader.decode().map_err(|e| refuse(format!("{e} (at most {POSTS_MAX} posts on a side)")))?;
    let [width, height] = [picture.width() as usize, picture.height() as usize];
    let (values, levels): (Vec<u16>, f64) = match picture {
        DynamicImage::ImageLuma8(grey) => (grey.iter().map(|&v| u16::from(v)).collect(), 255.0),
        DynamicImage::ImageLuma16(grey) => (grey.into_raw(), 65535.0),
        other => return Err(refuse(format!("its pixels are {:?}; must be 8- or 16-bit grey", other.color()))),
    };
    if width < 4 || height < 4 {
        return Err(refuse(format!("it is {width} × {height} posts; at least 4 × 4 are needed")));
    }
    let southward: Vec<u16> = values.chunks(width).rev().flatten().copied().collect();
    Ok((Counts { width, height, values: southward }, levels))
}

struct Counts {
    width: usize,
    height: usize,
    values: Vec<u16>,
}

/// A smooth surface through quantised values, in metres; one level is `level_m`.
fn dequantise(counts: &Counts, level_m: f64) -> Raster {
    let Counts { width, height, .. } = *counts;
    let data: Vec<f32> = counts.values.iter().map(|&count| f32::from(count)).collect();
    let mut surface = data.clone();
    let mut bend = vec![0.0; data.len()];
    for pass in 0..STRETCH_PASSES + BEND_PASSES {
        let mut step = laplacian(&surface, width, height);
        let mut gain = 0.2;
        if pass >= STRETCH_PASSES {
            bend.copy_from_slice(&step);
            step = laplacian(&bend, width, height);
            gain = -BEND_STEP;
        }
        for ((h, &d), &s) in surface.iter_mut().zip(&data).zip(&step) {
            *h = (*h + gain * s).clamp(d - 0.5, d + 0.5);
        }
    }
    let heights_m = surface.iter().map(|&h| (f64::from(h) * level_m) as f32).collect();
    Raster { width, height, heights_m }
}

/// Sum of the four neighbours minus four times the post; at an edge the post itself replaces the missing neighbour.
fn laplacian(field: &[f32], width: usize, height: usize) -> Vec<f32> {
    let mut out = vec![0.0; field.len()];
    out.par_chunks_mut(width).enumerate().with_min_len(32).for_each(|(row, out)| {
        let line = |row: usize| &field[row * width..(row + 1) * width];
        let [below, here, above] = [line(row.saturating_sub(1)), line(row), line((row + 1).min(height - 1))];
        for i in 1..width - 1 {
            out[i] = below[i] + above[i] + here[i - 1] + here[i + 1] - 4.0 * here[i];
        }
        for (i, beside) in [(0, 1), (width - 1, width - 2)] {
            out[i] = below[i] + above[i] + here[beside] - 3.0 * here[i];
        }
    });
    out
}

#[cfg(test)]
mod tests {
    use super::{Counts, dequantise, load};
    use crate::error::TerrainError;
    use crate::site::spec::RasterSpec;
    use sha2::{Digest, Sha256};
    use std::path::{Path, PathBuf};

    /// Writes a 16 × 16 picture without its last `cut` bytes; returns its directory and spec.
    fn picture(name: &str, cut: usize) -> (PathBuf, RasterSpec) {
        let directory = std::env::temp_dir().join(format!("selene-terrain-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let mut bytes = std::io::Cursor::new(Vec::new());
        let grey = image::GrayImage::from_fn(16, 16, |x, y| image::Luma([(x + 3 * y) as u8]));
        grey.write_to(&mut bytes, image::ImageFormat::Png).unwrap();
        let bytes = &bytes.into_inner()[..];
        let bytes = &bytes[..bytes.len() - cut];
        std::fs::write(directory.join("heights.png"), bytes).unwrap();
        let sha256 = Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect();
        let (file, source) = ("heights.png".into(), "the archive, CC BY 3.0".into());
        (directory, RasterSpec { file, source, sha256, spacing_m: 2.0, relief_m: 25.5 })
    }

    #[test]
    fn row_0_of_the_picture_is_in_the_north() {
        let (directory, spec) = picture("north", 0);
        let raster = load(&spec, Path::new("site.yaml"), Some(&directory)).unwrap();
        assert_eq!((raster.width, raster.height), (16, 16));
        assert!((raster.heights_m[0] - 4.5).abs() <= 0.05 && (raster.heights_m[15 * 16 + 15] - 1.5).abs() <= 0.05);
    }

    #[test]
    fn terraces_become_a_slope_within_half_a_level_of_the_data() {
        // A level is 1 m; the slope is one level per eight posts.
        const SLOPE_TOLERANCE: f32 = 0.02;
        let values: Vec<u16> = (0..64 * 64).map(|i| (i % 64) as u16 / 8).collect();
        let smooth = dequantise(&Counts { width: 64, height: 64, values: values.clone() }, 1.0);
        assert!(smooth.heights_m.iter().zip(&values).all(|(h, &v)| (h - f32::from(v)).abs() <= 0.5));
        for column in 16..48 {
            let slope = smooth.heights_m[32 * 64 + column + 1] - smooth.heights_m[32 * 64 + column];
            assert!((slope - 0.125).abs() < SLOPE_TOLERANCE, "{column}: {slope}");
        }
    }

    #[test]
    fn a_missing_file_is_reported_with_its_source_and_the_option() {
        let (directory, spec) = picture("missing", 0);
        let gone = RasterSpec { file: "gone.png".into(), ..spec };
        for data_dir in [None, Some(directory.as_path())] {
            let message = load(&gone, Path::new("site.yaml"), data_dir).unwrap_err().to_string();
            for part in ["site.yaml", "gone.png", "the archive", "--data", "SELENE_DATA"] {
                assert!(message.contains(part), "{part} is missing in: {message}");
            }
        }
    }

    #[test]
    fn another_file_than_the_sites_is_refused() {
        let (directory, spec) = picture("other", 0);
        let other = RasterSpec { sha256: "0".repeat(64), ..spec };
        let error = load(&other, Path::new("site.yaml"), Some(&directory)).unwrap_err();
        assert!(matches!(error, TerrainError::Checksum { .. }), "{error}");
    }

    #[test]
    fn a_truncated_picture_is_refused_at_every_length() {
        for cut in [1, 20, 60, 90] {
            let (directory, spec) = picture(&format!("cut{cut}"), cut);
            let loaded = load(&spec, Path::new("site.yaml"), Some(&directory));
            // A cut within the end marker leaves every post intact.
            assert!(cut < 20 || matches!(loaded, Err(TerrainError::Decode { .. })), "{cut}");
        }
    }
}
