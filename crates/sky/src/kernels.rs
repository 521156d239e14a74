//! SPICE kernels, read by ANISE: Sun, Earth and Moon from SPK files, the Moon's
//! principal axes from a binary PCK, and from text kernels the fixed rotation to its
//! mean Earth/polar axis frame and leap seconds. Sources: NAIF's SPK, PCK, FK and LSK
//! Required Reading. Text constants (`.tpc`) are accepted but not needed: coordinates
//! refer to the sphere of 1 737 400 m, as in all of Selene.

use std::path::{Path, PathBuf};

use anise::constants::frames::{EARTH_J2000, MOON_J2000, SSB_J2000, SUN_J2000};
use anise::constants::orientations::J2000;
use anise::naif::{BPC, SPK};
use anise::prelude::{Almanac, Epoch, Frame};
use nalgebra::{Matrix3, Rotation3, Vector3};
use selene_base::InputError;
use selene_base::input::read_bytes;

use crate::Utc;
use crate::ephemeris::{LIGHT_M_S, SkyState};
use crate::text_kernel::TextPool;
use crate::utc::{LEAP_SECONDS, LeapSecond, day_of};

/// Size limit of a kernel, bytes; de440.bsp has 115 MB.
const FILE_BYTES_MAX: u64 = 256 << 20;
/// Bytes of a record of a binary kernel, and of a number in it.
const RECORD_BYTES: usize = 1024;
const NUMBER_BYTES: usize = 8;
/// Bodies that the kernels must cover: NAIF number, name. The Earth-Moon barycentre connects
/// Earth and Moon to the others.
const BODIES: [(i32, &str); 4] =
    [(10, "the Sun"), (3, "the Earth-Moon barycentre"), (399, "the Earth"), (301, "the Moon")];
/// Iterations of the light time; each gains four digits.
const LIGHT_TIME_PASSES: usize = 3;
/// Largest difference, by rounding, between the matrices of two names of one frame.
const SAME_FRAME: f64 = 1e-12;
const SECS_PER_DAY: f64 = 86_400.0;

/// A set of kernels with all data that a lunar sky needs.
pub struct Kernels {
    almanac: Almanac,
    files: Vec<PathBuf>,
    /// The Moon's principal axes.
    axes: Frame,
    me_from_axes: Rotation3<f64>,
    leap_seconds: Vec<LeapSecond>,
    /// Span that all kernels cover, s of dynamical time (TDB) since J2000.0.
    covered_s: [f64; 2],
}

/// Why kernels cannot be used, or not at an instant.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// A file that cannot be read or whose content is refused.
    #[error(transparent)]
    Input(#[from] InputError),
    /// None of the files has something that a sky needs.
    #[error("{what} is in none of the kernels {files}: {advice}")]
    Missing {
        /// What is missing.
        what: String,
        /// The files.
        files: String,
        /// Which kernel to add.
        advice: &'static str,
    },
    /// The kernels define several lunar frames.
    #[error("the kernels {files} have several lunar frames: {frames}; name those of one ephemeris")]
    Ambiguous {
        /// The files.
        files: String,
        /// Names of the frames.
        frames: String,
    },
    /// An instant that the kernels do not cover.
    #[error("{utc} is outside the kernels {files}: they cover {from} to {to}")]
    Outside {
        /// The instant.
        utc: Utc,
        /// The files.
        files: String,
        /// First day.
        from: String,
        /// Last day.
        to: String,
    },
    /// The kernels cover the instant and have no usable data for it.
    #[error("the kernels {files} have no usable data for {utc}: {what}")]
    Unusable {
        /// The instant.
        utc: Utc,
        /// The files.
        files: String,
        /// Why.
        what: String,
    },
}

impl std::fmt::Debug for Kernels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kernels")
            .field("files", &self.files)
            .field("covered_s", &self.covered_s)
            .finish_non_exhaustive()
    }
}

impl Kernels {
    /// Reads kernels in any order: an SPK with Sun, Earth and Moon (`de421.bsp`,
    /// `de440s.bsp`), a binary PCK with the Moon's attitude (`moon_pa_….bpc`) and the
    /// frame kernel that belongs to it (`moon_….tf`); leap seconds (`naif….tls`) replace
    /// those that are built in.
    ///
    /// # Errors
    /// For a file that cannot be read, is truncated or of another kind, and when the
    /// Sun, the Earth, the Moon or its frame is in none of them.
    pub fn load<P: AsRef<Path>>(files: &[P]) -> Result<Self, KernelError> {
        let files: Vec<PathBuf> = files.iter().map(|file| file.as_ref().to_owned()).collect();
        let (mut almanac, mut pool) = (Almanac::default(), TextPool::default());
        for path in &files {
            almanac = read(almanac, &mut pool, path)?;
        }
        let names = named(&files);
        let (class_id, me_from_axes) = lunar_frame(&almanac, &pool, &names)?;
        let refuse = |what| InputError::content(Path::new(&names), what);
        let leap_seconds = pool.leap_seconds().map_err(refuse)?.unwrap_or_else(|| LEAP_SECONDS.to_vec());
        let covered_s = covered_s(&almanac, class_id, &names)?;
        let axes = Frame::from_orient_ssb(class_id);
        Ok(Self { almanac, files, axes, me_from_axes, leap_seconds, covered_s })
    }

