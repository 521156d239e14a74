//! `selene calibrate`: fits a camera's detector to flat-field and dark images.

use std::collections::BTreeMap;
use std::path::Path;

use image::DynamicImage;
use selene_base::input::read_bytes;
use selene_sensors::calibrate::{Calibration, FittedValue, SignalLevel, calibrate as fit};

use crate::args::{CalibrateCameraArgs, CalibrateCommand};
use crate::fault::Fault;
use crate::output::print_line;

/// Greatest size of an image or table, bytes.
const BYTES_MAX: u64 = 256 << 20;
/// Units of exposures in file names, and their values in seconds.
const UNITS: [(&str, f64); 3] = [("us", 1e-6), ("ms", 1e-3), ("s", 1.0)];
/// Resolution of exposures as keys: a nanosecond.
const TICKS_PER_S: f64 = 1e9;

/// Pixels of grey images by exposure, ns.
type Pictures = BTreeMap<u64, Vec<Vec<u16>>>;

/// Fits the detector and prints the result.
pub(crate) fn calibrate(command: &CalibrateCommand) -> Result<(), Fault> {
    let CalibrateCommand::Camera(args) = command;
    let calibration = camera(args)?;
    if args.json {
        print_line(serde_json::to_string_pretty(&calibration).map_err(Fault::run)?);
    } else {
        print(&calibration);
    }
    Ok(())
}

fn camera(args: &CalibrateCameraArgs) -> Result<Calibration, Fault> {
    let (flats, flat_bits) = pictures(&args.flat)?;
    let (darks, dark_bits) = pictures(&args.dark)?;
    if flat_bits != dark_bits {
        return Err(Fault::input(format!(
            "flats have {flat_bits} bits and darks {dark_bits}; both must have the same"
        )));
    }
    let bits = args.bits.unwrap_or(flat_bits);
    if bits > flat_bits {
        return Err(Fault::input(format!("--bits {bits}: the files have {flat_bits}")));
    }
    let full_scale = f64::from((1_u32 << bits) - 1);
    let levels = |folder: &Path, pictures: &Pictures| -> Result<Vec<SignalLevel>, Fault> {
        let level = |(ticks, pictures): (&u64, &Vec<Vec<u16>>)| {
            SignalLevel::of(*ticks as f64 / TICKS_PER_S, pictures, full_scale)
                .map_err(|error| Fault::input(format!("{}: {error}", folder.display())))
        };
        pictures.iter().map(level).collect()
    };
    let (flats, darks) = (levels(&args.flat, &flats)?, levels(&args.dark, &darks)?);
    fit(&flats, &darks, full_scale, args.response.map(Into::into)).map_err(Fault::input)
}

/// A folder's images by exposure, and their bits per pixel.
fn pictures(folder: &Path) -> Result<(Pictures, u32), Fault> {
    let refuse = |what: &dyn std::fmt::Display| Fault::input(format!("{}: {what}", folder.display()));
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .map_err(|e| refuse(&e))?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|e| e.eq_ignore_ascii_case("png")))
        .collect();
    files.sort();
    let table = table(&folder.join("exposures.csv"))?;
    let mut bits = None;
    let mut pictures = Pictures::new();
    for file in files {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let exposure_s = table.get(&name).copied().or_else(|| exposure_in(&name)).ok_or_else(|| {
            refuse(&format!(
                "{name}: its exposure is not known: name it as flat_12.5ms_a.png or list it in exposures.csv"
            ))
        })?;
        let (numbers, its_bits) = read(&file)?;
        if *bits.get_or_insert(its_bits) != its_bits {
            return Err(refuse(&format!("{name}: has {its_bits} bits, files before it have not")));
        }
        pictures.entry((exposure_s * TICKS_PER_S).round() as u64).or_default().push(numbers);
    }
    bits.map(|bits| (pictures, bits)).ok_or_else(|| refuse(&"has no PNG files"))
}

