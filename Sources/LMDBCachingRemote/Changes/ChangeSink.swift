/// Who is told of the fleet's changes, on the queue of the ``ChangeFollower``, one after the other.
protocol ChangeSink: AnyObject, Sendable {
  /// The greatest revision that this machine has made, as far as it knows.
  var greatestOwnRevision: RemoteRevision { get }

  func apply(_ change: RemoteChange, revision: RemoteRevision)

  /// Changes were missed, or may have been: what is stored locally is not known to be the newest.
  func didLoseTrack()

  /// Whether changes are heard of, or since when they are not, by the monotonic clock.
  func didChangeTouch(_ touch: ChangeTouch)
}

/// Whether the fleet's changes are heard of.
enum ChangeTouch: Sendable, Equatable {
  case heard
  /// Nanoseconds of the monotonic clock: all changes before were heard of.
  case unheard(since: Int64)
}