    /// The files, as they were named.
    #[must_use]
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// First and last day that all kernels cover, YYYY-MM-DD.
    #[must_use]
    pub fn covered_days(&self) -> [String; 2] {
        self.covered_s.map(day_of)
    }

    pub(crate) fn sky_state(&self, utc: Utc) -> Result<SkyState, KernelError> {
        let tdb_s = utc.tdb_s(&self.leap_seconds);
        // Sunlight needs up to nine minutes to the Moon, and the Sun's position is needed at its departure.
        if tdb_s < self.covered_s[0] + 0.01 * SECS_PER_DAY || tdb_s > self.covered_s[1] {
            let [from, to] = self.covered_days();
            return Err(KernelError::Outside { utc, files: named(&self.files), from, to });
        }
        self.sky_state_at(tdb_s).map_err(|what| KernelError::Unusable { utc, files: named(&self.files), what })
    }

    fn sky_state_at(&self, tdb_s: f64) -> Result<SkyState, String> {
        let [moon_m, velocity_m_s] = self.state(MOON_J2000, tdb_s)?;
        let attitude = self.almanac.rotate(Frame::from_orient_ssb(J2000), self.axes, Epoch::from_tdb_seconds(tdb_s));
        let axes_from_icrf = rotation(attitude.map_err(|e| e.to_string())?.rot_mat);
        Ok(SkyState {
            sun_m: self.as_seen_from(&moon_m, SUN_J2000, tdb_s)?,
            earth_m: self.as_seen_from(&moon_m, EARTH_J2000, tdb_s)?,
            velocity_m_s,
            icrf_from_moon: (self.me_from_axes * axes_from_icrf).inverse(),
        })
    }

    /// From `place_m` to a body at the time when the light that arrives at `tdb_s` left it, m, ICRF.
    fn as_seen_from(&self, place_m: &Vector3<f64>, body: Frame, tdb_s: f64) -> Result<Vector3<f64>, String> {
        let mut from_place_m = Vector3::zeros();
        let mut light_time_s = 0.0;
        for _ in 0..LIGHT_TIME_PASSES {
            from_place_m = self.state(body, tdb_s - light_time_s)?[0] - place_m;
            light_time_s = from_place_m.norm() / LIGHT_M_S;
        }
        Ok(from_place_m)
    }

    /// Position and velocity of a body about the barycentre of the solar system, m and m/s, ICRF.
    fn state(&self, body: Frame, tdb_s: f64) -> Result<[Vector3<f64>; 2], String> {
        let state = self.almanac.translate_geometric(body, SSB_J2000, Epoch::from_tdb_seconds(tdb_s));
        let state = state.map_err(|e| e.to_string())?;
        let metres = |km: [f64; 3]| Vector3::from(km) * 1000.0;
        Ok([metres(state.radius_km.into()), metres(state.velocity_km_s.into())])
    }
}

fn rotation(matrix: Matrix3<f64>) -> Rotation3<f64> {
    Rotation3::from_matrix_unchecked(matrix)
}

/// The names of files, for messages.
fn named(files: &[PathBuf]) -> String {
    let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    names.join(", ")
}

fn read(almanac: Almanac, pool: &mut TextPool, path: &Path) -> Result<Almanac, InputError> {
    let bytes = read_bytes(path, FILE_BYTES_MAX)?;
    let refuse = |what: String| InputError::content(path, what);
    let alias = Some(path.display().to_string());
    match bytes.get(..7).unwrap_or(&bytes) {
        b"DAF/SPK" => {
            check_whole(&bytes).map_err(refuse)?;
            let spk = SPK::parse(bytes).map_err(|e| refuse(format!("is no usable SPK: {e}")))?;
            Ok(almanac.with_spk_as(spk, alias))
        }
        b"DAF/PCK" => {
            check_whole(&bytes).map_err(refuse)?;
            let bpc = BPC::parse(bytes).map_err(|e| refuse(format!("is no usable binary PCK: {e}")))?;
            Ok(almanac.with_bpc_as(bpc, alias))
        }
        head if head.starts_with(b"KPL/") => {
            let text = String::from_utf8(bytes).map_err(|e| refuse(format!("is not UTF-8: {e}")))?;
            pool.add(&text, path).map(|()| almanac)
        }
        _ => Err(refuse("is no SPICE kernel: must begin with DAF/SPK, DAF/PCK or KPL/".to_owned())),
    }
}

