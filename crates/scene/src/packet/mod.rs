//! Traces sixteen neighbouring rays at once, each in a lane of the processor's vector registers. Every lane takes the
//! same steps and computes the same numbers as the kernels do for its ray alone, so a picture is the same bit for bit
//! whichever instructions a processor has. The program detects these instructions when it runs.

pub(crate) mod beams;
pub(crate) mod detail;
pub(crate) mod ground;
pub(crate) mod instances;
pub(crate) mod lanes;
pub(crate) mod light;
pub(crate) mod sights;

#[cfg(test)]
mod tests {
    use fearless_simd::prelude::*;
    use fearless_simd::{Level as Vectorised, dispatch};
    use nalgebra::Vector3;
    use selene_base::Pose;
    use selene_terrain::{Clipmap, Edit, Level, Node, Print};

    use super::detail::{Grounds, detailed};
    use super::ground::{ground_normals, trace_heights};
    use super::instances::{Hits, any_instance, cones_meet_instances, trace_instances};
    use super::lanes::{LANES, Rays, all, bits_of, floats, ints, mask, vector_of, vectors};
    use crate::detail::Detail;
    use crate::grains::{Grain, Heap};
    use crate::kernel::bvh::{self, Bundle};
    use crate::kernel::surface::on_ground;
    use crate::kernel::{FAR, GROUND, Hit, Ray, detail, hapke, heights};
    use crate::light::Sun;
    use crate::material::{HapkeParams, Material};
    use crate::mesh::sphere;
    use crate::record::{CameraRecord, Records};
    use crate::scene::Scene;
    use crate::view::{CameraView, Class};

    /// The bits of all lanes.
    const EVERY: u32 = ((1_u64 << LANES) - 1) as u32;

    /// All levels of vector instructions that this processor supports.
    fn vectorised() -> Vec<Vectorised> {
        let best = Vectorised::new();
        #[cfg(target_arch = "x86_64")]
        let lesser = [
            best.as_sse2().map(Vectorised::Sse2),
            best.as_sse4_2().map(Vectorised::Sse4_2),
            best.as_avx2().map(Vectorised::Avx2),
        ];
        #[cfg(not(target_arch = "x86_64"))]
        let lesser = [None];
        lesser.into_iter().flatten().chain([best]).collect()
    }

    /// Rough ground of three levels with balls on it, some inside another's box.
    fn scene() -> Scene {
        let height = |x: f64, y: f64| 0.4 * (0.9 * x).sin() * (0.7 * y).cos() + 0.03 * (11.0 * x + 7.0 * y).sin();
        let level = |spacing: f64, posts: usize| {
            let corner = -0.5 * spacing * (posts - 1) as f64;
            Level::sample([corner, corner], spacing, posts, height)
        };
        let sun = Sun { direction_to_sun: Vector3::z(), irradiance_w_m2: 1.0, angular_radius_rad: 0.0 };
        let levels = vec![level(0.05, 101), level(0.4, 77), level(2.0, 60)];
        let mut scene = Scene::new(&Clipmap::new(levels, Vec::new(), Vec::new()), sun);
        let ball = scene.add_mesh(&sphere(0.5)).expect("a mesh");
        for number in 0..40 {
            let turn = f64::from(number) * 0.7;
            let pose = Pose::translation(turn.sin() * 0.3 * turn, turn.cos() * 0.3 * turn, 0.3);
            let label = Class::Rover.numbered(0xF000_0000 + number);
            scene.add_instance(ball, &pose, label, &Material::Lambert { albedo: 0.4 }).expect("room");
        }
        scene.set_heaps(vec![heap()]).expect("spheres");
        let [regolith, rock] = [HapkeParams::REGOLITH, HapkeParams::ROCK].map(Material::Hapke);
        let detail = Detail { deviation_at_1m_m: 0.006, hurst: 0.7, strength: 0.5, mottle: 0.05, craterlets: 1.0 };
        scene.set_ground_materials(&regolith, &rock, detail);
        scene.apply_edits(&tracks(&height));
        scene
    }

