/// What is asked of two times for an operation.
public enum Bound: Equatable, Sendable {
  /// At most so many times the peer's time.
  case timeAtMost(Double)
  /// At least so many times as fast as the peer.
  case fasterAtLeast(Double)
  /// All threads together do at least so many times the work of the peer, which is one thread.
  case workAtLeast(Double)

  /// The figure that is held against the limit.
  ///
  /// - Parameters:
  ///   - own: Time for an operation, as each thread sees it.
  ///   - threads: How many threads had that time.
  func figure(own: Double, peer: Double, threads: Int) -> Double {
    switch self {
    case .timeAtMost: own / peer
    case .fasterAtLeast: peer / own
    case .workAtLeast: Double(threads) * peer / own
    }
  }

  func isReached(by figure: Double) -> Bool {
    switch self {
    case .timeAtMost(let limit): figure <= limit
    case .fasterAtLeast(let limit), .workAtLeast(let limit): figure >= limit
    }
  }

  /// Such as "≤ 0.7 ×".
  var asked: String {
    switch self {
    case .timeAtMost(let limit): "≤ \(Table.number(limit)) ×"
    case .fasterAtLeast(let limit): "≥ \(Table.number(limit)) × as fast"
    case .workAtLeast(let limit): "≥ \(Table.number(limit)) × the work"
    }
  }
}
