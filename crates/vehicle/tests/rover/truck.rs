//! The truck with engine and tyres on hard ground: what carries it, how it sets off, climbs, stops and stays, and how
//! it turns, against statics, an independent integration and the single-track model (M. Mitschke, H. Wallentowitz,
//! "Dynamik der Kraftfahrzeuge", 5th ed. 2014, ch. 20).

use std::sync::Arc;

use crate::ground::{rover_model, rover_with};
use nalgebra::{Matrix2, Vector2, Vector3};
use selene_base::Pose;
use selene_sim::{press_wheels, wheel_shapes};
use selene_soil::{
    Conditions, Law, MemoryPatch, PressScratch, Rigid, RigidSpec, SoilContext, Soils, Tyre, TyreDirection,
    WheelContact, WheelMemory, WheelShape,
};
use selene_terrain::GroundPatch;
use selene_vehicle::ackermann::ackermann_targets;
use selene_vehicle::{AckermannState, Forces, Rover, RoverModel, Targets};

pub(crate) const EARTH_M_S2: f64 = 9.81;
pub(crate) const STEP_S: f64 = 2e-3;
const FRICTION: f64 = 0.8;
const RADIUS_M: f64 = 0.467;

/// The truck on a plane; gravity may lean, which makes the plane a slope.
pub(crate) struct Truck {
    pub(crate) rover: Rover,
    shapes: Vec<WheelShape>,
    memories: Vec<WheelMemory>,
    contacts: Vec<WheelContact>,
    soils: Soils,
    ground: GroundPatch,
    soil_memory: MemoryPatch,
    scratch: PressScratch,
}

impl Truck {
    pub(crate) fn new(model: &Arc<RoverModel>, gravity: Vector3<f64>) -> Self {
        let start = Pose::translation(0.0, 0.0, model.base_height_m());
        let shapes = wheel_shapes(model);
        let ground = GroundPatch::flat(1.0, 900.0);
        let rigid = RigidSpec { static_friction: FRICTION, dynamic_friction: 0.7 };
        Self {
            rover: Rover::new(model, start, gravity, STEP_S).unwrap(),
            memories: vec![WheelMemory::carrying(6000.0); shapes.len()],
            contacts: vec![WheelContact::default(); shapes.len()],
            shapes,
            soils: Soils::uniform(Law::Rigid(Rigid::from(&rigid))),
            soil_memory: MemoryPatch::new(&ground),
            ground,
            scratch: PressScratch::default(),
        }
    }

    pub(crate) fn level() -> Self {
        Self::new(&rover_model("hmmwv"), -Vector3::z() * EARTH_M_S2)
    }

    /// Steps with a speed and a steering angle, m/s and rad.
    pub(crate) fn step(&mut self, speed_m_s: f64, steering_angle_rad: f64) {
        let state = AckermannState { speed_m_s, acceleration_m_s2: 0.0, steering_angle_rad };
        let targets = ackermann_targets(self.rover.model(), &state);
        let Self { rover, shapes, memories, contacts, soils, ground, soil_memory: memory, scratch } = self;
        let mut context = SoilContext { soils, ground, memory, scratch };
        let conditions = Conditions { dt_s: STEP_S, gravity_m_s2: EARTH_M_S2 };
        press_wheels(&mut context, rover, shapes, memories, &conditions, contacts);
        let soil_on_wheel: Vec<_> = self.contacts.iter().map(|contact| contact.wrench).collect();
        self.rover.step(&Targets::from(targets), &Forces { soil_on_wheel: &soil_on_wheel, on_links: &[] });
    }

    pub(crate) fn run(&mut self, seconds: f64, speed_m_s: f64) {
        (0..steps(seconds)).for_each(|_| self.step(speed_m_s, 0.0));
    }

    pub(crate) fn forward_m_s(&self) -> f64 {
        (self.rover.world_from_base().rotation.inverse() * self.rover.base_twist().linear).x
    }

    pub(crate) fn yaw_rad_s(&self) -> f64 {
        self.rover.base_twist().angular.z
    }