    /// Prints on every second rectangle of the finest posts: grousers of several headings and pitches, or smooth.
    fn tracks(height: &impl Fn(f64, f64) -> f64) -> Vec<Edit> {
        let edit = |column: i32, row: i32| {
            let part = column / 9 + row / 7;
            let post = Edit::of(
                Node { column, row },
                height(f64::from(column) * 0.05 - 2.5, f64::from(row) * 0.05 - 2.5) as f32,
            );
            let phase_rad = f64::from(column) * 1.9 + 0.3 * f64::from(row);
            let print = Print::of_grousers(0.4 * f64::from(part), phase_rad, 0.03 * f64::from(part % 6));
            (part % 2 == 0).then(|| post.with_print(print))
        };
        (0..101).flat_map(|row| (0..101).filter_map(move |column| edit(column, row))).collect()
    }

    /// Grains in the middle of the scene, some of which hide balls.
    fn heap() -> Heap {
        let grain = |i: u16| {
            let turn = 2.4 * f32::from(i);
            let far = 0.12 * f32::from(i).sqrt();
            let centre_m = [far * turn.cos(), far * turn.sin(), 0.6 + 0.3 * (3.0 * turn).sin()];
            Grain { centre_m, radius_m: 0.05 + 0.01 * f32::from(i % 7), faces: u32::from(i % 3) }
        };
        let material = Material::Hapke(HapkeParams::REGOLITH);
        Heap { world_from_heap: Pose::translation(0.2, -0.1, 0.4), grains: (0..400).map(grain).collect(), material }
    }

    /// Rays with nearly the same origin and direction; every third packet starts outside all ground.
    fn rays(packet: u32) -> [Ray; LANES] {
        let turn = 0.37 * packet as f32;
        let far = if packet.is_multiple_of(3) { 90.0 } else { 6.0 };
        std::array::from_fn(|lane| {
            let aside = 0.03 * (lane as f32 - 0.5 * (LANES - 1) as f32);
            let origin = Vector3::new(far * turn.cos(), far * (0.7 * turn).sin(), 1.2 + aside);
            let fall = 0.9 * (0.11 * packet as f32).sin() - 0.5;
            let direction =
                Vector3::new(-turn.cos() + aside, -(0.7 * turn).sin() + 0.5 * aside, fall / far + aside * 0.2);
            Ray { origin, direction }
        })
    }

    fn packed<S: Simd>(simd: S, rays: &[Ray; LANES]) -> Rays<S> {
        let [origin, direction] = [vectors(simd, |lane| rays[lane].origin), vectors(simd, |lane| rays[lane].direction)];
        Rays { origin, direction, shutter: all(simd, 0.0) }
    }

    /// Returns the numbers of hits on ground and on instances.
    fn assert_ground_alike<S: Simd>(simd: S, records: &Records<'_>, packet: u32) -> [usize; 2] {
        let alone = rays(packet);
        let lanes = packed(simd, &alone);
        let mip = packet % 9;
        let start = 0.1 * (packet % 7) as f32;
        let span = [&all(simd, start), &all(simd, FAR)];
        // One lane is inactive.
        let seen = mask(simd, EVERY & !(1 << 5));
        let met = trace_heights(simd, records, &lanes, span, &ints(simd, |_| mip as i32), &seen);
        let [t, level] = [met.t.to_array().map(f32::to_bits), met.level.to_array().map(|level| level as u32)];
        let hits: [Hit; LANES] = std::array::from_fn(|lane| {
            let (t, level) = heights::trace_heights_within(records, &alone[lane], [start, FAR], mip);
            Hit { t, instance: GROUND, part: level }
        });
        for lane in (0..LANES).filter(|lane| *lane != 5) {
            assert_eq!((t[lane], level[lane]), (hits[lane].t.to_bits(), hits[lane].part), "{simd:?} {packet} {lane}");
        }
        assert_eq!(t[5], FAR.to_bits());
        let nearest = Hits {
            t: floats(simd, |lane| hits[lane].t),
            instance: ints(simd, |lane| hits[lane].instance as i32),
            part: ints(simd, |lane| hits[lane].part as i32),
        };
        let every = mask(simd, EVERY);
        let met = trace_instances(simd, records, &lanes, &nearest, &every);
        let any = bits_of(any_instance(simd, records, &lanes, &every));
        let mut balls = 0;
        for (lane, ray) in alone.iter().enumerate() {
            let hit = bvh::trace_instances(records, ray, hits[lane]);
            let lane_hit = (met.t.to_array()[lane].to_bits(), met.instance.to_array()[lane] as u32);
            assert_eq!(lane_hit, (hit.t.to_bits(), hit.instance), "{simd:?} {packet} {lane}");
            assert_eq!(met.part.to_array()[lane] as u32, hit.part, "{simd:?} {packet} {lane}");
            assert_eq!(any >> lane & 1 == 1, bvh::any_instance(records, ray, FAR), "{simd:?} {packet} {lane}");
            balls += usize::from(hit.instance != GROUND);
        }
        [hits.iter().filter(|hit| hit.t < FAR).count(), balls]
    }

