//! Answers to participants that missed terrain: every edited height as it stands.

use std::sync::mpsc::{Receiver, channel};

use selene_coherence::{NodeError, TERRAIN_REQUEST, TERRAIN_SNAPSHOT, edits_to_message};
use selene_ros::transport::{Publisher, Subscription, Transport, subscribe};
use selene_ros::{Qos, selene_msgs};
use selene_sim::World;

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
        let answers = Publisher::new(transport, TERRAIN_SNAPSHOT, Qos::reliable())?;
        Ok(Self { requests, answers, _subscription: subscription })
    }

    /// Answers all requests that wait, with one snapshot.
    pub(crate) fn answer(&self, world: &World) -> Result<(), NodeError> {
        let Some(request) = self.requests.try_iter().last() else { return Ok(()) };
        let (terrain_sequence, edits) = world.terrain();
        tracing::info!(participant = request.participant, edits = edits.len(), "terrain told again");
        let message = selene_msgs::TerrainSnapshot { terrain_sequence, terrain_edits: edits_to_message(&edits) };
        Ok(self.answers.publish(&message, world.time())?)
    }
}
