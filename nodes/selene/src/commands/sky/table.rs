//! Sun and Earth over a span of time: their elevations, when the Sun is visible, and how long it is dark.

use selene_base::SimTime;
use selene_pictures::chart::{Chart, Line, Mark, Panel};
use selene_sky::Utc;
use serde_json::{Value, json};

use super::Observer;
use crate::fault::Fault;
use crate::output::print_line;

/// Greatest number of rows.
const ROWS_MAX: i64 = 200_000;
const SECS_PER_DAY: f64 = 86_400.0;

/// The sky at one instant.
struct Row {
    utc: Utc,
    days: f64,
    sun_deg: f64,
    /// Elevation of the horizon below the Sun, degrees.
    horizon_deg: f64,
    sun_visible: f64,
    earth_deg: f64,
}

/// The sky at even steps from the start.
pub(super) struct SkyTable {
    rows: Vec<Row>,
    step: SimTime,
}

impl SkyTable {
    pub(super) fn new(observer: &Observer, start: Utc, span: SimTime, step: SimTime) -> Result<Self, Fault> {
        let steps = span / step;
        if steps >= ROWS_MAX {
            return Err(Fault::input(format!("--step: --for has {steps} steps; at most {ROWS_MAX} are taken")));
        }
        let row = |i: i64| {
            let time = step * i;
            let utc = start.after(time);
            let sky = observer.sky.at(utc).map_err(Fault::input)?;
            Ok(Row {
                utc,
                days: time.secs_f64() / SECS_PER_DAY,
                sun_deg: sky.sun.elevation_rad.to_degrees(),
                horizon_deg: observer.horizon_rad(&sky.sun).to_degrees(),
                sun_visible: observer.sun_visible(&sky.sun),
                earth_deg: sky.earth.elevation_rad.to_degrees(),
            })
        };
        Ok(Self { rows: (0..=steps).map(row).collect::<Result<_, Fault>>()?, step })
    }

    /// Mean visible share of the Sun's disc, 0 to 1.
    fn mean_visible(&self) -> f64 {
        self.rows.iter().map(|row| row.sun_visible).sum::<f64>() / self.rows.len() as f64
    }

    /// Longest time without any of the Sun, s: the number of consecutive dark rows times the step.
    fn longest_dark_s(&self) -> f64 {
        let dark = self.rows.split(|row| row.sun_visible > 0.0).map(<[Row]>::len).max();
        dark.unwrap_or(0) as f64 * self.step.secs_f64()
    }

    pub(super) fn print(&self) {
        let elevations = |of: fn(&Row) -> f64| {
            let bounds = |(low, high): (f64, f64), row| (low.min(of(row)), high.max(of(row)));
            self.rows.iter().fold((f64::INFINITY, f64::NEG_INFINITY), bounds)
        };
        let ((sun_low, sun_high), (earth_low, earth_high)) =
            (elevations(|row| row.sun_deg), elevations(|row| row.earth_deg));
        let last = self.rows.last().map_or(String::new(), |row| row.utc.to_string());
        print_line(format_args!(
            "until {last}, every {} h: Sun {sun_low:.3}° to {sun_high:.3}°, Earth {earth_low:.3}° to {earth_high:.3}°",
            self.step.secs_f64() / 3600.0
        ));
        print_line(format_args!(
            "Sun over the horizon: {:.1} % on average; longest without it {:.1} h",
            100.0 * self.mean_visible(),
            self.longest_dark_s() / 3600.0
        ));
    }

    pub(super) fn json(&self) -> Value {
        let row = |row: &Row| {
            json!({
                "utc": row.utc.to_string(),
                "sun_elevation_deg": row.sun_deg,
                "horizon_deg": row.horizon_deg,
                "sun_visible_fraction": row.sun_visible,
                "earth_elevation_deg": row.earth_deg,
            })
        };
        json!({
            "step_s": self.step.secs_f64(),
            "mean_visible_fraction": self.mean_visible(),
            "longest_dark_s": self.longest_dark_s(),
            "rows": self.rows.iter().map(row).collect::<Vec<_>>(),
        })
    }

    pub(super) fn chart(&self, observer: &Observer, start: Utc) -> Chart {
        let line = |name: &str, colour, mark, of: fn(&Row) -> f64| {
            let points = self.rows.iter().map(|row| (row.days, of(row))).collect();
            Line { name: name.to_owned(), colour, mark, points }
        };
        let horizon = if observer.horizon.is_some() { "the site's horizon below the Sun" } else { "flat horizon" };
        let elevations = vec![
            line("Sun", 0, Mark::Line, |row| row.sun_deg),
            line("Earth", 1, Mark::Line, |row| row.earth_deg),
            line(horizon, 2, Mark::Dashes, |row| row.horizon_deg),
        ];
        let visible = vec![line("Sun over the horizon", 3, Mark::Line, |row| 100.0 * row.sun_visible)];
        let panel = |y: &str, lines| Panel { x: "days".to_owned(), y: y.to_owned(), lines };
        let (lat, lon) = (observer.latitude_deg, observer.longitude_deg);
        Chart {
            title: format!("Sky at latitude {lat}°, longitude {lon}° from {start}"),
            columns: 1,
            panels: vec![panel("elevation, degrees", elevations), panel("visible share of the Sun, %", visible)],
        }
    }
}
