/// Counters of a distributed cache's remote tier since it was made.
public struct RemoteStatistics: Sendable, Equatable {
  /// Requests to the server, those of the stream of changes not included.
  public var requests = 0
  /// Those that failed, or were not answered in time.
  public var failures = 0
  /// How long all of them took, one after the other.
  public var requestTime = Duration.zero
  /// Reads that the server answered with a value.
  public var hits = 0
  /// Reads that it had nothing for.
  public var misses = 0
  /// Values that were made here, since nobody in the fleet had them; those that failed are not among them.
  public var loads = 0
  /// Values of the server that could not be read.
  public var unreadable = 0
  /// Changes of the fleet, this machine's included, that were followed.
  public var invalidations = 0
  /// How often changes may have been missed: once at the beginning. Once it is counted, and while the server answers,
  /// what was stored before is served only after a check.
  public var gaps = 0
  /// Writes that wait to be sent.
  public var waitingWrites = 0
  /// How often requests were suspended, since the server failed several times in a row.
  public var breakerOpenings = 0
  /// Writes that were given up, since the server refused them by themselves, a value over its limit, say: they are
  /// lost.
  public var givenUpWrites = 0
  /// The bytes that the waiting ones take.
  public var waitingBytes = 0
  /// By how much what was followed of the stream of changes lags behind the newest one: zero if all of them were. While
  /// there is no touch, for how long nothing was heard of them.
  public var lag = Duration.zero
}
