//! Decompression of TIFF blocks: deflate, LZW and PackBits, and the predictors (TIFF 6.0, and Adobe's technical note 3
//! for floats). The `tiff` crate is not used for this, as its releases 0.11 refuse valid LZW tiles (image-tiff issue
//! 395). The output never exceeds the size that a block must have.

use std::io::Read;

use weezl::{BitOrder, LzwStatus};

use crate::raw::SampleType;

/// The compression of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packing {
    Lzw,
    Deflate,
    PackBits,
}

/// The predictor, which defines what a block stores in place of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Predictor {
    /// The samples themselves.
    None,
    /// Differences along a row.
    Horizontal,
    /// Differences along a row of the bytes of floats, most significant bytes first.
    Float,
}

/// Unpacks the number of bytes that a block must have.
pub(super) fn unpack(packed: &[u8], packing: Packing, bytes: usize) -> Result<Vec<u8>, String> {
    let mut out = vec![0; bytes];
    let made = match packing {
        Packing::Deflate => {
            flate2::read::ZlibDecoder::new(packed).read_exact(&mut out).map_err(|error| error.to_string())?;
            bytes
        }
        Packing::Lzw => unpack_lzw(packed, &mut out)?,
        Packing::PackBits => unpack_bits(packed, &mut out)?,
    };
    if made == bytes { Ok(out) } else { Err(format!("makes {made} of {bytes} bytes")) }
}

/// Does not require the end code, which some writers omit.
fn unpack_lzw(mut packed: &[u8], out: &mut [u8]) -> Result<usize, String> {
    let mut decoder = weezl::decode::Decoder::with_tiff_size_switch(BitOrder::Msb, 8);
    let mut made = 0;
    while made < out.len() {
        let step = decoder.decode_bytes(packed, &mut out[made..]);
        packed = &packed[step.consumed_in..];
        made += step.consumed_out;
        let is_over = matches!(step.status.map_err(|error| error.to_string())?, LzwStatus::Done);
        if is_over || step.consumed_in == 0 && step.consumed_out == 0 {
            break;
        }
    }
    Ok(made)
}

fn unpack_bits(mut packed: &[u8], out: &mut [u8]) -> Result<usize, String> {
    let mut made = 0;
    while let ([head, rest @ ..], true) = (packed, made < out.len()) {
        // A header n of 0 to 127: n + 1 bytes follow as they are. n of 129 to 255: one byte, repeated 257 − n times.
        let (count, is_run) = match *head {
            128 => (0, false),
            head if head < 128 => (usize::from(head) + 1, false),
            head => (257 - usize::from(head), true),
        };
        let taken = if is_run { 1 } else { count };
        let bytes = rest.get(..taken).ok_or("ends within a run")?;
        let fits = count.min(out.len() - made);
        let out = &mut out[made..made + fits];
        if is_run {
            out.fill(bytes[0])
        } else {
            out.copy_from_slice(&bytes[..fits])
        }
        made += fits;
        packed = &rest[taken..];
    }
    Ok(made)
}

/// Undoes the predictor of a block of rows; returns whether the samples are then big-endian.
pub(super) fn undo(
    predictor: Predictor,
    block: &mut [u8],
    columns: usize,
    sample: SampleType,
    is_big_endian: bool,
) -> bool {
    let row_bytes = columns * sample.bytes();
    match predictor {
        Predictor::None => is_big_endian,
        Predictor::Horizontal => {
            block.chunks_exact_mut(row_bytes).for_each(|row| add_up(row, sample.bytes(), is_big_endian));
            is_big_endian
        }
        Predictor::Float => {
            let mut bytes = vec![0; row_bytes];
            for row in block.chunks_exact_mut(row_bytes) {
                (1..row_bytes).for_each(|i| row[i] = row[i].wrapping_add(row[i - 1]));
                bytes.copy_from_slice(row);
                for (i, byte) in bytes.iter().enumerate() {
                    row[i % columns * sample.bytes() + i / columns] = *byte;
                }
            }
            true
        }
    }
}

/// Running sums of words of `size` bytes along a row, as integers even for floats.
fn add_up(row: &mut [u8], size: usize, is_big_endian: bool) {
    let mut sum = 0_u64;
    for word in row.chunks_exact_mut(size) {
        let mut bytes = [0; 8];
        bytes[..size].copy_from_slice(word);
        if is_big_endian {
            bytes[..size].reverse();
        }
        sum = sum.wrapping_add(u64::from_le_bytes(bytes));
        bytes = sum.to_le_bytes();
        if is_big_endian {
            bytes[..size].reverse();
        }
        word.copy_from_slice(&bytes[..size]);
    }
}

#[cfg(test)]
mod tests {
    use super::{Packing, Predictor, SampleType, undo, unpack};

    #[test]
    fn packbits_are_those_of_the_standards_example() {
        // Example of Apple's Technical Note 1023.
        let packed = [0xFE, 0xAA, 0x02, 0x80, 0x00, 0x2A, 0xFD, 0xAA, 0x03, 0x80, 0x00, 0x2A, 0x22, 0xF7, 0xAA];
        let mut wanted = vec![0xAA, 0xAA, 0xAA, 0x80, 0x00, 0x2A, 0xAA, 0xAA, 0xAA, 0xAA, 0x80, 0x00, 0x2A, 0x22];
        wanted.extend([0xAA; 10]);
        assert_eq!(unpack(&packed, Packing::PackBits, 24), Ok(wanted));
        assert!(
            unpack(&packed[..11], Packing::PackBits, 24).is_err() && unpack(&packed, Packing::PackBits, 25).is_err()
        );
    }

    #[test]
    fn differences_add_up_in_both_byte_orders() {
        let words = |words: [u16; 3], is_big: bool| {
            words.map(|w| if is_big { w.to_be_bytes() } else { w.to_le_bytes() }).concat()
        };
        for is_big_endian in [false, true] {
            let mut row = words([300, 5, 65_530], is_big_endian);
            assert_eq!(undo(Predictor::Horizontal, &mut row, 3, SampleType::U16, is_big_endian), is_big_endian);
            assert_eq!(row, words([300, 305, 299], is_big_endian));
        }
    }

    #[test]
    fn broken_streams_are_refused() {
        for packing in [Packing::Lzw, Packing::Deflate, Packing::PackBits] {
            assert!(unpack(&[], packing, 8).is_err(), "{packing:?}");
            assert!(unpack(&[0x80, 0xff, 0x13], packing, 800).is_err(), "{packing:?}");
        }
    }
}
