/// Who is told of the fleet's changes, on the queue of the ``ChangeFollower``, one after the other.
protocol ChangeSink: AnyObject, Sendable {
  func apply(_ change: RemoteChange, revision: RemoteRevision)

  /// Changes were missed, or may have been: what is stored locally is not known to be the newest.
  func didLoseTrack()

  /// The stream is read again, over a new connection.
  func didConnect()

  /// The server has answered a request that was begun at a moment, by the monotonic clock.
  func didHear(since start: Int64)

  /// Whether changes are heard of, or since when they are not, by the monotonic clock.
  func didChangeTouch(_ touch: ChangeTouch)
}

/// Whether the fleet's changes are heard of.
enum ChangeTouch: Sendable, Equatable {
  case heard
  /// Why not, and since when, in nanoseconds of the monotonic clock: all changes before were heard of. Without a time
  /// none were ever heard of.
  case unheard(since: Int64?, RemoteTierError?)
}
