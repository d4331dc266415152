/// What is asked of a subject: beside its peer, or of it alone.
public enum Bound: Equatable, Sendable {
  /// At most so many times the peer's time.
  case timeAtMost(Double)
  /// At least so many times as fast as the peer.
  case fasterAtLeast(Double)
  /// All threads together do at least so many times the work of the peer, which is one thread.
  case workAtLeast(Double)
  /// At most so many of a hundred look-ups find nothing. The peer is only there to compare with.
  case missesAtMost(Double)
  /// At most so many times the peer's misses.
  case missesTimesAtMost(Double)
  /// At most so many nanoseconds for an operation.
  case nanosecondsAtMost(Double)
  /// One of the readings is at most so much, in a unit that is told beside it.
  case readingAtMost(Double, String, unit: String)

  /// The figure that is held against the limit; nil: it was not measured.
  func figure(own: SubjectResult, peer: SubjectResult) -> Double? {
    let (time, other) = (own.nanosecondsPerOperation.median, peer.nanosecondsPerOperation.median)
    switch self {
    case .timeAtMost: return time / other
    case .fasterAtLeast: return other / time
    case .workAtLeast: return Double(own.threads) * other / time
    case .missesAtMost: return Self.misses(own)
    case .missesTimesAtMost:
      guard let misses = Self.misses(own), let others = Self.misses(peer), others > 0 else { return nil }
      return misses / others
    case .nanosecondsAtMost: return time
    case .readingAtMost(_, let name, _): return own.readings[name]
    }
  }

  /// Of a hundred look-ups.
  private static func misses(_ result: SubjectResult) -> Double? { result.readings["hitRatio"].map { 100 * (1 - $0) } }

  func isReached(by figure: Double) -> Bool {
    switch self {
    case .timeAtMost(let limit), .missesAtMost(let limit), .missesTimesAtMost(let limit), .nanosecondsAtMost(let limit),
      .readingAtMost(let limit, _, _):
      figure <= limit
    case .fasterAtLeast(let limit), .workAtLeast(let limit): figure >= limit
    }
  }

  /// Such as "≤ 0.7 ×".
  var asked: String {
    switch self {
    case .timeAtMost(let limit): "≤ \(Table.number(limit)) ×"
    case .fasterAtLeast(let limit): "≥ \(Table.number(limit)) × as fast"
    case .workAtLeast(let limit): "≥ \(Table.number(limit)) × the work"
    case .missesAtMost(let limit): "≤ \(Table.number(limit)) % misses"
    case .missesTimesAtMost(let limit): "≤ \(Table.number(limit)) × the misses"
    case .nanosecondsAtMost(let limit), .readingAtMost(let limit, _, _): "≤ \(text(limit))"
    }
  }

  /// A figure with what it is counted in.
  func text(_ figure: Double) -> String {
    switch self {
    case .timeAtMost, .fasterAtLeast, .workAtLeast, .missesTimesAtMost: "\(Table.number(figure)) ×"
    case .missesAtMost: "\(Table.number(figure)) %"
    case .nanosecondsAtMost: Table.time(figure)
    case .readingAtMost(_, _, let unit): "\(Table.number(figure)) \(unit)"
    }
  }
}
