//! The file of driven ground, numbers little-endian:
//!
//! | bytes | what |
//! | --- | --- |
//! | 8 | `SELRUTS` and a zero |
//! | 4 | version, 1 |
//! | to the end | one zlib stream (RFC 1950, with its checksum) of what follows |
//! | 2 + n | the site's name, UTF-8 after its length |
//! | 8 | seed |
//! | 1 + 16 l | levels, finest first: spacing and side, m, `f64` |
//! | 8 · 256 l | mean heights of 16 × 16 squares of each level, m, `f64` (`likeness`) |
//! | 8 | soil too little to change a height, m³, `f64` |
//! | 4 | tiles |
//! | a tile | row and column, `i16`, in ascending order; marks of changed posts and of pressed nodes, 512 bytes each; heights before, plastic sinkage, changed heights |
//!
//! Heights are `f32`, kept to the bit. Those before and plastic sinkages are each XOR the one before,
//! a changed height XOR what the soil's memory says it is; the four bytes of a column
//! of numbers are stored apart, highest first, so that what is alike lies together.

use std::collections::BTreeMap;
use std::io::{self, BufReader, Read, Write};

use flate2::Compression;
use flate2::bufread::ZlibDecoder;
use flate2::write::ZlibEncoder;
use selene_soil::PressedTile;

use crate::likeness::Likeness;
use crate::saved_ruts::{DrivenTile, SavedRuts};

const MAGIC: [u8; 8] = *b"SELRUTS\0";
const VERSION: u32 = 1;
const NAME_MAX: usize = 400;
const LEVELS_MAX: usize = 6;
/// More nodes than 80 km of two tracks 0.3 m wide have at 2 cm.
const NODES_MAX: usize = 1 << 27;
/// Beyond every height of the Moon, m.
const HEIGHT_MAX_M: f32 = 20_000.0;
/// Words of a tile's marks.
const WORDS: usize = 64;

/// What is wrong with a file: the field, and what is asked of it.
#[derive(Debug, PartialEq)]
pub(crate) struct Flaw {
    pub(crate) field: String,
    pub(crate) what: String,
}

impl Flaw {
    pub(crate) fn new(field: impl Into<String>, what: impl Into<String>) -> Self {
        Self { field: field.into(), what: what.into() }
    }
}

/// The file's bytes.
pub(crate) fn encode(ruts: &SavedRuts) -> io::Result<Vec<u8>> {
    let mut out = MAGIC.to_vec();
    out.extend(VERSION.to_le_bytes());
    let mut body = ZlibEncoder::new(out, Compression::default());
    let name = &ruts.site.as_bytes()[..ruts.site.floor_char_boundary(NAME_MAX)];
    body.write_all(&(name.len() as u16).to_le_bytes())?;
    body.write_all(name)?;
    body.write_all(&ruts.seed.to_le_bytes())?;
    body.write_all(&[ruts.levels.len() as u8])?;
    let numbers = ruts.levels.iter().flatten().chain(&ruts.likeness.means_m).chain([&ruts.crumbs_m3]);
    numbers.into_iter().try_for_each(|number| body.write_all(&number.to_le_bytes()))?;
    body.write_all(&(ruts.tiles.len() as u32).to_le_bytes())?;
    ruts.tiles.iter().try_for_each(|(at, tile)| write_tile(&mut body, *at, tile))?;
    body.finish()
}

fn write_tile(body: &mut impl Write, at: [i16; 2], tile: &DrivenTile) -> io::Result<()> {
    at.iter().try_for_each(|number| body.write_all(&number.to_le_bytes()))?;
    let mut changed = [0_u64; WORDS];
    tile.changed.iter().for_each(|&(node, _)| changed[usize::from(node) / 64] |= 1 << (node % 64));
    let pressed = tile.soil.as_ref().map_or(&[0; WORDS], PressedTile::marks);
    changed.iter().chain(pressed).try_for_each(|word| body.write_all(&word.to_le_bytes()))?;
    let known = tile.soil.as_ref().map_or(&[][..], PressedTile::known);
    for column in 0..2 {
        write_planes(body, &chained(known.iter().map(|memory| memory[column].to_bits())))?;
    }
    let news = tile.changed.iter().map(|&(node, m)| m.to_bits() ^ expected_m(tile.soil.as_ref(), node).to_bits());
    write_planes(body, &news.collect::<Vec<_>>())
}

