//! Reader of PDS4 images: an XML label (PDS and cartography dictionaries) beside the image that it names. Heights are
//! `value · scaling_factor + value_offset` in metres.

use std::fs::File;
use std::path::Path;

use roxmltree::{Document, Node};
use selene_base::input::{InputError, open_regular, read_bytes};

use crate::body::{check_radius, equirectangular, polar, unknown_projection};
use crate::crs::Crs;
use crate::error::{ElevationError, Refusal};
use crate::format::Format;
use crate::header::{Header, Source};
use crate::raw::{RawSource, SampleType};
use crate::transform::GeoTransform;
use crate::values::Values;

/// The largest label accepted, bytes.
const LABEL_BYTES_MAX: u64 = 16 << 20;

/// Opens a label.
pub(super) fn open(path: &Path) -> Result<Header, ElevationError> {
    let refuse = |refusal: Refusal| refusal.at(path);
    let bytes = read_bytes(path, LABEL_BYTES_MAX).map_err(|error| match error {
        InputError::Read { path, source } => ElevationError::Read { path, source },
        InputError::Content { what, .. } => refuse(Refusal::new("label", what)),
    })?;
    let text = String::from_utf8(bytes).map_err(|e| refuse(Refusal::new("label", format!("is not UTF-8: {e}"))))?;
    let document = Document::parse(&text).map_err(|e| refuse(Refusal::new("label", format!("is not XML: {e}"))))?;
    let root = document.root_element();
    let arrays = ["Array_2D_Image", "Array_3D_Image", "Array_2D_Map", "Array_2D"];
    let array = arrays
        .iter()
        .find_map(|name| find(root, name))
        .ok_or_else(|| refuse(Refusal::new("Array_2D_Image", "is missing")))?;
    let area = array.parent().unwrap_or(root);
    let name = text_of(area, "file_name").map_err(refuse)?;
    let name = Path::new(name).file_name().ok_or_else(|| refuse(Refusal::new("file_name", "is empty")))?;
    let image = path.with_file_name(name);
    let file = open_regular(&image)?;
    header(root, array, file).map_err(refuse)
}

fn header(root: Node<'_, '_>, array: Node<'_, '_>, file: File) -> Result<Header, Refusal> {
    let (shape, source) = source(array, file)?;
    let mut values = values(array, source.sample)?;
    for constants in array.children().filter(|node| node.has_tag_name_of("Special_Constants")) {
        for constant in constants.children().filter(Node::is_element) {
            if is_no_data(constant.tag_name().name()) {
                let number = number_in(constant.tag_name().name(), constant.text().unwrap_or_default())?;
                values.without(number, source.sample == SampleType::F32);
            }
        }
    }
    let (transform, crs) = find(root, "Cartography").map(|map| georeference(map, shape)).transpose()?.unzip();
    let source = Source::Raw(source.checked("Axis_Array", shape[1])?);
    Ok(Header { format: Format::Pds4, shape, transform, crs, values, has_own_scale: true, source })
}

/// Whether a constant marks posts without data; the others are limits of valid values.
fn is_no_data(name: &str) -> bool {
    ["missing_constant", "invalid_constant", "unknown_constant", "not_applicable_constant", "error_constant"]
        .contains(&name)
        || name.ends_with("_saturation")
}

