//! Answers nodes that missed terrain edits: sends every edited height as it is now, in parts small enough for one
//! datagram each.

use std::sync::mpsc::{Receiver, channel};

use selene_base::SimTime;
use selene_coherence::{Links, NodeError, edits_to_message, terrain_qos};
use selene_ros::transport::{Publisher, Subscription, subscribe};
use selene_ros::{Qos, selene_msgs};
use selene_terrain::Ruts;

/// Maximum number of edits in one part: 48 kB.
const PART_EDITS: usize = 4096;

pub(crate) struct TerrainAnswers {
    requests: Receiver<selene_msgs::TerrainRequest>,
    answers: Publisher<selene_msgs::TerrainSnapshot>,
    _subscription: Subscription,
}

impl TerrainAnswers {
    pub(crate) fn new(links: &Links) -> Result<Self, NodeError> {
        let (sender, requests) = channel();
        let transport = links.internal.as_ref();
        let subscription = subscribe(transport, &links.terrain_request(), Qos::reliable(), move |request| {
            drop(sender.send(request));
        })?;
        let answers = Publisher::new(transport, &links.terrain_snapshot(), terrain_qos())?;
        Ok(Self { requests, answers, _subscription: subscription })
    }

    /// Answers all waiting requests with one snapshot in as many parts as needed. `terrain_sequence` edits led to
    /// `ruts`, in the world after `epoch` resets.
    pub(crate) fn answer(
        &self,
        epoch: u32,
        terrain_sequence: u64,
        ruts: &Ruts,
        time: SimTime,
    ) -> Result<(), NodeError> {
        let Some(request) = self.requests.try_iter().last() else { return Ok(()) };
        let edits: Vec<_> = ruts.edits().collect();
        tracing::info!(participant = request.participant, edits = edits.len(), "terrain sent again");
        let parts = edits.len().div_ceil(PART_EDITS).max(1) as u32;
        for part in 0..parts {
            let from = part as usize * PART_EDITS;
            let some = &edits[from..edits.len().min(from + PART_EDITS)];
            let terrain_edits = edits_to_message(some);
            let message = selene_msgs::TerrainSnapshot { epoch, terrain_sequence, part, parts, terrain_edits };
            self.answers.publish(&message, time)?;
        }
        Ok(())
    }
}