/// Each number XOR the one before.
fn chained(words: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut last = 0;
    words.map(|word| word ^ std::mem::replace(&mut last, word)).collect()
}

fn write_planes(body: &mut impl Write, words: &[u32]) -> io::Result<()> {
    for shift in [24, 16, 8, 0] {
        let plane: Vec<u8> = words.iter().map(|word| (word >> shift) as u8).collect();
        body.write_all(&plane)?;
    }
    Ok(())
}

/// What the soil's memory says of a post's height, m; zero where it knows nothing.
fn expected_m(soil: Option<&PressedTile>, node: u16) -> f32 {
    let (word, bit) = (usize::from(node) / 64, 1_u64 << (node % 64));
    let Some(soil) = soil.filter(|soil| soil.marks()[word] & bit != 0) else { return 0.0 };
    let before: u32 = soil.marks()[..word].iter().map(|row| row.count_ones()).sum();
    let [initial_m, plastic_m] = soil.known()[(before + (soil.marks()[word] & (bit - 1)).count_ones()) as usize];
    initial_m - plastic_m
}

/// Reads a file's bytes. Memory grows with what the file truly holds.
pub(crate) fn decode(bytes: &[u8]) -> Result<SavedRuts, Flaw> {
    if bytes.get(..8) != Some(&MAGIC[..]) {
        return Err(Flaw::new("bytes 0 to 7", "are not SELRUTS: this is no file of driven ground"));
    }
    let version = bytes.get(8..12).and_then(|bytes| bytes.try_into().ok()).map(u32::from_le_bytes);
    match version {
        Some(VERSION) => {}
        Some(version) => {
            let what = format!("is {version}; this Selene reads version {VERSION}: use the one that wrote it");
            return Err(Flaw::new("version", what));
        }
        None => return Err(truncated("version")),
    }
    let mut body = Body { source: BufReader::new(ZlibDecoder::new(&bytes[12..])), nodes: 0 };
    let ruts = body.ruts()?;
    body.end()?;
    Ok(ruts)
}

fn truncated(field: &str) -> Flaw {
    Flaw::new(field, "the file ends there or is damaged: save the ruts again")
}

struct Body<R> {
    source: R,
    nodes: usize,
}

impl<R: Read> Body<R> {
    fn array<const N: usize>(&mut self, field: &str) -> Result<[u8; N], Flaw> {
        let mut bytes = [0; N];
        self.source.read_exact(&mut bytes).map_err(|_| truncated(field))?;
        Ok(bytes)
    }

    fn number(&mut self, field: &str) -> Result<f64, Flaw> {
        let number = f64::from_le_bytes(self.array(field)?);
        if number.is_finite() {
            return Ok(number);
        }
        Err(Flaw::new(field, format!("is {number}; must be a finite number")))
    }

