//! Convoys for a program that trains a follower (`tools/studies/convoy_follower/convoys.py`), over standard input and
//! output.
//!
//! `cargo run --release -p selene-studies --example convoy_worlds -- WORLDS FIRST COURSES LATER` steps as many convoys
//! as WORLDS at once, on the courses FIRST to FIRST + COURSES - 1 of seed 1, one after the other. At the beginning the
//! teacher drives each for a different time, up to LATER control steps, so that not all worlds begin together.
//!
//! All numbers are little-endian. First it writes four of 32 bits: rows (three followers a world), numbers of a row, and
//! rows and columns of an image. Then for each byte that it reads it answers with observations. `r` begins all worlds
//! anew; `s` is followed by two floats for each row, steering and acceleration, and steps all worlds. An answer has
//! for each row as floats the policy's numbers, the teacher's action, the deviations of path, m, and speed, m/s, and
//! whether (1 or 0) the follower failed and its course is over; then the images of all rows. Where a course is over, the
//! deviations and what follows them are those of its end, all else is of the next course's beginning.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rayon::prelude::*;
use selene_sim::LoadOptions;
use selene_studies::Failure;
use selene_studies::convoy::{ConvoyCourse, FOLLOWERS, FollowerOutput, IMAGE_PX, NUMBERS, Practice};

/// Seed of the courses: that of the study.
const SEED: u64 = 1;

/// The courses, each drawn when it is first needed.
struct Courses {
    first: u64,
    drawn: Vec<OnceLock<ConvoyCourse>>,
    folder: PathBuf,
    options: LoadOptions,
}

impl Courses {
    fn course(&self, index: usize) -> Result<&ConvoyCourse, Failure> {
        let (index, slot) = (index % self.drawn.len(), &self.drawn[index % self.drawn.len()]);
        if let Some(course) = slot.get() {
            return Ok(course);
        }
        let course = ConvoyCourse::draw(SEED, self.first + index as u64)?;
        Ok(slot.get_or_init(|| course))
    }
}

/// One world, and the last observations of its followers.
struct World {
    practice: Practice,
    /// Folder of its scenarios.
    folder: PathBuf,
    /// Its first course and its present one, as indices of `Courses`.
    first: usize,
    course: usize,
    rows: Vec<f32>,
    images: Vec<u8>,
}

impl World {
    fn begin(courses: &Courses, first: usize) -> Result<Self, Failure> {
        let folder = courses.folder.join(first.to_string());
        std::fs::create_dir_all(&folder)?;
        let practice = Practice::begin(courses.course(first)?, None, &folder, &courses.options)?;
        let mut world = Self { practice, folder, first, course: first, rows: Vec::new(), images: Vec::new() };
        world.look()?;
        Ok(world)
    }

    /// Begins a course, on the ground of the last one.
    fn go_to(&mut self, courses: &Courses, course: usize) -> Result<(), Failure> {
        let drawn = courses.course(course)?;
        self.practice = Practice::begin(drawn, Some(&self.practice), &self.folder, &courses.options)?;
        self.course = course;
        Ok(())
    }

    /// Lets the teacher drive for some steps.
    fn be_taught(&mut self, courses: &Courses, steps: usize) -> Result<(), Failure> {
        for _ in 0..steps {
            if self.practice.is_over() {
                self.go_to(courses, self.course)?;
            }
            let actions = self.practice.lessons().map(|lesson| lesson.action);
            self.practice.step(&actions)?;
        }
        self.look()
    }

    /// Steps; where the course is over, begins the one that comes `worlds` later.
    fn step(&mut self, courses: &Courses, actions: &[f32], worlds: usize) -> Result<(), Failure> {
        let action = |i: usize| FollowerOutput {
            steer: f64::from(actions[2 * i].clamp(-1.0, 1.0)),
            accelerate: f64::from(actions[2 * i + 1].clamp(-1.0, 1.0)),
        };
        self.practice.step(&std::array::from_fn(action))?;
        let ends = self.ends();
        if self.practice.is_over() {
            self.go_to(courses, self.course + worlds)?;
        }
        self.look()?;
        for (row, end) in self.rows.chunks_exact_mut(ROW).zip(ends) {
            row[ROW - end.len()..].copy_from_slice(&end);
        }
        Ok(())
    }