fn source(array: Node<'_, '_>, file: File) -> Result<([usize; 2], RawSource), Refusal> {
    let mut axes = Vec::new();
    for axis in array.children().filter(|node| node.has_tag_name_of("Axis_Array")) {
        let count = number(axis, "elements")?.filter(|count| (1.0..=1e9).contains(count) && count.fract() == 0.0);
        let count = count.ok_or_else(|| Refusal::new("elements", "must be a whole number from 1"))?;
        axes.push((text_of(axis, "axis_name")?.to_ascii_lowercase(), count as usize));
    }
    let axes: Vec<_> = axes.into_iter().filter(|(name, count)| name != "band" || *count != 1).collect();
    let [(first, rows), (second, columns)] = &axes[..] else {
        return Err(Refusal::new(
            "Axis_Array",
            format!("has {} axes beside a single band; must be Line and Sample", axes.len()),
        ));
    };
    if [first.as_str(), second.as_str()] != ["line", "sample"] {
        return Err(Refusal::new("axis_name", format!("is {first}, then {second}; must be Line, then Sample")));
    }
    let name = text_of(array, "data_type")?;
    let sample = match name.trim_start_matches("Signed").trim_start_matches("Unsigned") {
        "Byte" if name.starts_with("Signed") => SampleType::I8,
        "Byte" => SampleType::U8,
        "LSB2" | "MSB2" if name.starts_with("Signed") => SampleType::I16,
        "LSB2" | "MSB2" => SampleType::U16,
        "LSB4" | "MSB4" if name.starts_with("Signed") => SampleType::I32,
        "LSB4" | "MSB4" => SampleType::U32,
        "IEEE754LSBSingle" | "IEEE754MSBSingle" => SampleType::F32,
        "IEEE754LSBDouble" | "IEEE754MSBDouble" => SampleType::F64,
        _ => {
            return Err(Refusal::new(
                "data_type",
                format!("is {name}; must be an integer of 1, 2 or 4 bytes or an IEEE754 real"),
            ));
        }
    };
    let offset = number(array, "offset")?.filter(|offset| *offset >= 0.0 && offset.fract() == 0.0);
    let offset = offset.ok_or_else(|| Refusal::new("offset", "must be a whole number of bytes"))?;
    let shape = [*columns, *rows];
    Ok((shape, RawSource::contiguous(file, offset as u64, shape, sample, name.contains("MSB"))))
}

fn values(array: Node<'_, '_>, sample: SampleType) -> Result<Values, Refusal> {
    let unit_m = match find(array, "unit").and_then(|node| node.text()).map(str::trim) {
        None | Some("m" | "meter" | "metre" | "none") => 1.0,
        Some("km") => 1000.0,
        Some(other) => return Err(Refusal::new("unit", format!("is {other:?}; must be m or km"))),
    };
    let [scale, offset] =
        [number(array, "scaling_factor")?.unwrap_or(1.0), number(array, "value_offset")?.unwrap_or(0.0)];
    let mut values = Values::new("scaling_factor, value_offset", scale * unit_m, offset * unit_m)?;
    let is_integer = !matches!(sample, SampleType::F32 | SampleType::F64);
    if let (true, Some(statistics)) = (is_integer, find(array, "Object_Statistics"))
        && let (Some(low), Some(high)) = (number(statistics, "minimum")?, number(statistics, "maximum")?)
    {
        values.state_range(low, high);
    }
    Ok(values)
}

fn georeference(map: Node<'_, '_>, [columns, rows]: [usize; 2]) -> Result<(GeoTransform, Crs), Refusal> {
    for key in ["a_axis_radius", "b_axis_radius", "c_axis_radius", "semi_major_radius", "polar_radius"] {
        if let Some(node) = find(map, key) {
            check_radius(key, length_m(node)?)?;
        }
    }
    if find(map, "a_axis_radius").or_else(|| find(map, "semi_major_radius")).is_none() {
        return Err(Refusal::new("a_axis_radius", "is missing; must be 1737.4 km"));
    }
    let east = match find(map, "longitude_direction")
        .and_then(|node| node.text())
        .map_or("positive east".to_owned(), str::to_lowercase)
        .trim()
    {
        "positive east" => 1.0,
        "positive west" => -1.0,
        other => {
            return Err(Refusal::new(
                "longitude_direction",
                format!("is {other:?}; must be Positive East or Positive West"),
            ));
        }
    };
    if find(map, "Geographic").is_some() {
        return geographic(map, [columns, rows], east);
    }
    let field = "map_projection_name";
    let name = text_of(map, field)?;
    let any = |keys: &[&str]| keys.iter().find_map(|key| number(map, key).transpose()).transpose();
    let meridian_deg =
        east * any(&["longitude_of_central_meridian", "straight_vertical_longitude_from_pole"])?.unwrap_or(0.0);
    let latitude_deg = number(map, "latitude_of_projection_origin")?;
    let crs = match name.to_ascii_lowercase().replace('_', " ").as_str() {
        "equirectangular" | "equidistant cylindrical" | "simple cylindrical" => {
            if latitude_deg.is_some_and(|latitude| latitude != 0.0) {
                return Err(Refusal::new("latitude_of_projection_origin", "is not 0; must be 0"));
            }
            equirectangular(field, number(map, "standard_parallel_1")?.unwrap_or(0.0), meridian_deg, [0.0; 2])?
        }
        "sinusoidal" => Crs::Sinusoidal { central_meridian_rad: meridian_deg.to_radians(), false_origin_m: [0.0; 2] },
        "polar stereographic" => {
            let latitude_deg = latitude_deg
                .ok_or_else(|| Refusal::new("latitude_of_projection_origin", "is missing; must be 90 or -90"))?;
            polar(
                field,
                latitude_deg,
                meridian_deg,
                number(map, "scale_factor_at_projection_origin")?.unwrap_or(1.0),
                [0.0; 2],
            )?
        }
        _ => return Err(unknown_projection(field, name)),
    };
    let length = |key: &str| {
        find(map, key).map(length_m).transpose()?.ok_or_else(|| Refusal::new(key, "is missing; must be in m or km"))
    };
    let [x, y] = [length("upperleft_corner_x")?, length("upperleft_corner_y")?];
    let [dx, dy] = [length("pixel_resolution_x")?, length("pixel_resolution_y")?];
    Ok((GeoTransform::north_up(x, y, dx, dy).checked("pixel_resolution_x")?, crs))
}

