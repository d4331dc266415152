/// What is asked of a subject beside its peer.
public enum Bound: Equatable, Sendable {
  /// At most so many times the peer's time.
  case timeAtMost(Double)
  /// At least so many times as fast as the peer.
  case fasterAtLeast(Double)
  /// All threads together do at least so many times the work of the peer, which is one thread.
  case workAtLeast(Double)
  /// At most so many of a hundred look-ups find nothing. The peer is only there to compare with.
  case missesAtMost(Double)

  /// The figure that is held against the limit; nil: it was not measured.
  func figure(own: SubjectResult, peer: SubjectResult) -> Double? {
    let (time, other) = (own.nanosecondsPerOperation.median, peer.nanosecondsPerOperation.median)
    return switch self {
    case .timeAtMost: time / other
    case .fasterAtLeast: other / time
    case .workAtLeast: Double(own.threads) * other / time
    case .missesAtMost: own.readings["hitRatio"].map { 100 * (1 - $0) }
    }
  }

  func isReached(by figure: Double) -> Bool {
    switch self {
    case .timeAtMost(let limit), .missesAtMost(let limit): figure <= limit
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
    }
  }

  /// What a figure is counted in.
  var unit: String {
    switch self {
    case .timeAtMost, .fasterAtLeast, .workAtLeast: "×"
    case .missesAtMost: "%"
    }
  }
}