/// Refuses a binary kernel that is truncated or whose summary records form a loop.
fn check_whole(bytes: &[u8]) -> Result<(), String> {
    let whole = |at: usize| bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map(u32::from_le_bytes);
    let (Some(forward), Some(free), Some(order)) = (whole(76), whole(84), bytes.get(88..96)) else {
        return Err(format!("is truncated: it has {} bytes, its first record alone {RECORD_BYTES}", bytes.len()));
    };
    if order != b"LTL-IEEE" {
        let order = String::from_utf8_lossy(order);
        return Err(format!("its numbers are '{order}'; must be LTL-IEEE (NAIF's bingo converts)"));
    }
    let reported = (free as usize).saturating_sub(1).saturating_mul(NUMBER_BYTES);
    if bytes.len() < reported {
        return Err(format!(
            "is truncated: it has {} bytes of the {reported} that its first record gives",
            bytes.len()
        ));
    }
    let mut record = forward as usize;
    for _ in 0..=bytes.len() / RECORD_BYTES {
        let at = record.checked_sub(1).and_then(|before| before.checked_mul(RECORD_BYTES));
        let next = at.and_then(|at| bytes.get(at..at.checked_add(NUMBER_BYTES)?)).and_then(|b| b.try_into().ok());
        record = next.map(f64::from_le_bytes).ok_or("its records point beyond its end")? as usize;
        if record == 0 {
            return Ok(());
        }
    }
    Err("its records run in a circle".to_owned())
}

/// The lunar attitude that both a binary PCK and a frame kernel have: its NAIF class id, and
/// the rotation from its axes to the mean Earth/polar axis frame.
fn lunar_frame(almanac: &Almanac, pool: &TextPool, names: &str) -> Result<(i32, Rotation3<f64>), KernelError> {
    let missing = |what: &str, advice| KernelError::Missing { what: what.to_owned(), files: names.to_owned(), advice };
    let turned = almanac.bpc_domains().unwrap_or_default();
    if turned.is_empty() {
        return Err(missing(
            "the Moon's attitude",
            "add a binary PCK such as moon_pa_de421_1900-2050.bpc or moon_pa_de440_200625.bpc",
        ));
    }
    let frames = pool.mean_earth_frames().map_err(|what| InputError::content(Path::new(names), what))?;
    let mut found: Vec<_> = frames.into_iter().filter(|(_, class_id, _)| turned.contains_key(class_id)).collect();
    found.dedup_by(|a, b| a.1 == b.1 && (a.2.matrix() - b.2.matrix()).abs().max() < SAME_FRAME);
    match &found[..] {
        [] => Err(missing(
            "the mean Earth frame of the Moon's attitude",
            "add the frame kernel that belongs to the binary PCK, such as moon_080317.tf or moon_de440_220930.tf",
        )),
        [(_, class_id, me_from_axes)] => Ok((*class_id, *me_from_axes)),
        several => {
            let frames: Vec<_> = several.iter().map(|(name, ..)| name.as_str()).collect();
            Err(KernelError::Ambiguous { files: names.to_owned(), frames: frames.join(", ") })
        }
    }
}

/// The span that every body and the attitude cover, s of dynamical time (TDB) since J2000.0.
fn covered_s(almanac: &Almanac, class_id: i32, names: &str) -> Result<[f64; 2], KernelError> {
    let missing = |what: &str, advice| KernelError::Missing { what: what.to_owned(), files: names.to_owned(), advice };
    let attitude = almanac.bpc_domain(class_id);
    let mut domains = vec![attitude.map_err(|_| missing("the Moon's attitude", "add a binary PCK of the Moon"))?];
    for (number, name) in BODIES {
        let domain = almanac.spk_domain(number);
        domains.push(domain.map_err(|_| missing(name, "add an SPK such as de421.bsp or de440s.bsp"))?);
    }
    let spans = domains.iter().map(|(from, to)| [from.to_tdb_seconds(), to.to_tdb_seconds()]);
    Ok(spans.fold([f64::NEG_INFINITY, f64::INFINITY], |[from, to], [f, t]| [from.max(f), to.min(t)]))
}