fn read(file: &Path) -> Result<(Vec<u16>, u32), Fault> {
    let refuse = |what: &dyn std::fmt::Display| Fault::input(format!("{}: {what}", file.display()));
    let bytes = read_bytes(file, BYTES_MAX).map_err(Fault::input)?;
    match image::load_from_memory(&bytes).map_err(|e| refuse(&e))? {
        DynamicImage::ImageLuma8(grey) => Ok((grey.into_raw().into_iter().map(u16::from).collect(), 8)),
        DynamicImage::ImageLuma16(grey) => Ok((grey.into_raw(), 16)),
        _ => Err(refuse(&"is in colour; must be grey (a Bayer mosaic as it comes from the detector is)")),
    }
}

/// Reads exposures, s, by file name; empty if there is no such table.
fn table(path: &Path) -> Result<BTreeMap<String, f64>, Fault> {
    if !path.exists() {
        return Ok(BTreeMap::new());
    }
    let refuse = |line: usize, what: &str| Fault::input(format!("{}: line {line}: {what}", path.display()));
    let bytes = read_bytes(path, BYTES_MAX).map_err(Fault::input)?;
    let text = String::from_utf8(bytes).map_err(|_| refuse(1, "is not UTF-8"))?;
    let mut exposures = BTreeMap::new();
    for (i, line) in text.lines().enumerate() {
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        match fields[..] {
            ["file", "exposure_s"] if i == 0 => {}
            [file, exposure_s] if i > 0 => {
                let seconds = exposure_s.parse().ok().filter(|s: &f64| *s > 0.0 && s.is_finite());
                let seconds = seconds.ok_or_else(|| refuse(i + 1, "exposure_s must be more than 0"))?;
                exposures.insert(file.to_owned(), seconds);
            }
            _ => return Err(refuse(i + 1, "must be file,exposure_s")),
        }
    }
    Ok(exposures)
}

/// The exposure in a file's name, s.
fn exposure_in(name: &str) -> Option<f64> {
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let group_of = |part: &str| {
        UNITS.iter().find_map(|(unit, seconds)| {
            let number = part.strip_suffix(unit)?.parse::<f64>().ok()?;
            (number > 0.0 && number.is_finite()).then_some(number * seconds)
        })
    };
    stem.rsplit(['_', '-', ' ']).find_map(group_of)
}

fn print(calibration: &Calibration) {
    let line = |what: &str, value: &FittedValue, unit: &str| {
        print_line(format_args!("  {what:<22} {:>13.6e} \u{b1} {:.1e} {unit}", value.value, value.sigma));
    };
    let Calibration { response, levels: [flats, darks], residual, .. } = calibration;
    print_line(format_args!(
        "{response} response from {flats} exposures of flats and {darks} of darks; leaves {residual:.1e} of the full scale"
    ));
    calibration.parameters.iter().for_each(|(name, value)| line(name, value, ""));
    line("gain", &calibration.gain_e_per_dn, "e-/DN");
    line("read noise", &calibration.read_sigma_e, "e-");
    match &calibration.dark_current_e_per_s {
        Some(dark) => line("dark current", dark, "e-/s"),
        None => {
            print_line("  dark current: not determined by the darks (cut off at 0, too few, or the response is bent)")
        }
    }
    print_line(format_args!("\nstages:\n{}", calibration.yaml()));
}

#[cfg(test)]
mod tests {
    use super::exposure_in;

    #[test]
    fn the_exposure_is_the_last_part_of_a_name_with_a_unit() {
        for (name, seconds) in [
            ("flat_12.5ms_a.png", Some(0.0125)),
            ("dark-0.02s.png", Some(0.02)),
            ("b_800us.PNG", Some(800e-6)),
            ("10ms_20ms.png", Some(0.02)),
            ("flats_3.png", None),
            ("flat_-3ms.png", Some(0.003)),
            ("flat.png", None),
        ] {
            let reported = exposure_in(name);
            assert!(
                reported.zip(seconds).map_or(reported == seconds, |(a, b)| (a - b).abs() < 1e-12),
                "{name}: {reported:?}"
            );
        }
    }
}
