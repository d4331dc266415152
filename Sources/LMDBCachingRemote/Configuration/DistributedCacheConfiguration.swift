public import Foundation

/// How a ``DistributedCache`` uses its remote tier.
public struct DistributedCacheConfiguration: Sendable {
  /// When a write reaches the other machines.
  public enum WriteMode: Sendable, Equatable {
    /// A write returns when the server has acknowledged it. It throws when that fails.
    case through
    /// A write returns when it is in a queue, and is sent in the background: of several to one key that wait, the last
    /// one. This process reads from the queue what waits there, and what others read it finds in its local tiers once
    /// the server has it.
    ///
    /// - Parameters:
    ///   - limit: How many bytes may wait, 1 or more. A write that would exceed them throws
    ///     ``RemoteTierError/Code/queueFull``, and changes nothing.
    ///   - keptIn: Where what waits is kept, too, so that it survives the death of the process: a folder on a local
    ///     disk,
    ///     which the processes of a machine may share. The next process that is given it sends what is left there. `nil`:
    ///     what waits is in memory, and lost if the process dies before it is sent.
    case behind(limit: Int, keptIn: URL? = nil)
  }

  /// What the names of the fleet's keys on the server begin with: 1 to 128 bytes, without braces. Fleets with other
  /// prefixes see nothing of this one.
  public var prefix = "lmdb-cache"
  public var writes = WriteMode.through
  /// How long a request to the server may take: 100 ms by default, from 1 ms to an hour.
  public var timeLimit = Duration.milliseconds(100)
  /// When a server that fails is left alone.
  public var breaker = BreakerSettings()
  /// How many changes the server remembers, about, for machines that were out of touch: 100,000 by default, from 1 to
  /// 2^40. A machine that missed more holds everything that it has against the server before it serves it.
  public var rememberedChanges = 100_000
  /// For how long a machine loads a key alone: 10 s by default, from 1 ms to an hour. When it has not stored a value by
  /// then, since it died, or since loading takes longer, another one loads too.
  public var leaseDuration = Duration.seconds(10)
  /// How long others wait for it at most, before they load themselves: 10 s by default, and not negative.
  public var loadWaitLimit = Duration.seconds(10)
  /// For how long local values are served while the fleet's changes are not heard of; `nil`, the default, until they
  /// expire. After that they count as absent, until there is touch again. With a limit nothing local is served before
  /// there was touch for the first time: for how long the directory was left alone is not known.
  public var servesUnheardFor: Duration?

  public init() {}

  func validate() throws(RemoteTierError) {
    func check(_ isRight: Bool, _ message: String) throws(RemoteTierError) {
      if !isRight { throw RemoteTierError(.invalidArgument, message) }
    }
    try check(
      !prefix.isEmpty && prefix.utf8.count <= 128 && !prefix.contains("{") && !prefix.contains("}"),
      "A prefix has 1 to 128 bytes and no braces; \"\(prefix)\" does not.")
    if case .behind(let limit, _) = writes { try check(limit > 0, "The limit of what may wait is 1 byte or more.") }
    for (name, duration) in [("timeLimit", timeLimit), ("leaseDuration", leaseDuration)] {
      try check(
        duration >= .milliseconds(1) && duration <= .seconds(3_600),
        "\(name) is from 1 ms to an hour; \(duration) is not.")
    }
    try check(loadWaitLimit >= .zero, "loadWaitLimit is not negative; \(loadWaitLimit) is.")
    try check(servesUnheardFor.map { $0 >= .zero } ?? true, "servesUnheardFor is not negative.")
    try check(
      (1...1 << 40).contains(rememberedChanges), "rememberedChanges is from 1 to 2^40; \(rememberedChanges) is not.")
    try check(
      breaker.failures > 0 && breaker.firstPause > .zero && breaker.longestPause >= breaker.firstPause,
      "A breaker opens after 1 failure or more; its first pause is more than 0, and its longest is no shorter than that."
    )
  }
}
