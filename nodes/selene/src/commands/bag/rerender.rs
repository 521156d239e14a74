//! `selene bag rerender`: the sensors of a scenario run over a recorded drive. Its snapshots are told again to the
//! nodes inside this process, in lockstep, and what these publish is recorded.

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
use selene_simulation::{RecordedRun, Retold, Told, retell};

use super::open;
use crate::args::BagRerenderArgs;
use crate::commands::run::{Sensing, joined, lockstep, start};
use crate::fault::Fault;
use crate::flag::SetOnDrop;
use crate::meter::Meter;
use crate::output::print_line;
use crate::progress::Progress;
use crate::summary::bag_holds;
use crate::telling::Telling;
use crate::{device, interrupt, places, recording};

/// Records what the scenario's sensors see of a recorded drive.
pub(super) fn rerender(args: &BagRerenderArgs, telling: Telling) -> Result<(), Fault> {
    let stop = interrupt::watch()?;
    let bag = open(&args.bag)?;
    let contents = bag.contents();
    let info = run_info(&args.bag, &bag, &contents)?;
    let model = places::model_of(places::load_scenario_with(Some(&args.scenario), &args.world, &args.sensor)?)?;
    let recorded = RecordedRun::new(&info, &model).map_err(Fault::input)?;
    places::check_answerable(&model)?;
    let devices = device::open(args.device.device)?;
    device::check(&devices, &model)?;
    interrupt::check(&stop)?;
    // Last of all that can be refused, so that a refusal leaves no empty bag.
    let recorder = BagRecorder::create(&args.out, RecordOptions::default());
    let recorder = recorder.map_err(|error| Fault::input(format!("--out {error}")))?;
    telling.note(format_args!("{} · seen again, tracing on: {}", model.scenario().name, devices.usual().name()));

    let meter = Arc::new(Meter::new(Arc::new(recorder.clone())));
    let links =
        Links { public: Arc::clone(&meter) as _, internal: Arc::new(InProcess::new()), run: recorded.run().clone() };
    let (folders, told_until) = (places::allowed_folders(model.scenario()), recorded.told_until());
    let context = NodeContext { links, folders, told_until, model };
    let drive = Drive { bag: &bag, recorded: &recorded, context: &context, telling };
    let retold = drive.run(&meter, &contents, &devices, &stop);
    let summary = recorder.finish();
    print_line(format_args!("  {:<17} {}", "bag", bag_holds(&summary)));
    let Retold { heartbeats, until } = retold?;
    print_line(format_args!("  {:<17} {heartbeats} until {until}", "snapshots"));
    recording::whole(&summary)
}

/// What a run of the bag told of itself when it began.
fn run_info(path: &Path, bag: &BagReader, contents: &BagContents) -> Result<selene_msgs::RunInfo, Fault> {
    let refused = |what: &str| Fault::input(format!("{}: {what}", path.display()));
    if !contents.topics().contains_key(RUN_INFO) {
        let advice = "it has no snapshots of its run; record with `selene run --record DIR --record-internal`";
        return Err(refused(advice));
    }
    let first = bag.messages().filter_map(Result::ok).find(|message| message.topic.name == RUN_INFO);
    let first = first.ok_or_else(|| refused("the message that tells which run it is of cannot be read"))?;
    decode(&first.encoded).map_err(|error| refused(&format!("{RUN_INFO}: {error}")))
}

/// A recorded drive and the nodes that see it.
struct Drive<'a> {
    bag: &'a BagReader,
    recorded: &'a RecordedRun,
    context: &'a NodeContext,
    telling: Telling,
}

impl Drive<'_> {
    /// Runs the nodes until the recording's end. A node that fails ends all.
    fn run(
        &self,
        meter: &Meter,
        contents: &BagContents,
        devices: &Devices,
        stop: &AtomicBool,
    ) -> Result<Retold, Fault> {
        let (context, ended) = (self.context, AtomicBool::new(false));
        let until = contents.span_ns().and_then(|(_, last_ns)| i64::try_from(last_ns).ok()).map(SimTime::from_nanos);
        let progress = Progress { meter, drive: None, first_image_to: None, duration: until, telling: self.telling };
        thread::scope(|scope| {
            let _ended = SetOnDrop::new(&ended);
            scope.spawn(|| progress.show(&ended));
            let sensing = Sensing::ALL.map(|node| start(scope, stop, move || node.run(context, devices, stop)));
            let told =
                start(scope, stop, || retell(context, self.recorded, self.told(), &lockstep(&Sensing::ALL), stop));
            let retold = joined(told);
            // A sensor that failed is why telling was stopped: it comes first.
            sensing.map(joined).into_iter().fold(Ok(()), Result::and).and(retold)
        })
    }

    /// What the recording tells of its run, in order.
    fn told(&self) -> impl Iterator<Item = Result<Told, NodeError>> {
        self.bag.messages().filter_map(|read| match read {
            Ok(message) => self.recorded.told(&message.topic.name, &message.encoded).transpose(),
            Err(damage) => Some(Err(NodeError::Recorded { what: damage.to_string() })),
        })
    }
}