    /// Deviations, failure and end of each follower.
    fn ends(&self) -> [[f32; 4]; FOLLOWERS] {
        let flag = |is: bool| f32::from(u8::from(is));
        std::array::from_fn(|i| {
            let lesson = &self.practice.lessons()[i];
            let deviations = [lesson.path_m, lesson.speed_m_s].map(|of| of as f32);
            [deviations[0], deviations[1], flag(self.practice.has_failed(i)), flag(self.practice.is_over())]
        })
    }

    fn look(&mut self) -> Result<(), Failure> {
        self.rows.clear();
        self.images.clear();
        for (i, end) in self.ends().into_iter().enumerate() {
            let action = self.practice.lessons()[i].action;
            self.rows.extend(self.practice.numbers(i));
            self.rows.extend([action.steer, action.accelerate].map(|part| part as f32));
            self.rows.extend(end);
            self.images.extend(self.practice.image(i)?.as_raw());
        }
        Ok(())
    }
}

/// Floats of a row: numbers, an action of two, and four of `World::ends`.
const ROW: usize = NUMBERS + 2 + 4;

fn main() -> Result<(), Failure> {
    let args: Vec<usize> = std::env::args().skip(1).map(|arg| arg.parse()).collect::<Result<_, _>>()?;
    let &[worlds, first, courses, later] = args.as_slice() else {
        return Err("four numbers: WORLDS FIRST COURSES LATER".into());
    };
    if worlds == 0 || courses == 0 {
        return Err("WORLDS and COURSES must be at least 1".into());
    }
    let folder = std::env::temp_dir().join(format!("selene-convoy-worlds-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config").canonicalize()?;
    let options = LoadOptions { configuration: vec![config], ..LoadOptions::default() };
    let drawn = (0..courses).map(|_| OnceLock::new()).collect();
    let courses = Courses { first: first as u64, drawn, folder: folder.clone(), options };
    let served = serve(&courses, worlds, later);
    std::fs::remove_dir_all(&folder)?;
    served
}

fn serve(courses: &Courses, count: usize, later: usize) -> Result<(), Failure> {
    let [columns, rows] = IMAGE_PX;
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    for number in [(count * FOLLOWERS) as u32, NUMBERS as u32, rows, columns] {
        output.write_all(&number.to_le_bytes())?;
    }
    output.flush()?;
    let begin = |first| World::begin(courses, first);
    let mut worlds = (0..count).into_par_iter().map(begin).collect::<Result<Vec<_>, _>>()?;
    let late = |(i, world): (usize, &mut World)| world.be_taught(courses, later * i / count);
    worlds.par_iter_mut().enumerate().try_for_each(late)?;
    let (mut request, mut actions) = ([0], vec![0; 8 * count * FOLLOWERS]);
    // The end of the input is that of the training.
    while input.read(&mut request)? > 0 {
        if request == *b"r" {
            let anew = |world: &mut World| world.go_to(courses, world.first).and_then(|()| world.look());
            worlds.par_iter_mut().try_for_each(anew)?;
        } else {
            input.read_exact(&mut actions)?;
            let floats: Vec<f32> = actions.as_chunks::<4>().0.iter().map(|four| f32::from_le_bytes(*four)).collect();
            let pairs = worlds.par_iter_mut().zip(floats.par_chunks_exact(2 * FOLLOWERS));
            pairs.try_for_each(|(world, actions)| world.step(courses, actions, count))?;
        }
        for world in &worlds {
            let bytes: Vec<u8> = world.rows.iter().flat_map(|number| number.to_le_bytes()).collect();
            output.write_all(&bytes)?;
        }
        worlds.iter().try_for_each(|world| output.write_all(&world.images))?;
        output.flush()?;
    }
    Ok(())
}
