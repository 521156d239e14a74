//! Parameters that change a running world: `utc`, which sets the sky; `ROVER.SENSOR.…` of each sensor;
//! `ROVER.lamps.LAMP`. Rovers that are spawned later have none: parameters are declared once.

use std::sync::Arc;

use selene_base::SimTime;
use selene_ros::parameters::{Parameter, ParameterChange, TypedValue, ValueRange};
use selene_sensors::{SensorSetting, SensorSpec};
use selene_sim::{EntityId, LampCommand, Model, Scenario};
use selene_simulation::LiveSettings;
use selene_sky::Utc;

/// Why parameters of a shared world are read-only.
const SHARED: &str = "Several processes share this world (--own), so nobody can set it here.";

/// A parameter of a sensor: how to read its value from a setting, and how to change the setting to another value.
struct Field {
    name: &'static str,
    description: &'static str,
    range: ValueRange,
    value: fn(&SensorSpec, &SensorSetting) -> TypedValue,
    with: fn(&SensorSpec, SensorSetting, &TypedValue) -> SensorSetting,
}

/// A sensor of a rover in a running world.
#[derive(Clone)]
struct OfSensor {
    rover: EntityId,
    spec: Arc<SensorSpec>,
    live: LiveSettings,
}

/// The parameters of a world; all are read-only if several processes share it.
pub(super) fn of_world(model: &Model, live: &LiveSettings, is_shared: bool) -> Vec<Parameter> {
    let mut all = vec![utc(model.scenario(), live, is_shared)];
    for (id, kind) in model.rovers() {
        let rover = &kind.setup().name;
        for sensor in &kind.setup().sensors {
            let prefix = format!("{rover}.{}", sensor.spec.header().name);
            let of = OfSensor { rover: *id, spec: Arc::new(sensor.spec.clone()), live: live.clone() };
            all.extend(of.parameters(&prefix, is_shared));
        }
        for (index, lamp) in kind.model().lamps().iter().enumerate() {
            let name = format!("{rover}.lamps.{}", lamp.spec.name);
            let parameter =
                of_lamp(*id, index, (name.as_str(), lamp.spec.name.as_str(), lamp.spec.level), live, is_shared);
            all.push(parameter);
        }
    }
    all
}

/// A read-only parameter of a world that several processes share.
fn shared(
    name: impl Into<String>,
    description: &str,
    read: impl Fn() -> TypedValue + Send + Sync + 'static,
) -> Parameter {
    Parameter::read_only(name, read(), format!("{description} {SHARED}")).read_by(read)
}

fn utc(scenario: &Arc<Scenario>, live: &LiveSettings, is_shared: bool) -> Parameter {
    let description = "UTC at simulated time zero: where Sun, Earth and stars stand. The scenario or --utc sets it.";
    let begins = scenario.utc;
    let (checked, applied, read) = (live.clone(), live.clone(), live.clone());
    let read = move || TypedValue::Text(begins.after(read.sky_offset()).to_string());
    if is_shared {
        return shared("utc", description, read);
    }
    let scenario = Arc::clone(scenario);
    let check = move |value: &TypedValue| {
        let offset = offset(value, begins)?;
        scenario.sky.at(begins.after(checked.time() + offset)).map(drop).map_err(|error| error.to_string())
    };
    let apply = move |value: &TypedValue| {
        if let Ok(offset) = offset(value, begins) {
            applied.set_sky_offset(offset);
        }
    };
    let value = TypedValue::Text(begins.to_string());
    Parameter::changeable("utc", value, description, ValueRange::Any, ParameterChange::new(check, apply))
        .constrained("YYYY-MM-DDTHH:MM:SSZ, 1900 to 2099")
        .read_by(read)
}

/// How much later a UTC instant is than the scenario's own.
fn offset(value: &TypedValue, begins: Utc) -> Result<SimTime, String> {
    let TypedValue::Text(text) = value else { return Err("must be a text".to_owned()) };
    Ok(text.parse::<Utc>().map_err(|error| error.to_string())?.since(begins))
}

/// The parameters that a sensor has.
fn fields(spec: &SensorSpec) -> Vec<Field> {
    let mut fields = vec![enabled()];
    if spec.without_noise().is_some() {
        fields.push(noise());
    }
    if let SensorSpec::Camera(camera) = spec {
        fields.push(exposure_s(camera.exposure_max_s()));
        if camera.can_meter() {
            fields.push(auto_exposure());
        }
    }
    fields
}

fn enabled() -> Field {
    Field {
        name: "enabled",
        description: "Whether the sensor measures.",
        range: ValueRange::Any,
        value: |_, setting| TypedValue::Bool(setting.enabled),
        with: |_, setting, value| SensorSetting { enabled: *value == TypedValue::Bool(true), ..setting },
    }
}

fn noise() -> Field {
    Field {
        name: "noise",
        description: "Whether readings have noise and drift; biases and scale errors stay in any case.",
        range: ValueRange::Any,
        value: |_, setting| TypedValue::Bool(setting.noise),
        with: |_, setting, value| SensorSetting { noise: *value == TypedValue::Bool(true), ..setting },
    }
}

