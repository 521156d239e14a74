//! Writer of docs/validation.md: the sections in order, each with its figures first.

use std::path::Path;

use selene_base::output::{self, FileKind};

use super::{ComparedFigure, Comparison, Failure, Section};

const HEAD: &str = "# Validation

Wheels and soil beside measurements and beside peers. This page and its plots are made by `selene validate`; \
`tests/validation` holds the same figures to written tolerances. Verification against equations is in `tests/verification`.
";

/// File kind of an earlier page, which may be overwritten.
pub const PAGE: FileKind = FileKind { name: "page of `selene validate`", is: |head| head.starts_with(b"# Validation") };

/// Writes validation.md and its images to `folder`.
pub fn report(folder: &Path, made: &[(Comparison, Section)]) -> Result<(), Failure> {
    let images = folder.join("images");
    std::fs::create_dir_all(&images).map_err(|e| format!("{}: cannot be made: {e}", images.display()))?;
    let mut page = String::from(HEAD);
    for (comparison, section) in made {
        page += &format!("\n## {}\n\n", comparison.title());
        page += &write_section(section, &images)?;
    }
    let file = folder.join("validation.md");
    Ok(output::write_bytes(&file, &PAGE, page.as_bytes())?)
}

fn write_section(section: &Section, images: &Path) -> Result<String, Failure> {
    let mut text = String::from("| figure | required | result | |\n| --- | --- | --- | --- |\n");
    section.figures.iter().for_each(|figure| text += &row(figure));
    text += &format!("\n{}", section.text);
    for (name, chart) in &section.charts {
        chart.save(&images.join(name)).map_err(|e| e.to_string())?;
        text += &format!("\n![{}](images/{name})\n", chart.title);
    }
    Ok(text)
}

fn row(figure: &ComparedFigure) -> String {
    let ComparedFigure { value, unit, what, at_most, .. } = figure;
    let shown = |value: f64| if unit.is_empty() { share(value) } else { format!("{value:.3} {unit}") };
    let (required, met) = match at_most {
        Some(limit) => (format!("≤ {}", shown(*limit)), if figure.is_met() { "met" } else { "not met" }),
        None => ("–".to_owned(), ""),
    };
    format!("| {what} | {required} | {} | {met} |\n", shown(*value))
}

/// A fraction in per cent, with more digits where it is small.
fn share(value: f64) -> String {
    let percent = 100.0 * value;
    match percent.abs() {
        size if size >= 0.995 => format!("{percent:.1} %"),
        size if size >= 0.001 || size == 0.0 => format!("{percent:.3} %"),
        _ => format!("{percent:.1e} %"),
    }
}

impl ComparedFigure {
    /// Whether it is within its limit; without a limit, whether it is finite.
    #[must_use]
    pub fn is_met(&self) -> bool {
        self.at_most.map_or(self.value.is_finite(), |limit| self.value <= limit)
    }
}

#[cfg(test)]
mod tests {
    use super::{ComparedFigure, row, share};

    #[test]
    fn a_figure_is_met_up_to_its_limit_and_never_when_it_is_no_number() {
        let figure = |value| ComparedFigure { name: "x", value, unit: "mm", what: "depth", at_most: Some(0.25) };
        assert!(row(&figure(0.25)).ends_with("| ≤ 0.250 mm | 0.250 mm | met |\n"));
        assert!(row(&figure(0.26)).ends_with("not met |\n") && !figure(f64::NAN).is_met());
        assert_eq!([0.0002, 0.113, 2e-7].map(share), ["0.020 %", "11.3 %", "2.0e-5 %"]);
    }
}