    fn assert_normals_alike<S: Simd>(simd: S, records: &Records<'_>) {
        let place = |lane: usize| [3.1 * (lane as f32).sin() - 0.4, 9.0 * (lane as f32).cos()];
        let levels: [_; LANES] = std::array::from_fn(|lane| &records.levels[lane % 3]);
        let [x, y] = [0, 1].map(|axis| floats(simd, |lane| place(lane)[axis]));
        let normals = ground_normals(simd, records, levels, [&x, &y]).map(|part| part.to_array());
        for (lane, level) in levels.iter().enumerate() {
            let alone = heights::ground_normal(records, level, place(lane)[0], place(lane)[1]);
            assert_eq!(vector_of(&normals, lane), alone, "{simd:?} {lane}");
        }
    }

    /// Returns how many surfaces have detail.
    fn assert_details_alike<S: Simd>(simd: S, records: &Records<'_>, camera: &CameraRecord, number: u32) -> usize {
        let turn = |lane: usize| 0.9 * lane as f32 + 0.37 * number as f32;
        let place = |lane: usize| [3.1 * turn(lane).sin() - 0.4, 9.0 * (1.7 * turn(lane)).cos()];
        let level = |lane: usize| (lane + number as usize) % 3;
        let t = |lane: usize| 0.3 * 1.6_f32.powi((number % 9) as i32) + 0.1 * lane as f32;
        let direction = |lane: usize| Vector3::new(turn(lane).cos(), turn(lane).sin(), -0.9);
        let normal = |lane: usize| Vector3::new(0.1 * turn(lane).sin(), 0.2, 1.0).normalize();
        let grounds = Grounds {
            direction: vectors(simd, direction),
            t: floats(simd, t),
            place: [0, 1].map(|axis| floats(simd, |lane| place(lane)[axis])),
            spacing: floats(simd, |lane| records.levels[level(lane)].spacing),
            on_finest: std::array::from_fn(|lane| level(lane) == 0),
            normal: vectors(simd, normal),
        };
        let together = simd.vectorize(
            #[inline(always)]
            || detailed(simd, records, camera, &grounds),
        );
        let (normals, shades) = (together.normal.map(|part| part.to_array()), together.shade.to_array());
        for (lane, shade) in shades.iter().enumerate() {
            let [x, y] = place(lane);
            let hit = Hit { t: t(lane), instance: GROUND, part: level(lane) as u32 };
            let plain = on_ground(Vector3::new(x, y, 0.0), normal(lane), &records.levels[level(lane)]);
            let alone = detail::detailed(records, camera, &direction(lane), &hit, plain);
            assert_eq!(vector_of(&normals, lane), alone.normal, "{simd:?} {number} {lane}");
            assert_eq!(shade.to_bits(), alone.shade.to_bits(), "{simd:?} {number} {lane}");
            assert_eq!(together.open[lane].to_bits(), alone.open.to_bits(), "{simd:?} {number} {lane}");
        }
        shades.iter().filter(|shade| **shade != 1.0).count()
    }