/// A geographic grid spans its bounding coordinates.
fn geographic(map: Node<'_, '_>, [columns, rows]: [usize; 2], east: f64) -> Result<(GeoTransform, Crs), Refusal> {
    let needed = |key: &str| number(map, key)?.ok_or_else(|| Refusal::new(key, "is missing; must be degrees"));
    let [west_deg, east_deg] = [east * needed("west_bounding_coordinate")?, east * needed("east_bounding_coordinate")?];
    let [south_deg, north_deg] = [needed("south_bounding_coordinate")?, needed("north_bounding_coordinate")?];
    let width_deg = if east_deg > west_deg { east_deg - west_deg } else { east_deg - west_deg + 360.0 };
    let transform =
        GeoTransform::north_up(west_deg, north_deg, width_deg / columns as f64, (north_deg - south_deg) / rows as f64);
    Ok((transform.checked("north_bounding_coordinate")?, Crs::Geographic))
}

trait LocalName {
    fn has_tag_name_of(&self, name: &str) -> bool;
}

impl LocalName for Node<'_, '_> {
    /// Compares the local name only, so that any version of the namespace matches.
    fn has_tag_name_of(&self, name: &str) -> bool {
        self.is_element() && self.tag_name().name() == name
    }
}

fn find<'a, 'input>(node: Node<'a, 'input>, name: &str) -> Option<Node<'a, 'input>> {
    node.descendants().find(|node| node.has_tag_name_of(name))
}

fn text_of<'a>(node: Node<'a, '_>, name: &str) -> Result<&'a str, Refusal> {
    let text = find(node, name).and_then(|node| node.text()).map(str::trim).filter(|text| !text.is_empty());
    text.ok_or_else(|| Refusal::new(name, "is missing"))
}

fn number_in(name: &str, text: &str) -> Result<f64, Refusal> {
    let number = text.trim().parse().ok().filter(|number: &f64| !number.is_nan());
    number.ok_or_else(|| Refusal::new(name, format!("is {text:?}; must be a number")))
}

fn number(node: Node<'_, '_>, name: &str) -> Result<Option<f64>, Refusal> {
    find(node, name).map(|node| number_in(name, node.text().unwrap_or_default())).transpose()
}

/// A length converted to metres from its `unit` attribute.
fn length_m(node: Node<'_, '_>) -> Result<f64, Refusal> {
    let name = node.tag_name().name();
    let length = number_in(name, node.text().unwrap_or_default())?;
    match node.attribute("unit").map(|unit| unit.split('/').next().unwrap_or_default()) {
        Some("m") => Ok(length),
        Some("km") => Ok(1000.0 * length),
        other => Err(Refusal::new(name, format!("is in {}; must be in m or km", other.unwrap_or("no unit")))),
    }
}
