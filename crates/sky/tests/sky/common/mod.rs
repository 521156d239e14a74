//! Helpers that the tests of the sky share: the folder of third-party data, and small synthetic kernels.
#![allow(dead_code, missing_docs, unreachable_pub)]

#[path = "../../../../../tests/src/skip.rs"]
mod skip;

use std::path::{Path, PathBuf};

/// Half of the span about J2000.0 that the synthetic kernels cover, s: noon of 1970-01-01 to noon of 2029-12-31.
const HALF_SPAN_S: f64 = 946_684_800.0;
/// Distances and speed in the synthetic kernels, km and km/s.
pub const EARTH_MOON_KM: f64 = 384_400.0;
pub const SUN_MOON_KM: f64 = 150_000_000.0;
pub const SPEED_KM_S: f64 = 30.0;
/// From the Moon to the Earth-Moon barycentre in the synthetic kernels, km.
const MOON_CENTRE_KM: f64 = 184_400.0;

const RECORD_BYTES: usize = 1024;
const SUMMARY_BYTES: usize = 40;
/// Numbers of eight bytes before the first segment: three records.
const NUMBERS_BEFORE: usize = 3 * RECORD_BYTES / 8;

/// The mean Earth frame is ahead of the Moon's axes by 1° of longitude.
const FRAMES: &str = "KPL/FK\n\\begindata\nFRAME_MOON_ME_DE421 = 31007\nFRAME_31007_CLASS = 4\n\
    TKFRAME_31007_SPEC = 'ANGLES'\nTKFRAME_31007_RELATIVE = 'MOON_PA_DE421'\n\
    TKFRAME_31007_ANGLES = ( 3600 0 0 )\nTKFRAME_31007_AXES = ( 3, 2, 1 )\nTKFRAME_31007_UNITS = 'ARCSECONDS'\n\
    FRAME_MOON_PA_DE421 = 31006\nFRAME_31006_CLASS = 2\nFRAME_31006_CLASS_ID = 31006\n\\begintext\n";

/// The folder of third-party data, if this machine has it; panics if not and `SELENE_REQUIRE_DATA` is set.
pub fn data_dir() -> Option<PathBuf> {
    let found = std::env::var_os("SELENE_DATA").map(PathBuf::from).filter(|dir| dir.is_dir());
    if found.is_none() {
        skip::skip_data("needs SPICE kernels; set SELENE_DATA to the directory that has spice/");
    }
    found
}

/// A segment of type 2: integers that identify its body and frame, three values at J2000.0 and their rates per second.
struct Segment {
    of: Vec<i32>,
    at_j2000: [f64; 3],
    rate: [f64; 3],
}

/// A binary kernel by NAIF's DAF, SPK and PCK Required Reading, with one Chebyshev record of degree 1 per segment.
fn daf(kind: &[u8; 8], segments: &[Segment]) -> Vec<u8> {
    let (mut summaries, mut numbers) = (Vec::new(), Vec::new());
    for Segment { of, at_j2000, rate } in segments {
        let first = NUMBERS_BEFORE + numbers.len() + 1;
        numbers.extend([0.0, HALF_SPAN_S]);
        numbers.extend((0..3).flat_map(|axis| [at_j2000[axis], rate[axis] * HALF_SPAN_S]));
        // Start of the first record, length of each record in s, numbers per record, number of records.
        numbers.extend([-HALF_SPAN_S, 2.0 * HALF_SPAN_S, 8.0, 1.0]);
        let mut summary = float_bytes(&[-HALF_SPAN_S, HALF_SPAN_S]);
        summary.extend(int_bytes(of));
        summary.extend(int_bytes(&[2, first as i32, (NUMBERS_BEFORE + numbers.len()) as i32]));
        summary.resize(SUMMARY_BYTES, 0);
        summaries.extend(summary);
    }
    let mut file = kind.to_vec();
    file.extend(int_bytes(&[2, segments[0].of.len() as i32 + 3]));
    file.extend([b' '; 60]);
    file.extend(int_bytes(&[2, 2, (NUMBERS_BEFORE + numbers.len()) as i32 + 1]));
    file.extend(b"LTL-IEEE");
    file.resize(RECORD_BYTES, 0);
    file.extend(float_bytes(&[0.0, 0.0, segments.len() as f64]));
    file.extend(summaries);
    file.resize(2 * RECORD_BYTES, 0);
    file.resize(3 * RECORD_BYTES, b' ');
    file.extend(float_bytes(&numbers));
    let whole = file.len().next_multiple_of(RECORD_BYTES);
    file.resize(whole, 0);
    file
}

fn float_bytes(numbers: &[f64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn int_bytes(numbers: &[i32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// At J2000.0, seen from the Moon, the Sun is at rest along x of the ICRF, and the Earth is along y. Moon and Earth
/// move along y.
pub fn spk() -> Vec<u8> {
    let at = |of: [i32; 3], at_j2000| Segment { of: of.to_vec(), at_j2000, rate: [0.0; 3] };
    let both = Segment { rate: [0.0, SPEED_KM_S, 0.0], ..at([3, 0, 1], [-SUN_MOON_KM, 0.0, 0.0]) };
    let sun = at([10, 0, 1], [0.0, -MOON_CENTRE_KM, 0.0]);
    let earth = at([399, 3, 1], [0.0, EARTH_MOON_KM - MOON_CENTRE_KM, 0.0]);
    let moon = at([301, 3, 1], [0.0, -MOON_CENTRE_KM, 0.0]);
    daf(b"DAF/SPK ", &[sun, both, earth, moon])
}

/// The Moon's axes are rotated at J2000.0 by 30° about x, then by 90° about z, and turn about z by 10° a day.
pub fn pck() -> Vec<u8> {
    let at_j2000 = [0.0, 30.0, 90.0].map(f64::to_radians);
    let rate = [0.0, 0.0, 10.0_f64.to_radians() / 86_400.0];
    daf(b"DAF/PCK ", &[Segment { of: vec![31006, 1], at_j2000, rate }])
}

/// The synthetic kernels in a folder of one test, which is removed on drop.
pub struct KernelFolder(PathBuf);

impl KernelFolder {
    pub fn new(test: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("selene-kernels-{}-{test}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("folder");
        let made = Self(folder);
        for (file, bytes) in made.files().iter().zip([spk(), pck(), FRAMES.as_bytes().to_vec()]) {
            std::fs::write(file, bytes).expect("written");
        }
        made
    }

    pub fn folder(&self) -> &Path {
        &self.0
    }

    /// Paths of the SPK of the bodies, the PCK of the Moon's attitude, and its frame kernel.
    pub fn files(&self) -> [PathBuf; 3] {
        ["bodies.bsp", "moon.bpc", "frames.tf"].map(|name| self.0.join(name))
    }
}

impl Drop for KernelFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
