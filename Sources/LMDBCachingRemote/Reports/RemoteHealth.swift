/// How a distributed cache and its server get on.
public struct RemoteHealth: Sendable, Equatable {
  /// Whether the changes of the other machines are heard of.
  public var isInTouch: Bool
  /// Whether reads of the server are suspended, since it failed several times in a row, and none has succeeded since.
  public var areReadsSuspended: Bool
  /// The same for writes: those of a server that is full, or a replica, are when its reads are not.
  public var areWritesSuspended: Bool
  /// Whether local entries are being held against the server, since changes may have been missed.
  public var isRevalidating: Bool
  /// Why there is no touch, or why requests are suspended.
  public var failure: RemoteTierError?

  /// Whether nothing is wrong with the server, as far as is known.
  public var isHealthy: Bool { isInTouch && !areReadsSuspended && !areWritesSuspended }

  /// Whether local values are served without asking the server: it is in touch, and what is here is known to be the
  /// newest. A host is ready for requests then; it answers them before, too.
  public var isSettled: Bool { isHealthy && !isRevalidating }
}