    fn assert_cones_alike<S: Simd>(simd: S, records: &Records<'_>, packet: u32) -> u32 {
        let alone = rays(packet);
        let direction = alone[LANES / 2].direction.normalize();
        let origin = packed(simd, &alone).origin;
        let cone = Bundle::cone(&Ray { origin: Vector3::zeros(), direction }, 0.01);
        let met = bits_of(cones_meet_instances(simd, records, &origin, &cone, &mask(simd, EVERY)));
        for (lane, ray) in alone.iter().enumerate() {
            let ray = Ray { direction, ..*ray };
            assert_eq!(met >> lane & 1 == 1, bvh::cone_meets_instances(records, &ray, 0.01), "{simd:?} {lane}");
        }
        met.count_ones()
    }

    fn assert_reflectances_alike<S: Simd>(simd: S, number: u32) {
        let material = Material::Hapke(HapkeParams::REGOLITH).record();
        let unit = |lane: usize, k: f32| {
            let angle = 0.9 * lane as f32 + k * number as f32;
            Vector3::new(angle.cos(), (1.3 * angle).sin(), 0.2 + (0.7 * angle).sin().abs()).normalize()
        };
        let alone: [[Vector3<f32>; 3]; LANES] =
            std::array::from_fn(|lane| [Vector3::z(), unit(lane, 0.13), unit(lane, 0.31)]);
        let lanes = [0, 1, 2].map(|which: usize| vectors(simd, |lane| alone[lane][which]));
        let together = simd.vectorize(
            #[inline(always)]
            || hapke::reflected_by(&material, lanes).to_array(),
        );
        for (lane, [normal, sun, viewer]) in alone.iter().enumerate() {
            let alone = hapke::reflected(&material, normal, sun, viewer);
            assert!(alone > 0.0, "{number} {lane}");
            assert_eq!(together[lane].to_bits(), alone.to_bits(), "{simd:?} {number} {lane}");
        }
    }

    #[test]
    fn rays_of_a_packet_meet_what_each_alone_meets() {
        let scene = scene();
        let records = scene.records();
        for level in vectorised() {
            let mut met = [0, 0];
            for packet in 0..300 {
                let more = dispatch!(level, simd => assert_ground_alike(simd, &records, packet));
                met = [met[0] + more[0], met[1] + more[1]];
            }
            assert!(met[0] > 38 * LANES && met[0] < 299 * LANES && met[1] > 100, "{met:?} meet ground and balls");
        }
    }

    #[test]
    fn cones_meet_the_boxes_that_each_alone_meets() {
        let scene = scene();
        let records = scene.records();
        for level in vectorised() {
            let met: u32 =
                (0..200).map(|packet| dispatch!(level, simd => assert_cones_alike(simd, &records, packet))).sum();
            assert!(met > 20 && met < 199 * LANES as u32, "{met} of 200 packets");
        }
    }

    #[test]
    fn the_detail_of_a_packet_is_that_of_each_surface_alone() {
        let scene = scene();
        let records = scene.records();
        let camera = CameraRecord::new(&CameraView::pinhole(Pose::identity(), [640, 360], 1.2), records.middle_m);
        for level in vectorised() {
            let alike = |number| dispatch!(level, simd => assert_details_alike(simd, &records, &camera, number));
            let detailed: usize = (0..100).map(alike).sum();
            assert!(detailed > 25 * LANES && detailed < 99 * LANES, "{detailed} of 100 packets");
        }
    }

    #[test]
    fn normals_and_reflectances_of_a_packet_are_those_of_each_alone() {
        let scene = scene();
        for level in vectorised() {
            dispatch!(level, simd => assert_normals_alike(simd, &scene.records()));
            for number in 0..50 {
                dispatch!(level, simd => assert_reflectances_alike(simd, number));
            }
        }
    }
}