    /// Mean angle of the front wheels, rad.
    pub(crate) fn steer_rad(&self) -> f64 {
        let angles = self.rover.steer_angles_rad();
        0.5 * (angles[0] + angles[1])
    }
}

fn steps(seconds: f64) -> usize {
    (seconds / STEP_S).round() as usize
}

fn mass_kg() -> f64 {
    rover_model("hmmwv").mass_kg()
}

#[test]
fn four_tyres_carry_the_weight_and_give_way_as_their_stiffness_says() {
    /// Share of a deflection of 15 mm.
    const TOLERANCE: f64 = 0.003;
    const HALF_WIDTH_M: f64 = 0.127;
    let mut truck = Truck::level();
    // Its corners lean outward: tyres must roll to move aside as it settles.
    truck.run(8.0, 2.0);
    truck.run(6.0, 0.0);
    let loads_n: f64 = truck.contacts.iter().map(|contact| contact.normal_n).sum();
    assert!((loads_n / (mass_kg() * EARTH_M_S2) - 1.0).abs() < 1e-4, "{loads_n} N");
    for (contact, motion) in truck.contacts.iter().zip(truck.rover.wheel_motions()) {
        // A third of the deflection of its deeper edge, as it leans by a tenth of a degree.
        let axle = motion.world_from_wheel.rotation * Vector3::y();
        let deflection_m = 3.0 * contact.rolling_radius_loss_m - axle.z.abs() * HALF_WIDTH_M;
        assert!((deflection_m * 411_121.0 / contact.normal_n - 1.0).abs() < TOLERANCE, "{contact:?}");
    }
    let speed_m_s = truck.rover.base_twist().linear.norm();
    assert!(speed_m_s < 1e-5, "{speed_m_s} m/s at rest");
    let engine = truck.rover.driveline().unwrap();
    assert_eq!(engine.gear, 0);
}

#[test]
fn a_step_in_which_a_tyre_would_throw_its_wheel_is_refused() {
    let start = |step_s| Rover::new(&rover_model("hmmwv"), Pose::identity(), Vector3::zeros(), step_s);
    // √(71.1 kg over 411 121 N/m).
    assert!(start(0.013).is_ok());
    let refusal = start(0.0135).unwrap_err().to_string();
    assert!(refusal.contains("0.0135 s") && refusal.contains("1.32e-2 s, or the tyre of front_left"), "{refusal}");
}

/// In reverse near equal speeds of engine and wheels the converter's slope on a wheel, 6 kN m s, would turn a wheel of
/// 11 kg m² round seven times over in such a step.
#[test]
fn in_long_steps_the_converter_carries_wheels_in_the_air_along_without_shaking_them() {
    let model = rover_model("hmmwv");
    let mut rover = Rover::new(&model, Pose::identity(), Vector3::zeros(), 0.013).unwrap();
    let state = AckermannState { speed_m_s: -20.0, acceleration_m_s2: 0.0, steering_angle_rad: 0.0 };
    let targets = Targets::from(ackermann_targets(&model, &state));
    let driven = model.moving_joints().iter().enumerate().filter_map(|(i, joint)| {
        let wheel = model.wheels().iter().find(|wheel| wheel.drive_joint == *joint)?;
        Some((i, wheel.drive_sign))
    });
    let driven: Vec<(usize, f64)> = driven.collect();
    let mean_rad_s = |rover: &Rover| {
        let joints = rover.state().joints;
        driven.iter().map(|&(i, sign)| sign * joints[i][1]).sum::<f64>() / 4.0
    };
    let mut speeds_rad_s = Vec::new();
    for _ in 0..2000 {
        rover.step(&targets, &Forces::default());
        speeds_rad_s.push(mean_rad_s(&rover));
    }
    // Full throttle and friction are alike between 2500 and 2700 rpm; gears turn 50 times as fast as wheels.
    let engine_rad_s = rover.driveline().unwrap().engine_rad_s;
    assert_eq!(rover.driveline().unwrap().gear, -1);
    assert!((260.0..285.0).contains(&engine_rad_s), "{engine_rad_s} rad/s");
    let last_rad_s = speeds_rad_s[1999];
    assert!((last_rad_s.abs() * 50.0 / engine_rad_s - 1.0).abs() < 1e-2, "{last_rad_s} rad/s");
    assert!(speeds_rad_s[1800..].iter().all(|rad_s| (rad_s - last_rad_s).abs() < 1e-2), "{:?}", &speeds_rad_s[1990..]);
}

