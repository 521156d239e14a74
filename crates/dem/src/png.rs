//! Reader of grey PNG images of 8 or 16 bits. They contain neither scale nor position, so the caller gives scale and
//! spacing: `height = count · scale + offset`, row 0 in the north.

use std::io::Cursor;
use std::path::Path;

use image::{DynamicImage, ImageFormat, ImageReader, Limits};
use selene_base::input::{InputError, read_bytes};

use crate::error::{ElevationError, Refusal};
use crate::file::ReadOptions;
use crate::format::Format;
use crate::header::{Header, Source};
use crate::values::Values;

/// The largest file accepted, bytes.
const BYTES_MAX: u64 = 256 << 20;
/// The longest side accepted, posts: the whole image is held in memory.
const SIDE_MAX: u32 = 8192;

/// Opens an image.
pub(super) fn open(path: &Path, options: &ReadOptions) -> Result<Header, ElevationError> {
    let bytes = read_bytes(path, BYTES_MAX).map_err(|error| match error {
        InputError::Read { path, source } => ElevationError::Read { path, source },
        InputError::Content { what, .. } => Refusal::new("file", what).at(path),
    })?;
    read(&bytes, options).map_err(|refusal| refusal.at(path))
}

fn read(bytes: &[u8], options: &ReadOptions) -> Result<Header, Refusal> {
    let missing =
        || Refusal::new("scale", "is missing: a PNG has counts only; state the metres of one count (--scale)");
    let values = Values::new("scale, offset", options.scale.ok_or_else(missing)?, options.offset_m.unwrap_or(0.0))?;
    let mut reader = ImageReader::with_format(Cursor::new(bytes), ImageFormat::Png);
    let mut limits = Limits::default();
    limits.max_image_width = Some(SIDE_MAX);
    limits.max_image_height = Some(SIDE_MAX);
    reader.limits(limits);
    let picture =
        reader.decode().map_err(|e| Refusal::new("picture", format!("{e} (at most {SIDE_MAX} posts on a side)")))?;
    let shape = [picture.width() as usize, picture.height() as usize];
    let samples = match picture {
        DynamicImage::ImageLuma8(grey) => grey.iter().map(|count| f64::from(*count)).collect(),
        DynamicImage::ImageLuma16(grey) => grey.iter().map(|count| f64::from(*count)).collect(),
        other => return Err(Refusal::new("pixels", format!("are {:?}; must be 8- or 16-bit grey", other.color()))),
    };
    Ok(Header {
        format: Format::Png,
        shape,
        transform: None,
        crs: None,
        values,
        has_own_scale: false,
        source: Source::Held(samples),
    })
}
