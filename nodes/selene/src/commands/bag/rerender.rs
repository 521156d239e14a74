//! `selene bag rerender`: runs the sensors of a scenario over a recorded drive. The recorded snapshots are published to
//! the nodes inside this process, in lockstep, and what these publish is recorded.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use selene_base::SimTime;
use selene_coherence::{Links, NodeContext, NodeError, RUN_INFO};
use selene_observe::Devices;
use selene_ros::bag::{BagContents, BagReader, RecordOptions};
use selene_ros::in_process::InProcess;
use selene_ros::{BagRecorder, decode, selene_msgs};
use selene_simulation::{RecordedMessage, RecordedRun, ReplayResult, replay};

use super::open;
use crate::args::{BagRerenderArgs, SoilDevice};
use crate::commands::run::{Sensing, joined, lockstep, start};
use crate::fault::Fault;
use crate::flag::SetOnDrop;
use crate::meter::Meter;
use crate::output::print_line;
use crate::progress::Progress;
use crate::summary::bag_holds;
use crate::verbosity::Verbosity;
use crate::{device, interrupt, places, recording};

/// Records the data of the scenario's sensors on a recorded drive.
pub(super) fn rerender(args: &BagRerenderArgs, verbosity: Verbosity) -> Result<(), Fault> {
    let stop = interrupt::watch()?;
    let bag = open(&args.bag)?;
    let contents = bag.contents();
    let info = run_info(&args.bag, &bag, &contents)?;
    let model = places::model_of(
        places::load_scenario_with(Some(&args.scenario), &args.world, &args.sensor)?,
        SoilDevice::Cpu,
    )?;
    let recorded = RecordedRun::new(&info, &model).map_err(Fault::input)?;
    places::check_answerable(&model)?;
    let devices = device::open(args.device.device)?;
    device::check(&devices, &model)?;
    interrupt::check(&stop)?;
    // After everything that can be refused, so that a refusal leaves no empty bag.
    let recorder = BagRecorder::create(&args.out, RecordOptions::default());
    let recorder = recorder.map_err(|error| Fault::input(format!("--out {error}")))?;
    verbosity.note(format_args!("{} · seen again, tracing on: {}", model.scenario().name, devices.usual().name()));

    let meter = Arc::new(Meter::new(Arc::new(recorder.clone())));
    let links =
        Links { public: Arc::clone(&meter) as _, internal: Arc::new(InProcess::new()), run: recorded.run().clone() };
    let (folders, published_until) = (places::allowed_folders(model.scenario()), recorded.published_until());
    let context = NodeContext { links, folders, published_until, model };
    let drive = Drive { bag: &bag, recorded: &recorded, context: &context, verbosity };
    let replayed = drive.run(&meter, &contents, &devices, &stop);
    let summary = recorder.finish();
    print_line(format_args!("  {:<17} {}", "bag", bag_holds(&summary)));
    let ReplayResult { heartbeats, until } = replayed?;
    print_line(format_args!("  {:<17} {heartbeats} until {until}", "snapshots"));
    recording::whole(&summary)
}

/// The message in the bag that describes its run.
fn run_info(path: &Path, bag: &BagReader, contents: &BagContents) -> Result<selene_msgs::RunInfo, Fault> {
    let refused = |what: &str| Fault::input(format!("{}: {what}", path.display()));
    if !contents.topics().contains_key(RUN_INFO) {
        let advice = "it has no snapshots of its run; record with `selene run --record DIR --record-internal`";
        return Err(refused(advice));
    }
    let first = bag.messages().filter_map(Result::ok).find(|message| message.topic.name == RUN_INFO);
    let first = first.ok_or_else(|| refused("the message with its run's id cannot be read"))?;
    decode(&first.encoded).map_err(|error| refused(&format!("{RUN_INFO}: {error}")))
}

/// A recorded drive, and the context of the nodes that get it.
struct Drive<'a> {
    bag: &'a BagReader,
    recorded: &'a RecordedRun,
    context: &'a NodeContext,
    verbosity: Verbosity,
}

impl Drive<'_> {
    /// Runs the nodes until the recording's end. A node that fails ends all others.
    fn run(
        &self,
        meter: &Meter,
        contents: &BagContents,
        devices: &Devices,
        stop: &AtomicBool,
    ) -> Result<ReplayResult, Fault> {
        let (context, ended) = (self.context, AtomicBool::new(false));
        let until = contents.span_ns().and_then(|(_, last_ns)| i64::try_from(last_ns).ok()).map(SimTime::from_nanos);
        let progress =
            Progress { meter, drive: None, first_image_to: None, duration: until, verbosity: self.verbosity };
        thread::scope(|scope| {
            let _ended = SetOnDrop::new(&ended);
            scope.spawn(|| progress.show(&ended));
            let sensing = Sensing::ALL.map(|node| start(scope, stop, move || node.run(context, devices, stop)));
            let reported =
                start(scope, stop, || replay(context, self.recorded, self.reported(), &lockstep(&Sensing::ALL), stop));
            let replayed = joined(reported);
            // If a sensor failed, that stopped the playback: its fault comes first.
            sensing.map(joined).into_iter().fold(Ok(()), Result::and).and(replayed)
        })
    }

    /// The recorded snapshots, entities and terrain of the run, in order.
    fn reported(&self) -> impl Iterator<Item = Result<RecordedMessage, NodeError>> {
        self.bag.messages().filter_map(|read| match read {
            Ok(message) => self.recorded.reported(&message.topic.name, &message.encoded).transpose(),
            Err(damage) => Some(Err(NodeError::Recorded { what: damage.to_string() })),
        })
    }
}
