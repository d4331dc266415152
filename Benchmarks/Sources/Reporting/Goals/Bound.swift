/// The bound of a goal, relative to a peer or absolute.
public enum Bound: Equatable, Sendable {
  /// A multiple of the peer's time.
  case timeAtMost(Double)
  /// A multiple of the peer's speed.
  case fasterAtLeast(Double)
  /// All threads' work as a multiple of the work of the peer, which has one thread.
  case workAtLeast(Double)
  /// A percentage of misses. The peer is only shown for comparison.
  case missesAtMost(Double)
  /// A multiple of the peer's misses.
  case missesTimesAtMost(Double)
  /// Nanoseconds for an operation.
  case nanosecondsAtMost(Double)
  /// The greatest value of one reading, in the given unit.
  case readingAtMost(Double, String, unit: String)

  /// The figure to compare with the limit; nil if it was not measured.
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

  /// Misses in percent.
  private static func misses(_ result: SubjectResult) -> Double? { result.readings["hitRatio"].map { 100 * (1 - $0) } }

  func isReached(by figure: Double) -> Bool {
    switch self {
    case .timeAtMost(let limit), .missesAtMost(let limit), .missesTimesAtMost(let limit), .nanosecondsAtMost(let limit),
      .readingAtMost(let limit, _, _):
      figure <= limit
    case .fasterAtLeast(let limit), .workAtLeast(let limit): figure >= limit
    }
  }

  /// For example "≤ 0.7 ×".
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

  /// A figure with its unit.
  func text(_ figure: Double) -> String {
    switch self {
    case .timeAtMost, .fasterAtLeast, .workAtLeast, .missesTimesAtMost: "\(Table.number(figure)) ×"
    case .missesAtMost: "\(Table.number(figure)) %"
    case .nanosecondsAtMost: Table.time(figure)
    case .readingAtMost(_, _, let unit): "\(Table.number(figure)) \(unit)"
    }
  }
}