/// Engine, converter and gears of the HMMWV, typed anew, turning four equal wheels under a mass, without load
/// transfer: forces by the steady tyre, explicit Euler in steps of 10 µs.
fn to_50_km_h_s(tyre: &Tyre) -> f64 {
    let row = |rows: &[(f64, f64)], x: f64| {
        let after = rows.iter().position(|(at, _)| *at > x).unwrap_or(rows.len() - 1).max(1);
        let ((x0, y0), (x1, y1)) = (rows[after - 1], rows[after]);
        y0 + (y1 - y0) * ((x - x0) / (x1 - x0)).clamp(0.0, 1.0)
    };
    let full = [
        (0.0, 300.0),
        (800.0, 382.0),
        (900.0, 490.0),
        (1000.0, 579.0),
        (1100.0, 650.0),
        (1200.0, 706.0),
        (1300.0, 746.0),
        (1400.0, 774.0),
        (1500.0, 789.0),
        (1600.0, 793.0),
        (1700.0, 788.0),
        (1800.0, 774.0),
        (1900.0, 754.0),
        (2000.0, 728.0),
        (2100.0, 697.0),
        (2200.0, 664.0),
        (2300.0, 628.0),
        (2400.0, 593.0),
        (2500.0, 558.0),
        (2700.0, -400.0),
    ];
    let friction = [(0.0, 0.0), (50.0, 30.0), (1000.0, 50.0), (2000.0, 70.0), (3000.0, 90.0)];
    let capacity = [(0.0, 15.0), (0.5, 15.0), (0.75, 16.0), (0.9, 18.0), (0.97, 29.9)];
    let torque_ratio = [(0.0, 2.0), (0.25, 1.8), (0.5, 1.5), (0.75, 1.15), (1.0, 1.0)];
    let (rpm, dt, mass_kg) = (60.0 / std::f64::consts::TAU, 1e-5, mass_kg());
    let load_n = mass_kg * EARTH_M_S2 / 4.0;
    let deflection_m = load_n / tyre.radial_stiffness_n_m;
    let (standing_m, rolling_m, wheels_kg_m2) = (RADIUS_M - deflection_m, RADIUS_M - deflection_m / 3.0, 4.0 * 10.8543);
    let (mut v, mut wheel, mut engine, mut gear, mut wait_s, mut time_s) = (0.0, 0.0, 800.0 / rpm, 0, 0.0, 0.0);
    while v < 50.0 / 3.6 {
        let ratio = [25.0, 12.5, 6.25][gear];
        let turbine = wheel * ratio;
        if turbine * rpm > 2500.0 && gear < 2 && wait_s <= 0.0 {
            (gear, wait_s) = (gear + 1, 1.0);
        }
        wait_s -= dt;
        let (slower, faster, way) = if turbine > engine { (engine, turbine, -1.0) } else { (turbine, engine, 1.0) };
        let speeds = slower / faster;
        let pump_nm = way * (faster / row(&capacity, speeds)).powi(2) * ((1.0 - speeds) / 0.03).min(1.0);
        let turbine_nm = if way > 0.0 { pump_nm * row(&torque_ratio, speeds) } else { pump_nm };
        let passed_on = if way > 0.0 { 0.95 } else { 1.0 / 0.95 };
        let slip = (rolling_m * wheel - v) / (rolling_m * wheel).max(0.1);
        let force_n = 4.0 * tyre.steady_n([slip, 0.0], load_n, FRICTION)[0];
        let resists_nm = force_n * standing_m + 0.015 * 4.0 * load_n * standing_m * (wheel * rolling_m / 0.1).min(1.0);
        wheel += (turbine_nm * ratio * passed_on - resists_nm) / wheels_kg_m2 * dt;
        engine += (row(&full, engine * rpm) - row(&friction, engine * rpm) - pump_nm) / 1.6 * dt;
        v += force_n / mass_kg * dt;
        time_s += dt;
        assert!(time_s < 60.0, "{v} m/s");
    }
    time_s
}