fn exposure_s(longest_s: f64) -> Field {
    Field {
        name: "exposure_s",
        description: "Exposure, s; the longest one with auto_exposure.",
        range: ValueRange::Doubles(1e-6..=longest_s),
        value: |spec, setting| TypedValue::Double(set_camera(spec, setting).0),
        with: |spec, setting, value| {
            let TypedValue::Double(exposure_s) = value else { return setting };
            let of_file = set_camera(spec, &SensorSetting::default()).0;
            SensorSetting { exposure_s: (*exposure_s != of_file).then_some(*exposure_s), ..setting }
        },
    }
}

fn auto_exposure() -> Field {
    Field {
        name: "auto_exposure",
        description: "Whether each image chooses its own exposure.",
        range: ValueRange::Any,
        value: |spec, setting| TypedValue::Bool(set_camera(spec, setting).1),
        with: |spec, setting, value| {
            let auto = *value == TypedValue::Bool(true);
            let of_file = set_camera(spec, &SensorSetting::default()).1;
            SensorSetting { auto_exposure: (auto != of_file).then_some(auto), ..setting }
        },
    }
}

/// Exposure, s, and whether it is metered, of a camera under a setting.
fn set_camera(spec: &SensorSpec, setting: &SensorSetting) -> (f64, bool) {
    match spec {
        SensorSpec::Camera(camera) => {
            let camera = camera.set_to(setting);
            (camera.exposure_s, camera.auto_exposure)
        }
        _ => (0.0, false),
    }
}

impl OfSensor {
    fn name(&self) -> &str {
        self.spec.header().name
    }

    fn setting(&self) -> SensorSetting {
        self.live.sensor(self.rover, self.name())
    }

    /// All parameters of the sensor; their names begin with `prefix`.
    fn parameters(&self, prefix: &str, is_shared: bool) -> Vec<Parameter> {
        fields(&self.spec).into_iter().map(|field| self.parameter(prefix, field, is_shared)).collect()
    }

    fn parameter(&self, prefix: &str, field: Field, is_shared: bool) -> Parameter {
        let Field { name, description, range, value, with } = field;
        let name = format!("{prefix}.{name}");
        let (checked, applied, read) = (self.clone(), self.clone(), self.clone());
        let read = move || value(&read.spec, &read.setting());
        if is_shared {
            return shared(name, description, read);
        }
        let check = move |value: &TypedValue| {
            let setting = with(&checked.spec, checked.setting(), value);
            checked.spec.check(&setting).map_err(|why| why.to_string())
        };
        let apply = move |value: &TypedValue| {
            applied.live.set_sensor(applied.rover, applied.name(), |setting| with(&applied.spec, setting, value));
        };
        let first = value(&self.spec, &SensorSetting::default());
        Parameter::changeable(name, first, description, range, ParameterChange::new(check, apply)).read_by(read)
    }
}

/// The parameter of a lamp, given by the parameter's name, the lamp's name and its level at the start.
fn of_lamp(
    rover: EntityId,
    index: usize,
    (parameter, lamp, level): (&str, &str, f64),
    live: &LiveSettings,
    is_shared: bool,
) -> Parameter {
    let description = "Part of the lamp's full flux, as its command topic sets it.";
    let (applied, read, lamp) = (live.clone(), live.clone(), lamp.to_owned());
    let read = move || TypedValue::Double(read.lamp_level(rover, index).unwrap_or(level));
    if is_shared {
        return shared(parameter, description, read);
    }
    let apply = move |value: &TypedValue| {
        if let TypedValue::Double(level) = value {
            applied.light(rover, LampCommand { lamp: lamp.clone(), level: *level });
        }
    };
    let (first, change) = (TypedValue::Double(level), ParameterChange::new(|_| Ok(()), apply));
    Parameter::changeable(parameter, first, description, ValueRange::Doubles(0.0..=1.0), change).read_by(read)
}

#[cfg(test)]
mod tests {
    use super::{SHARED, of_world};
    use selene_base::SimTime;
    use selene_ros::parameters::{ParameterError, Parameters, TypedValue};
    use selene_sensors::SensorSetting;
    use selene_sim::{
        Checkpoint, Command, EntityId, LampCommand, LoadOptions, Model, Recent, Scenario, Settings, World,
    };
    use selene_simulation::{LiveSettings, RunStart};
    use std::path::Path;
    use std::sync::Arc;

    const ROVER: EntityId = EntityId(1);

    /// A VIPER on the test yard with a camera, encoders and an inertial unit.
    fn model() -> Model {
        let text = "name: test\nutc: \"2026-11-21T12:00:00Z\"\nseed: 1\ngravity_m_s2: 1.62\nstep_s: 0.001\n\
                    heartbeat_s: 0.01\nsite: ../site/test_yard.yaml\nsoil: ../soil/lunar.yaml\n\
                    rover: { file: ../rover/viper.yaml, x_m: 0, y_m: 0, yaw_deg: 0 }\n\
                    sensors: [../sensor/navcam_left.yaml, ../sensor/wheel_encoders.yaml, ../sensor/imu.yaml]\n";
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/scenario/test.yaml");
        let scenario = Scenario::parse(text, &path, &LoadOptions::default()).unwrap_or_else(|error| panic!("{error}"));
        Model::new(Arc::new(scenario)).unwrap_or_else(|error| panic!("{error}"))
    }

