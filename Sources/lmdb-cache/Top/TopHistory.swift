/// Earlier samples, for the curves of `top`.
struct TopHistory {
  /// More than the widest terminal shows.
  private static let length = 600

  private(set) var hitRatios: [Double?] = []
  private(set) var reads: [Double?] = []
  private(set) var writes: [Double?] = []

  mutating func append(_ sample: TopSample) {
    Self.append(sample.hitRatio, to: &hitRatios)
    Self.append(sample.perSecond?.reads, to: &reads)
    Self.append(sample.perSecond.map { $0.sets + $0.removals }, to: &writes)
  }

  private static func append(_ number: Double?, to numbers: inout [Double?]) {
    numbers.append(number)
    if numbers.count > 2 * length { numbers.removeFirst(numbers.count - length) }
  }
}