#[test]
fn from_rest_to_50_km_h_it_takes_the_time_of_an_independent_integration() {
    /// Load shifts from the front to the rear, which the other model does not include.
    const TOLERANCE: f64 = 0.05;
    let mut truck = Truck::level();
    truck.run(4.0, 0.0);
    let (mut time_s, mut highest_gear) = (0.0, 0);
    while truck.forward_m_s() < 50.0 / 3.6 {
        truck.step(20.0, 0.0);
        time_s += STEP_S;
        highest_gear = highest_gear.max(truck.rover.driveline().unwrap().gear);
        assert!(time_s < 60.0, "{} m/s", truck.forward_m_s());
    }
    let expected_s = to_50_km_h_s(truck.shapes[0].tyre.as_ref().unwrap());
    println!("0 to 50 km/h in {time_s:.2} s, expected {expected_s:.2} s, gear {highest_gear}");
    assert!((time_s / expected_s - 1.0).abs() < TOLERANCE, "{time_s} s for {expected_s} s");
}

#[test]
fn on_a_slope_of_30_percent_it_climbs_with_the_torque_of_statics_then_stops_and_stays() {
    let slope_rad = 0.3_f64.atan();
    let (sin, cos) = slope_rad.sin_cos();
    let mut truck = Truck::new(&rover_model("hmmwv"), Vector3::new(-sin, 0.0, -cos) * EARTH_M_S2);
    truck.run(4.0, 0.0);
    truck.run(20.0, 3.0);
    assert!((truck.forward_m_s() / 3.0 - 1.0).abs() < 0.05, "{} m/s", truck.forward_m_s());
    let torque_nm: f64 = truck.rover.drive_torques_nm().iter().sum();
    let weight_n = mass_kg() * EARTH_M_S2;
    let standing_m = RADIUS_M - weight_n * cos / 4.0 / 411_121.0;
    let expected_nm = weight_n * (sin + 0.015 * cos) * standing_m;
    assert!((torque_nm / expected_nm - 1.0).abs() < 0.02, "{torque_nm} N m for {expected_nm}");
    truck.run(12.0, 0.0);
    let stopped = truck.rover.world_from_base().translation.vector;
    truck.run(5.0, 0.0);
    let crept_m = (truck.rover.world_from_base().translation.vector - stopped).norm();
    assert!(crept_m < 1e-4, "{crept_m} m");
}

/// Cornering stiffness of an axle, N/rad, and trail, m, at a load of its wheels.
fn axle(tyre: &Tyre, load_n: f64) -> (f64, f64) {
    let slip = 1e-5;
    let stiffness_n = 2.0 * tyre.steady_n([0.0, slip], load_n, FRICTION)[1] / slip;
    let share =
        tyre.trail[0].share + (tyre.trail[1].share - tyre.trail[0].share) * (load_n / tyre.nominal_load_n - 1.0);
    let trail_m = share * 2.0 * (RADIUS_M * load_n / tyre.radial_stiffness_n_m).sqrt();
    (stiffness_n, trail_m)
}

/// A truck with a bias of both differentials; 1 is open. Steeper curves of the rear tyres make it understeer.
fn understeering(torque_bias: u32) -> Truck {
    const AXLES: &str = "front_right, torque_share: 0.5, torque_bias: 2}
    - {left: rear_left, right: rear_right, torque_share: 0.5, torque_bias: 2}";
    let biased = AXLES.replace("bias: 2", &format!("bias: {torque_bias}"));
    let mut truck = Truck::new(&rover_with("hmmwv", AXLES, &biased), -Vector3::z() * EARTH_M_S2);
    for shape in &mut truck.shapes[2..] {
        let lateral = &mut shape.tyre.as_mut().unwrap().lateral;
        lateral.nominal.slope_n *= 1.3;
        lateral.double.slope_n *= 1.3;
    }
    truck
}