    fn ruts(&mut self) -> Result<SavedRuts, Flaw> {
        let length = u16::from_le_bytes(self.array("site")?);
        if usize::from(length) > NAME_MAX {
            return Err(Flaw::new("site", format!("has {length} bytes; at most {NAME_MAX} are taken")));
        }
        let mut name = vec![0; usize::from(length)];
        self.source.read_exact(&mut name).map_err(|_| truncated("site"))?;
        let site = String::from_utf8(name).map_err(|_| Flaw::new("site", "is not UTF-8"))?;
        let seed = u64::from_le_bytes(self.array("seed")?);
        let [count] = self.array("levels")?;
        if !(1..=LEVELS_MAX).contains(&usize::from(count)) {
            return Err(Flaw::new("levels", format!("are {count}; must be 1 to {LEVELS_MAX}")));
        }
        let numbers =
            |body: &mut Self, field, count| (0..count).map(|_| body.number(field)).collect::<Result<Vec<_>, _>>();
        let levels =
            numbers(self, "levels", 2 * usize::from(count))?.chunks(2).map(|pair| [pair[0], pair[1]]).collect();
        let likeness = Likeness { means_m: numbers(self, "mean heights", Likeness::len(usize::from(count)))? };
        let crumbs_m3 = self.number("crumbs")?;
        let count = u32::from_le_bytes(self.array("tiles")?);
        let mut tiles = BTreeMap::new();
        for i in 0..count {
            let (at, tile) = self.tile(i)?;
            if tiles.last_key_value().is_some_and(|(last, _)| *last >= at) {
                return Err(Flaw::new(format!("tile {i}"), "row and column do not ascend"));
            }
            tiles.insert(at, tile);
        }
        Ok(SavedRuts { site, seed, levels, likeness, crumbs_m3, tiles })
    }

    fn tile(&mut self, i: u32) -> Result<([i16; 2], DrivenTile), Flaw> {
        let field = format!("tile {i}");
        let at = [i16::from_le_bytes(self.array(&field)?), i16::from_le_bytes(self.array(&field)?)];
        let [changed, pressed] = [self.marks(&field)?, self.marks(&field)?];
        let count = |marks: &[u64; WORDS]| marks.iter().map(|word| word.count_ones() as usize).sum::<usize>();
        self.nodes += count(&changed) + count(&pressed);
        if self.nodes > NODES_MAX {
            return Err(Flaw::new(field, format!("more than {NODES_MAX} nodes; save shorter drives apart")));
        }
        let columns = [self.chain(count(&pressed), &field)?, self.chain(count(&pressed), &field)?];
        let known = columns[0].iter().zip(&columns[1]).map(|(&initial_m, &plastic_m)| [initial_m, plastic_m]).collect();
        let soil = PressedTile::new(pressed, known).filter(|soil| !soil.known().is_empty());
        let words = self.planes(count(&changed), &field)?;
        let nodes = (0..4096_u16).filter(|node| changed[usize::from(*node) / 64] >> (node % 64) & 1 == 1);
        let height_m = |node, word: u32| f32::from_bits(word ^ expected_m(soil.as_ref(), node).to_bits());
        let changed: Vec<_> = nodes.zip(words).map(|(node, word)| (node, height_m(node, word))).collect();
        changed.iter().try_for_each(|&(node, m)| check_height(m, || format!("{field}, post {node}")))?;
        Ok((at, DrivenTile { changed, soil }))
    }

    fn marks(&mut self, field: &str) -> Result<Box<[u64; WORDS]>, Flaw> {
        let mut marks = Box::new([0; WORDS]);
        for word in marks.iter_mut() {
            *word = u64::from_le_bytes(self.array(field)?);
        }
        Ok(marks)
    }

    fn planes(&mut self, count: usize, field: &str) -> Result<Vec<u32>, Flaw> {
        let mut words = vec![0; count];
        let mut plane = vec![0; count];
        for _ in 0..4 {
            self.source.read_exact(&mut plane).map_err(|_| truncated(field))?;
            words.iter_mut().zip(&plane).for_each(|(word, &byte)| *word = *word << 8 | u32::from(byte));
        }
        Ok(words)
    }

    /// Numbers that were each XOR the one before.
    fn chain(&mut self, count: usize, field: &str) -> Result<Vec<f32>, Flaw> {
        let mut last = 0;
        let unchained = |word: u32| {
            last ^= word;
            f32::from_bits(last)
        };
        let numbers: Vec<_> = self.planes(count, field)?.into_iter().map(unchained).collect();
        numbers.iter().try_for_each(|&m| check_height(m, || format!("{field}, the soil's memory")))?;
        Ok(numbers)
    }

    /// Nothing follows, and the checksum is right.
    fn end(mut self) -> Result<(), Flaw> {
        match self.source.read(&mut [0]) {
            Ok(0) => Ok(()),
            Ok(_) => Err(Flaw::new("end", "more bytes follow the last tile: the file is damaged")),
            Err(_) => Err(truncated("checksum")),
        }
    }
}