    fn parameters(live: &LiveSettings) -> Parameters {
        of_world(&model(), live, false).into_iter().fold(Parameters::default(), Parameters::with)
    }

    #[test]
    fn what_is_set_is_read_back_and_waits_for_the_next_heartbeat() {
        let live = LiveSettings::default();
        let mut parameters = parameters(&live);
        for (name, before, after) in [
            ("viper.navcam_left.exposure_s", TypedValue::Double(0.05), TypedValue::Double(0.004)),
            ("viper.navcam_left.auto_exposure", TypedValue::Bool(true), TypedValue::Bool(false)),
            ("viper.navcam_left.noise", TypedValue::Bool(true), TypedValue::Bool(false)),
            ("viper.imu.enabled", TypedValue::Bool(true), TypedValue::Bool(false)),
            ("utc", TypedValue::Text("2026-11-21T12:00:00Z".into()), TypedValue::Text("2026-11-22T12:00:00.5Z".into())),
        ] {
            assert_eq!(parameters.value(name), Some(before), "{name}");
            assert_eq!(parameters.set(name, &after), Ok(()), "{name}");
            assert_eq!(parameters.value(name), Some(after), "{name}");
        }
        let camera = SensorSetting { enabled: true, noise: false, exposure_s: Some(0.004), auto_exposure: Some(false) };
        assert_eq!(live.sensor(ROVER, "navcam_left"), camera);
        assert_eq!(live.sky_offset(), SimTime::from_nanos(86_400_500_000_000));
        // Setting the file's values again leaves no trace.
        for (name, value) in [
            ("viper.navcam_left.exposure_s", TypedValue::Double(0.05)),
            ("viper.navcam_left.auto_exposure", TypedValue::Bool(true)),
            ("viper.navcam_left.noise", TypedValue::Bool(true)),
        ] {
            assert_eq!(parameters.set(name, &value), Ok(()), "{name}");
        }
        assert_eq!(live.sensor(ROVER, "navcam_left"), SensorSetting::default());
    }

    #[test]
    fn what_cannot_be_is_refused_with_the_reason() {
        let live = LiveSettings::default();
        let mut parameters = parameters(&live);
        let exposure = parameters.set("viper.navcam_left.exposure_s", &TypedValue::Double(11.0));
        assert!(matches!(exposure, Err(ParameterError::OutOfRange { .. })), "{exposure:?}");
        let utc = parameters.set("utc", &TypedValue::Text("tomorrow".into()));
        assert!(matches!(&utc, Err(ParameterError::Refused { why, .. }) if why.contains("tomorrow")), "{utc:?}");
        // Encoders count, so their noise is part of their state; only cameras have an exposure.
        for name in ["viper.wheel_encoders.noise", "viper.imu.exposure_s"] {
            let refused = parameters.set(name, &TypedValue::Bool(false));
            assert!(matches!(refused, Err(ParameterError::Unknown { .. })), "{name}: {refused:?}");
        }
        assert_eq!(live.sensor(ROVER, "navcam_left"), SensorSetting::default());
    }

    #[test]
    fn nothing_of_a_shared_world_can_be_set_but_what_the_checkpoint_has_is_reported() {
        let model = Arc::new(model());
        let mut world = World::begin(Arc::clone(&model), None).unwrap_or_else(|error| panic!("{error}"));
        let quiet = SensorSetting { noise: false, ..SensorSetting::default() };
        let sensors = [((ROVER, "imu".to_owned()), quiet)].into();
        world.set(&Settings { sky_offset: SimTime::from_nanos(3_600_000_000_000), sensors }).expect("can be set");
        let lit = LampCommand { lamp: "headlight_left".to_owned(), level: 0.25 };
        world.drive(ROVER, Command::Lamp(lit)).expect("a rover");
        let checkpoint = Checkpoint { state: world.state().clone(), recent: Recent::default() };

        let live = LiveSettings::default();
        live.begin(&RunStart::Resume(Box::new(checkpoint)));
        let mut parameters = of_world(&model, &live, true).into_iter().fold(Parameters::default(), Parameters::with);
        for (name, has, other) in [
            ("utc", TypedValue::Text("2026-11-21T13:00:00Z".into()), TypedValue::Text("2026-11-22T12:00:00Z".into())),
            ("viper.imu.noise", TypedValue::Bool(false), TypedValue::Bool(true)),
            ("viper.navcam_left.enabled", TypedValue::Bool(true), TypedValue::Bool(false)),
            ("viper.lamps.headlight_left", TypedValue::Double(0.25), TypedValue::Double(1.0)),
        ] {
            let refused = parameters.set(name, &other);
            assert!(refused.is_err_and(|error| error.to_string().contains(SHARED)), "{name}");
            assert_eq!(parameters.value(name), Some(has), "{name}");
        }
    }
}