fn centre_of_mass_in_base_m(model: &RoverModel) -> Vector3<f64> {
    let poses = model.base_from_links_at_zero();
    let moments = model.links().iter().zip(&poses).filter_map(|(link, pose)| {
        let inertial = link.inertial?;
        Some((pose * inertial.link_from_com).translation.vector * inertial.mass_kg)
    });
    moments.sum::<Vector3<f64>>() / model.mass_kg()
}

/// Distances from the centre of mass to the axles, m.
fn arms_m(model: &RoverModel) -> [f64; 2] {
    let centre_m = centre_of_mass_in_base_m(model).x;
    [model.wheels()[0].centre_in_base_m.x - centre_m, centre_m - model.wheels()[2].centre_in_base_m.x]
}

fn centre_above_ground_m(model: &RoverModel) -> f64 {
    centre_of_mass_in_base_m(model).z - model.wheels()[0].centre_in_base_m.z + RADIUS_M
}

/// (δ − L r/v)/a in a steady turn, rad/(m/s²).
fn understeer_gradient(truck: &mut Truck) -> f64 {
    truck.run(4.0, 0.0);
    truck.run(14.0, 15.0);
    (0..steps(8.0)).for_each(|_| truck.step(15.0, 0.0095));
    let (v, yaw) = (truck.forward_m_s(), truck.yaw_rad_s());
    let length_m: f64 = arms_m(truck.rover.model()).iter().sum();
    (truck.steer_rad() - length_m * yaw / v) / (v * yaw)
}

/// Slip at which the tyres of an axle give a side force, by their curve: bisection below the peak.
fn slip_of(tyre: &Tyre, load_n: f64, force_n: f64) -> f64 {
    let (mut low, mut high) = (0.0, 0.05);
    for _ in 0..50 {
        let slip = 0.5 * (low + high);
        let too_little = 2.0 * tyre.steady_n([0.0, slip], load_n, FRICTION)[1] < force_n;
        *(if too_little { &mut low } else { &mut high }) = slip;
    }
    low
}

/// δ = L r/v + α_f − α_r, with the side forces F_f = (m a (l_r + n_r) + M)/s and F_r = (m a (l_f − n_f) − M)/s a trail n
/// behind the axles, s apart. M = f m a h turns the truck out of the curve: its outer wheels carry m a h/(track/2) more
/// and resist rolling by the share f of that, while open differentials drive both sides alike. The single-track model
/// knows no limited slip, which drives the inner wheels more.
#[test]
fn in_a_steady_turn_its_understeer_is_that_of_the_single_track_model() {
    /// Share of the understeer gradient: the truck rolls on its springs, which the model does not include.
    const TOLERANCE: f64 = 0.05;
    let mut truck = understeering(1);
    let measured = understeer_gradient(&mut truck);
    let acceleration_m_s2 = truck.forward_m_s() * truck.yaw_rad_s();
    let [front_m, rear_m] = arms_m(truck.rover.model());
    let load_n = mass_kg() * EARTH_M_S2 / 4.0;
    let (front, rear) = (truck.shapes[0].tyre.unwrap(), truck.shapes[2].tyre.unwrap());
    let (front_trail_m, rear_trail_m) = (axle(&front, load_n).1, axle(&rear, load_n).1);
    let (force_n, span_m) = (mass_kg() * acceleration_m_s2, front_m + rear_m + rear_trail_m - front_trail_m);
    let resisting_nm = front.rolling_resistance * force_n * centre_above_ground_m(truck.rover.model());
    let front_slip = slip_of(&front, load_n, (force_n * (rear_m + rear_trail_m) + resisting_nm) / span_m);
    let rear_slip = slip_of(&rear, load_n, (force_n * (front_m - front_trail_m) - resisting_nm) / span_m);
    let gradient = (front_slip - rear_slip) / acceleration_m_s2;
    let limited = understeer_gradient(&mut understeering(2));
    println!("understeer {measured:.3e} rad/(m/s²), expected {gradient:.3e}; with limited slip {limited:.3e}");
    assert!(gradient > 1e-3 && (measured / gradient - 1.0).abs() < TOLERANCE, "{measured} {gradient}");
    assert!(limited > 1.1 * measured, "{limited} {measured}");
}