fn check_height(height_m: f32, field: impl Fn() -> String) -> Result<(), Flaw> {
    if height_m.abs() <= HEIGHT_MAX_M {
        return Ok(());
    }
    Err(Flaw::new(field(), format!("is {height_m} m; must be a number within {HEIGHT_MAX_M} m")))
}

#[cfg(test)]
mod tests {
    use super::{Flaw, decode, encode};
    use crate::likeness::Likeness;
    use crate::saved_ruts::{DrivenTile, SavedRuts};
    use selene_soil::PressedTile;
    use std::collections::BTreeMap;

    fn ruts() -> SavedRuts {
        let mut marks = Box::new([0; 64]);
        marks[3] = 0b1011;
        let known = vec![[-12.25, 0.031], [-12.26, 0.03], [-12.3, -0.002]];
        let changed = vec![(7, 1.5), (192, -12.25 - 0.031), (194, 2.0), (4095, -0.0)];
        let tiles = BTreeMap::from([
            ([-3, 9], DrivenTile { changed, soil: PressedTile::new(marks, known) }),
            ([-3, 10], DrivenTile { changed: vec![(0, f32::MIN_POSITIVE)], soil: None }),
        ]);
        let likeness = Likeness { means_m: (0..Likeness::len(2)).map(|i| i as f64 / 3.0).collect() };
        let levels = vec![[0.02, 60.0], [0.2, 204.0]];
        SavedRuts { site: "Häworth".to_owned(), seed: 7, levels, likeness, crumbs_m3: 1e-12, tiles }
    }

    fn refusal(bytes: &[u8]) -> Flaw {
        decode(bytes).expect_err("refused")
    }

    #[test]
    fn what_was_saved_comes_back_bit_for_bit() {
        let back = decode(&encode(&ruts()).expect("in memory")).expect("read");
        assert_eq!(back, ruts());
        assert_eq!(back.tiles[&[-3, 9]].changed[3].1.to_bits(), (-0.0_f32).to_bits());
    }

    #[test]
    fn foreign_newer_and_damaged_files_are_refused() {
        let good = encode(&ruts()).expect("in memory");
        assert!(refusal(b"").what.contains("no file of driven ground"));
        assert!(refusal(b"\x89PNG\r\n\x1a\n and so on").what.contains("no file of driven ground"));
        let newer = [&good[..8], &2_u32.to_le_bytes(), &good[12..]].concat();
        assert!(refusal(&newer).what.contains("reads version 1"));
        for length in [8, 10, 12, 40, good.len() / 2, good.len() - 1] {
            let flaw = refusal(&good[..length]);
            assert!(flaw.what.contains("ends there"), "{length}: {flaw:?}");
        }
        for at in 12..good.len() {
            let mut bent = good.clone();
            bent[at] ^= 0x40;
            // A bit of a code that no number uses changes nothing.
            assert!(decode(&bent).is_err() || decode(&bent) == Ok(ruts()), "byte {at}");
        }
    }

    #[test]
    fn heights_that_cannot_be_and_tiles_out_of_order_are_refused() {
        let refused = |change: fn(&mut SavedRuts)| {
            let mut bad = ruts();
            change(&mut bad);
            refusal(&encode(&bad).expect("in memory"))
        };
        let flaw = refused(|ruts| ruts.tiles.get_mut(&[-3, 10]).expect("there").changed[0].1 = f32::NAN);
        assert_eq!((flaw.field.as_str(), flaw.what.contains("NaN")), ("tile 1, post 0", true));
        let flaw = refused(|ruts| ruts.tiles.get_mut(&[-3, 10]).expect("there").changed[0].1 = 3e4);
        assert!(flaw.what.contains("30000"), "{flaw:?}");
        assert_eq!(refused(|ruts| ruts.crumbs_m3 = f64::INFINITY).field, "crumbs");
        assert_eq!(refused(|ruts| ruts.levels.clear()).field, "levels");
    }
}
