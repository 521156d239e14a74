//! Answers to participants that missed terrain: every edited height as it stands, in parts
//! small enough for one datagram each.

use std::sync::mpsc::{Receiver, channel};

use selene_coherence::{NodeError, TERRAIN_REQUEST, TERRAIN_SNAPSHOT, edits_to_message, terrain_qos};
use selene_ros::transport::{Publisher, Subscription, Transport, subscribe};
use selene_ros::{Qos, selene_msgs};
use selene_sim::World;

/// Edits in one part: 48 kB.
const PART_EDITS: usize = 4096;

pub(crate) struct TerrainAnswers {
    requests: Receiver<selene_msgs::TerrainRequest>,
    answers: Publisher<selene_msgs::TerrainSnapshot>,
    _subscription: Subscription,
}

impl TerrainAnswers {
    pub(crate) fn new(transport: &dyn Transport) -> Result<Self, NodeError> {
        let (sender, requests) = channel();
        let subscription = subscribe(transport, TERRAIN_REQUEST, Qos::reliable(), move |request| {
            drop(sender.send(request));
        })?;
        let answers = Publisher::new(transport, TERRAIN_SNAPSHOT, terrain_qos())?;
        Ok(Self { requests, answers, _subscription: subscription })
    }

    /// Answers all requests that wait, with one snapshot in as many parts as it takes.
    pub(crate) fn answer(&self, world: &World) -> Result<(), NodeError> {
        let Some(request) = self.requests.try_iter().last() else { return Ok(()) };
        let (terrain_sequence, edits) = world.terrain();
        tracing::info!(participant = request.participant, edits = edits.len(), "terrain told again");
        let parts = edits.len().div_ceil(PART_EDITS).max(1) as u32;
        for part in 0..parts {
            let from = part as usize * PART_EDITS;
            let some = &edits[from..edits.len().min(from + PART_EDITS)];
            let terrain_edits = edits_to_message(some);
            let message = selene_msgs::TerrainSnapshot { terrain_sequence, part, parts, terrain_edits };
            self.answers.publish(&message, world.time())?;
        }
        Ok(())
    }
}