/// Moment of inertia about the vertical through the centre of mass, kg m².
fn yaw_inertia_kg_m2(model: &RoverModel, centre_x_m: f64) -> f64 {
    let poses = model.base_from_links_at_zero();
    let of_links = model.links().iter().zip(&poses).filter_map(|(link, pose)| {
        let inertial = link.inertial?;
        let at = (pose * inertial.link_from_com).translation.vector;
        let own = inertial.inertia_kg_m2[(2, 2)];
        Some(own + inertial.mass_kg * ((at.x - centre_x_m).powi(2) + at.y.powi(2)))
    });
    of_links.sum()
}

/// v̇_y = (F_f + F_r)/m − v r, ṙ = (l_f F_f − l_r F_r)/J, each side force after its slip angle with the lag σ/v + d/c,
/// driven by the steering angle that the truck has.
struct SingleTrack {
    speed_m_s: f64,
    mass_kg: f64,
    inertia_kg_m2: f64,
    /// For the front and the rear axle: arm of its wheels (ahead positive), arm of its force, m; stiffness, N; lag, s.
    axles: [(f64, f64, f64, f64); 2],
    /// Lateral speed and yaw rate.
    motion: Vector2<f64>,
    forces_n: Vector2<f64>,
}

impl SingleTrack {
    fn of(truck: &Truck, speed_m_s: f64) -> Self {
        let model = truck.rover.model();
        let [front_m, rear_m] = arms_m(model);
        let load_n = mass_kg() * EARTH_M_S2 / 4.0;
        let of_axle = |wheel: usize, arm_m: f64| {
            let tyre = truck.shapes[wheel].tyre.unwrap();
            let (stiffness_n, trail_m) = axle(&tyre, load_n);
            let TyreDirection { stiffness_n_m, damping_n_s_m, .. } = tyre.lateral;
            let lag_s = 0.5 * stiffness_n / stiffness_n_m / speed_m_s + damping_n_s_m / stiffness_n_m;
            (arm_m, arm_m - trail_m, stiffness_n, lag_s)
        };
        let centre_x_m = model.wheels()[2].centre_in_base_m.x + rear_m;
        Self {
            speed_m_s,
            mass_kg: mass_kg(),
            inertia_kg_m2: yaw_inertia_kg_m2(model, centre_x_m),
            axles: [of_axle(0, front_m), of_axle(2, -rear_m)],
            motion: Vector2::zeros(),
            forces_n: Vector2::zeros(),
        }
    }

    fn step(&mut self, steer_rad: f64, dt_s: f64) {
        let [side_m_s, yaw_rad_s] = [self.motion.x, self.motion.y];
        for (i, (arm_m, _, stiffness_n, lag_s)) in self.axles.into_iter().enumerate() {
            let steered_rad = if i == 0 { steer_rad } else { 0.0 };
            let slip_rad = steered_rad - (side_m_s + arm_m * yaw_rad_s) / self.speed_m_s;
            self.forces_n[i] += (stiffness_n * slip_rad - self.forces_n[i]) / lag_s * dt_s;
        }
        let moment_nm: f64 = self.axles.iter().zip(&self.forces_n).map(|(axle, force_n)| axle.1 * force_n).sum();
        let gained = Vector2::new(
            self.forces_n.sum() / self.mass_kg - self.speed_m_s * yaw_rad_s,
            moment_nm / self.inertia_kg_m2,
        );
        self.motion += gained * dt_s;
    }

