//! `selene sky`: prints where Sun and Earth are above a place, at an instant and over time.

mod table;

use std::path::Path;
use std::sync::Arc;

use selene_base::input::load_yaml;
use selene_base::output::PNG;
use selene_sky::{Direction, Ephemeris, Kernels, SiteSky, Sky, visible_fraction};
use selene_terrain::{Clipmap, Horizon, SiteSpec};
use serde_json::{Value, json};

use self::table::SkyTable;
use crate::args::SkyArgs;
use crate::fault::Fault;
use crate::output::print_line;
use crate::places;

/// An observer's place, with its sky and its horizon.
struct Observer {
    latitude_deg: f64,
    longitude_deg: f64,
    height_m: f64,
    sky: SiteSky,
    /// The horizon of a site's ground; `None` for a flat horizon.
    horizon: Option<Horizon>,
}

/// Prints the sky at an instant and, if a duration is given, its table over time; draws a plot if one is requested.
pub(crate) fn sky(args: &SkyArgs) -> Result<(), Fault> {
    args.plot.iter().try_for_each(|file| places::check_writable("--plot", file, &PNG))?;
    let observer = Observer::new(args)?;
    let now = observer.sky.at(args.at).map_err(Fault::input)?;
    let table = args.duration.map(|span| SkyTable::new(&observer, args.at, span, args.step)).transpose()?;
    if args.json {
        let mut value = observer.json(args, &now);
        if let Some(table) = &table {
            value["ephemeris"] = table.json();
        }
        print_line(serde_json::to_string_pretty(&value).map_err(Fault::run)?);
    } else {
        observer.print(args, &now);
        table.iter().for_each(SkyTable::print);
    }
    match (&args.plot, &table) {
        (Some(plot), Some(table)) => table.chart(&observer, args.at).save(plot).map_err(Fault::run),
        _ => Ok(()),
    }
}

impl Observer {
    fn new(args: &SkyArgs) -> Result<Self, Fault> {
        let file = args.site.as_deref().map(|site| places::configured(&["site"], site));
        let site = file.as_deref().map(load_yaml::<SiteSpec>).transpose().map_err(Fault::input)?;
        let (lat, lon) = match &site {
            Some(site) => (site.latitude_deg, site.longitude_deg),
            None => (args.lat.unwrap_or_default(), args.lon.unwrap_or_default()),
        };
        let height_m = args.height.or(site.as_ref().map(|site| site.datum_m)).unwrap_or(0.0);
        let within = |option: &str, value: f64, low: f64, high: f64| {
            let fits = (low..=high).contains(&value);
            if fits { Ok(value) } else { Err(Fault::input(format!("{option} {value}: must be {low} to {high}"))) }
        };
        let latitude_deg = within("--lat", lat, -90.0, 90.0)?;
        let longitude_deg = within("--lon", lon, -180.0, 360.0)?;
        let height_m = within("--height", height_m, -10_000.0, 1e6)?;
        let eye_m = within("--eye", args.eye, 0.0, 1000.0)?;
        let ephemeris = match &args.kernels[..] {
            [] => Ephemeris::Analytic,
            files => Ephemeris::Kernels(Arc::new(Kernels::load(files).map_err(Fault::input)?)),
        };
        let sky = SiteSky::new(latitude_deg, longitude_deg).at_height(height_m).with(ephemeris);
        let horizon = match (&site, &file) {
            (Some(site), Some(file)) => Some(site_horizon(site, file, args, eye_m)?),
            _ => None,
        };
        Ok(Self { latitude_deg, longitude_deg, height_m, sky, horizon })
    }

    /// Elevation of the horizon below a body, rad.
    fn horizon_rad(&self, body: &Direction) -> f64 {
        self.horizon.as_ref().map_or(0.0, |horizon| horizon.elevation_rad(body.azimuth_rad))
    }

    /// The share of the Sun's light above the horizon, 0 to 1.
    fn sun_visible(&self, sun: &Direction) -> f64 {
        visible_fraction((sun.elevation_rad - self.horizon_rad(sun)) / sun.angular_radius_rad)
    }

    fn source(&self) -> String {
        match self.sky.ephemeris() {
            Ephemeris::Analytic => "analytic".to_owned(),
            Ephemeris::Kernels(kernels) => {
                let names: Vec<_> = kernels.files().iter().map(|file| file.display().to_string()).collect();
                names.join(", ")
            }
        }
    }

    fn json(&self, args: &SkyArgs, now: &Sky) -> Value {
        let body = |body: &Direction| {
            json!({
                "azimuth_deg": body.azimuth_rad.to_degrees(),
                "elevation_deg": body.elevation_rad.to_degrees(),
                "angular_diameter_deg": 2.0 * body.angular_radius_rad.to_degrees(),
                "distance_m": body.distance_m,
                "horizon_deg": self.horizon_rad(body).to_degrees(),
            })
        };
        let (mut sun, mut earth) = (body(&now.sun), body(&now.earth));
        sun["irradiance_w_m2"] = json!(now.sun_irradiance_w_m2);
        sun["visible_fraction"] = json!(self.sun_visible(&now.sun));
        earth["phase_angle_deg"] = json!(now.earth_light.phase_angle_rad.to_degrees());
        earth["lit_fraction"] = json!(now.earth_light.lit_fraction);
        earth["irradiance_w_m2"] = json!(now.earth_light.irradiance_w_m2);
        earth["sunlike_irradiance_w_m2"] = json!(now.earth_light.sunlike_irradiance_w_m2);
        json!({
            "utc": args.at.to_string(),
            "latitude_deg": self.latitude_deg,
            "longitude_deg": self.longitude_deg,
            "height_m": self.height_m,
            "source": self.source(),
            "sun": sun,
            "earth": earth,
        })
    }

    fn print(&self, args: &SkyArgs, now: &Sky) {
        let (lat, lon, height_m) = (self.latitude_deg, self.longitude_deg, self.height_m);
        print_line(format_args!(
            "{} at latitude {lat}°, longitude {lon}°, height {height_m} m ({})",
            args.at,
            self.source()
        ));
        let line = |name: &str, body: &Direction, more: String| {
            let [azimuth, elevation, width] =
                [body.azimuth_rad, body.elevation_rad, 2.0 * body.angular_radius_rad].map(f64::to_degrees);
            print_line(format_args!(
                "{name:<6} azimuth {azimuth:8.4}°  elevation {elevation:8.4}°  width {width:.4}°  {:.0} km  {more}",
                body.distance_m / 1000.0
            ));
        };
        let seen = 100.0 * self.sun_visible(&now.sun);
        line("Sun", &now.sun, format!("{:.1} W/m²  {seen:.1} % over the horizon", now.sun_irradiance_w_m2));
        let light = &now.earth_light;
        let (phase_deg, lit) = (light.phase_angle_rad.to_degrees(), 100.0 * light.lit_fraction);
        line("Earth", &now.earth, format!("{:.4} W/m²  phase {phase_deg:.2}°, {lit:.1} % lit", light.irradiance_w_m2));
    }
}

/// The horizon seen from the map origin of a site, `eye_m` above the ground.
fn site_horizon(site: &SiteSpec, file: &Path, args: &SkyArgs, eye_m: f64) -> Result<Horizon, Fault> {
    let data_dir = places::data_dir(args.data.as_deref())?;
    let ground = Clipmap::of_site(site, file, data_dir.as_deref(), args.seed).map_err(Fault::input)?;
    let horizon = Horizon::seen_from(&ground, [0.0, 0.0], eye_m);
    horizon.ok_or_else(|| Fault::run(format!("{}: has no ground at the map origin", file.display())))
}