    /// Yaw rate that a steering angle leads to: where nothing changes.
    fn steady_yaw_rad_s(&self, steer_rad: f64) -> f64 {
        let [(front_m, front_arm_m, front_n, _), (rear_m, rear_arm_m, rear_n, _)] = self.axles;
        let v = self.speed_m_s;
        let of_motion = Matrix2::new(
            -(front_n + rear_n) / v,
            -(front_n * front_m + rear_n * rear_m) / v - self.mass_kg * v,
            -(front_n * front_arm_m + rear_n * rear_arm_m) / v,
            -(front_n * front_arm_m * front_m + rear_n * rear_arm_m * rear_m) / v,
        );
        let of_steer = Vector2::new(front_n, front_arm_m * front_n) * steer_rad;
        of_motion.lu().solve(&-of_steer).unwrap().y
    }
}

#[test]
fn after_a_step_of_the_steering_it_turns_in_as_the_single_track_model_does() {
    /// Share of the final yaw rate: the truck rolls on its springs, which the model does not include.
    const TOLERANCE: f64 = 0.1;
    let mut truck = understeering(1);
    truck.run(4.0, 0.0);
    truck.run(14.0, 15.0);
    let mut model = SingleTrack::of(&truck, truck.forward_m_s());
    let steady_rad_s = model.steady_yaw_rad_s(0.0095);
    let (mut worst, mut most, mut expected_most, mut halves_s) = (0.0_f64, 0.0_f64, 0.0_f64, [0.0_f64; 2]);
    for i in 0..steps(3.0) {
        truck.step(15.0, 0.0095);
        (0..8).for_each(|_| model.step(truck.steer_rad(), STEP_S / 8.0));
        let [yaw, expected] = [truck.yaw_rad_s(), model.motion.y].map(|rad_s| rad_s / steady_rad_s);
        worst = worst.max((yaw - expected).abs());
        (most, expected_most) = (most.max(yaw), expected_most.max(expected));
        for (half_s, share) in halves_s.iter_mut().zip([yaw, expected]) {
            if *half_s == 0.0 && share > 0.5 {
                *half_s = STEP_S * i as f64;
            }
        }
    }
    println!("half after {halves_s:?} s, most {most:.3} and {expected_most:.3}, apart by {worst:.3}");
    let settled = model.motion.y / model.steady_yaw_rad_s(truck.steer_rad());
    assert!((settled - 1.0).abs() < 0.01, "the model itself settles: {settled}");
    assert!(worst < TOLERANCE && (most - expected_most).abs() < 0.5 * TOLERANCE, "{worst} {most} {expected_most}");
    assert!((halves_s[0] - halves_s[1]).abs() < 0.03 && halves_s[1] > 0.02, "{halves_s:?}");
}

#[test]
fn the_linkage_leans_its_wheels_by_their_travel_and_to_both_sides_alike() {
    let model: Arc<RoverModel> = rover_model("hmmwv");
    let mut rover = Rover::new(&model, Pose::identity(), Vector3::zeros(), STEP_S).unwrap();
    for (travel_m, camber_deg) in [(0.0_f64, 2.15_f64), (0.05, 0.53), (0.1, -1.09)] {
        let mut state = rover.state();
        for (joint, position) in model.moving_joints().iter().zip(&mut state.joints) {
            if model.wheels().iter().any(|wheel| wheel.suspension_joint == Some(*joint)) {
                position[0] = travel_m;
            }
        }
        rover.set_state(&state);
        for (wheel, side) in [(0, 1.0), (1, -1.0), (2, 1.0), (3, -1.0)] {
            let axle = rover.wheel_motions()[wheel].world_from_wheel.rotation * Vector3::y();
            let expected = -side * camber_deg.to_radians().sin();
            assert!((axle.z - expected).abs() < 1e-12 && axle.x.abs() < 1e-12, "{travel_m} {wheel}: {axle}");
        }
    }
}
